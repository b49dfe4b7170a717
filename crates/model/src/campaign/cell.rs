//! A cell: one test of one contender in one round.

use serde::{Deserialize, Serialize};

/// Position of a cell in the plan of its campaign, and its key in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CellId(pub u32);

/// Contender × test × round, with the seed of its random choices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// Position in the plan, from 0.
    pub id: CellId,
    /// Name of the contender.
    pub contender: String,
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// The round, from 1.
    pub round: u32,
    /// Equal for all contenders of a round, so that names, sizes and order are equal.
    pub seed: u64,
}

/// Number of a campaign in its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CampaignId(pub i64);

impl std::fmt::Display for CampaignId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}
