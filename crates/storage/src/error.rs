//! What can go wrong while something is provided, each in one line for people.

use std::io;
use std::path::{Path, PathBuf};

use model::Bytes;

/// Why something could not be provided.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// A step on a file or device failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done: `create`, `attach`.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The filesystem below has too little room.
    #[error("{} has {available} free, {needed} are needed: {} are missing; {advice}",
        path.display(), Bytes(needed.0.saturating_sub(available.0)))]
    NoSpace {
        /// A directory of that filesystem.
        path: PathBuf,
        /// What is needed, reserve included.
        needed: Bytes,
        /// What an ordinary user may still fill.
        available: Bytes,
        /// The options that help.
        advice: &'static str,
    },
    /// A directory of the name that a cell needs is there already, and is not ours.
    #[error("{} exists and was not made by fsarena: move it away", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// A directory is not safe from others.
    #[error(transparent)]
    Untrusted(#[from] sys::safe_path::UntrustedPath),
    /// A device is in use, or none that can be used.
    #[error(transparent)]
    Refused(#[from] crate::DeviceRefusal),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl ProvisionError {
    /// For `map_err`: a failed step with what it was about.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    }
}
