//! The error type of imports: a one-line reason with the line number.

use std::fmt;

/// An error in an input, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ImportError {
    /// Line number, from 1. `None` if the error concerns the whole input.
    pub line: Option<usize>,
    /// Cause and hint.
    pub message: String,
}

impl ImportError {
    /// Creates an error about the whole input.
    pub(crate) fn in_file(what: impl Into<String>) -> Self {
        Self::at_line(0, what)
    }

    /// Creates an error about one line, counted from 1. Line 0 means the whole input.
    pub(crate) fn at_line(line: usize, what: impl Into<String>) -> Self {
        const MAX_MESSAGE: usize = 1000;
        let mut message = what.into();
        // A name in the input may be as long as the input.
        if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE) {
            message.truncate(end);
        }
        Self { line: (line > 0).then_some(line), message }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        // Text from the file is printed unchanged, except that control characters are escaped.
        for letter in self.message.chars() {
            match letter.is_control() {
                true => write!(f, "{}", letter.escape_default())?,
                false => fmt::Write::write_char(f, letter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let error = ImportError::at_line(3, "`1\u{1b}[2J` is no number");
        assert_eq!(error.to_string(), "line 3: `1\\u{1b}[2J` is no number");
    }

    #[test]
    fn no_error_names_line_0() {
        assert_eq!(ImportError::at_line(0, "it is empty").to_string(), "it is empty");
    }
}
