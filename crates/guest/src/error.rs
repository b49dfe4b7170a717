//! Why there is no guest, each in one line that says what to do.

use std::io;
use std::path::{Path, PathBuf};

/// Why a guest could not be made.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// A step on a file failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A program that a guest is made with is not there.
    #[error("{program} cannot be run ({source}): `apt-get install {package}`")]
    Program {
        /// The program.
        program: String,
        /// The Debian package that brings it.
        package: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A program that a guest is made with failed.
    #[error("`{command}` failed: {complaint}")]
    Failed {
        /// The command line.
        command: String,
        /// What it wrote last.
        complaint: String,
    },
    /// The packages are not what they are expected to be.
    #[error("{0}")]
    Unexpected(String),
    /// A kernel that is packed in a way that is not known.
    #[error("{} is no kernel that can be unpacked: {why}", path.display())]
    Kernel {
        /// The kernel.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The guest's kernel does not have a filesystem.
    #[error("the guest's kernel ({kernel}) has no module {module}")]
    NoModule {
        /// The release of the kernel.
        kernel: String,
        /// The module that was asked for.
        module: String,
    },
}

impl GuestError {
    /// For `map_err`: a failed step with what it was about.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    }
}
