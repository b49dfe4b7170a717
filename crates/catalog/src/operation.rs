//! The operations that a phase may name, and how their keys are read from its table.

use std::ops::Range;

use model::op::{KeyError, Keys, Word};
use model::{Bytes, Op};

use crate::CatalogError;
use crate::document::{Table, Value};

/// Reads the `op` of a phase: the word, whose keys the phase takes.
pub(crate) fn find(value: &Value<'_>) -> Result<&'static Word, CatalogError> {
    let words: Vec<(&str, &'static Word)> = Op::words().map(|word| (word.name, word)).collect();
    value.word(&words)
}

/// Reads the operation from a phase's table.
pub(crate) fn read(word: &Word, phase: &Table<'_>) -> Result<Op, CatalogError> {
    (word.read)(phase).map_err(|wrong| phase.error_on(wrong.line, wrong.message))
}

fn wrong(error: CatalogError) -> KeyError {
    match error {
        CatalogError::InFile { line, message, .. } => KeyError { line, message },
        other => KeyError {
            line: 1,
            message: other.to_string(),
        },
    }
}

impl Table<'_> {
    /// Reads a key that must be there.
    fn key<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(Value<'_>) -> Result<T, CatalogError>,
    ) -> Result<T, KeyError> {
        self.need(key).and_then(read).map_err(wrong)
    }
}

impl Keys for Table<'_> {
    fn has(&self, key: &'static str) -> bool {
        self.holds(key)
    }

    fn name(&self, key: &'static str) -> Result<String, KeyError> {
        self.key(key, |value| value.name())
    }

    fn text(&self, key: &'static str) -> Result<String, KeyError> {
        self.key(key, |value| value.text())
    }

    fn size_from(&self, key: &'static str, least: u64) -> Result<Bytes, KeyError> {
        self.key(key, |value| value.size_from(least))
    }

    fn count(&self, key: &'static str, allowed: Range<u64>) -> Result<u64, KeyError> {
        self.key(key, |value| value.count(allowed))
    }

    fn share(&self, key: &'static str) -> Result<f64, KeyError> {
        self.key(key, |value| value.share())
    }

    fn factor(&self, key: &'static str) -> Result<f64, KeyError> {
        self.key(key, |value| value.factor())
    }

    fn flag(&self, key: &'static str) -> Result<bool, KeyError> {
        self.key(key, |value| value.flag())
    }

    fn word(&self, key: &'static str, words: &[&str]) -> Result<usize, KeyError> {
        let numbered: Vec<(&str, usize)> = words.iter().copied().zip(0..).collect();
        self.key(key, |value| value.word(&numbered))
    }

    fn wrong(&self, key: &'static str, expected: &str) -> KeyError {
        match self.need(key) {
            Ok(value) => wrong(value.wrong(expected)),
            Err(error) => wrong(error),
        }
    }
}
