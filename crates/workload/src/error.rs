//! Errors of an operation.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use model::SyscallError;

use crate::data::corruption::Corruption;

/// A failed operation with the cause.
#[derive(Debug)]
pub enum OpError {
    /// A system call failed.
    System {
        /// Name of the system call.
        call: &'static str,
        /// File or directory of the call.
        path: PathBuf,
        /// Offset, if the call has one.
        offset: Option<u64>,
        /// Error of the kernel.
        error: io::Error,
    },
    /// The filesystem returned data that differs from the written data.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The difference found.
        corruption: Corruption,
    },
    /// The filesystem lost or invented names.
    WrongEntries {
        /// The directory or tree.
        path: PathBuf,
        /// Number of created entries.
        expected: u64,
        /// Number of entries found.
        found: u64,
    },
    /// The filesystem or the kernel does not support the operation.
    Unsupported {
        /// One-line reason, with the error number if the kernel returned one.
        reason: String,
    },
    /// The source disk cannot be read or has changed; the filesystem is not the cause.
    Source {
        /// One-line reason.
        reason: String,
    },
    /// A command failed.
    Command {
        /// Cause and last line of the output.
        reason: String,
    },
    /// A replay differs from the trace.
    Differs {
        /// System call, if the difference concerns one.
        call: &'static str,
        /// The difference, in one line.
        reason: String,
        /// Error of the kernel, if a call failed that succeeded in the trace.
        error: Option<io::Error>,
    },
    /// A phase needs a file or set that no earlier phase has created.
    Missing {
        /// Description of the missing file or set.
        what: String,
    },
}

impl OpError {
    /// Returns the failed system call as evidence. Returns `None` if no call failed.
    pub fn system_error(&self) -> Option<SyscallError> {
        match self {
            Self::System { call, error, .. } | Self::Differs { call, error: Some(error), .. } => {
                sys::errno::system_error(call, error)
            }
            _ => None,
        }
    }

    /// Returns the error number, if the kernel returned one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { error, .. } | Self::Differs { error: Some(error), .. } => {
                error.raw_os_error()
            }
            _ => None,
        }
    }
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { call, path, offset, error } => {
                write!(f, "{call} of {}", path.display())?;
                if let Some(offset) = offset {
                    write!(f, " at offset {offset}")?;
                }
                write!(f, ": {}", sys::errno::name_and_text(error))
            }
            Self::Corrupt { path, corruption } => {
                write!(f, "corrupt: {} {corruption}", path.display())
            }
            Self::WrongEntries { path, expected, found } => {
                write!(f, "corrupt: {} has {found} entries instead of {expected}", path.display())
            }
            Self::Unsupported { reason }
            | Self::Source { reason }
            | Self::Command { reason }
            | Self::Differs { reason, .. } => f.write_str(reason),
            Self::Missing { what } => write!(f, "{what} was not made by an earlier phase"),
        }
    }
}

impl std::error::Error for OpError {}

/// Adds the system call and the path to an I/O error.
pub trait OpContext<T> {
    /// Adds the failed call and its path to an error.
    ///
    /// # Errors
    /// Returns the error with its context.
    fn with_call(self, call: &'static str, path: &Path) -> Result<T, OpError>;

    /// Adds the failed call, its path and offset to an error.
    ///
    /// # Errors
    /// Returns the error with its context.
    fn at(self, call: &'static str, path: &Path, offset: u64) -> Result<T, OpError>;
}

impl<T, E: Into<io::Error>> OpContext<T> for Result<T, E> {
    fn with_call(self, call: &'static str, path: &Path) -> Result<T, OpError> {
        self.map_err(|e| OpError::System {
            call,
            path: path.to_owned(),
            offset: None,
            error: e.into(),
        })
    }

    fn at(self, call: &'static str, path: &Path, offset: u64) -> Result<T, OpError> {
        self.map_err(|e| OpError::System {
            call,
            path: path.to_owned(),
            offset: Some(offset),
            error: e.into(),
        })
    }
}
