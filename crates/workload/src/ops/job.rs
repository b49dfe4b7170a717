//! Data operations, similar to fio jobs. Plans the requests, opens the files, keeps the requested
//! number of requests in flight, and records the written data.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use model::{AccessPattern, FileSharing, Io, IoEngine, Nanos, SyncAtEnd};
use nix::fcntl::OFlag;
use sys::fs::aligned::AlignedBuffer;
use sys::io::{caches, clock};

use crate::data::expected_content::{ExpectedFile, GenerationPolicy};
use crate::data::pattern::{BLOCK, Pattern};
use crate::error::{OpContext, OpError};
use crate::io::mmap::MmapIo;
use crate::io::null::NullIo;
use crate::io::sync::SyncFileIo;
use crate::io::sync_loop::{self, ExpectedData, IoBuffers, SystemClock, ThreadJob, VerifyMode};
use crate::io::target::{IoFile, OpenMode};
use crate::io::{direct, flag, threads, uring};
use crate::measure::thread_stats::ThreadStats;
use crate::ops::IoMode;
use crate::request::arrivals::ArrivalProcess;
use crate::request::requests::{IoDirection, IoPlan, RequestStream};
use crate::workspace::{CellWorkspace, thread_file_name};

/// Alignment of buffers, sufficient for direct I/O on any file.
const BUFFER_ALIGN: usize = 4096;

/// Number of written ranges that are collected before they are sorted and recorded.
const WRITTEN_RANGE_BATCH: usize = 1 << 16;

/// Performs a data operation, including the sync at its end.
pub fn perform(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    job: &Io,
    mode: IoMode,
) -> Result<(), OpError> {
    let plan = plan(ws, job, mode, stats.local_threads(job.threads.max(1)))?;
    match plan.run(ws, stats) {
        Ok(done) => plan.remember(ws, &done),
        Err(error) => {
            plan.give_up(ws, &error);
            Err(error)
        }
    }
}

/// A job with its planned files.
#[derive(Debug)]
struct Planned<'a> {
    job: &'a Io,
    mode: IoMode,
    seed: u64,
    root: PathBuf,
    /// One file, or one file per thread.
    files: Vec<PlannedFile>,
    /// Threads of this host; all of them, unless several hosts run the phase together.
    local: Range<u32>,
}

#[derive(Debug)]
struct PlannedFile {
    name: String,
    path: PathBuf,
    plan: IoPlan,
    /// State before the phase, with the maximum size that the phase may reach.
    state: ExpectedFile,
    stamping: GenerationPolicy,
}

fn plan<'a>(
    ws: &CellWorkspace,
    job: &'a Io,
    mode: IoMode,
    local: Range<u32>,
) -> Result<Planned<'a>, OpError> {
    refuse_what_no_kernel_can(job, mode)?;
    let names = match job.sharing {
        FileSharing::Shared => vec![job.file.clone()],
        FileSharing::Own => (0..job.threads).map(|t| thread_file_name(&job.file, t)).collect(),
    };
    let files: Result<Vec<_>, _> = names.into_iter().map(|n| plan_file(ws, job, n)).collect();
    let (seed, root) = (ws.seed(), ws.root().to_owned());
    let planned = Planned { job, mode, seed, root, files: files?, local };
    if mode.direct && job.engine != IoEngine::Null {
        planned.local_files().try_for_each(|f| f.try_direct(job, planned.local.start))?;
    }
    let first = planned.local.start;
    planned.local_files().try_for_each(|f| flag::try_on(&f.path, job, mode.direct, first))?;
    Ok(planned)
}

/// Refuses combinations that no filesystem supports.
fn refuse_what_no_kernel_can(job: &Io, mode: IoMode) -> Result<(), OpError> {
    let append = job.access == AccessPattern::Append;
    let reason = if mode.direct && job.engine == IoEngine::Mmap {
        "a mapping is the page cache: it cannot pass it by"
    } else if job.depth > 1 && matches!(job.engine, IoEngine::Psync | IoEngine::Mmap) {
        "only io_uring has more than one request of a thread in flight"
    } else if append && job.depth > 1 {
        "appends that are in flight together end up in any order"
    } else if append && job.threads > 1 && job.sharing == FileSharing::Shared {
        "appends of several threads to one file end up in any order"
    } else {
        return Ok(());
    };
    Err(OpError::Unsupported { reason: reason.into() })
}

fn plan_file(ws: &CellWorkspace, job: &Io, name: String) -> Result<PlannedFile, OpError> {
    let wanted = job.size.map(|size| size.0);
    let known = ws.file(&name).cloned();
    let mut state = match (job.access, known, wanted) {
        (AccessPattern::Write, _, size) => ExpectedFile::hole(&name, size.unwrap_or_default()),
        (_, Ok(state), _) => state,
        // The null engine needs no file.
        (_, Err(_), Some(size)) if job.engine == IoEngine::Null => ExpectedFile::new(&name, size),
        (_, Err(error), _) => return Err(error),
    };
    let (start, extent) = match job.access {
        AccessPattern::Write => (0, state.size),
        AccessPattern::Append => (state.size, wanted.unwrap_or_default()),
        _ => (0, wanted.unwrap_or(state.size).min(state.size)),
    };
    if extent == 0 && job.access != AccessPattern::Write {
        return Err(OpError::Missing { what: format!("a byte to work on in the file `{name}`") });
    }
    let plan = IoPlan::new(job, start, extent);
    let stamping = stamping(job.access, &state, &plan, extent);
    if job.access == AccessPattern::Append {
        state.before_append = start;
        state.resize(start + extent);
    }
    Ok(PlannedFile { path: ws.path(&name), name, plan, state, stamping })
}

/// Returns the effect of writes on block generations. If requests cover parts of blocks in any
/// order, a block cannot have one new generation.
fn stamping(
    access: AccessPattern,
    state: &ExpectedFile,
    plan: &IoPlan,
    extent: u64,
) -> GenerationPolicy {
    let in_order = matches!(access, AccessPattern::Overwrite | AccessPattern::Rewrite);
    match access {
        AccessPattern::Write => GenerationPolicy::New(1),
        AccessPattern::Append => GenerationPolicy::Reuse,
        _ if in_order || plan.is_aligned(BLOCK as u64) => {
            let all = plan.covers_all() && extent == state.size;
            GenerationPolicy::New(state.next_generation(all))
        }
        _ => GenerationPolicy::Reuse,
    }
}

impl PlannedFile {
    /// Returns an error if the planned requests do not fit the alignment of direct I/O.
    fn try_direct(&self, job: &Io, first: u32) -> Result<(), OpError> {
        let alignment = direct::alignment(&self.path, job.access.writes(), first)?;
        let fits = self.plan.is_aligned(alignment) && self.state.size.is_multiple_of(alignment);
        if fits {
            return Ok(());
        }
        Err(OpError::Unsupported {
            reason: format!(
                "O_DIRECT wants offsets, requests and sizes that are multiples of {alignment} bytes"
            ),
        })
    }
}

impl Planned<'_> {
    fn file_of(&self, thread: u32) -> &PlannedFile {
        &self.files[thread as usize % self.files.len()]
    }

    /// Returns the files that threads of this host use.
    fn local_files(&self) -> impl Iterator<Item = &PlannedFile> {
        let all = self.files.iter().enumerate();
        all.filter_map(|(at, file)| {
            let is_local = self.files.len() == 1 || self.local.contains(&(at as u32));
            is_local.then_some(file)
        })
    }

    fn requests(&self, thread: u32) -> RequestStream {
        // A different seed for each file, so that jobs on two files differ.
        let seed = self.seed ^ crate::data::pattern::file_id(&self.job.file);
        self.file_of(thread).plan.of_thread(thread, seed)
    }

    /// Makes the requests and ends as the phase specifies. Returns the number of requests of each
    /// thread.
    fn run(&self, ws: &mut CellWorkspace, stats: &mut ThreadStats) -> Result<Vec<u64>, OpError> {
        let threads = self.job.threads.max(1);
        let longest = self.local_files().map(|f| f.plan.longest()).max().unwrap_or(1);
        let in_place = self.job.access.writes() && self.job.engine != IoEngine::IoUring;
        ws.require_memory(longest as u64, self.buffer_bytes(longest, in_place))?;
        let pattern = ws.pattern(BLOCK);
        let operations = self.local.clone().map(|t| self.requests(t).remaining()).sum();
        stats.offered_rate = self.job.rate;
        let part = threads::ThreadWork {
            prepare: |_| self.prepare(&pattern, longest, in_place),
            open: |stats: &mut ThreadStats| self.open_all(stats),
            work: |thread,
                   prepared: &mut Prepared<'_>,
                   targets: &Vec<IoFile>,
                   begun,
                   stats: &mut ThreadStats| {
                self.work(thread, prepared, targets, begun, stats)
            },
            end: |_: &Vec<IoFile>| self.end(),
            close: |targets: Vec<IoFile>, stats: &mut ThreadStats| {
                let mut targets = targets.into_iter();
                targets.try_for_each(|target| stats.record_close(target.file, &target.path))
            },
            opening_is_timed: self.job.include_open_close,
        };
        threads::run(threads, operations, stats, part)
    }

    /// Returns the size of the buffer in which each thread reads.
    fn read_buffer(&self, longest: usize) -> usize {
        let reads = self.job.access.reads() && self.job.engine != IoEngine::IoUring;
        if reads { longest } else { 0 }
    }

    /// Returns the memory of the buffers of all threads.
    fn buffer_bytes(&self, longest: usize, in_place: bool) -> u64 {
        let own = if in_place { Pattern::size(longest) } else { 0 };
        let in_flight = match self.job.engine {
            IoEngine::IoUring => longest as u64 * u64::from(self.job.depth.max(1)),
            _ => 0,
        };
        let of_thread = (own + self.read_buffer(longest)) as u64 + in_flight;
        of_thread * self.local.len() as u64
    }

    fn prepare<'p>(
        &self,
        pattern: &'p Pattern,
        longest: usize,
        in_place: bool,
    ) -> Result<Prepared<'p>, OpError> {
        if self.job.rate.is_some() {
            clock::set_timer_slack();
        }
        let through_ring = self.job.engine == IoEngine::IoUring;
        Ok(Prepared {
            memory: IoBuffers {
                pattern,
                own: in_place.then(|| pattern.with_reach(longest)),
                buffer: AlignedBuffer::new(self.read_buffer(longest).max(1), BUFFER_ALIGN),
            },
            ring: match through_ring {
                true => Some(uring::ring(self.job.depth, longest)?),
                false => None,
            },
        })
    }

    /// Opens one file, or one per thread; none for the null engine.
    fn open_all(&self, stats: &mut ThreadStats) -> Result<Vec<IoFile>, OpError> {
        let nothing = self.job.engine == IoEngine::Null;
        let files = self.local_files().filter(|_| !nothing);
        let is_shared = stats.has_hosts() && self.job.sharing == FileSharing::Shared;
        files.map(|f| stats.record_open(|| self.open(f, is_shared))).collect()
    }

    /// Opens a file. Other hosts may create it, too, if it is shared with them.
    fn open(&self, file: &PlannedFile, is_shared: bool) -> Result<IoFile, OpError> {
        let how = match self.job.access {
            AccessPattern::Write if is_shared => OpenMode::Create,
            AccessPattern::Write => OpenMode::CreateNew,
            // A mapping cannot append, so the file is extended first.
            AccessPattern::Append if self.job.engine != IoEngine::Mmap => OpenMode::Append,
            access if access.writes() => OpenMode::ReadWrite,
            _ => OpenMode::ReadOnly,
        };
        let flags = flag::of_file(self.job.flag, self.mode.direct);
        IoFile::open(&file.path, file.state.size, how, flags)
    }

    fn work(
        &self,
        thread: u32,
        prepared: &mut Prepared<'_>,
        targets: &[IoFile],
        begun: Nanos,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let file = self.file_of(thread);
        if self.job.engine == IoEngine::Null {
            return self.work_on_nothing(thread, &mut prepared.memory, begun, stats);
        }
        let target = &targets[(thread - self.local.start) as usize % targets.len()];
        let work = self.work_on(thread, target, begun);
        let memory = &mut prepared.memory;
        match (self.job.engine, &mut prepared.ring) {
            (IoEngine::IoUring, Some(ring)) => uring::run(ring, memory.pattern, work, stats)?,
            (IoEngine::Mmap, _) => {
                if file.state.size > 0 {
                    let writes = self.job.access.writes();
                    let grows =
                        matches!(self.job.access, AccessPattern::Write | AccessPattern::Append);
                    let mut way = MmapIo::new(target, file.state.size, writes, grows)?;
                    sync_loop::run(&mut way, &mut SystemClock, work, memory, stats)?;
                }
            }
            _ => {
                let appends = self.job.access == AccessPattern::Append;
                let flags = flag::of_request(self.job.flag);
                let mut way = SyncFileIo::new(target, appends, flags);
                sync_loop::run(&mut way, &mut SystemClock, work, memory, stats)?;
            }
        }
        match self.mode.ends {
            SyncAtEnd::Fsync => target.sync(),
            SyncAtEnd::Call | SyncAtEnd::Syncfs | SyncAtEnd::Unknown => Ok(()),
        }
    }

    fn work_on<'w>(&'w self, thread: u32, target: &'w IoFile, begun: Nanos) -> ThreadJob<'w> {
        let file = self.file_of(thread);
        let threads = self.job.threads.max(1);
        ThreadJob {
            requests: self.requests(thread),
            content: ExpectedData {
                state: &file.state,
                stamping: file.stamping,
                verify: self.verify(),
            },
            fsync: self.job.fsync,
            flags: flag::of_request(self.job.flag),
            arrivals: self.job.rate.map(|rate| ArrivalProcess::new(rate, thread, threads, begun)),
            target,
        }
    }

    fn verify(&self) -> VerifyMode {
        let job = self.job;
        let others = job.threads > 1 && job.sharing == FileSharing::Shared;
        match job.access {
            // Data that was not read cannot be verified.
            _ if !job.verify || job.engine == IoEngine::Null => VerifyMode::Off,
            AccessPattern::RandomMix { .. } | AccessPattern::Seek { .. } => {
                VerifyMode::BeforeOrAfter { at_once: others || job.depth > 1 }
            }
            _ => VerifyMode::Before,
        }
    }

    fn work_on_nothing(
        &self,
        thread: u32,
        memory: &mut IoBuffers<'_>,
        begun: Nanos,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let nowhere = self.root.as_path();
        let target = IoFile::open(nowhere, 0, OpenMode::ReadOnly, OFlag::empty())?;
        let work = self.work_on(thread, &target, begun);
        sync_loop::run(&mut NullIo, &mut SystemClock, work, memory, stats)
    }

    fn end(&self) -> Result<(), OpError> {
        match self.mode.ends {
            SyncAtEnd::Syncfs => {
                caches::sync_filesystem(&self.root).with_call("syncfs", &self.root)
            }
            SyncAtEnd::Call | SyncAtEnd::Fsync | SyncAtEnd::Unknown => Ok(()),
        }
    }

    /// Records the written data, thread by thread. The requests are regenerated from the seed, so
    /// that no bookkeeping is needed during the timed part.
    fn remember(self, ws: &mut CellWorkspace, done: &[u64]) -> Result<(), OpError> {
        if !self.job.access.writes() || self.job.engine == IoEngine::Null {
            return Ok(());
        }
        let requests: Vec<RequestStream> =
            (0..done.len()).map(|t| self.requests(t as u32)).collect();
        let own = self.files.len() > 1;
        for (i, file) in self.files.into_iter().enumerate() {
            let mut state = file.state;
            let mut end = 0;
            for (thread, (requests, &made)) in requests.iter().zip(done).enumerate() {
                if own && thread != i {
                    continue;
                }
                for_each_range(requests.clone().take(made as usize), |range| {
                    end = end.max(range.end);
                    state.written(range, file.stamping);
                });
            }
            let whole = requests.iter().zip(done).all(|(r, &made)| r.remaining() == made);
            let grows = matches!(self.job.access, AccessPattern::Write | AccessPattern::Append);
            // If the phase was cut short or limits its operations, the file ends after the last
            // request.
            if grows && (!whole || self.job.operations.is_some()) && state.size > 0 {
                let end = end.max(if self.job.access == AccessPattern::Append {
                    state.before_append
                } else {
                    0
                });
                if self.job.engine == IoEngine::Mmap {
                    // The file was extended to its full size before the phase.
                    let longer = fs::OpenOptions::new().write(true).open(&file.path);
                    let cut = longer.and_then(|f| f.set_len(end));
                    cut.with_call("ftruncate", &file.path)?;
                }
                state.resize(end);
            }
            state.compact();
            ws.impossible_files.remove(&file.name);
            ws.files.insert(file.name, state);
        }
        Ok(())
    }

    /// If the filesystem does not support the job, marks the files that it should have created as
    /// impossible, with the reason for later phases.
    fn give_up(&self, ws: &mut CellWorkspace, error: &OpError) {
        let OpError::Unsupported { reason } = error else {
            return;
        };
        if self.job.access != AccessPattern::Write {
            return;
        }
        for file in &self.files {
            ws.discard_failed_file(&file.name, reason);
        }
    }
}

/// State of a thread prepared before the clock starts.
#[derive(Debug)]
struct Prepared<'p> {
    memory: IoBuffers<'p>,
    ring: Option<sys::io::uring::Ring>,
}

/// Calls `each` for the written ranges, merged if adjacent.
fn for_each_range(
    requests: impl Iterator<Item = crate::request::requests::IoRequest>,
    mut each: impl FnMut(Range<u64>),
) {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for request in requests.filter(|r| r.turn != IoDirection::Read) {
        let end = request.offset + request.length as u64;
        match ranges.last_mut() {
            Some(last) if last.start <= request.offset && request.offset <= last.end => {
                last.end = last.end.max(end);
            }
            _ => ranges.push(request.offset..end),
        }
        if ranges.len() == WRITTEN_RANGE_BATCH {
            ranges.sort_unstable_by_key(|r| r.start);
            ranges.drain(..).for_each(&mut each);
        }
    }
    ranges.sort_unstable_by_key(|r| r.start);
    ranges.drain(..).for_each(&mut each);
}
