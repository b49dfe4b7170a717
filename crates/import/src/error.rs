//! Why what somebody gave is not taken, in one line that says where.

use std::fmt;

/// What is wrong with an input, and in which line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ImportError {
    /// The line, from 1; absent where it is about the whole.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub message: String,
}

impl ImportError {
    /// About the whole input.
    pub(crate) fn in_file(what: impl Into<String>) -> Self {
        let what = what.into();
        Self {
            line: None,
            message: what,
        }
    }

    /// About one line, counted from 1.
    pub(crate) fn at_line(line: usize, what: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            message: what.into(),
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        // What stands in the file is shown as it is, but for what a terminal would act on.
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
    fn what_a_terminal_would_act_on_is_shown_as_an_escape() {
        let error = ImportError::at_line(3, "`1\u{1b}[2J` is no number");
        assert_eq!(error.to_string(), "line 3: `1\\u{1b}[2J` is no number");
    }
}
