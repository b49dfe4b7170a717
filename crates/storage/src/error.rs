//! Provisioning errors, each formatted as one line.

use std::io;
use std::path::{Path, PathBuf};

use model::Bytes;

/// Reason why storage could not be provided.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// An operation on a file or device failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The failed operation: `create`, `attach`.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The underlying filesystem has too little free space.
    #[error("{} has {available} free, {needed} are needed: {} are missing; {advice}",
        path.display(), Bytes(needed.0.saturating_sub(available.0)))]
    NoSpace {
        /// A directory on the filesystem.
        path: PathBuf,
        /// Bytes needed, including the reserve.
        needed: Bytes,
        /// Bytes available to an unprivileged user.
        available: Bytes,
        /// Options that solve the problem.
        advice: &'static str,
    },
    /// A directory with the required name already exists and was not created by fsarena.
    #[error("{} exists and was not made by fsarena: move it away", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// Other users could change a directory.
    #[error(transparent)]
    Untrusted(#[from] sys::fs::safe_path::UntrustedPath),
    /// A device was refused.
    #[error(transparent)]
    Refused(#[from] crate::DeviceRefusal),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl ProvisionError {
    /// Returns a function for `map_err` that adds the operation and the path.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.to_owned(), source }
    }
}
