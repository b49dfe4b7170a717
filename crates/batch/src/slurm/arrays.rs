//! Distribution of entries over the tasks of Slurm job arrays. Pure.

use std::collections::BTreeSet;

/// Maximum number of cells per task, which limits the loss when a node fails.
const MAX_OF_A_TASK: u32 = 64;
/// Number of tasks for each processor, so that all processors finish at about the same time.
const TASKS_PER_CPU: u32 = 8;

/// Limits of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterLimits {
    /// `MaxArraySize` of slurm.conf(5): task numbers of an array are smaller than this.
    pub array: u32,
    /// Maximum number of queued tasks of fsarena: half of `MaxJobCount`, to leave room for jobs of
    /// other users.
    pub queued: u32,
}

/// A job array. Task `t` runs `entries_per_task` entries, starting at `first + t *
/// entries_per_task`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// First entry of task 0.
    pub first: u32,
    /// Number of entries per task.
    pub entries_per_task: u32,
    /// Numbers of the tasks.
    pub tasks: Vec<u32>,
}

/// A task, given by its first entry and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArrayTask {
    /// First entry of the task.
    pub first: u32,
    /// Maximum number of entries of the task.
    pub entries: u32,
}

/// Returns the number of cells per task for a total number of cells and processors.
pub fn cells_per_task(cells: u32, processors: u32) -> u32 {
    let tasks = processors.max(1).saturating_mul(TASKS_PER_CPU);
    cells.div_ceil(tasks).clamp(1, MAX_OF_A_TASK)
}

/// Returns the tasks of size `each` that contain these entries, counting from entry `from`.
pub fn tasks(entries: impl IntoIterator<Item = u32>, from: u32, each: u32) -> BTreeSet<ArrayTask> {
    let task = |entry: u32| ArrayTask { first: from + (entry - from) / each * each, entries: each };
    entries.into_iter().map(task).collect()
}

/// Groups tasks into arrays, counting from entry `from`, up to the limit of the cluster with
/// `queued` tasks already queued.
pub fn arrays(
    tasks: &BTreeSet<ArrayTask>,
    from: u32,
    limits: ClusterLimits,
    queued: u32,
) -> Vec<Array> {
    let room = limits.queued.saturating_sub(queued);
    let mut arrays: Vec<Array> = Vec::new();
    for task in tasks.iter().take(room as usize) {
        let number = (task.first - from) / task.entries;
        let size = limits.array.max(1);
        let first = from + number / size * size * task.entries;
        let within = number % size;
        match arrays.last_mut() {
            Some(last) if (last.first, last.entries_per_task) == (first, task.entries) => {
                last.tasks.push(within);
            }
            _ => arrays.push(Array { first, entries_per_task: task.entries, tasks: vec![within] }),
        }
    }
    arrays
}

impl Array {
    /// Its tasks.
    pub fn tasks(&self) -> impl Iterator<Item = ArrayTask> {
        self.tasks.iter().map(|number| ArrayTask {
            first: self.first + number * self.entries_per_task,
            entries: self.entries_per_task,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The limits of Debian, except for the array size, which is Slurm's default.
    const TYPICAL_LIMITS: ClusterLimits = ClusterLimits { array: 1001, queued: 5000 };

    #[test]
    fn a_hundred_thousand_cells_are_submitted_within_the_limits_and_each_once() {
        for (processors, each) in [(2, 64), (100, 64), (2000, 7), (200_000, 1)] {
            assert_eq!(cells_per_task(100_000, processors), each);
            let mut left = tasks(0..100_000, 0, each);
            let mut run = Vec::new();
            let mut submissions = 0;
            while !left.is_empty() {
                // Simulate jobs of other users, which leave the queue before the next submission.
                let queued = if submissions % 2 == 0 { 0 } else { 3000 };
                let arrays = arrays(&left, 0, TYPICAL_LIMITS, queued);
                let count: usize = arrays.iter().map(|array| array.tasks.len()).sum();
                assert!(count as u32 + queued <= TYPICAL_LIMITS.queued);
                for array in &arrays {
                    assert!(array.tasks.iter().all(|task| *task < TYPICAL_LIMITS.array));
                    for task in array.tasks() {
                        assert!(left.remove(&task));
                        run.extend(task.first..(task.first + task.entries).min(100_000));
                    }
                }
                submissions += 1;
            }
            assert!(run.into_iter().eq(0..100_000));
        }
    }

    #[test]
    fn a_small_campaign_has_a_cell_in_each_task() {
        assert_eq!(cells_per_task(8, 2), 1);
        assert_eq!(cells_per_task(0, 0), 1);
        let whole = arrays(&tasks(0..8, 0, 1), 0, TYPICAL_LIMITS, 0);
        assert_eq!(whole.len(), 1);
        assert_eq!(whole[0].tasks, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn missing_entries_get_separate_arrays() {
        let limits = ClusterLimits { array: 10, queued: 100 };
        let some = arrays(&tasks([3, 4, 57, 120], 0, 4), 0, limits, 0);
        let parts: Vec<_> = some.iter().map(|a| (a.first, &a.tasks[..])).collect();
        assert_eq!(parts, [(0, &[0, 1][..]), (40, &[4][..]), (120, &[0][..])]);
        assert!(arrays(&tasks([3], 0, 1), 0, limits, 100).is_empty());
        let checks = arrays(&tasks([1000, 1013], 1000, 1), 1000, limits, 0);
        let parts: Vec<_> = checks.iter().map(|a| (a.first, &a.tasks[..])).collect();
        assert_eq!(parts, [(1000, &[0][..]), (1010, &[3][..])]);
    }

    proptest! {
        #[test]
        fn every_entry_is_in_one_task(entries in proptest::collection::btree_set(0..5000u32, 0..200), each in 1..70u32, size in 1..50u32) {
            let limits = ClusterLimits { array: size, queued: u32::MAX };
            let arrays = arrays(&tasks(entries.iter().copied(), 0, each), 0, limits, 0);
            let run: Vec<ArrayTask> = arrays.iter().flat_map(Array::tasks).collect();
            for entry in entries {
                let runs = run.iter().filter(|t| (t.first..t.first + t.entries).contains(&entry));
                prop_assert_eq!(runs.count(), 1);
            }
            prop_assert!(arrays.iter().flat_map(|a| &a.tasks).all(|task| *task < size));
        }
    }
}
