//! Replays a trace: creates the initial files, performs the operations in order, and compares the
//! resulting tree with the recorded one.

mod call;
mod compare;
mod dependencies;
mod lane;
mod paths;
mod setup;
#[cfg(test)]
mod tests;
mod verdict;

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::RwLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use model::{DataKind, Nanos, Replay, SyncAtEnd};
use nix::sys::stat;
use rustix::fs::{Mode, OFlags};
use sys::io::{caches, clock};
use trace::{HandleId, ReplayPlan, ReplayThread, Syscall, Trace};

use crate::error::{OpContext, OpError};
use crate::io::threads::{self, ThreadWork};
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;
use call::Buffers;
use dependencies::ReplayProgress;
use lane::ReplayContext;
use paths::PathTable;

/// Replays a trace in a new directory.
pub fn perform(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    replay: &Replay,
    ends: SyncAtEnd,
) -> Result<(), OpError> {
    let mut trace = trace_of(replay)?;
    compare::apply_umasks(&mut trace);
    let top = ws.path(&replay.into);
    let _none = UmaskGuard::none();
    let made = setup::make(&trace, &top, ws.data(), ws.seed());
    let outcome = made.and_then(|modes_are_kept| {
        run(&trace, &top, (ws.data(), ws.seed()), stats, replay.speed(), ends)?;
        match stats.time_limited {
            true => Ok(()),
            false => compare::compare(&trace, &top, modes_are_kept),
        }
    });
    if matches!(outcome, Err(OpError::Unsupported { .. })) {
        // The remains are useless, and an error of the removal adds no information.
        let _ = fs::remove_dir_all(&top);
    }
    outcome
}

/// Sets no umask, because each recorded process has its own, and restores the previous one on drop.
struct UmaskGuard {
    before: stat::Mode,
}

impl UmaskGuard {
    fn none() -> Self {
        Self { before: stat::umask(stat::Mode::empty()) }
    }
}

impl Drop for UmaskGuard {
    fn drop(&mut self) {
        stat::umask(self.before);
    }
}

/// Removes the results of a replay, so that the replay can be repeated.
pub fn remove(ws: &CellWorkspace, name: &str) -> Result<(), OpError> {
    let path = ws.path(name);
    fs::remove_dir_all(&path).with_call("rmdir", &path)
}

fn trace_of(replay: &Replay) -> Result<Trace, OpError> {
    let missing = || OpError::Missing { what: format!("the trace `{}`", replay.trace) };
    let bad =
        |why: String| OpError::Source { reason: format!("the trace `{}`: {why}", replay.trace) };
    let text = replay.data.as_ref().ok_or_else(missing)?;
    let file = BASE64_STANDARD.decode(text).map_err(|e| bad(e.to_string()))?;
    let trace = Trace::decode(&file).map_err(|e| bad(e.to_string()))?;
    let known = trace.operations.len();
    let handles = trace.operations.iter().flat_map(|operation| match operation.call {
        Syscall::Open { handle, .. } => [handle, None],
        ref call => call.handles(),
    });
    match handles.flatten().any(|HandleId(number)| number as usize >= known) {
        true => Err(bad("openings are not numbered from 0".into())),
        false => Ok(trace),
    }
}

/// Performs all operations and measures their time.
fn run(
    trace: &Trace,
    top: &Path,
    (data, seed): (DataKind, u64),
    stats: &mut ThreadStats,
    speed: Option<f64>,
    ends: SyncAtEnd,
) -> Result<(), OpError> {
    let mut plan = ReplayPlan::build(trace);
    if plan.lanes.is_empty() {
        plan.lanes.push(ReplayThread::default());
    }
    let scene = scene(trace, &plan, top, speed)?;
    let lanes = u32::try_from(plan.lanes.len()).unwrap_or(u32::MAX);
    let part = ThreadWork {
        prepare: |_| Ok(Buffers::new(trace, data, seed)),
        open: |_: &mut ThreadStats| Ok(()),
        work: |lane, buffers: &mut Buffers, (): &(), begun, stats: &mut ThreadStats| {
            scene.run_thread(lane, buffers, begun, stats)
        },
        end: |(): &()| match ends {
            SyncAtEnd::Syncfs => caches::sync_filesystem(top).with_call("syncfs", top),
            _ => Ok(()),
        },
        close: |(), _: &mut ThreadStats| Ok(()),
        opening_is_timed: false,
    };
    threads::run(lanes, plan.operations(), stats, part).map(|_| ())
}

fn scene<'a>(
    trace: &'a Trace,
    plan: &'a ReplayPlan,
    top: &Path,
    speed: Option<f64>,
) -> Result<ReplayContext<'a>, OpError> {
    let directory = open_directory(top)?;
    let openings = trace.operations.iter().filter_map(|operation| match operation.call {
        Syscall::Open { handle, .. } => handle,
        _ => None,
    });
    let highest = openings.map(|handle| handle.0 as usize + 1).max();
    // This process opens the files of many recorded processes.
    raise_limit_of_files();
    Ok(ReplayContext {
        trace,
        plan,
        paths: PathTable::new(&trace.paths, top),
        top: directory,
        handles: (0..highest.unwrap_or(0)).map(|_| RwLock::new(None)).collect(),
        turns: ReplayProgress::new(plan.lanes.len()),
        speed,
        first: trace.operations.first().map_or(Nanos(0), |o| o.began),
    })
}

fn open_directory(top: &Path) -> Result<OwnedFd, OpError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(top, flags, Mode::empty()).with_call("open", top)
}

/// Raises the limit of open files to the maximum for this process.
fn raise_limit_of_files() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // If this fails, opening reports too many files.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Returns the time at which a recorded operation must start in the replay.
fn due(recorded: Nanos, first: Nanos, begun: Nanos, speed: f64) -> Nanos {
    let later = recorded.0.saturating_sub(first.0) as f64 / speed;
    Nanos(begun.0.saturating_add(later as u64))
}

/// Waits until a time if it is in the future.
fn wait_until(at: Nanos) {
    if clock::now() < at {
        clock::wait_until(at);
    }
}
