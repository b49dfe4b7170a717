//! Stored cells as a table to look things up in: contender × test × round.

use std::collections::BTreeMap;

use model::{CampaignResults, CellResult, Measurement, PhaseResult, Status};

use crate::RoundOutcome;

/// What is known of a campaign's cells.
pub(crate) struct Facts<'a> {
    cells: BTreeMap<(&'a str, &'a str, u32), &'a CellResult>,
    rounds: u32,
}

/// One phase in one round, with the numbers that follow from it.
pub(crate) struct PhaseFact<'a> {
    pub round: u32,
    pub outcome: RoundOutcome,
    pub phase: Option<&'a PhaseResult>,
    pub numbers: Vec<Measurement>,
}

impl<'a> Facts<'a> {
    pub fn of(results: &'a CampaignResults) -> Self {
        let cells = results
            .cells
            .iter()
            .filter_map(|stored| {
                let cell = &stored.cell;
                let key = (cell.contender.as_str(), cell.test.as_str(), cell.round);
                Some((key, stored.result.as_ref()?))
            })
            .collect();
        Self {
            cells,
            rounds: results.campaign.rounds,
        }
    }

    /// A phase of a contender in every planned round.
    pub fn phase(&self, contender: &str, test: &str, phase: &str) -> Vec<PhaseFact<'a>> {
        (1..=self.rounds)
            .map(|round| {
                let cell = self.cells.get(&(contender, test, round)).copied();
                phase_fact(round, cell, phase)
            })
            .collect()
    }
}

fn phase_fact<'a>(round: u32, cell: Option<&'a CellResult>, name: &str) -> PhaseFact<'a> {
    let phase = cell.and_then(|c| c.phases.iter().find(|p| p.phase == name));
    let outcome = match (cell, phase) {
        (None, _) => RoundOutcome::NotRun,
        (Some(_), Some(phase)) => phase.status.into(),
        (Some(cell), None) if cell.status == Status::Ok => RoundOutcome::NotMeasured,
        (Some(_), None) => RoundOutcome::Skipped,
    };
    PhaseFact {
        round,
        outcome,
        phase,
        numbers: phase.map(PhaseResult::measurements).unwrap_or_default(),
    }
}
