//! Directories that contain a set's entries: created before the clock starts, removed after the
//! last entry.

use std::fs;
use std::io;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use model::Nanos;
use nix::errno::Errno;
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use sys::io::clock;

use super::EntryCursor;
use crate::error::{OpContext, OpError};
use crate::files::set::FileSet;

/// Maximum time for a FUSE driver to process a close after it was notified. Until then, libfuse
/// keeps a removed file under a hidden name, and its directory is not empty.
pub const CLOSING: Nanos = Nanos::from_secs(5);

/// Whether another host may create the same directories at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedWithHosts(pub bool);

impl SharedWithHosts {
    /// Ignores the error of a directory that another host has created.
    fn accept<E: Into<io::Error>>(self, made: Result<(), E>) -> io::Result<()> {
        match made.map_err(Into::into) {
            Err(error) if self.0 && error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }
}

/// Creates the top directory of a set and all directories below it.
pub fn make(set: &FileSet, shared: SharedWithHosts) -> Result<(), OpError> {
    shared.accept(fs::create_dir(&set.top)).with_call("mkdir", &set.top)?;
    make_below(set, 0..set.directories(), shared)
}

/// Creates some of the directories below the top.
pub fn make_below(
    set: &FileSet,
    directories: Range<u64>,
    shared: SharedWithHosts,
) -> Result<(), OpError> {
    let mut hand = EntryCursor::new(set)?;
    for directory in directories {
        for level in 1..=set.levels(directory) {
            set.write_directory(directory, level, &mut hand.path);
            let made = mkdirat(&hand.top, hand.path.relative(), Mode::S_IRWXU);
            shared.accept(made).with_call("mkdir", hand.path.path())?;
        }
    }
    Ok(())
}

/// Removes the directories of an empty set.
pub fn remove(set: &FileSet) -> Result<(), OpError> {
    let mut hand = EntryCursor::new(set)?;
    for directory in (0..set.directories()).rev() {
        for level in (1..=set.levels(directory)).rev() {
            set.write_directory(directory, level, &mut hand.path);
            let (top, path) = (&hand.top, hand.path.relative());
            once_empty(|| unlinkat(top, path, UnlinkatFlags::RemoveDir))
                .with_call("rmdir", hand.path.path())?;
        }
    }
    drop(hand);
    once_empty(|| unlinkat(nix::fcntl::AT_FDCWD, &set.top, UnlinkatFlags::RemoveDir))
        .with_call("rmdir", &set.top)
}

fn once_empty(remove: impl Fn() -> nix::Result<()>) -> nix::Result<()> {
    let start = clock::now();
    loop {
        match remove() {
            Err(Errno::ENOTEMPTY) if clock::since(start) < CLOSING => {
                thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}
