//! Number of cells by outcome, and the share of the campaign that has run.

use std::collections::BTreeMap;

use model::{CampaignResults, CellRecord};
use serde::Serialize;

use crate::RoundOutcome;

/// Whether every planned cell has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Completeness {
    /// Every cell has a result.
    Complete,
    /// Some cells have not run yet.
    Incomplete,
}

/// Number of cells by outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellCounts {
    /// Planned cells.
    pub cells: u32,
    /// Number of cells that have a result.
    pub run: u32,
    /// Whether every planned cell has run.
    pub completeness: Completeness,
    /// Number of cells by outcome; outcomes without cells are omitted.
    pub by_outcome: BTreeMap<RoundOutcome, u32>,
}

impl CellCounts {
    /// Counts the cells of a campaign.
    pub fn from_results(results: &CampaignResults) -> Self {
        let mut by_outcome = BTreeMap::new();
        for stored in &results.cells {
            *by_outcome.entry(outcome_of(stored)).or_insert(0) += 1;
        }
        let cells: u32 = by_outcome.values().sum();
        let waiting = by_outcome.get(&RoundOutcome::NotRun).copied().unwrap_or(0);
        Self {
            cells,
            run: cells - waiting,
            completeness: if waiting == 0 {
                Completeness::Complete
            } else {
                Completeness::Incomplete
            },
            by_outcome,
        }
    }
}

fn outcome_of(stored: &CellRecord) -> RoundOutcome {
    stored.result.as_ref().map_or(RoundOutcome::NotRun, |result| result.status.into())
}
