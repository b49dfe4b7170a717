//! Campaigns, their plans and results in SQLite. Stored rows never change; a campaign can only
//! be deleted as a whole.
//!
//! Each cell is flushed to the disk before the next one starts, so a campaign can be killed at any
//! instant and resumed. The store reads no clock; times are arguments. The store makes no
//! decisions; the analysis does.

mod delete;
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
pub use open::{Store, is_sqlite};
pub use summary::CampaignSummary;
