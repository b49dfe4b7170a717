//! Why what somebody gave is not taken, in one line that says where.

use std::fmt;

/// What is wrong with an input, and in which line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ImportError {
    /// The line, from 1; absent where it is about the whole.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl ImportError {
    /// About the whole input.
    pub(crate) fn whole(what: impl Into<String>) -> Self {
        let what = what.into();
        Self { line: None, what }
    }

    /// About one line, counted from 1.
    pub(crate) fn at(line: usize, what: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            what: what.into(),
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}
