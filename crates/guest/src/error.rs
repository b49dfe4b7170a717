//! Errors of guest builds, each in one line with a hint.

use std::io;
use std::path::{Path, PathBuf};

use model::Bytes;
use sys::fs::safe_path::UntrustedPath;

/// Reason why a guest could not be built.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// A file operation failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The operation that failed: a verb.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Error returned by the kernel.
        source: io::Error,
    },
    /// A program that is needed to build a guest is missing.
    #[error("{program} cannot be run ({source}): `apt-get install {package}`")]
    Program {
        /// The program.
        program: String,
        /// Debian package that contains the program.
        package: &'static str,
        /// Error returned by the kernel.
        source: io::Error,
    },
    /// Programs that are needed to build a guest are missing.
    #[error("cannot build a guest without {programs}: `apt-get install {packages}`")]
    Tools {
        /// The missing programs.
        programs: String,
        /// Debian packages that contain them, and a library that they need.
        packages: String,
    },
    /// A program that is needed to build a guest failed.
    #[error("`{command}` failed: {complaint}")]
    Failed {
        /// Command line of the program.
        command: String,
        /// Line of its output that explains the failure.
        complaint: String,
    },
    /// The packages do not have the expected content.
    #[error("{0}")]
    UnexpectedOutput(String),
    /// The kernel is compressed in an unknown format.
    #[error("cannot unpack kernel {}: {why}", path.display())]
    Kernel {
        /// The kernel.
        path: PathBuf,
        /// Reason why it cannot be used.
        why: &'static str,
    },
    /// The guest's kernel does not support a filesystem.
    #[error("the guest's kernel ({kernel}) has no module {module}")]
    NoModule {
        /// Kernel release.
        kernel: String,
        /// The requested module.
        module: String,
    },
    /// A file in a guest has changed since the guest was built.
    #[error("the guest in {} is damaged ({what}): `fsarena guest build` makes it again", directory.display())]
    Damaged {
        /// Directory of the guest.
        directory: PathBuf,
        /// Name of the damaged file and the kind of damage.
        what: String,
    },
    /// The cache path can be changed by another user.
    #[error(transparent)]
    Untrusted(#[from] UntrustedPath),
    /// The cache is writable by other users, or belongs to another user.
    #[error("{} {why}: remove it, or set XDG_CACHE_HOME to a directory of your own", path.display())]
    ForeignOwner {
        /// Path of the cache, or of an entry in the cache.
        path: PathBuf,
        /// Owner or permissions that make it unsafe.
        why: String,
    },
    /// The disk is full.
    #[error(
        "the filesystem of {} is full, and making a guest needs about {needed} there: make room, or set \
         XDG_CACHE_HOME to a directory that has it",
        directory.display()
    )]
    DiskFull {
        /// Directory on the full filesystem.
        directory: PathBuf,
        /// Approximate space needed.
        needed: Bytes,
    },
    /// The user asked to stop.
    #[error(
        "interrupted; {}",
        left.as_ref().map_or_else(
            || "partial files were removed".to_owned(),
            |left| format!("{} is not removed yet: the next build does that", left.display())
        )
    )]
    Interrupted {
        /// Partial files that could not be removed yet, if any.
        left: Option<PathBuf>,
    },
}

impl GuestError {
    /// Returns a closure for `map_err` that adds the operation and the path.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.to_owned(), source }
    }
}
