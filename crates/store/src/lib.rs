//! Campaigns, their plans and results in SQLite: written once, never changed.
//!
//! A cell is in the file, flushed to the disk, before the next one starts, so that a campaign can be
//! killed at any instant and resumed. No clock is read here: times come in as arguments. Nothing is
//! judged here either: that is for the analysis.

mod error;
mod open;
mod read;
mod row;
mod schema;
mod summary;
mod write;

pub use error::StoreError;
pub use open::Store;
pub use summary::CampaignSummary;

/// Number of a campaign in its store.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct CampaignId(pub i64);

impl std::fmt::Display for CampaignId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}
