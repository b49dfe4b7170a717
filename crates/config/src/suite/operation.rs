//! Reads the operation of a phase and its keys from the table of the phase.

use std::ops::Range;

use model::op::{KeyError, KeySource, OpName};
use model::{Bytes, Nanos, Op};

use crate::CatalogError;
use crate::catalog::document::{TomlTable, TomlValue};

/// Reads `op` of a phase. The returned name determines the valid keys of the phase.
pub(crate) fn find(value: &TomlValue<'_>) -> Result<&'static OpName, CatalogError> {
    let words: Vec<(&str, &'static OpName)> = Op::words().map(|word| (word.name, word)).collect();
    value.one_of(&words)
}

/// Reads the operation from a phase's table.
pub(crate) fn read(word: &OpName, phase: &TomlTable<'_>) -> Result<Op, CatalogError> {
    (word.read)(phase).map_err(|wrong| phase.error_at_line(wrong.line, wrong.message))
}

fn wrong(error: CatalogError) -> KeyError {
    match error {
        CatalogError::InFile { line, message, .. } => KeyError { line, message },
        other => KeyError { line: 1, message: other.to_string() },
    }
}

impl TomlTable<'_> {
    /// Reads a required key.
    fn key<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(TomlValue<'_>) -> Result<T, CatalogError>,
    ) -> Result<T, KeyError> {
        self.required(key).and_then(read).map_err(wrong)
    }
}

impl KeySource for TomlTable<'_> {
    fn has(&self, key: &'static str) -> bool {
        self.contains(key)
    }

    fn name(&self, key: &'static str) -> Result<String, KeyError> {
        self.key(key, |value| value.name())
    }

    fn text(&self, key: &'static str) -> Result<String, KeyError> {
        self.key(key, |value| value.text())
    }

    fn command(&self, key: &'static str) -> Result<String, KeyError> {
        self.key(key, |value| value.text()).map(|text| self.fill_in(&text))
    }

    fn size_from(&self, key: &'static str, least: u64) -> Result<Bytes, KeyError> {
        self.key(key, |value| value.size_from(least))
    }

    fn count(&self, key: &'static str, allowed: Range<u64>) -> Result<u64, KeyError> {
        self.key(key, |value| match allowed.end {
            u64::MAX => value.count(allowed.start..),
            end => value.count(allowed.start..=end.saturating_sub(1)),
        })
    }

    fn share(&self, key: &'static str) -> Result<f64, KeyError> {
        self.key(key, |value| value.share())
    }

    fn factor(&self, key: &'static str) -> Result<f64, KeyError> {
        self.key(key, |value| value.factor())
    }

    fn duration(&self, key: &'static str) -> Result<Nanos, KeyError> {
        self.key(key, |value| match value.time()? {
            Nanos(0) => Err(value.expected_error("a time above zero")),
            time => Ok(time),
        })
    }

    fn flag(&self, key: &'static str) -> Result<bool, KeyError> {
        self.key(key, |value| value.flag())
    }

    fn word(&self, key: &'static str, words: &[&str]) -> Result<usize, KeyError> {
        let numbered: Vec<(&str, usize)> = words.iter().copied().zip(0..).collect();
        self.key(key, |value| value.one_of(&numbered))
    }

    fn texts(
        &self,
        key: &'static str,
        read: &mut dyn FnMut(&str) -> Result<(), String>,
    ) -> Result<(), KeyError> {
        let each = |value: &TomlValue<'_>| {
            let text = value.text()?;
            read(&text).map_err(|message| value.error(message))
        };
        self.key(key, |value| value.list("texts")?.iter().try_for_each(each))
    }

    fn tables(
        &self,
        key: &'static str,
        keys: &[&'static str],
        read: &mut dyn FnMut(&dyn KeySource) -> Result<(), KeyError>,
    ) -> Result<(), KeyError> {
        let values = self.required(key).and_then(|value| value.list("tables"));
        let values = values.map_err(wrong)?;
        for value in values {
            read(&value.table(keys).map_err(wrong)?)?;
        }
        Ok(())
    }

    fn wrong(&self, key: &'static str, expected: &str) -> KeyError {
        match self.required(key) {
            Ok(value) => wrong(value.expected_error(expected)),
            Err(error) => wrong(error),
        }
    }
}
