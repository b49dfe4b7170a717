//! Explains the difference between two contenders in one phase: parts of the elapsed time, disk
//! requests, and functions of the kernel.

use std::collections::{BTreeMap, BTreeSet};

use model::{CpuProfile, Nanos, PhaseResult, USER, is_user_time};
use serde::Serialize;

/// Prefix of the kernel functions that serve a system call
/// (arch/x86/include/asm/syscall_wrapper.h).
const CALL: &str = "__x64_sys_";
/// Suffix of the functions of the simulated disk driver.
const DRIVER: &str = "[fsarena_disk]";

/// A contender in the phase that is explained.
#[derive(Clone, Copy, Debug)]
pub struct ExplainedSide<'a> {
    /// The contender.
    pub name: &'a str,
    /// The measured result, without sampling.
    pub result: &'a PhaseResult,
    /// Processor profile of a second run of the same phase.
    pub profile: &'a CpuProfile,
    /// Writes that had to reach the medium before they completed (FUA).
    pub forced: u64,
}

/// A component of the elapsed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElapsedComponent {
    /// Programs computed.
    Programs,
    /// Kernel time, including the filesystem.
    Kernel,
    /// Time of the disk simulation, which a real disk would not need.
    Simulation,
    /// The disk received a command.
    Command,
    /// Movement of the disk arm.
    Seek,
    /// Rotation until the sector reached the head.
    Rotation,
    /// Bytes moved.
    Transfer,
    /// Reads and programming of flash.
    Flash,
    /// Garbage collection of flash.
    #[serde(rename = "collection")]
    GarbageCollection,
    /// Waiting for a flush of the disk's cache.
    Flush,
    /// Waiting for other work of the disk.
    Queue,
}

/// Count of a kind of disk activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskCounter {
    /// Requests.
    Requests,
    /// Seeks of the disk arm.
    Seeks,
    /// Flushes of the disk's cache.
    Flushes,
    /// Writes that had to reach the medium before they completed (FUA).
    ForcedWrites,
    /// Bytes read.
    BytesRead,
    /// Bytes written.
    BytesWritten,
    /// Bytes that the filesystem marked as metadata or journal.
    MetadataBytes,
}

impl DiskCounter {
    /// Returns true if the counter counts bytes.
    pub const fn is_bytes(self) -> bool {
        matches!(self, Self::BytesRead | Self::BytesWritten | Self::MetadataBytes)
    }
}

/// Time that a function takes outside of the disk, for the first contender and for the second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionTimes {
    /// Function name; functions of a module are named `name [module]`.
    pub function: String,
    /// In itself.
    pub own: [Nanos; 2],
    /// Time in the function and in its callees.
    #[serde(rename = "with_callees")]
    pub total: [Nanos; 2],
}

/// Explanation of the difference between two contenders in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// `test/phase`.
    pub result: String,
    /// The two contenders.
    pub contenders: [String; 2],
    /// Number of passes of each contender. Times and counts are per pass.
    pub passes: [u64; 2],
    /// Elapsed time of each contender.
    pub elapsed: [Nanos; 2],
    /// Time of each contender outside of the disk. The samples divide this time.
    pub processor: [Nanos; 2],
    /// Parts of the elapsed time; their sum is the elapsed time.
    pub parts: Vec<(ElapsedComponent, [Nanos; 2])>,
    /// Counts of disk activity.
    pub counts: Vec<(DiskCounter, [u64; 2])>,
    /// Time outside of the disk by origin: a system call, a task of the kernel, or programs. Sorted
    /// by difference, largest first.
    pub by_call: Vec<(String, [Nanos; 2])>,
    /// Functions sorted by the difference of their self times, largest first.
    #[serde(rename = "by_own")]
    pub by_self_time: Vec<FunctionTimes>,
    /// Functions of modules (filesystems, for example), sorted by the difference of their times
    /// including callees, largest first.
    #[serde(rename = "by_callees")]
    pub by_total_time: Vec<FunctionTimes>,
    /// Number of samples of each contender.
    pub samples: [u64; 2],
    /// Number of samples of each contender that were lost because the buffer was full.
    pub lost: [u64; 2],
    /// Time between two samples of each contender.
    pub period: [Nanos; 2],
}

/// Explains a phase; `result` is its `test/phase`.
pub fn explain(result: &str, sides: [ExplainedSide<'_>; 2]) -> Explanation {
    let processor = sides.map(|side| outside(side.result));
    let functions = functions(sides.map(|side| side.profile), processor);
    let mut by_own = functions.clone();
    by_own.retain(|function| difference(&function.own) > 0);
    by_own.sort_by_key(|function| std::cmp::Reverse(difference(&function.own)));
    let mut by_callees = functions;
    by_callees.retain(|f| is_of_a_filesystem(&f.function) && difference(&f.total) > 0);
    by_callees.sort_by_key(|function| std::cmp::Reverse(difference(&function.total)));
    Explanation {
        result: result.to_owned(),
        contenders: sides.map(|side| side.name.to_owned()),
        passes: sides.map(|side| side.result.iterations_counted() as u64),
        elapsed: sides.map(elapsed),
        processor,
        parts: in_pairs(sides.map(parts)),
        counts: in_pairs(sides.map(counts)),
        by_call: by_call(sides.map(|side| side.profile), processor),
        by_self_time: by_own,
        by_total_time: by_callees,
        samples: sides.map(|side| side.profile.user + side.profile.kernel),
        lost: sides.map(|side| side.profile.lost),
        period: sides.map(|side| side.profile.period),
    }
}

fn difference(times: &[Nanos; 2]) -> u64 {
    times[0].0.abs_diff(times[1].0)
}

/// Returns true if a function belongs to a module other than the driver of simulated disks.
fn is_of_a_filesystem(function: &str) -> bool {
    function.ends_with(']') && !function.ends_with(DRIVER) && !function.starts_with('[')
}

/// Pairs the values of both sides by kind. Omits values that are zero on both.
fn in_pairs<K: PartialEq, V: Copy + Default + PartialEq, const N: usize>(
    [first, second]: [[(K, V); N]; 2],
) -> Vec<(K, [V; 2])> {
    let pairs = first.into_iter().zip(second);
    pairs
        .map(|((kind, one), (_, other))| (kind, [one, other]))
        .filter(|(_, values)| *values != [V::default(); 2])
        .collect()
}

/// Returns the value per pass of a sum over all passes.
fn of_a_pass(result: &PhaseResult, sum: u64) -> u64 {
    (sum as f64 / result.iterations_counted()).round() as u64
}

/// Returns the elapsed time of a pass: the sum of its rounded components.
fn elapsed(side: ExplainedSide<'_>) -> Nanos {
    Nanos(parts(side).iter().map(|(_, time)| time.0).sum())
}

/// Returns the time of a pass in which no request was in the disk. If the disk is not simulated,
/// this is the whole time.
fn outside(result: &PhaseResult) -> Nanos {
    let all = result.disk.map_or(result.elapsed, |work| work.outside);
    Nanos(of_a_pass(result, all.0))
}

/// Returns the elapsed time in parts: times reported by the disk, and time outside of the disk
/// divided by the samples.
fn parts(side: ExplainedSide<'_>) -> [(ElapsedComponent, Nanos); 11] {
    let work = side.result.disk.unwrap_or_default();
    let [programs, kernel, simulation] = processor(side.profile, outside(side.result));
    let one = |time: Nanos| Nanos(of_a_pass(side.result, time.0));
    [
        (ElapsedComponent::Programs, programs),
        (ElapsedComponent::Kernel, kernel),
        (ElapsedComponent::Simulation, simulation),
        (ElapsedComponent::Command, one(work.command)),
        (ElapsedComponent::Seek, one(work.seek)),
        (ElapsedComponent::Rotation, one(work.rotation)),
        (ElapsedComponent::Transfer, one(work.transfer)),
        (ElapsedComponent::Flash, one(work.flash)),
        (ElapsedComponent::GarbageCollection, one(work.collection)),
        (ElapsedComponent::Flush, one(work.flush)),
        (ElapsedComponent::Queue, one(work.waiting)),
    ]
}

/// Divides the time outside of the disk between programs, the kernel and the simulation of the
/// disk, in proportion to the samples. All of it counts as kernel time if there are no samples.
fn processor(profile: &CpuProfile, outside: Nanos) -> [Nanos; 3] {
    let (mut programs, mut simulation) = (0.0, 0.0);
    for (stack, time) in profile.split_time(outside) {
        if is_user_time(&stack) {
            programs += time;
        } else if is_simulation(&stack) {
            simulation += time;
        }
    }
    let programs = rounded(programs).min(outside);
    let simulation = rounded(simulation).min(Nanos(outside.0 - programs.0));
    let kernel = Nanos(outside.0 - programs.0 - simulation.0);
    [programs, kernel, simulation]
}

fn rounded(time: f64) -> Nanos {
    Nanos(time.round() as u64)
}

/// Whether a stack is inside the disk's driver or in a copy function that it calls. The driver's
/// completion callbacks do not count.
fn is_simulation(stack: &[&str]) -> bool {
    let innermost = stack.iter().rev().take(2);
    innermost.into_iter().any(|name| name.ends_with(DRIVER))
}

fn counts(side: ExplainedSide<'_>) -> [(DiskCounter, u64); 7] {
    let work = side.result.disk.unwrap_or_default();
    let device = side.result.device.unwrap_or_default();
    let metadata = work.metadata.0 + work.journal.unwrap_or_default().0;
    [
        (DiskCounter::Requests, work.requests),
        (DiskCounter::Seeks, work.seeks),
        (DiskCounter::Flushes, device.flushes),
        (DiskCounter::ForcedWrites, side.forced),
        (DiskCounter::BytesRead, device.read_bytes.0),
        (DiskCounter::BytesWritten, device.write_bytes.0),
        (DiskCounter::MetadataBytes, metadata),
    ]
    .map(|(count, sum)| (count, of_a_pass(side.result, sum)))
}

/// Returns the time outside of the disk by the outermost entry of the stack.
fn by_call(profiles: [&CpuProfile; 2], outside: [Nanos; 2]) -> Vec<(String, [Nanos; 2])> {
    let mut times: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for side in 0..2 {
        for (stack, time) in profiles[side].split_time(outside[side]) {
            times.entry(beginning(&stack)).or_default()[side] += time;
        }
    }
    let mut times: Vec<_> =
        times.into_iter().map(|(call, times)| (call.to_owned(), times.map(rounded))).collect();
    times.sort_by_key(|(_, times)| std::cmp::Reverse(difference(times)));
    times
}

/// Returns the origin of a stack: a system call, the program itself, or else the task. Tasks that
/// share a name, such as `kworker/0:1`, are grouped under that name.
fn beginning<'a>(stack: &[&'a str]) -> &'a str {
    if is_user_time(stack) {
        return USER;
    }
    let call = stack.iter().find_map(|name| name.strip_prefix(CALL));
    let task = stack.first().and_then(|task| task.split('/').next());
    call.or(task).unwrap_or_default()
}

/// Returns the time outside of the disk of every function on either side, by name.
fn functions(profiles: [&CpuProfile; 2], outside: [Nanos; 2]) -> Vec<FunctionTimes> {
    let mut times: BTreeMap<String, [[f64; 2]; 2]> = BTreeMap::new();
    for side in 0..2 {
        for (stack, time) in profiles[side].split_time(outside[side]) {
            // The first element is the task and not a function. The set counts a recursive function
            // once.
            let functions = &stack[stack.len().min(1)..];
            let innermost = functions.last();
            for function in functions.iter().collect::<BTreeSet<_>>() {
                if *function == USER {
                    continue;
                }
                let sums = times.entry((*function).to_owned()).or_default();
                sums[1][side] += time;
                if innermost == Some(function) {
                    sums[0][side] += time;
                }
            }
        }
    }
    times
        .into_iter()
        .map(|(function, [own, with_callees])| FunctionTimes {
            function,
            own: own.map(rounded),
            total: with_callees.map(rounded),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        Bytes, CacheState, Capacity, DeviceCounters, Iteration, Op, Phase, SimulatedDiskStats,
        SyncAtEnd,
    };

    fn profile(folded: &[(&str, u64)]) -> CpuProfile {
        let stacks = folded.iter().map(|(stack, samples)| {
            let names = stack.split(';').map(str::to_owned).collect();
            (names, *samples)
        });
        CpuProfile::from_stacks(Nanos(10), 0, stacks)
    }

    fn result(wall: u64, work: SimulatedDiskStats) -> PhaseResult {
        let mut result = PhaseResult::not_run(&Phase {
            name: "p".into(),
            cache: CacheState::Warm,
            sync_at_end: SyncAtEnd::Call,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            from_next_host: false,
            op: Op::Capacity(Capacity),
        });
        result.elapsed = Nanos(wall);
        result.disk = Some(work);
        result.device = Some(DeviceCounters {
            flushes: 3,
            write_bytes: Bytes(4096),
            ..DeviceCounters::default()
        });
        result
    }

    fn explained() -> Explanation {
        let work = SimulatedDiskStats {
            outside: Nanos(100),
            seek: Nanos(300),
            requests: 2,
            ..SimulatedDiskStats::default()
        };
        let (one, other) =
            (result(400, work), result(100, SimulatedDiskStats { seek: Nanos(0), ..work }));
        let first = profile(&[
            ("fsarena;[user]", 1),
            ("fsarena;__x64_sys_write;xfs_write [xfs];copy", 2),
            ("fsarena;write;xfs_write [xfs];xfs_write [xfs]", 4),
            ("kernel;do [fsarena_disk];memcpy", 3),
        ]);
        let second = profile(&[("fsarena;write;ext4_write [ext4]", 8), ("fsarena;copy", 2)]);
        let side = |name, result, profile, forced| ExplainedSide { name, result, profile, forced };
        explain("t/p", [side("xfs", &one, &first, 1), side("ext4", &other, &second, 0)])
    }

    #[test]
    fn parts_add_up_to_the_elapsed_time() {
        let explained = explained();
        let expected = vec![
            (ElapsedComponent::Programs, [Nanos(10), Nanos(0)]),
            (ElapsedComponent::Kernel, [Nanos(60), Nanos(100)]),
            (ElapsedComponent::Simulation, [Nanos(30), Nanos(0)]),
            (ElapsedComponent::Seek, [Nanos(300), Nanos(0)]),
        ];
        assert_eq!(explained.parts, expected);
        for side in 0..2 {
            let sum: u64 = explained.parts.iter().map(|(_, times)| times[side].0).sum();
            assert_eq!(Nanos(sum), explained.elapsed[side]);
        }
    }

    #[test]
    fn several_passes_are_reported_per_pass() {
        let work = SimulatedDiskStats {
            outside: Nanos(100),
            seek: Nanos(201),
            requests: 4,
            ..SimulatedDiskStats::default()
        };
        let once = result(301, work);
        let mut twice = result(301, work);
        let pass = Iteration { elapsed: Nanos(150), operations: 1, bytes: Bytes(0) };
        twice.passes = vec![pass; 2];
        let profile = CpuProfile::default();
        let side = |result| ExplainedSide { name: "xfs", result, profile: &profile, forced: 0 };
        let explained = explain("t/p", [side(&once), side(&twice)]);
        assert_eq!(explained.passes, [1, 2]);
        assert_eq!(explained.elapsed, [Nanos(301), Nanos(151)]);
        assert_eq!(explained.counts[0], (DiskCounter::Requests, [4, 2]));
    }

    #[test]
    fn disk_requests_are_counted_on_both_sides() {
        let expected = vec![
            (DiskCounter::Requests, [2, 2]),
            (DiskCounter::Flushes, [3, 3]),
            (DiskCounter::ForcedWrites, [1, 0]),
            (DiskCounter::BytesWritten, [4096, 4096]),
        ];
        assert_eq!(explained().counts, expected);
    }

    #[test]
    fn functions_are_sorted_by_their_difference_and_recursion_counts_once() {
        let explained = explained();
        let names = |list: &[FunctionTimes]| -> Vec<String> {
            list.iter().map(|f| f.function.clone()).collect()
        };
        // `copy` takes equally long on both sides, in total over all callers.
        let own = ["ext4_write [ext4]", "xfs_write [xfs]", "memcpy"];
        assert_eq!(names(&explained.by_self_time), own);
        assert_eq!(explained.by_self_time[1].total, [Nanos(60), Nanos(0)]);
        assert_eq!(names(&explained.by_total_time), own[..2]);
    }

    #[test]
    fn time_is_divided_by_system_call_and_by_task() {
        let ns = |one, other| [Nanos(one), Nanos(other)];
        let expected = [
            ("fsarena", ns(40, 100)),
            ("kernel", ns(30, 0)),
            ("write", ns(20, 0)),
            (USER, ns(10, 0)),
        ];
        let expected = expected.map(|(call, times)| (call.to_owned(), times));
        assert_eq!(explained().by_call, expected);
        assert_eq!(beginning(&["kworker/0:1H", "worker_thread"]), "kworker");
    }

    #[test]
    fn without_a_sample_and_without_a_disk_all_is_the_kernels() {
        let mut result = result(50, SimulatedDiskStats::default());
        result.disk = None;
        let profile = CpuProfile::default();
        let side = ExplainedSide { name: "tmpfs", result: &result, profile: &profile, forced: 0 };
        assert_eq!(explain("t/p", [side; 2]).parts, [(ElapsedComponent::Kernel, [Nanos(50); 2])]);
    }
}
