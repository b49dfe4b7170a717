//! Roles that run concurrently: each thread repeats the cycle of its role, and each role is also
//! counted separately.
//!
//! The work of a thread depends only on the seed, its role and its number: it has a separate random
//! number stream, and exclusive files if the mix creates or removes files. The progress of a role
//! that ends together with another one depends on the filesystem and is part of the measurement.

mod targets;
mod worker;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::op::Role;
use model::{Mix, Nanos, PhaseResult, RoleResult, SyncAtEnd};
use sys::io::{caches, clock};

use crate::error::{OpContext, OpError};
use crate::files::visit_order::split_evenly;
use crate::io::threads;
use crate::measure::thread_stats::{ThreadStats, ThreadTotals};
use crate::request::arrivals::ArrivalProcess;
use crate::workspace::CellWorkspace;
use targets::{MixTargets, OpenTargets};
use worker::{MixWorker, ThreadOutcome};

/// Maximum sleep of a thread between checks for the end of the mix.
const END_POLL_INTERVAL: Nanos = Nanos(10_000_000);

/// Results of a role in a mix.
#[derive(Clone, Debug, Default)]
pub struct RoleTotals {
    done: ThreadTotals,
    /// Time from the start of the mix to the end of the role's last thread.
    wall: Nanos,
}

/// Role and number of a thread.
#[derive(Clone, Copy, Debug)]
struct RoleThread<'a> {
    role: &'a Role,
    /// The number of the role in the mix.
    role_number: usize,
    /// Number of the thread in its role.
    number: u32,
    cycles: u64,
}

/// Performs a mix, including the sync at its end.
pub fn perform(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    mix: &Mix,
    ends: SyncAtEnd,
) -> Result<(), OpError> {
    ws.roles.clear();
    let seats = seats(mix);
    let things = MixTargets::find(ws, mix, &seats)?;
    let running = Running {
        mix,
        seats: &seats,
        things: &things,
        over: AtomicBool::new(false),
        awaited: AtomicU32::new(seats.iter().filter(|s| is_awaited(mix, s.role)).count() as u32),
        roles: mix.roles.iter().map(|_| Mutex::default()).collect(),
        left: seats.iter().map(|_| Mutex::default()).collect(),
    };
    running.run(ws, stats, ends)?;
    let Running { roles, left, .. } = running;
    let names = mix.roles.iter().map(|role| role.name.clone());
    ws.roles = names.zip(roles.into_iter().map(inner)).collect();
    let left = left.into_iter().map(inner).collect();
    things.record_results(ws, &seats, left)
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn inner<T>(of: Mutex<T>) -> T {
    of.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Stores the results of a role in the last mix.
///
/// # Errors
/// Returns an error if the last mix has no such role or did not complete.
pub fn role_result(
    ws: &CellWorkspace,
    role: &RoleResult,
    result: &mut PhaseResult,
) -> Result<(), OpError> {
    let Some(done) = ws.roles.get(&role.role) else {
        return Err(OpError::Unsupported {
            reason: format!("phase `{}` did not complete", role.mix_phase),
        });
    };
    done.done.write(result);
    result.elapsed = done.wall;
    result.offered_rate = role.mix.role(&role.role).and_then(|role| role.rate);
    result.role_of = Some(role.mix_phase.clone());
    Ok(())
}

fn seats(mix: &Mix) -> Vec<RoleThread<'_>> {
    let mut seats = Vec::new();
    for (role_number, role) in mix.roles.iter().enumerate() {
        let cycles = split_evenly(role.cycles, role.threads);
        seats.extend((0..role.threads).zip(cycles).map(|(number, cycles)| RoleThread {
            role,
            role_number,
            number,
            cycles: match mix.runs_until_others_end(role) {
                true => u64::MAX,
                false => cycles.end - cycles.start,
            },
        }));
    }
    seats
}

/// Returns true if the mix ends with this role.
fn is_awaited(mix: &Mix, role: &Role) -> bool {
    mix.until.as_ref() == Some(&role.name)
}

/// A running mix.
struct Running<'a> {
    mix: &'a Mix,
    seats: &'a [RoleThread<'a>],
    things: &'a MixTargets,
    /// Whether unlimited roles must end, or a thread has failed.
    over: AtomicBool,
    /// Running threads of the role that ends the mix.
    awaited: AtomicU32,
    /// Results of each role.
    roles: Vec<Mutex<RoleTotals>>,
    /// Final state of each thread.
    left: Vec<Mutex<ThreadOutcome>>,
}

impl Running<'_> {
    fn run(
        &self,
        ws: &mut CellWorkspace,
        stats: &mut ThreadStats,
        ends: SyncAtEnd,
    ) -> Result<(), OpError> {
        let (root, seed) = (ws.root().to_owned(), ws.seed());
        let pattern = ws.pattern(self.things.longest());
        if let [alone] = &self.mix.roles[..] {
            stats.offered_rate = alone.rate;
        }
        // The number of cycles of unlimited roles is unknown.
        let cycles = self.mix.roles.iter().map(|role| role.cycles);
        let operations = match self.mix.until {
            Some(_) => 0,
            None => cycles.fold(0, u64::saturating_add),
        };
        let part = threads::ThreadWork {
            prepare: |thread: u32| {
                let (thread, pattern) = (thread as usize, pattern.clone());
                MixWorker::new(self.seats, thread, self.things, pattern, seed, self.mix.verify)
            },
            open: |_: &mut ThreadStats| self.things.open(),
            work: |thread,
                   worker: &mut MixWorker<'_>,
                   opened: &OpenTargets,
                   begun,
                   stats: &mut ThreadStats| {
                self.work(thread, worker, opened, begun, stats)
            },
            end: |_: &OpenTargets| match ends {
                SyncAtEnd::Syncfs => caches::sync_filesystem(&root).with_call("syncfs", &root),
                SyncAtEnd::Call | SyncAtEnd::Fsync | SyncAtEnd::Unknown => Ok(()),
            },
            close: |opened: OpenTargets, _: &mut ThreadStats| opened.close(),
            opening_is_timed: false,
        };
        threads::run(self.seats.len() as u32, operations, stats, part).map(drop)
    }

    fn work(
        &self,
        thread: u32,
        worker: &mut MixWorker<'_>,
        opened: &OpenTargets,
        begun: Nanos,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let seat = &self.seats[thread as usize];
        let outcome = self.cycles(seat, worker, opened, begun, stats);
        let is_last =
            is_awaited(self.mix, seat.role) && self.awaited.fetch_sub(1, Ordering::Relaxed) == 1;
        if is_last || outcome.is_err() {
            self.over.store(true, Ordering::Relaxed);
        }
        let mut role = locked(&self.roles[seat.role_number]);
        role.done.add(stats);
        role.wall = role.wall.max(Nanos(stats.last().0.saturating_sub(begun.0)));
        *locked(&self.left[thread as usize]) = worker.take_outcome();
        outcome
    }

    fn cycles(
        &self,
        seat: &RoleThread<'_>,
        worker: &mut MixWorker<'_>,
        opened: &OpenTargets,
        begun: Nanos,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let role = seat.role;
        let arrivals = role.rate;
        let mut arrivals =
            arrivals.map(|rate| ArrivalProcess::new(rate, seat.number, role.threads, begun));
        for cycle in 0..seat.cycles {
            let mut began = stats.last();
            if let Some(arrivals) = &mut arrivals {
                began = arrivals.next_arrival();
                if stats.is_time_up_at(began) || !self.wait(began, stats.last()) {
                    break;
                }
            }
            // Every role runs at least one cycle, even if another one ends early.
            if cycle > 0 && (self.over.load(Ordering::Relaxed) || stats.is_time_up()) {
                break;
            }
            let pauses = worker.cycle(opened, stats, &mut |at| {
                self.wait(at, clock::now());
            })?;
            // Pauses do not count as time of the filesystem.
            stats.record(Nanos(began.0 + pauses.0), clock::now());
        }
        Ok(())
    }

    /// Waits until a time. Returns false if the mix ends first.
    fn wait(&self, at: Nanos, mut now: Nanos) -> bool {
        while now < at {
            if self.over.load(Ordering::Relaxed) {
                return false;
            }
            now = clock::wait_until(at.min(Nanos(now.0 + END_POLL_INTERVAL.0)));
        }
        true
    }
}
