//! Tests that a plan preserves the relevant order and adds no unnecessary waits.

use std::collections::BTreeMap;

use model::{Nanos, SeededRng};
use proptest::prelude::*;

use super::*;
use crate::paths::PathInterner;
use crate::trace::Errno;

fn operation(thread: u32, at: u64, call: Syscall) -> TraceRecord {
    TraceRecord {
        process: thread,
        thread,
        began: Nanos(at * 10),
        duration: Nanos(5),
        call,
        outcome: SyscallResult::Ok(0),
    }
}

/// Plans calls of several threads, which ran one after the other.
fn planned(calls: impl FnOnce(&mut PathInterner) -> Vec<(u32, Syscall)>) -> ReplayPlan {
    let mut trace = Trace::default();
    let calls = calls(&mut trace.paths);
    let numbered = calls.into_iter().zip(0..);
    trace.operations = numbered.map(|((thread, call), at)| operation(thread, at, call)).collect();
    ReplayPlan::build(&trace)
}

fn waits(plan: &ReplayPlan) -> Vec<Vec<Vec<(u32, u32)>>> {
    let of_lane = |lane: &ReplayThread| {
        let steps = 0..lane.steps.len();
        let waits = |step| lane.waits(step).iter().map(|w| (w.lane, w.steps)).collect();
        steps.map(waits).collect()
    };
    plan.lanes.iter().map(of_lane).collect()
}

fn mkdir(paths: &mut PathInterner, path: &str) -> Syscall {
    Syscall::MakeDirectory { path: paths.intern(path.as_bytes()), mode: 0o755 }
}

fn stat(paths: &mut PathInterner, path: &str) -> Syscall {
    Syscall::Stat { path: paths.intern(path.as_bytes()), follow: true }
}

#[test]
fn name_waits_only_for_its_parent_directory() {
    let plan = planned(|paths| {
        vec![
            (0, mkdir(paths, "a")),
            (1, mkdir(paths, "b")),
            (0, stat(paths, "a")),
            (1, mkdir(paths, "a/c")),
            (1, mkdir(paths, "a/d")),
            (0, stat(paths, "a/d")),
        ]
    });
    // `a/d` does not wait for `a` itself, because `a/c` has waited one step earlier.
    assert_eq!(
        waits(&plan),
        [vec![vec![], vec![], vec![(1, 3)]], vec![vec![], vec![(0, 1)], vec![]]]
    );
}

#[test]
fn program_order_is_kept_without_extra_steps() {
    let plan = planned(|paths| {
        vec![
            (0, mkdir(paths, "a")),
            (0, Syscall::Order(SyncEvent::Spawn { thread: 1 })),
            (1, mkdir(paths, "b")),
            (1, Syscall::Order(SyncEvent::Send { message: 0 })),
            (0, mkdir(paths, "c")),
            (1, mkdir(paths, "d")),
            (0, Syscall::Order(SyncEvent::Receive { message: 0 })),
            (0, mkdir(paths, "e")),
            (0, Syscall::Order(SyncEvent::Join { thread: 1 })),
            (0, mkdir(paths, "f")),
        ]
    });
    assert_eq!(
        waits(&plan),
        [vec![vec![], vec![], vec![(1, 1)], vec![(1, 2)]], vec![vec![(0, 1)], vec![]]]
    );
    assert_eq!(plan.operations(), 6);
}

#[test]
fn known_waits_are_passed_on_by_starts_and_messages() {
    let order = Syscall::Order;
    for to_third in [
        vec![(0, order(SyncEvent::Spawn { thread: 2 }))],
        vec![
            (0, order(SyncEvent::Send { message: 0 })),
            (2, order(SyncEvent::Receive { message: 0 })),
        ],
    ] {
        let plan = planned(|paths| {
            let mut calls = vec![
                (0, mkdir(paths, "a")),
                (1, mkdir(paths, "b")),
                (0, order(SyncEvent::Join { thread: 1 })),
            ];
            calls.extend(to_third);
            calls.extend([(2, mkdir(paths, "c")), (1, stat(paths, "x")), (0, stat(paths, "a"))]);
            calls
        });
        // The first thread has no step in between, so the third waits for the second itself.
        assert_eq!(waits(&plan)[2], [[(1, 1), (0, 1)]]);
        assert_eq!(waits(&plan)[0], [vec![], vec![(1, 1)]]);
    }
}

#[test]
fn processes_one_after_the_other_share_a_lane() {
    let plan = planned(|paths| {
        let stat = |paths: &mut PathInterner| stat(paths, "a");
        [0, 1, 1, 0, 2, 2, 3, 0].map(|thread| (thread, stat(paths))).to_vec()
    });
    let steps: Vec<usize> = plan.lanes.iter().map(|lane| lane.steps.len()).collect();
    assert_eq!(steps, [3, 5]);
}

/// Returns the waits after one thread opens a file and other threads write and read it.
fn accesses(accesses: [(u32, bool, u64, u64); 4], took: u64) -> Vec<Vec<Vec<(u32, u32)>>> {
    let mut trace = Trace::default();
    let path = trace.paths.intern(b"f");
    let handle = HandleId(0);
    let flags = OpenFlags(OpenFlags::CREATE | 2);
    let open = Syscall::Open { path, flags, mode: 0o644, handle: Some(handle) };
    trace.operations.push(operation(0, 0, open));
    for ((thread, writes, offset, length), at) in accesses.into_iter().zip(1..) {
        let call = match writes {
            true => Syscall::Write { handle, offset, length },
            false => Syscall::Read { handle, offset, length },
        };
        let mut access = operation(thread, at, call);
        access.duration = Nanos(took);
        trace.operations.push(access);
    }
    waits(&ReplayPlan::build(&trace))
}

#[test]
fn only_accesses_to_the_same_bytes_wait() {
    let apart = [(0, true, 0, 10), (1, true, 10, 10), (1, false, 20, 5), (0, false, 0, 10)];
    assert_eq!(accesses(apart, 5), [vec![vec![], vec![], vec![]], vec![vec![(0, 1)], vec![]]]);
    let same = [(0, true, 0, 10), (1, true, 9, 10), (1, false, 0, 5), (0, false, 15, 1)];
    assert_eq!(accesses(same, 5), [vec![vec![], vec![], vec![(1, 1)]], vec![vec![(0, 2)], vec![]]]);
    // Concurrent accesses have no order.
    assert_eq!(accesses(same, 1000), [vec![vec![], vec![], vec![]], vec![vec![(0, 1)], vec![]]]);
}

/// A filesystem of names in memory: whether each path is a directory.
type Names = BTreeMap<Vec<u8>, bool>;

fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|letter| *letter == b'/').map_or(b"", |at| &path[..at])
}

fn below(names: &Names, path: &[u8]) -> Vec<Vec<u8>> {
    let prefix = [path, b"/"].concat();
    names.keys().filter(|name| name.starts_with(&prefix)).cloned().collect()
}

/// Applies a call to a simple model of a filesystem. Errors are represented by an arbitrary number.
fn act(names: &mut Names, paths: &PathInterner, call: &Syscall) -> SyscallResult {
    let full = |path| paths.full(path);
    let is_directory =
        |names: &Names, path: &[u8]| path.is_empty() || names.get(path) == Some(&true);
    let outcome = match *call {
        Syscall::MakeDirectory { path, .. } | Syscall::Open { path, .. } => {
            let (path, makes_directory) =
                (full(path), matches!(call, Syscall::MakeDirectory { .. }));
            let fits = match names.get(&path) {
                Some(directory) => !makes_directory && !directory,
                None => is_directory(names, parent(&path)),
            };
            fits.then(|| names.insert(path, makes_directory)).is_some()
        }
        Syscall::Unlink { path } => {
            let path = full(path);
            let is_file = names.get(&path) == Some(&false);
            is_file.then(|| names.remove(&path)).is_some()
        }
        Syscall::RemoveDirectory { path } => {
            let path = full(path);
            let fits = names.get(&path) == Some(&true) && below(names, &path).is_empty();
            fits.then(|| names.remove(&path)).is_some()
        }
        Syscall::Rename { from, to, .. } => {
            let (from, to) = (full(from), full(to));
            let fits = names.contains_key(&from)
                && !names.contains_key(&to)
                && is_directory(names, parent(&to))
                && !to.starts_with(&[&from[..], b"/"].concat());
            if fits {
                let all = below(names, &from).into_iter().chain([from.clone()]);
                for old in all.collect::<Vec<_>>() {
                    let kind = names.remove(&old).unwrap();
                    names.insert([&to[..], &old[from.len()..]].concat(), kind);
                }
            }
            fits
        }
        Syscall::Stat { path, .. } => names.contains_key(&full(path)),
        _ => unreachable!("only calls on names"),
    };
    match outcome {
        true => SyscallResult::Ok(0),
        false => SyscallResult::Err(Errno(2)),
    }
}

/// Creates a random trace of threads that take turns and use few names. Also returns the names at
/// its end.
fn drawn(threads: u32, operations: u64, seed: u64) -> (Trace, Names) {
    let mut rng = SeededRng::substream(seed, "trace");
    let (mut trace, mut names) = (Trace::default(), Names::new());
    for at in 0..operations {
        let mut path = || {
            let depth = rng.below(3) + 1;
            let name: Vec<String> = (0..depth).map(|_| rng.below(3).to_string()).collect();
            name.join("/")
        };
        let (one, another) = (path(), path());
        let (one, another) = [one, another].map(|path| trace.paths.intern(path.as_bytes())).into();
        let call = match rng.below(6) {
            0 => Syscall::Open {
                path: one,
                flags: OpenFlags(OpenFlags::CREATE | 1),
                mode: 0o644,
                handle: None,
            },
            1 => Syscall::Unlink { path: one },
            2 => Syscall::RemoveDirectory { path: one },
            3 => Syscall::Rename { from: one, to: another, flags: 0 },
            4 => Syscall::Stat { path: one, follow: true },
            _ => Syscall::MakeDirectory { path: one, mode: 0o755 },
        };
        let thread = u32::try_from(rng.below(threads.into())).unwrap();
        let outcome = act(&mut names, &trace.paths, &call);
        let operation = operation(thread, at, call);
        trace.operations.push(TraceRecord { outcome, ..operation });
    }
    (trace, names)
}

proptest! {
    /// Lanes run at random speeds; every call has the same outcome as in the trace.
    #[test]
    fn any_pace_of_threads_gives_the_same(
        threads in 1_u32..5, operations in 1_u64..120, seed: u64, pace: u64,
    ) {
        let (trace, names) = drawn(threads, operations, seed);
        let plan = ReplayPlan::build(&trace);
        prop_assert_eq!(plan.operations(), operations);
        let mut chance = SeededRng::substream(pace, "pace");
        let (mut now, mut done) = (Names::new(), vec![0_u32; plan.lanes.len()]);
        while done.iter().zip(&plan.lanes).any(|(done, lane)| (*done as usize) < lane.steps.len()) {
            let ready = (0..plan.lanes.len()).filter(|lane| {
                let (step, lane) = (done[*lane] as usize, &plan.lanes[*lane]);
                let come = |wait: &Dependency| done[wait.lane as usize] >= wait.steps;
                step < lane.steps.len() && lane.waits(step).iter().all(come)
            });
            let ready: Vec<usize> = ready.collect();
            prop_assert!(!ready.is_empty(), "deadlock: no lane is ready");
            let lane = ready[usize::try_from(chance.below(ready.len() as u64)).unwrap()];
            let step = plan.lanes[lane].steps[done[lane] as usize];
            let operation = &trace.operations[step.operation as usize];
            let outcome = act(&mut now, &trace.paths, &operation.call);
            prop_assert_eq!(outcome, operation.outcome, "{:?}", operation);
            done[lane] += 1;
        }
        prop_assert_eq!(now, names);
    }
}
