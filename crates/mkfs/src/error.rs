//! Errors when creating a filesystem.

use std::io;

use model::Bytes;

/// Reason why a filesystem could not be created.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The volume is too small for the structures.
    #[error("{size} is too small: {smallest} are needed")]
    TooSmall {
        /// The requested size.
        size: Bytes,
        /// Minimum size.
        smallest: Bytes,
    },
    /// The volume has more blocks than the drivers can count (31 bits).
    #[error("{size} is too large: {largest} is the most")]
    TooLarge {
        /// The requested size.
        size: Bytes,
        /// Maximum size.
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
