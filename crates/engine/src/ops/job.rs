//! Data operations: what a job of fio would say. Plans the requests, opens the files, lets threads make
//! the requests in flight that the job asks for, and remembers what was written.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use model::{Access, End, Io, IoEngine, Nanos, Sharing};
use sys::aligned::AlignedBuffer;
use sys::{caches, clock};

use crate::arrivals::Arrivals;
use crate::content::{FileState, Stamping};
use crate::error::{Context, OpError};
use crate::io::mmap::Mmap;
use crate::io::null::Null;
use crate::io::sync::Sync;
use crate::io::target::{Opened, Target};
use crate::io::turns::{self, Content, Memory, SystemClock, Verify, Work};
use crate::io::{direct, threads, uring};
use crate::ops::IoMode;
use crate::pattern::{BLOCK, Pattern};
use crate::requests::{Plan, Requests, Turn};
use crate::tally::Tally;
use crate::workspace::{Workspace, own_name};

/// Where buffers begin: what any file wants for direct I/O.
const BUFFER_ALIGN: usize = 4096;

/// Written ranges that are collected before they are put in order and remembered.
const COLLECTED: usize = 1 << 16;

/// Performs a data operation, its end included.
pub fn perform(
    ws: &mut Workspace,
    tally: &mut Tally,
    job: &Io,
    setting: IoMode,
) -> Result<(), OpError> {
    let plan = plan(ws, job, setting)?;
    match plan.run(ws, tally) {
        Ok(done) => plan.remember(ws, &done),
        Err(error) => {
            plan.give_up(ws, &error);
            Err(error)
        }
    }
}

/// A job whose files are known.
#[derive(Debug)]
struct Planned<'a> {
    job: &'a Io,
    setting: IoMode,
    seed: u64,
    root: PathBuf,
    /// One, or one for each thread.
    files: Vec<PlannedFile>,
}

#[derive(Debug)]
struct PlannedFile {
    name: String,
    path: PathBuf,
    plan: Plan,
    /// What it holds before the phase; its size is that which it may have afterwards.
    state: FileState,
    stamping: Stamping,
}

fn plan<'a>(ws: &Workspace, job: &'a Io, setting: IoMode) -> Result<Planned<'a>, OpError> {
    refuse_what_no_kernel_can(job, setting)?;
    let names = match job.sharing {
        Sharing::Shared => vec![job.file.clone()],
        Sharing::Own => (0..job.threads).map(|t| own_name(&job.file, t)).collect(),
    };
    let files: Result<Vec<_>, _> = names.into_iter().map(|n| plan_file(ws, job, n)).collect();
    let planned = Planned {
        job,
        setting,
        seed: ws.seed(),
        root: ws.root().to_owned(),
        files: files?,
    };
    if setting.direct && job.engine != IoEngine::Null {
        planned.files.iter().try_for_each(|f| f.try_direct(job))?;
    }
    Ok(planned)
}

/// Combinations that mean nothing, whatever the filesystem.
fn refuse_what_no_kernel_can(job: &Io, setting: IoMode) -> Result<(), OpError> {
    let append = job.access == Access::Append;
    let reason = if setting.direct && job.engine == IoEngine::Mmap {
        "a mapping is the page cache: it cannot pass it by"
    } else if job.depth > 1 && matches!(job.engine, IoEngine::Psync | IoEngine::Mmap) {
        "only io_uring has more than one request of a thread in flight"
    } else if append && job.depth > 1 {
        "appends that are in flight together end up in any order"
    } else if append && job.threads > 1 && job.sharing == Sharing::Shared {
        "appends of several threads to one file end up in any order"
    } else {
        return Ok(());
    };
    Err(OpError::Unsupported {
        reason: reason.into(),
    })
}

fn plan_file(ws: &Workspace, job: &Io, name: String) -> Result<PlannedFile, OpError> {
    let wanted = job.size.map(|size| size.0);
    let known = ws.file(&name).cloned();
    let mut state = match (job.access, known, wanted) {
        (Access::Write, _, size) => FileState::hole(&name, size.unwrap_or_default()),
        (_, Ok(state), _) => state,
        // Nothing needs no file.
        (_, Err(_), Some(size)) if job.engine == IoEngine::Null => FileState::new(&name, size),
        (_, Err(error), _) => return Err(error),
    };
    let (start, extent) = match job.access {
        Access::Write => (0, state.size),
        Access::Append => (state.size, wanted.unwrap_or_default()),
        _ => (0, wanted.unwrap_or(state.size).min(state.size)),
    };
    if extent == 0 && job.access != Access::Write {
        return Err(OpError::Missing {
            what: format!("a byte to work on in the file `{name}`"),
        });
    }
    let plan = Plan::new(job, start, extent);
    let stamping = stamping(job.access, &state, &plan, extent);
    if job.access == Access::Append {
        state.before_append = start;
        state.resize(start + extent);
    }
    Ok(PlannedFile {
        path: ws.path(&name),
        name,
        plan,
        state,
        stamping,
    })
}

/// What writes do to the generation of blocks. Where requests cover parts of blocks in any order, a
/// block cannot be of one new generation.
fn stamping(access: Access, state: &FileState, plan: &Plan, extent: u64) -> Stamping {
    let in_order = matches!(access, Access::Overwrite | Access::Rewrite);
    match access {
        Access::Write => Stamping::New(1),
        Access::Append => Stamping::Keep,
        _ if in_order || plan.is_aligned(BLOCK as u64) => {
            let all = plan.covers_all() && extent == state.size;
            Stamping::New(state.next_generation(all))
        }
        _ => Stamping::Keep,
    }
}

impl PlannedFile {
    /// Whether requests as planned may pass the page cache by.
    fn try_direct(&self, job: &Io) -> Result<(), OpError> {
        let alignment = direct::alignment(&self.path, job.access.writes())?;
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

    fn requests(&self, thread: u32) -> Requests {
        // Another seed for each file, so that jobs on two files are not the same twice.
        let seed = self.seed ^ crate::pattern::file_id(&self.job.file);
        self.file_of(thread).plan.of_thread(thread, seed)
    }

    /// Makes the requests, and ends as the phase says it ends; returns how many each thread made.
    fn run(&self, ws: &mut Workspace, tally: &mut Tally) -> Result<Vec<u64>, OpError> {
        let threads = self.job.threads.max(1);
        let longest = self
            .files
            .iter()
            .map(|f| f.plan.longest())
            .max()
            .unwrap_or(1);
        let in_place = self.job.access.writes() && self.job.engine != IoEngine::IoUring;
        let pattern = ws.pattern(if in_place { longest } else { BLOCK });
        let operations = (0..threads).map(|t| self.requests(t).left()).sum();
        tally.offered_rate = self.job.rate;
        let part = threads::Part {
            prepare: |_| self.prepare(&pattern, longest, in_place),
            open: |tally: &mut Tally| self.open_all(tally),
            work: |thread,
                   prepared: &mut Prepared<'_>,
                   targets: &Vec<Target>,
                   begun,
                   tally: &mut Tally| {
                self.work(thread, prepared, targets, begun, tally)
            },
            end: |_: &Vec<Target>| self.end(),
            close: |targets: Vec<Target>, tally: &mut Tally| {
                let mut targets = targets.into_iter();
                targets.try_for_each(|target| tally.closing(target.file, &target.path))
            },
            opening_is_timed: self.job.include_open_close,
        };
        threads::run(threads, operations, tally, part)
    }

    fn prepare<'p>(
        &self,
        pattern: &'p Pattern,
        longest: usize,
        in_place: bool,
    ) -> Result<Prepared<'p>, OpError> {
        if self.job.rate.is_some() {
            clock::be_punctual();
        }
        let through_ring = self.job.engine == IoEngine::IoUring;
        let reads = if through_ring { 1 } else { longest };
        Ok(Prepared {
            memory: Memory {
                pattern,
                own: in_place.then(|| pattern.clone()),
                buffer: AlignedBuffer::new(reads, BUFFER_ALIGN),
            },
            ring: match through_ring {
                true => Some(uring::ring(self.job.depth, longest)?),
                false => None,
            },
        })
    }

    /// One file, or one for each thread; none for those who do nothing.
    fn open_all(&self, tally: &mut Tally) -> Result<Vec<Target>, OpError> {
        let nothing = self.job.engine == IoEngine::Null;
        let files = self.files.iter().filter(|_| !nothing);
        files.map(|f| tally.opening(|| self.open(f))).collect()
    }

    fn open(&self, file: &PlannedFile) -> Result<Target, OpError> {
        let how = match self.job.access {
            Access::Write => Opened::New,
            // A mapping has no end to append to: it is made longer.
            Access::Append if self.job.engine != IoEngine::Mmap => Opened::AtEnd,
            access if access.writes() => Opened::ToChange,
            _ => Opened::ToRead,
        };
        Target::open(&file.path, file.state.size, how, self.setting.direct)
    }

    fn work(
        &self,
        thread: u32,
        prepared: &mut Prepared<'_>,
        targets: &[Target],
        begun: Nanos,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        let file = self.file_of(thread);
        if self.job.engine == IoEngine::Null {
            return self.work_on_nothing(thread, &mut prepared.memory, begun, tally);
        }
        let target = &targets[thread as usize % targets.len()];
        let work = self.work_on(thread, target, begun);
        let memory = &mut prepared.memory;
        match (self.job.engine, &mut prepared.ring) {
            (IoEngine::IoUring, Some(ring)) => uring::run(ring, memory.pattern, work, tally)?,
            (IoEngine::Mmap, _) => {
                if file.state.size > 0 {
                    let writes = self.job.access.writes();
                    let grows = matches!(self.job.access, Access::Write | Access::Append);
                    let mut way = Mmap::new(target, file.state.size, writes, grows)?;
                    turns::run(&mut way, &mut SystemClock, work, memory, tally)?;
                }
            }
            _ => {
                let mut way = Sync::new(target, self.job.access == Access::Append);
                turns::run(&mut way, &mut SystemClock, work, memory, tally)?;
            }
        }
        match self.setting.ends {
            End::Fsync => target.sync(),
            End::Call | End::Syncfs | End::Unstated => Ok(()),
        }
    }

    fn work_on<'w>(&'w self, thread: u32, target: &'w Target, begun: Nanos) -> Work<'w> {
        let file = self.file_of(thread);
        let threads = self.job.threads.max(1);
        Work {
            requests: self.requests(thread),
            content: Content {
                state: &file.state,
                stamping: file.stamping,
                verify: self.verify(),
            },
            fsync: self.job.fsync,
            arrivals: self
                .job
                .rate
                .map(|rate| Arrivals::new(rate, thread, threads, begun)),
            target,
        }
    }

    fn verify(&self) -> Verify {
        let job = self.job;
        let others = job.threads > 1 && job.sharing == Sharing::Shared;
        match job.access {
            // What was not read cannot be compared.
            _ if !job.verify || job.engine == IoEngine::Null => Verify::No,
            Access::RandomMix { .. } | Access::Seek { .. } => Verify::Either {
                at_once: others || job.depth > 1,
            },
            _ => Verify::Before,
        }
    }

    fn work_on_nothing(
        &self,
        thread: u32,
        memory: &mut Memory<'_>,
        begun: Nanos,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        let nowhere = self.root.as_path();
        let target = Target::open(nowhere, 0, Opened::ToRead, false)?;
        let work = self.work_on(thread, &target, begun);
        turns::run(&mut Null, &mut SystemClock, work, memory, tally)
    }

    fn end(&self) -> Result<(), OpError> {
        match self.setting.ends {
            End::Syncfs => caches::sync_filesystem(&self.root).of("syncfs", &self.root),
            End::Call | End::Fsync | End::Unstated => Ok(()),
        }
    }

    /// Takes down what was written, thread by thread: requests come again from the seed, so that
    /// nothing had to be noted while the clock ran.
    fn remember(self, ws: &mut Workspace, done: &[u64]) -> Result<(), OpError> {
        if !self.job.access.writes() || self.job.engine == IoEngine::Null {
            return Ok(());
        }
        let requests: Vec<Requests> = (0..done.len()).map(|t| self.requests(t as u32)).collect();
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
            let whole = requests.iter().zip(done).all(|(r, &made)| r.left() == made);
            let grows = matches!(self.job.access, Access::Write | Access::Append);
            // Cut short or with fewer operations, the file ends where the last request did.
            if grows && (!whole || self.job.operations.is_some()) && state.size > 0 {
                let end = end.max(if self.job.access == Access::Append {
                    state.before_append
                } else {
                    0
                });
                if self.job.engine == IoEngine::Mmap {
                    // It was given its size beforehand.
                    let longer = fs::OpenOptions::new().write(true).open(&file.path);
                    let cut = longer.and_then(|f| f.set_len(end));
                    cut.of("ftruncate", &file.path)?;
                }
                state.resize(end);
            }
            state.settle();
            ws.impossible_files.remove(&file.name);
            ws.files.insert(file.name, state);
        }
        Ok(())
    }

    /// Where the filesystem cannot do this at all, files that were to be made are not there for later
    /// phases, which are told why.
    fn give_up(&self, ws: &mut Workspace, error: &OpError) {
        let OpError::Unsupported { reason } = error else {
            return;
        };
        if self.job.access != Access::Write {
            return;
        }
        for file in &self.files {
            ws.cannot_make(&file.name, reason);
        }
    }
}

/// What a thread has before the clock starts.
#[derive(Debug)]
struct Prepared<'p> {
    memory: Memory<'p>,
    ring: Option<sys::uring::Ring>,
}

/// The ranges that requests wrote, put together where they touch.
fn for_each_range(
    requests: impl Iterator<Item = crate::requests::Request>,
    mut each: impl FnMut(Range<u64>),
) {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for request in requests.filter(|r| r.turn != Turn::Read) {
        let end = request.offset + request.length as u64;
        match ranges.last_mut() {
            Some(last) if last.start <= request.offset && request.offset <= last.end => {
                last.end = last.end.max(end);
            }
            _ => ranges.push(request.offset..end),
        }
        if ranges.len() == COLLECTED {
            ranges.sort_unstable_by_key(|r| r.start);
            ranges.drain(..).for_each(&mut each);
        }
    }
    ranges.sort_unstable_by_key(|r| r.start);
    ranges.drain(..).for_each(&mut each);
}
