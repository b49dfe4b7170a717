//! Errors of plan directories, each one line with a hint.

use std::io;
use std::path::{Path, PathBuf};

/// Reason that a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The directory contains no plan.
    #[error("{} holds no plan: `fsarena cluster plan … -o {}` makes one", .0.display(), .0.display())]
    NoPlan(PathBuf),
    /// The directory for a new plan is not empty.
    #[error("{} is not empty: give a directory that is empty or not there yet", .0.display())]
    NotEmpty(PathBuf),
    /// The directory was planned by a different fsarena.
    #[error("{} was planned by {planned}, and this is {this}: run {}", path.display(), path.join(crate::directory::PROGRAM).display())]
    ProgramMismatch {
        /// The directory.
        path: PathBuf,
        /// The version or build of the program that wrote the plan.
        planned: String,
        /// The version or build of this program.
        this: String,
    },
    /// The plan has no such entry.
    #[error("{} has entries 0 to {last}: there is no entry {index}", path.display())]
    OutOfRange {
        /// The directory.
        path: PathBuf,
        /// The requested entry.
        index: u32,
        /// The last entry of the directory.
        last: u32,
    },
    /// A file in the directory differs from the plan.
    #[error("{} is damaged: {what}; plan the campaign again", path.display())]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// The defect.
        what: String,
    },
    /// This host ran the other run of the same cell.
    #[error("entry {index} is to run on another host than {host}, which ran the same cell")]
    SameHost {
        /// The entry.
        index: u32,
        /// The host.
        host: String,
    },
    /// This host could not run a cell, for a reason unrelated to its filesystem.
    #[error(
        "{cell} could not be run on {host}: {reason}; mend that, and run the same command again"
    )]
    NotRun {
        /// The cell, as readable text.
        cell: String,
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// The emulator of this host differs from the planned one.
    #[error("{host} has {here}, and the campaign was planned with {planned}: install that")]
    ToolMismatch {
        /// The host.
        host: String,
        /// The emulator of this host.
        here: String,
        /// The emulator of the plan.
        planned: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The failed operation.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Other users could modify the directory.
    #[error(transparent)]
    Untrusted(#[from] sys::fs::safe_path::UntrustedPath),
    /// The guest cannot be copied to the directory, or differs from the planned one.
    #[error(transparent)]
    Guest(#[from] guest::GuestError),
}

impl BatchError {
    /// Returns a function that creates the error of a failed file operation.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.to_owned(), source }
    }

    /// Returns true if the request is wrong, rather than the host or its files.
    pub const fn is_input(&self) -> bool {
        matches!(
            self,
            Self::NoPlan(_)
                | Self::NotEmpty(_)
                | Self::ProgramMismatch { .. }
                | Self::OutOfRange { .. }
                | Self::Damaged { .. }
        )
    }
}
