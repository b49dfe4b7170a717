//! Replay of a request log on a simulated disk.

use model::Nanos;

use crate::{CompletedRequest, DiskError, DiskRequest, SimulatedDisk};

/// Rule for the arrival times of replayed requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LoadModel {
    /// At its time in the log, however long the disk takes.
    Open,
    /// After the last request that completed before it, with the same delay as in the log. A
    /// process that waited for that request also waits during the replay.
    #[default]
    Closed,
}

/// Replays a request log on a disk. The log is sorted by arrival and contains the completion time
/// of each request on the original disk. Returns the served requests in the same order, with their
/// index as `tag`.
///
/// # Errors
/// Returns an error if the disk cannot serve a request.
pub fn replay(
    disk: &mut SimulatedDisk,
    journal: &[(DiskRequest, Nanos)],
    kind: LoadModel,
) -> Result<Vec<CompletedRequest>, DiskError> {
    let after = match kind {
        LoadModel::Open => vec![None; journal.len()],
        LoadModel::Closed => predecessors(journal),
    };
    let mut served = Vec::with_capacity(journal.len());
    served.resize(journal.len(), None);
    let mut bench = ReplayBench { disk, served, held: 0 };
    let mut now = Nanos(0);
    for (number, (request, _)) in journal.iter().enumerate() {
        let arrives = match after[number] {
            None => request.arrived,
            Some((before, think)) => Nanos(bench.when_done(before).0 + think.0),
        };
        now = now.max(arrives);
        while bench.held == SimulatedDisk::REQUESTS {
            now = now.max(bench.disk.next_internal_event().unwrap_or(now));
            bench.step();
        }
        // Events at this moment precede the arrival of the request.
        while bench.disk.next_internal_event().is_some_and(|next| next <= now) {
            bench.step();
        }
        bench.disk.submit(&DiskRequest { arrived: now, tag: number as u64, ..*request })?;
        bench.held += 1;
    }
    while bench.disk.next_internal_event().is_some() {
        bench.step();
    }
    Ok(bench.served.into_iter().flatten().collect())
}

struct ReplayBench<'a> {
    disk: &'a mut SimulatedDisk,
    served: Vec<Option<CompletedRequest>>,
    held: usize,
}

impl ReplayBench<'_> {
    fn step(&mut self) {
        if let Some(served) = self.disk.step() {
            self.held -= 1;
            self.served[served.request.tag as usize] = Some(served);
        }
    }

    /// Processes events until an earlier request completes and returns its completion time.
    fn when_done(&mut self, number: usize) -> Nanos {
        loop {
            if let Some(served) = &self.served[number] {
                return served.completed;
            }
            self.step();
        }
    }
}

/// Returns for each request the last one that completed before its arrival, and the time between
/// the two.
fn predecessors(journal: &[(DiskRequest, Nanos)]) -> Vec<Option<(usize, Nanos)>> {
    let mut ends: Vec<(Nanos, usize)> = Vec::with_capacity(journal.len());
    ends.extend(journal.iter().enumerate().map(|(i, (_, done))| (*done, i)));
    ends.sort_unstable();
    let mut passed = 0;
    let before = |(number, (request, _)): (usize, &(DiskRequest, Nanos))| {
        while passed < ends.len() && ends[passed].0 <= request.arrived {
            passed += 1;
        }
        let earlier = ends[..passed].iter().rev().find(|(_, i)| *i < number)?;
        Some((earlier.1, Nanos(request.arrived.0 - earlier.0.0)))
    };
    journal.iter().enumerate().map(before).collect()
}
