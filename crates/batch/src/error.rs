//! What is wrong with a directory, in one line that says what to do.

use std::io;
use std::path::{Path, PathBuf};

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// It holds no plan.
    #[error("{} holds no plan: `fsarena plan … -o {}` makes one", .0.display(), .0.display())]
    NoPlan(PathBuf),
    /// A plan is to be written where something is already.
    #[error("{} is not empty: give a directory that is empty or not there yet", .0.display())]
    NotEmpty(PathBuf),
    /// Another fsarena has planned it.
    #[error("{} was planned by {planned}, and this is {this}: run {}", path.display(), path.join(crate::directory::PROGRAM).display())]
    ProgramMismatch {
        /// The directory.
        path: PathBuf,
        /// The version, or what else tells it, of the program that planned.
        planned: String,
        /// The same of this program.
        this: String,
    },
    /// There is no such entry.
    #[error("{} has entries 0 to {last}: there is no entry {index}", path.display())]
    OutOfRange {
        /// The directory.
        path: PathBuf,
        /// The entry that was asked for.
        index: u32,
        /// Its last one.
        last: u32,
    },
    /// Something in it is not as it was planned.
    #[error("{} is damaged: {what}; plan the campaign again", path.display())]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The other half of an entry ran on this host.
    #[error("entry {index} is to run on another host than {host}, which ran the same cell")]
    SameHost {
        /// The entry.
        index: u32,
        /// The host.
        host: String,
    },
    /// A cell could not be run on this host, which says nothing about its filesystem.
    #[error(
        "{cell} could not be run on {host}: {reason}; mend that, and run the same command again"
    )]
    NotRun {
        /// The cell, for people.
        cell: String,
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// This host has another emulator than the campaign was planned with.
    #[error("{host} has {here}, and the campaign was planned with {planned}: install that")]
    ToolMismatch {
        /// The host.
        host: String,
        /// What it has.
        here: String,
        /// What it should have.
        planned: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Others could tamper with it.
    #[error(transparent)]
    Untrusted(#[from] sys::safe_path::UntrustedPath),
    /// The guest cannot be carried there, or is not what it was.
    #[error(transparent)]
    Guest(#[from] guest::GuestError),
}

impl BatchError {
    /// The error of a step on a file.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    /// Whether what was asked for is wrong, and not what is there.
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
