//! Makes the entries of a set.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use model::{Create, EntryKind};
use nix::fcntl::OFlag;
use nix::sys::stat::{Mode, mkdirat};
use sys::at;

use super::{Hand, directories, workers};
use crate::error::{Context, OpError};
use crate::pattern::Pattern;
use crate::set::{Entry, FileSet};
use crate::tally::Tally;
use crate::workspace::Workspace;

/// Bytes per request, at most.
const REQUEST: u64 = 64 << 10;

/// Makes a set; stops early when the phase's time is over and keeps what it has.
pub fn create(ws: &mut Workspace, tally: &mut Tally, create: &Create) -> Result<(), OpError> {
    let mut set = FileSet::plan(ws.root(), ws.seed(), create);
    let maker = Maker::new(ws, set.largest(), create.fsync);
    directories::make(&set)?;
    let done = workers::run(
        tally,
        &set.making(),
        set.len(),
        || Ok((Hand::on(&set)?, maker.clone())),
        |(hand, maker), turn, tally| {
            let entry = hand.set.planned(turn.position);
            hand.point(&entry);
            maker.make(hand, &entry)?;
            if create.fsync_directory {
                hand.sync_directory(&entry)?;
            }
            tally.lap_written(entry.size as usize);
            Ok(())
        },
    )?;
    set.was_made(&done);
    ws.impossible_sets.remove(&create.set);
    ws.sets.insert(create.set.clone(), set);
    Ok(())
}

/// Makes files with recognisable content, and directories.
#[derive(Clone, Debug)]
pub struct Maker {
    /// Absent where there is no content.
    pattern: Option<Pattern>,
    fsync: bool,
}

impl Maker {
    /// For files of up to so many bytes.
    pub fn new(ws: &mut Workspace, size: u64, fsync: bool) -> Self {
        let pattern = (size > 0).then(|| ws.pattern(size.min(REQUEST) as usize));
        Self { pattern, fsync }
    }

    /// Makes the entry that the hand points to.
    pub fn make(&mut self, hand: &Hand<'_>, entry: &Entry) -> Result<(), OpError> {
        if hand.set.kind == EntryKind::Directory {
            return mkdirat(&hand.top, hand.path.relative(), Mode::S_IRWXU)
                .of("mkdir", hand.path.path());
        }
        let new = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let file = open(hand, new)?;
        let file = match self.leaves_empty() {
            true => file,
            false => self.fill(hand, entry, file)?,
        };
        at::close(file).of("close", hand.path.path())
    }

    /// Whether a file that it makes is done when it is there.
    const fn leaves_empty(&self) -> bool {
        self.pattern.is_none() && !self.fsync
    }

    /// Writes the content of a file from its beginning on.
    pub fn fill(
        &mut self,
        hand: &Hand<'_>,
        entry: &Entry,
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
            file.sync_all().of("fsync", path)?;
        }
        Ok(file.into())
    }
}

/// Opens the file that the hand points to.
pub fn open(hand: &Hand<'_>, flags: OFlag) -> Result<OwnedFd, OpError> {
    let owner = Mode::S_IRUSR | Mode::S_IWUSR;
    let flags = flags | OFlag::O_CLOEXEC;
    at::open(&hand.top, hand.path.below_top(), flags, owner).of("open", hand.path.path())
}
