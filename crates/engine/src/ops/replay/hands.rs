//! One lane of a replay: waits for what its steps depend on, performs them and judges what came of them.

use std::os::fd::OwnedFd;
use std::sync::RwLock;

use model::Nanos;
use sys::clock;
use trace::{Call, Plan, Trace};

use super::call::Buffers;
use super::paths::PathTable;
use super::turns::Turns;
use super::{due, verdict, wait_until};
use crate::error::OpError;
use crate::tally::Tally;

/// All that lanes share.
#[derive(Debug)]
pub struct Scene<'a> {
    /// What is replayed.
    pub trace: &'a Trace,
    /// In which order.
    pub plan: &'a Plan,
    /// Its paths.
    pub paths: PathTable,
    /// The directory.
    pub top: OwnedFd,
    /// What is open. The plan lets nobody close what another uses.
    pub handles: Vec<RwLock<Option<OwnedFd>>>,
    /// How far the lanes have come.
    pub turns: Turns,
    /// How much faster than recorded; as fast as possible where nothing is said.
    pub speed: Option<f64>,
    /// When the first operation was recorded.
    pub first: Nanos,
}

impl Scene<'_> {
    /// Plays one lane to its end, or until another one has failed.
    pub fn play(
        &self,
        lane: u32,
        buffers: &mut Buffers,
        begun: Nanos,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        let outcome = self.steps(lane as usize, buffers, begun, tally);
        if outcome.is_err() || tally.cut_short {
            self.turns.stop();
        }
        outcome
    }

    fn steps(
        &self,
        number: usize,
        buffers: &mut Buffers,
        begun: Nanos,
        tally: &mut Tally,
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
                tally.resume(clock::now());
            }
            if tally.ends_before(tally.last()) {
                return Ok(());
            }
            let outcome = self.perform(&operation.call, buffers);
            verdict::judge(&self.paths, step.operation, operation, outcome)?;
            match operation.call {
                Call::Read { .. } | Call::MappedRead { .. } => tally.lap_read(count(outcome)),
                Call::Write { .. } | Call::MappedWrite { .. } | Call::CopyRange { .. } => {
                    tally.lap_written(count(outcome));
                }
                _ => tally.lap(),
            }
            self.turns
                .done(number, u32::try_from(place + 1).unwrap_or(u32::MAX));
        }
        Ok(())
    }
}

fn count(outcome: rustix::io::Result<u64>) -> usize {
    usize::try_from(outcome.unwrap_or(0)).unwrap_or(usize::MAX)
}
