//! Assigns threads of a trace to threads of the replay. Threads that did not overlap can share one.

use std::collections::BTreeMap;

use crate::trace::TraceRecord;

/// Returns the lane of each thread and the number of lanes, which is the maximum number of
/// concurrent threads.
pub fn of(operations: &[TraceRecord]) -> (BTreeMap<u32, usize>, usize) {
    // First and last operation of each thread.
    let mut lives: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (number, operation) in operations.iter().enumerate() {
        lives.entry(operation.thread).or_insert((number, number)).1 = number;
    }
    let mut by_birth: Vec<(usize, usize, u32)> =
        lives.iter().map(|(thread, (first, last))| (*first, *last, *thread)).collect();
    by_birth.sort_unstable();
    let mut ends: Vec<usize> = Vec::new();
    let mut lanes = BTreeMap::new();
    for (first, last, thread) in by_birth {
        let free = ends.iter().position(|end| *end < first);
        let lane = free.unwrap_or(ends.len());
        match free {
            Some(lane) => ends[lane] = last,
            None => ends.push(last),
        }
        lanes.insert(thread, lane);
    }
    (lanes, ends.len())
}
