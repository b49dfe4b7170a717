//! Campaigns, their plans and results in SQLite: written once, never changed.
//!
//! A cell is in the file, flushed to the disk, before the next one starts, so that a campaign can be
//! killed at any instant and resumed. No clock is read here: times come in as arguments. Nothing is
//! decided here either: that is for the analysis.

mod error;
mod follow;
mod import;
mod open;
mod read;
mod row;
mod schema;
mod summary;
mod write;

pub use error::StoreError;
pub use follow::CampaignFollower;
pub use import::{ImportSource, ImportedRow};
pub use model::CampaignId;
pub use open::Store;
pub use summary::CampaignSummary;
