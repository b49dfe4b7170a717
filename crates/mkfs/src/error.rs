//! Why a filesystem could not be made.

use std::io;

use model::Bytes;

/// Why a filesystem could not be made.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The structures alone would not find room.
    #[error("{size} is too small: {smallest} are needed")]
    TooSmall {
        /// The requested size.
        size: Bytes,
        /// The least that works.
        smallest: Bytes,
    },
    /// The drivers count blocks in 31 bits.
    #[error("{size} is too large: {largest} is the most")]
    TooLarge {
        /// The requested size.
        size: Bytes,
        /// The most that works.
        largest: Bytes,
    },
    /// The label is invalid.
    #[error("`{label}` cannot be the label: {why}")]
    Label {
        /// The requested label.
        label: String,
        /// Requirement that the label violates.
        why: &'static str,
    },
    /// Writing failed.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}
