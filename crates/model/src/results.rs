//! A campaign with what is stored of it: the input of analysis and report.

use serde::{Deserialize, Serialize};

use crate::{Calibration, Campaign, Cell, CellResult, Environment, Nanos};

/// A cell beside its result; `None` where it has not run yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellRecord {
    /// The plan.
    pub cell: Cell,
    /// What became of it.
    pub result: Option<CellResult>,
}

/// Everything the store knows of one campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CampaignResults {
    /// Number of the campaign in its store.
    pub id: i64,
    /// When it was begun, nanoseconds since 1970.
    pub started: crate::Nanos,
    /// What was planned.
    pub campaign: Campaign,
    /// What it ran on; one for each session (a resumed campaign has several).
    pub environments: Vec<Environment>,
    /// What fsarena itself costs and what the raw device can do; absent where it was not taken yet.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// Its cells in the order of the plan.
    pub cells: Vec<CellRecord>,
}

impl CampaignResults {
    /// What the cells took together, those among them that ran again: what lies between two sessions of a campaign does
    /// not count.
    pub fn total_cell_time(&self) -> Nanos {
        let ran = self.cells.iter().filter_map(|c| c.result.as_ref());
        let first = ran.clone().filter_map(|result| result.first.as_deref());
        let elapsed = ran.chain(first).map(|result| result.elapsed.0);
        Nanos(elapsed.fold(0, u64::saturating_add))
    }

    /// Refuses more rounds than may be asked for, before anything is made of each of them.
    ///
    /// # Errors
    /// When it has more than [`Campaign::MOST_ROUNDS`].
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
