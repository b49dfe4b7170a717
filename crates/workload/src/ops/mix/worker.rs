//! One thread of a role. It runs the steps of its cycle; each step takes a few system calls.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use model::op::MixStep;
use model::{Nanos, SeededRng};
use nix::fcntl::{AtFlags, OFlag, PosixFadviseAdvice, posix_fadvise};
use nix::sys::stat::fstatat;
use nix::unistd::{UnlinkatFlags, close, fdatasync, fsync, unlinkat};
use sys::fs::aligned::AlignedBuffer;
use sys::io::clock;

use super::RoleThread;
use super::targets::{MixTargets, OpenTargets, REQUEST, TargetFile};
use crate::data::corruption::{Corruption, CorruptionKind};
use crate::data::pattern::{BlockIdentity, Pattern, file_id};
use crate::error::{OpContext, OpError};
use crate::files::mixed::{DynamicFileSet, FileSlot, ThreadFiles};
use crate::files::visit_order::split_evenly;
use crate::io::sync::read_exact;
use crate::io::sync_loop::{ExpectedData, VerifyMode};
use crate::measure::thread_stats::ThreadStats;
use crate::ops::sets::{EntryCursor, open_entry};

/// Alignment of buffers, in bytes.
const BUFFER_ALIGN: usize = 4096;

/// Final state of a thread.
#[derive(Debug, Default)]
pub struct ThreadOutcome {
    /// Share of a set.
    pub share: Option<ThreadFiles>,
    /// Written ranges of a file: start and end.
    pub written: Vec<(u64, u64)>,
    /// Bytes appended to the log of the role.
    pub logged: u64,
}

/// A thread of a role, fully allocated before the clock starts.
pub struct MixWorker<'a> {
    steps: &'a [MixStep],
    rng: SeededRng,
    pattern: Pattern,
    buffer: AlignedBuffer,
    verify: bool,
    files: Option<MixFiles<'a>>,
    blocks: Option<Blocks<'a>>,
    /// Index of the log and the origin of its blocks.
    log: Option<(usize, BlockIdentity)>,
    /// Target of the next sync.
    last: LastTarget,
    left: ThreadOutcome,
}

/// The open file of a set and the files from which it is chosen.
struct MixFiles<'a> {
    hand: EntryCursor<'a>,
    from: FileChoice<'a>,
    open: Option<(File, FileSlot)>,
}

/// Source of the files to choose from.
enum FileChoice<'a> {
    Own(ThreadFiles),
    All(&'a [FileSlot]),
}

/// A file with blocks.
struct Blocks<'a> {
    /// Index of the file.
    place: usize,
    file: &'a TargetFile,
    /// Range over which this thread streams, and the current position.
    part: Range<u64>,
    at: u64,
}

/// Target of the last step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastTarget {
    Nothing,
    OfSet,
    Blocks,
    Log,
}

impl<'a> MixWorker<'a> {
    /// Creates the worker of a thread, given the number of the thread.
    pub fn new(
        seats: &'a [RoleThread<'a>],
        thread: usize,
        things: &'a MixTargets,
        pattern: Pattern,
        seed: u64,
        verify: bool,
    ) -> Result<Self, OpError> {
        let RoleThread { role, number, .. } = seats[thread];
        let waits = |step: &MixStep| matches!(step, MixStep::Sleep(_));
        if role.rate.is_some() || role.steps.iter().any(waits) {
            clock::set_timer_slack();
        }
        let set = role.set.as_deref().and_then(|set| things.set(set));
        let before = seats[..thread].iter().filter(|seat| seat.role.set == role.set);
        let files = set.map(|set| {
            Ok(MixFiles {
                hand: EntryCursor::new(&set.mixed.set)?,
                from: match set.share(before.count()) {
                    Some(share) => FileChoice::Own(share),
                    None => FileChoice::All(set.mixed.files()),
                },
                open: None,
            })
        });
        let place = role.file.as_deref().and_then(|file| things.file(file));
        let log = things.log(&role.name);
        Ok(Self {
            steps: &role.steps,
            rng: SeededRng::substream(seed, &format!("mix-{}-{number}", role.name)),
            pattern,
            buffer: AlignedBuffer::new(things.longest(), BUFFER_ALIGN),
            verify,
            files: files.transpose()?,
            blocks: place.map(|place| Blocks::new(place, &things.files[place], &seats[thread])),
            log: log.map(|place| (place, log_origin(&role.name))),
            last: LastTarget::Nothing,
            left: ThreadOutcome::default(),
        })
    }

    /// Takes the final state of the thread.
    pub fn take_outcome(&mut self) -> ThreadOutcome {
        let mut left = std::mem::take(&mut self.left);
        if let Some(MixFiles { from: FileChoice::Own(share), .. }) =
            self.files.take().map(MixFiles::closed)
        {
            left.share = Some(share);
        }
        left
    }

    /// Runs one cycle and returns the total length of its pauses.
    pub fn cycle(
        &mut self,
        opened: &OpenTargets,
        stats: &mut ThreadStats,
        wait_until: &mut dyn FnMut(Nanos),
    ) -> Result<Nanos, OpError> {
        let mut pauses = Nanos(0);
        for step in self.steps {
            match *step {
                MixStep::Sleep(time) => {
                    let begun = clock::now();
                    wait_until(Nanos(begun.0 + time.0));
                    pauses.0 += clock::since(begun).0;
                }
                MixStep::Fsync => self.sync(opened, stats, true)?,
                MixStep::Fdatasync => self.sync(opened, stats, false)?,
                MixStep::RandomRead(size) | MixStep::RandomWrite(size) | MixStep::Stream(size) => {
                    self.on_blocks(step, size.0, opened, stats)?;
                }
                MixStep::Log(size) => self.log(size.0, opened, stats)?,
                _ => self.on_files(step, stats)?,
            }
        }
        Ok(pauses)
    }

    fn sync(
        &self,
        opened: &OpenTargets,
        stats: &mut ThreadStats,
        whole: bool,
    ) -> Result<(), OpError> {
        let (file, path) = match (self.last, &self.files, &self.blocks, self.log) {
            (LastTarget::OfSet, Some(files), ..) => {
                let (file, _) = files.open()?;
                (file, files.hand.path.path())
            }
            (LastTarget::Blocks, _, Some(blocks), _) => {
                let target = &opened.files[blocks.place];
                (&target.file, target.path.as_path())
            }
            (LastTarget::Log, _, _, Some((place, _))) => {
                let log = &opened.logs[place];
                (&log.file, log.path.as_path())
            }
            _ => return Err(nothing("a file to sync")),
        };
        let begun = clock::now();
        match whole {
            true => fsync(file).with_call("fsync", path)?,
            false => fdatasync(file).with_call("fdatasync", path)?,
        }
        stats.record_sync(clock::since(begun).0);
        Ok(())
    }

    fn log(
        &mut self,
        size: u64,
        opened: &OpenTargets,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let Some((place, origin)) = self.log else {
            return Err(nothing("a log"));
        };
        let log = &opened.logs[place];
        let bytes = self.pattern.fill(origin, self.left.logged, size as usize);
        (&log.file).write_all(bytes).with_call("write", &log.path)?;
        self.left.logged += size;
        count_written(stats, size);
        self.last = LastTarget::Log;
        Ok(())
    }

    fn on_blocks(
        &mut self,
        step: &MixStep,
        size: u64,
        opened: &OpenTargets,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let Some(blocks) = &mut self.blocks else {
            return Err(nothing("a file"));
        };
        let target = &opened.files[blocks.place];
        self.last = LastTarget::Blocks;
        let (offset, length) = match step {
            MixStep::Stream(_) => blocks.next(size),
            _ => (self.rng.below(blocks.file.state.size / size) * size, size),
        };
        let content = ExpectedData {
            state: &blocks.file.state,
            stamping: blocks.file.stamping,
            verify: blocks.file.verify,
        };
        if matches!(step, MixStep::RandomWrite(_)) {
            let bytes = content.fill(&mut self.pattern, offset, length as usize);
            let written = target.file.write_all_at(bytes, offset);
            written.at("pwrite", &target.path, offset)?;
            self.left.written.push((offset, offset + length));
            count_written(stats, length);
            return Ok(());
        }
        let into = &mut self.buffer[..length as usize];
        read_exact(target, into, offset)?;
        let checked = content.check(&self.pattern, offset, into);
        checked.map_err(|corruption| target.corrupt(corruption))?;
        if matches!(step, MixStep::Stream(_)) {
            forget(&target.file, offset, length);
        }
        stats.bytes += length;
        if content.verify != VerifyMode::Off {
            stats.verified += length;
        }
        Ok(())
    }

    fn on_files(&mut self, step: &MixStep, stats: &mut ThreadStats) -> Result<(), OpError> {
        let Some(files) = &mut self.files else {
            return Err(nothing("a set"));
        };
        match step {
            MixStep::Create => {
                files.create()?;
                self.last = LastTarget::OfSet;
            }
            MixStep::Open => {
                files.open_one(&mut self.rng)?;
                self.last = LastTarget::OfSet;
            }
            MixStep::Write => {
                let (_, slot) = files.open()?;
                let size = (files.hand.set).entry_size(slot.entry.index, slot.generation);
                files.append(size, &mut self.pattern, stats)?;
            }
            MixStep::Append(size) => files.append(size.0, &mut self.pattern, stats)?,
            MixStep::Read => {
                let check = self.verify.then_some(&self.pattern);
                files.read(&mut self.buffer, check, stats)?;
            }
            MixStep::Close => {
                files.close()?;
                self.last = LastTarget::Nothing;
            }
            MixStep::Stat => files.stat(&mut self.rng)?,
            _ => files.delete(&mut self.rng)?,
        }
        Ok(())
    }
}

impl MixFiles<'_> {
    fn open(&self) -> Result<(&File, FileSlot), OpError> {
        let open = self.open.as_ref().map(|(file, slot)| (file, *slot));
        open.ok_or_else(|| nothing("an open file"))
    }

    fn choose(&mut self, rng: &mut SeededRng) -> Result<FileSlot, OpError> {
        let chosen = match &mut self.from {
            FileChoice::Own(share) => share.take(rng),
            FileChoice::All([]) => None,
            FileChoice::All(files) => Some(files[rng.below(files.len() as u64) as usize]),
        };
        let slot = chosen.ok_or_else(|| nothing("a file of the set"))?;
        self.hand.point(&slot.entry);
        Ok(slot)
    }

    /// Returns a chosen file to the share of the thread.
    fn put(&mut self, slot: FileSlot) {
        if let FileChoice::Own(share) = &mut self.from {
            share.put(slot);
        }
    }

    fn create(&mut self) -> Result<(), OpError> {
        let FileChoice::Own(share) = &mut self.from else {
            return Err(nothing("room for a new file"));
        };
        let slot = share.room(self.hand.set);
        self.hand.point(&slot.entry);
        let new = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL;
        self.open = Some((open_entry(&self.hand, new)?.into(), slot));
        Ok(())
    }

    fn open_one(&mut self, rng: &mut SeededRng) -> Result<(), OpError> {
        let slot = self.choose(rng)?;
        let how = match self.from {
            FileChoice::Own(_) => OFlag::O_RDWR,
            FileChoice::All(_) => OFlag::O_RDONLY,
        };
        self.open = Some((open_entry(&self.hand, how)?.into(), slot));
        Ok(())
    }

    fn append(
        &mut self,
        size: u64,
        pattern: &mut Pattern,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let Some((file, slot)) = &mut self.open else {
            return Err(nothing("an open file"));
        };
        let origin = DynamicFileSet::origin(self.hand.set, slot);
        let path = self.hand.path.path();
        for (offset, length) in requests(slot.entry.size, size) {
            let bytes = pattern.fill(origin, offset, length);
            file.write_all_at(bytes, offset).at("pwrite", path, offset)?;
        }
        slot.entry.size += size;
        count_written(stats, size);
        Ok(())
    }

    fn read(
        &self,
        buffer: &mut [u8],
        check: Option<&Pattern>,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let (file, slot) = self.open()?;
        let path = self.hand.path.path();
        let size = slot.entry.size;
        let corrupt = |corruption| OpError::Corrupt { path: path.to_owned(), corruption };
        for (offset, length) in requests(0, size) {
            let into = &mut buffer[..length];
            match file.read_exact_at(into, offset) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Err(corrupt(short(file.metadata().map_or(offset, |m| m.len()), size)));
                }
                read => read.at("pread", path, offset)?,
            }
            if let Some(pattern) = check {
                let origin = DynamicFileSet::origin(self.hand.set, &slot);
                pattern.check(origin, offset, into).map_err(corrupt)?;
                stats.verified += length as u64;
            }
        }
        stats.bytes += size;
        Ok(())
    }

    fn close(&mut self) -> Result<(), OpError> {
        let Some((file, slot)) = self.open.take() else {
            return Err(nothing("an open file"));
        };
        self.put(slot);
        close(file).with_call("close", self.hand.path.path())
    }

    /// Returns the open file to the share after the thread has ended.
    fn closed(mut self) -> Self {
        if let Some((_, slot)) = self.open.take() {
            self.put(slot);
        }
        self
    }

    fn stat(&mut self, rng: &mut SeededRng) -> Result<(), OpError> {
        let slot = self.choose(rng)?;
        let (top, path) = (&self.hand.top, self.hand.path.relative());
        let found = fstatat(top, path, AtFlags::AT_SYMLINK_NOFOLLOW);
        let found = found.with_call("stat", self.hand.path.path())?.st_size as u64;
        if found != slot.entry.size {
            return Err(OpError::Corrupt {
                path: self.hand.path.path().to_owned(),
                corruption: short(found, slot.entry.size),
            });
        }
        self.put(slot);
        Ok(())
    }

    fn delete(&mut self, rng: &mut SeededRng) -> Result<(), OpError> {
        let slot = self.choose(rng)?;
        let path = self.hand.path.relative();
        unlinkat(&self.hand.top, path, UnlinkatFlags::NoRemoveDir)
            .with_call("unlink", self.hand.path.path())?;
        if let FileChoice::Own(share) = &mut self.from {
            share.removed(slot);
        }
        Ok(())
    }
}

impl<'a> Blocks<'a> {
    fn new(place: usize, file: &'a TargetFile, seat: &RoleThread<'_>) -> Self {
        let parts = split_evenly(file.state.size, seat.role.threads);
        // Aligned, so that requests of different threads never share a block.
        let part = &parts[seat.number as usize];
        let aligned = |at: u64| at.next_multiple_of(BUFFER_ALIGN as u64).min(file.state.size);
        let part = match seat.number + 1 == seat.role.threads {
            true => aligned(part.start)..file.state.size,
            false => aligned(part.start)..aligned(part.end),
        };
        let part = match part.is_empty() {
            true => 0..file.state.size,
            false => part,
        };
        Self { place, file, at: part.start, part }
    }

    /// Returns the offset and length of the next request of a stream.
    fn next(&mut self, size: u64) -> (u64, u64) {
        let offset = self.at;
        let length = size.min(self.part.end - offset);
        self.at += length;
        if self.at >= self.part.end {
            self.at = self.part.start;
        }
        (offset, length)
    }
}

/// Splits a range into requests of offset and length.
fn requests(from: u64, size: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..size)
        .step_by(REQUEST as usize)
        .map(move |done| (from + done, (size - done).min(REQUEST) as usize))
}

/// Drops a range of a file from the page cache, as a backup does, so that the next pass reads from
/// the device.
fn forget(file: &File, offset: u64, length: u64) {
    // If the filesystem ignores the advice, the next pass reads from memory.
    let advice = PosixFadviseAdvice::POSIX_FADV_DONTNEED;
    let _ = posix_fadvise(file, offset as i64, length as i64, advice);
}

fn count_written(stats: &mut ThreadStats, bytes: u64) {
    stats.bytes += bytes;
    stats.bytes_written += bytes;
}

const fn short(found: u64, expected: u64) -> Corruption {
    Corruption { offset: found, kind: CorruptionKind::Short { expected } }
}

fn log_origin(role: &str) -> BlockIdentity {
    BlockIdentity { file: file_id(role), generation: 1 }
}

fn nothing(what: &str) -> OpError {
    OpError::Missing { what: what.into() }
}
