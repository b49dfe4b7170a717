//! Operations on sets of files, directories and links, one module per family of operations.
//!
//! Every system call uses a path relative to an open directory, written into a reused buffer. An
//! operation allocates no memory, and building a path takes a few tens of nanoseconds.

mod change;
mod create;
mod directories;
mod links;
mod list;
mod remove;
mod undo;
mod visit;
mod workers;

#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::OwnedFd;

use model::{MetadataAction, TraversalOrder};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::fsync;

use crate::error::{OpContext, OpError};
use crate::files::path_buffer::PathBuffer;
use crate::files::set::{FileSet, SetEntry};
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;

pub use create::{create, open as open_entry};
pub use remove::RemovedSet;
pub use undo::{recreate, remove_set, rename_back, restore_sizes};

/// Runs a metadata operation on each entry of a set.
pub fn run_metadata_op(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    action: &MetadataAction,
    how: VisitOptions,
) -> Result<(), OpError> {
    match action {
        MetadataAction::Open => visit::open(ws, stats, name, how),
        MetadataAction::Stat { read } => visit::stat(ws, stats, name, *read, how),
        MetadataAction::Readdir => list::readdir(ws, stats, name, how),
        MetadataAction::Rename { across } => change::rename(ws, stats, name, *across, how),
        MetadataAction::Link { to } => links::make(ws, stats, name, to, false, how),
        MetadataAction::Symlink { to } => links::make(ws, stats, name, to, true, how),
        MetadataAction::Chmod => change::permissions(ws, stats, name, how),
        MetadataAction::SetXattr { size } => {
            change::attributes(ws, stats, name, size.as_usize(), how)
        }
        MetadataAction::Truncate { size } => change::truncate(ws, stats, name, size.0, how),
        MetadataAction::Remove { fsync } => remove::remove(ws, stats, name, *fsync, how),
    }
}

/// Options of a visit of all entries of a set.
#[derive(Clone, Copy, Debug)]
pub struct VisitOptions {
    /// Sequential or random order.
    pub order: TraversalOrder,
    /// Number of threads; each visits its share.
    pub threads: u32,
}

/// State of one thread that accesses the entries of a set.
#[derive(Debug)]
pub struct EntryCursor<'a> {
    /// The set.
    pub set: &'a FileSet,
    /// Top directory of the set.
    pub top: OwnedFd,
    /// Path of the current entry.
    pub path: PathBuffer,
    /// Number and descriptor of the last fsynced directory.
    synced: Option<(u64, OwnedFd)>,
}

impl<'a> EntryCursor<'a> {
    /// Creates a cursor without a current entry.
    pub fn new(set: &'a FileSet) -> Result<Self, OpError> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let top = openat(AT_FDCWD, &set.top, flags, Mode::empty()).with_call("open", &set.top)?;
        Ok(Self { set, top, path: PathBuffer::new(&set.top), synced: None })
    }

    /// Moves the cursor to the entry at a position.
    fn reach(&mut self, position: u64) -> SetEntry {
        let entry = self.set.entry(position);
        self.point(&entry);
        entry
    }

    /// Moves the cursor to an entry.
    pub fn point(&mut self, entry: &SetEntry) {
        self.set.write_path(entry, &mut self.path);
    }

    /// Writes the directory of an entry to the device and leaves the cursor at this directory.
    fn sync_directory(&mut self, entry: &SetEntry) -> Result<(), OpError> {
        let number = self.set.directory(entry);
        let levels = self.set.levels(number);
        self.set.write_directory(number, levels, &mut self.path);
        let directory = match self.synced.take() {
            Some((open, directory)) if open == number => directory,
            _ => {
                let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
                let path = self.path.relative();
                openat(&self.top, path, flags, Mode::empty()).with_call("open", self.path.path())?
            }
        };
        fsync(&directory).with_call("fsync", self.path.path())?;
        self.synced = Some((number, directory));
        Ok(())
    }
}

/// Error numbers for calls that a filesystem does not support. link(2), symlink(2) and chmod(2)
/// return EPERM in this case.
const REFUSALS: [Errno; 3] = [Errno::EPERM, Errno::EOPNOTSUPP, Errno::ENOSYS];

/// Distinguishes a failed call from one that the filesystem does not support.
pub(in crate::ops) fn classify_error(error: OpError) -> OpError {
    match error {
        OpError::System { call, error, .. } if is_refusal(&error) => OpError::Unsupported {
            reason: format!("{call}: {}", sys::errno::name_and_text(&error)),
        },
        other => other,
    }
}

fn is_refusal(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    errno.is_some_and(|errno| REFUSALS.contains(&errno))
}
