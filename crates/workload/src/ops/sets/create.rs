//! Creates the entries of a set.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use model::{Create, EntryKind};
use nix::fcntl::OFlag;
use nix::sys::stat::{Mode, mkdirat};
use sys::fs::dir_fd;

use super::directories::{self, SharedWithHosts};
use super::{EntryCursor, workers};
use crate::data::pattern::Pattern;
use crate::error::{OpContext, OpError};
use crate::files::set::{FileSet, SetEntry};
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;

/// Maximum bytes per request.
const REQUEST: u64 = 64 << 10;

/// Creates a set. Stops early at the time limit of the phase and keeps the files created so far.
pub fn create(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    create: &Create,
) -> Result<(), OpError> {
    let mut set = FileSet::new_planned(ws.root(), ws.seed(), create);
    let maker = EntryWriter::new(ws, set.largest(), create.fsync);
    directories::make(&set, SharedWithHosts(stats.has_hosts()))?;
    let done = workers::run(
        stats,
        &set.creation_orders(),
        set.len(),
        || Ok((EntryCursor::new(&set)?, maker.clone())),
        |(hand, maker), turn, stats| {
            let entry = hand.set.planned(turn.position);
            hand.point(&entry);
            maker.make(hand, &entry)?;
            if create.fsync_directory {
                hand.sync_directory(&entry)?;
            }
            stats.finish_write(entry.size as usize);
            Ok(())
        },
    )?;
    set.truncate_to_created(&done);
    ws.impossible_sets.remove(&create.set);
    ws.sets.insert(create.set.clone(), set);
    Ok(())
}

/// Writer that creates directories and files with recognisable content.
#[derive(Clone, Debug)]
pub struct EntryWriter {
    /// `None` if files have no content.
    pattern: Option<Pattern>,
    fsync: bool,
}

impl EntryWriter {
    /// Creates a maker for files of up to `size` bytes.
    pub fn new(ws: &mut CellWorkspace, size: u64, fsync: bool) -> Self {
        let pattern = (size > 0).then(|| ws.pattern(size.min(REQUEST) as usize));
        Self { pattern, fsync }
    }

    /// Creates the entry at the cursor.
    pub fn make(&mut self, hand: &EntryCursor<'_>, entry: &SetEntry) -> Result<(), OpError> {
        if hand.set.kind == EntryKind::Directory {
            return mkdirat(&hand.top, hand.path.relative(), Mode::S_IRWXU)
                .with_call("mkdir", hand.path.path());
        }
        let new = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let file = open(hand, new)?;
        let file = match self.leaves_empty() {
            true => file,
            false => self.fill(hand, entry, file)?,
        };
        dir_fd::close(file).with_call("close", hand.path.path())
    }

    /// Returns true if a new file needs no further work.
    const fn leaves_empty(&self) -> bool {
        self.pattern.is_none() && !self.fsync
    }

    /// Writes the content of a file from its start.
    pub fn fill(
        &mut self,
        hand: &EntryCursor<'_>,
        entry: &SetEntry,
        file: OwnedFd,
    ) -> Result<OwnedFd, OpError> {
        let path = hand.path.path();
        let file = File::from(file);
        let origin = hand.set.origin(entry.index);
        if let Some(pattern) = &mut self.pattern {
            for offset in (0..entry.size).step_by(REQUEST as usize) {
                let length = (entry.size - offset).min(REQUEST) as usize;
                file.write_all_at(pattern.fill(origin, offset, length), offset)
                    .at("pwrite", path, offset)?;
            }
        }
        if self.fsync {
            file.sync_all().with_call("fsync", path)?;
        }
        Ok(file.into())
    }
}

/// Opens the file at the cursor.
pub fn open(hand: &EntryCursor<'_>, flags: OFlag) -> Result<OwnedFd, OpError> {
    let owner = Mode::S_IRUSR | Mode::S_IWUSR;
    let flags = flags | OFlag::O_CLOEXEC;
    dir_fd::open(&hand.top, hand.path.as_relative(), flags, owner)
        .with_call("open", hand.path.path())
}
