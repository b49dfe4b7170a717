//! Why there is no guest, each in one line that says what to do.

use std::io;
use std::path::{Path, PathBuf};

use model::Bytes;
use sys::safe_path::UntrustedPath;

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
    UnexpectedOutput(String),
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
    /// Something in a guest is not as it was made.
    #[error("the guest in {} is damaged ({what}): `fsarena guest build` makes it again", directory.display())]
    Damaged {
        /// Where it is.
        directory: PathBuf,
        /// What is wrong with which file.
        what: String,
    },
    /// The way to the cache is not the user's own.
    #[error(transparent)]
    Untrusted(#[from] UntrustedPath),
    /// Somebody else could have put something into the cache.
    #[error("{} {why}: remove it, or set XDG_CACHE_HOME to a directory of your own", path.display())]
    ForeignOwner {
        /// The cache, or something in it.
        path: PathBuf,
        /// Whose it is, or who may write it.
        why: String,
    },
    /// There is no room.
    #[error(
        "the filesystem of {} is full, and making a guest needs about {needed} there: make room, or set \
         XDG_CACHE_HOME to a directory that has it",
        directory.display()
    )]
    DiskFull {
        /// The directory that is full.
        directory: PathBuf,
        /// How much is needed, roughly.
        needed: Bytes,
    },
    /// The user asked to stop.
    #[error(
        "interrupted; {}",
        left.as_ref().map_or_else(
            || "nothing is left of what was being made".to_owned(),
            |left| format!("{} is not removed yet: the next build does that", left.display())
        )
    )]
    Interrupted {
        /// What is left of what was being made, where that could not be removed at once.
        left: Option<PathBuf>,
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
