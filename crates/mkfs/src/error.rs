//! Why a filesystem could not be made.

use std::io;

use model::Bytes;

/// Why a filesystem could not be made.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The structures alone would not find room.
    #[error("{size} is too small: {smallest} are needed")]
    TooSmall {
        /// The size that was asked for.
        size: Bytes,
        /// The least that works.
        smallest: Bytes,
    },
    /// The drivers count blocks in 31 bits.
    #[error("{size} is too large: {largest} is the most")]
    TooLarge {
        /// The size that was asked for.
        size: Bytes,
        /// The most that works.
        largest: Bytes,
    },
    /// The filesystem cannot be called so.
    #[error("`{label}` cannot be the label: {why}")]
    Label {
        /// What was asked for.
        label: String,
        /// What a label must be.
        why: &'static str,
    },
    /// Writing failed.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}
