//! What can go wrong between a campaign and its file, each in one line for people.

use std::io;
use std::path::PathBuf;

use model::CellId;

use crate::CampaignId;

/// Why the store could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file's directory could not be made.
    #[error("cannot create the directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file could not be opened or made.
    #[error("cannot open the database {}: {source}", path.display())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// There is no such file, and it was not to be made.
    #[error("no results are stored yet: {} does not exist", path.display())]
    Absent {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version of fsarena.
    #[error(
        "{} was written by a newer fsarena (schema {found}, this one knows {known}): use that version, or another --db",
        path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema known here.
        known: u32,
    },
    /// The file is a database of some other program, or no database.
    #[error("{} is not a database of fsarena: give another --db", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// The store holds no campaign of this number.
    #[error("there is no campaign {0}: `fsarena list campaigns` shows those that are stored")]
    NoCampaign(CampaignId),
    /// A result came before a session was begun.
    #[error("campaign {0} has no session: a session begins before its first cell")]
    NoSession(CampaignId),
    /// The cell is not part of the campaign's plan.
    #[error("cell {} is not in the plan of campaign {campaign}", cell.0)]
    NotPlanned {
        /// The campaign.
        campaign: CampaignId,
        /// The cell.
        cell: CellId,
    },
    /// The cell has a result already; a result is never replaced.
    #[error("cell {} of campaign {campaign} has a result already", cell.0)]
    AlreadyRecorded {
        /// The campaign.
        campaign: CampaignId,
        /// The cell.
        cell: CellId,
    },
    /// Cells that were to be added do not follow the plan: another program has added some.
    #[error("campaign {campaign} has {planned} planned cells, behind which these do not belong")]
    NotNext {
        /// The campaign.
        campaign: CampaignId,
        /// Cells that are planned.
        planned: u32,
    },
    /// A stored text is not what its column promises.
    #[error("the stored {what} cannot be read: {source}")]
    Corrupt {
        /// Which text.
        what: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// SQLite refused.
    #[error("the results database: {0}")]
    Sqlite(#[from] rusqlite::Error),
}
