//! The keys of operations in a suite file, and how their values are read.

use std::ops::Range;

use super::Op;
use crate::{Bytes, Nanos};

/// A value of the key `op` of a phase.
#[derive(Debug)]
pub struct OpName {
    /// The word.
    pub name: &'static str,
    /// The keys of the operation, in addition to the keys of every phase.
    pub keys: &'static [&'static str],
    /// Reads the operation from the keys.
    pub read: fn(&dyn KeySource) -> Result<Op, KeyError>,
}

/// An invalid key, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// The line, from 1.
    pub line: usize,
    /// The problem and the expected value.
    pub message: String,
}

/// The keys of one phase in its file. Reading a key returns an error if it is missing or its value
/// is not of the requested type.
#[expect(clippy::missing_errors_doc, reason = "said above for all")]
pub trait KeySource {
    /// Returns true if the key exists.
    fn has(&self, key: &'static str) -> bool;
    /// Reads a valid name (see [`crate::check_name`]).
    fn name(&self, key: &'static str) -> Result<String, KeyError>;
    /// Reads a non-empty text.
    fn text(&self, key: &'static str) -> Result<String, KeyError>;
    /// Reads a command line, in which `$name` of a parameter is replaced by its value.
    fn command(&self, key: &'static str) -> Result<String, KeyError>;
    /// Reads a size of at least `least` bytes.
    fn size_from(&self, key: &'static str, least: u64) -> Result<Bytes, KeyError>;
    /// Reads a whole number in the given range.
    fn count(&self, key: &'static str, allowed: Range<u64>) -> Result<u64, KeyError>;
    /// Reads a number from 0 to 1.
    fn share(&self, key: &'static str) -> Result<f64, KeyError>;
    /// Reads a number above 0 and at most 1000.
    fn factor(&self, key: &'static str) -> Result<f64, KeyError>;
    /// Reads a duration above zero.
    fn duration(&self, key: &'static str) -> Result<Nanos, KeyError>;
    /// Reads `true` or `false`.
    fn flag(&self, key: &'static str) -> Result<bool, KeyError>;
    /// Reads one of the given words and returns its index.
    fn word(&self, key: &'static str, words: &[&str]) -> Result<usize, KeyError>;
    /// Passes each text of a list to `read`, and returns an error with its line if `read` fails.
    fn texts(
        &self,
        key: &'static str,
        read: &mut dyn FnMut(&str) -> Result<(), String>,
    ) -> Result<(), KeyError>;
    /// Passes each table of a list to a function. The tables may contain only these keys.
    fn tables(
        &self,
        key: &'static str,
        keys: &[&'static str],
        read: &mut dyn FnMut(&dyn KeySource) -> Result<(), KeyError>,
    ) -> Result<(), KeyError>;
    /// Returns the error for a value that differs from the expected kind.
    fn wrong(&self, key: &'static str, expected: &str) -> KeyError;
}

/// Maximum count in a data file: far above all uses, far below an overflow.
pub(super) const MAX_COUNT: u64 = 1 << 32;

/// Maximum size of a request: each thread allocates a buffer of this size.
pub(super) const MAX_BLOCK: Bytes = Bytes::mib(1024);

/// An operation whose fields are read from keys of the same names.
pub(super) trait FromKeys: Sized {
    /// The names of the fields.
    const KEYS: &'static [&'static str];
    /// Reads all fields.
    fn read(keys: &dyn KeySource) -> Result<Self, KeyError>;
}

/// Returns the name of an operation whose keys are its fields.
pub(super) const fn op_name<O: FromKeys + Into<Op>>(name: &'static str) -> OpName {
    OpName { name, keys: O::KEYS, read: |keys| O::read(keys).map(Into::into) }
}

/// Defines the struct of an operation. The expression after each field reads it from the key of its
/// name.
macro_rules! keyed {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $kind:ty = $read:expr,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $kind,)*
        }

        impl $crate::op::keys::FromKeys for $name {
            const KEYS: &'static [&'static str] = &[$(stringify!($field),)*];

            fn read(keys: &dyn $crate::op::KeySource) -> Result<Self, $crate::op::KeyError> {
                Ok(Self { $($field: $read(keys, stringify!($field))?,)* })
            }
        }
    };
}
pub(super) use keyed;

/// A name.
pub(super) fn name(keys: &dyn KeySource, key: &'static str) -> Result<String, KeyError> {
    keys.name(key)
}

/// Reads a size above zero.
pub(super) fn size(keys: &dyn KeySource, key: &'static str) -> Result<Bytes, KeyError> {
    keys.size_from(key, 1)
}

/// Reads a count above zero.
pub(super) fn count(keys: &dyn KeySource, key: &'static str) -> Result<u64, KeyError> {
    keys.count(key, 1..MAX_COUNT)
}

/// Reads the bytes per request.
pub(super) fn block(keys: &dyn KeySource, key: &'static str) -> Result<Bytes, KeyError> {
    let block = size(keys, key)?;
    match block > MAX_BLOCK {
        true => Err(keys.wrong(key, &format!("at most {MAX_BLOCK}"))),
        false => Ok(block),
    }
}

/// Reads one of the given words and returns its meaning.
pub(super) fn choice<T: Copy>(
    keys: &dyn KeySource,
    key: &'static str,
    words: &[(&str, T)],
) -> Result<T, KeyError> {
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    Ok(words[keys.word(key, &names)?].1)
}

/// Reads an optional key.
pub(super) fn optional<T>(
    keys: &dyn KeySource,
    key: &'static str,
    read: impl FnOnce(&dyn KeySource, &'static str) -> Result<T, KeyError>,
) -> Result<Option<T>, KeyError> {
    keys.has(key).then(|| read(keys, key)).transpose()
}

/// Reads a flag [default: false].
pub(super) fn flag(keys: &dyn KeySource, key: &'static str) -> Result<bool, KeyError> {
    Ok(optional(keys, key, |keys, key| keys.flag(key))?.unwrap_or(false))
}

/// Reads a number from 1 to a maximum [default: 1].
pub(super) fn count_up_to(
    keys: &dyn KeySource,
    key: &'static str,
    most: u32,
) -> Result<u32, KeyError> {
    let range = 1..u64::from(most) + 1;
    let number = optional(keys, key, |keys, key| keys.count(key, range))?.unwrap_or(1);
    Ok(u32::try_from(number).unwrap_or(1))
}

/// Reads a number of threads [default: 1].
pub(super) fn threads(keys: &dyn KeySource, key: &'static str) -> Result<u32, KeyError> {
    count_up_to(keys, key, 1024)
}
