//! One lane of a replay: waits for the dependencies of its steps, performs them and judges their
//! results.

use std::os::fd::OwnedFd;
use std::sync::RwLock;

use model::Nanos;
use sys::io::clock;
use trace::{ReplayPlan, Syscall, Trace};

use super::call::Buffers;
use super::dependencies::ReplayProgress;
use super::paths::PathTable;
use super::{due, verdict, wait_until};
use crate::error::OpError;
use crate::measure::thread_stats::ThreadStats;

/// State shared by all lanes.
#[derive(Debug)]
pub struct ReplayContext<'a> {
    /// The trace to replay.
    pub trace: &'a Trace,
    /// Order of the operations.
    pub plan: &'a ReplayPlan,
    /// Its paths.
    pub paths: PathTable,
    /// The directory.
    pub top: OwnedFd,
    /// Open files. The plan prevents a lane from closing a file that another lane uses.
    pub handles: Vec<RwLock<Option<OwnedFd>>>,
    /// Progress of the lanes.
    pub turns: ReplayProgress,
    /// Speed relative to the recording; as fast as possible if `None`.
    pub speed: Option<f64>,
    /// Recorded start of the first operation.
    pub first: Nanos,
}

impl ReplayContext<'_> {
    /// Replays one lane to its end, or until another lane fails.
    pub fn run_thread(
        &self,
        lane: u32,
        buffers: &mut Buffers,
        begun: Nanos,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let outcome = self.steps(lane as usize, buffers, begun, stats);
        if outcome.is_err() || stats.time_limited {
            self.turns.stop();
        }
        outcome
    }

    fn steps(
        &self,
        number: usize,
        buffers: &mut Buffers,
        begun: Nanos,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let lane = &self.plan.lanes[number];
        for (place, step) in lane.steps.iter().enumerate() {
            let operation = &self.trace.operations[step.operation as usize];
            let waits = lane.waits(place);
            if !waits.iter().all(|wait| self.turns.wait(*wait)) || self.turns.is_stopped() {
                return Ok(());
            }
            if let Some(speed) = self.speed {
                wait_until(due(operation.began, self.first, begun, speed));
            }
            if !waits.is_empty() || self.speed.is_some() {
                stats.set_op_start(clock::now());
            }
            if stats.is_time_up_at(stats.last()) {
                return Ok(());
            }
            let outcome = self.perform(&operation.call, buffers);
            verdict::check_result(&self.paths, step.operation, operation, outcome)?;
            match operation.call {
                Syscall::Read { .. } | Syscall::MappedRead { .. } => {
                    stats.finish_read(count(outcome));
                }
                Syscall::Write { .. } | Syscall::MappedWrite { .. } | Syscall::CopyRange { .. } => {
                    stats.finish_write(count(outcome));
                }
                _ => stats.finish_op(),
            }
            self.turns.done(number, u32::try_from(place + 1).unwrap_or(u32::MAX));
        }
        Ok(())
    }
}

fn count(outcome: rustix::io::Result<u64>) -> usize {
    usize::try_from(outcome.unwrap_or(0)).unwrap_or(usize::MAX)
}
