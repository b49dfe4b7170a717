//! A campaign with its stored results: the input of analysis and report.

use serde::{Deserialize, Serialize};

use crate::{Calibration, Campaign, Cell, CellResult, Environment, Nanos};

/// A cell with its result; `None` if it has not run yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellRecord {
    /// The plan.
    pub cell: Cell,
    /// Result of the cell.
    pub result: Option<CellResult>,
}

/// All stored data of one campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CampaignResults {
    /// Number of the campaign in its store.
    pub id: i64,
    /// Start time, in nanoseconds since 1970.
    pub started: crate::Nanos,
    /// The plan.
    pub campaign: Campaign,
    /// Environments, one for each session (a resumed campaign has several).
    pub environments: Vec<Environment>,
    /// Harness overhead and raw device performance; absent before calibration.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// The cells, in the order of the plan.
    pub cells: Vec<CellRecord>,
}

impl CampaignResults {
    /// Returns the total time of all cells, including reruns. Pauses between the sessions of a
    /// campaign do not count.
    pub fn total_cell_time(&self) -> Nanos {
        let ran = self.cells.iter().filter_map(|c| c.result.as_ref());
        let first = ran.clone().filter_map(|result| result.first.as_deref());
        let elapsed = ran.chain(first).map(|result| result.elapsed.0);
        Nanos(elapsed.fold(0, u64::saturating_add))
    }

    /// Returns the time budget of all sessions: that of the campaign, or the time of its cells if later sessions got more.
    pub fn whole_budget(&self) -> Option<Nanos> {
        let budget = self.campaign.budget?;
        let spent = self.total_cell_time();
        // The last cell may end after the budget.
        let is_more = self.environments.len() > 1 && spent.0 / 11 > budget.0 / 10;
        Some(if is_more { Nanos::from_secs(spent.0.div_ceil(1_000_000_000)) } else { budget })
    }

    /// Checks the number of rounds before memory is allocated for them.
    ///
    /// # Errors
    /// Returns an error if the campaign has more than [`Campaign::MAX_ROUNDS`] rounds.
    pub fn validate(&self) -> Result<(), String> {
        match self.campaign.rounds {
            0..=Campaign::MAX_ROUNDS => Ok(()),
            rounds => Err(format!(
                "it has {rounds} rounds, and a campaign {} at most",
                Campaign::MAX_ROUNDS
            )),
        }
    }
}
