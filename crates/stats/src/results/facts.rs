//! Index of stored cells by contender, test and round.

use std::collections::{BTreeMap, BTreeSet};

use model::{CampaignResults, CellRecord, CellResult, Measurement, PhaseResult, Status};

use crate::RoundOutcome;

/// Results of a campaign's cells.
pub(crate) struct PhaseIndex<'a> {
    cells: BTreeMap<FactKey<'a>, &'a CellResult>,
    /// The planned cells, if not every round has every cell.
    planned: Option<BTreeSet<FactKey<'a>>>,
    rounds: u32,
    /// Outcome of a cell that was not planned.
    unplanned: RoundOutcome,
}

/// Contender, test and round.
type FactKey<'a> = (&'a str, &'a str, u32);

/// One phase in one round, with derived numbers.
pub(crate) struct PhaseRecord<'a> {
    pub round: u32,
    pub outcome: RoundOutcome,
    pub phase: Option<&'a PhaseResult>,
    pub numbers: Vec<Measurement>,
}

impl<'a> PhaseIndex<'a> {
    pub fn of(results: &'a CampaignResults) -> Self {
        let cells = || results.cells.iter();
        let key = |stored: &'a CellRecord| {
            let cell = &stored.cell;
            (cell.contender.as_str(), cell.test.as_str(), cell.round)
        };
        let campaign = &results.campaign;
        let has_holes = campaign.budget.is_some() || campaign.measured_by.is_some();
        Self {
            cells: cells()
                .filter_map(|stored| Some((key(stored), stored.result.as_ref()?)))
                .collect(),
            planned: has_holes.then(|| cells().map(key).collect()),
            rounds: results.campaign.rounds,
            unplanned: match campaign.measured_by {
                Some(_) => RoundOutcome::Absent,
                None => RoundOutcome::NotNeeded,
            },
        }
    }

    /// Returns a phase of a contender in every round.
    pub fn phase(&self, contender: &str, test: &str, phase: &str) -> Vec<PhaseRecord<'a>> {
        (1..=self.rounds)
            .map(|round| {
                let key = (contender, test, round);
                let fact = phase_fact(round, self.cells.get(&key).copied(), phase);
                let planned = self.planned.as_ref();
                match planned.is_some_and(|planned| !planned.contains(&key)) {
                    true => PhaseRecord { outcome: self.unplanned, ..fact },
                    false => fact,
                }
            })
            .collect()
    }
}

fn phase_fact<'a>(round: u32, cell: Option<&'a CellResult>, name: &str) -> PhaseRecord<'a> {
    let phase = cell.and_then(|c| c.phases.iter().find(|p| p.phase == name));
    let outcome = match (cell, phase) {
        (None, _) => RoundOutcome::NotRun,
        (Some(_), Some(phase)) => phase.status.into(),
        (Some(cell), None) if cell.status == Status::Ok => RoundOutcome::NotMeasured,
        (Some(_), None) => RoundOutcome::Skipped,
    };
    PhaseRecord {
        round,
        outcome,
        phase,
        numbers: phase.map(PhaseResult::measurements).unwrap_or_default(),
    }
}
