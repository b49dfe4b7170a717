//! Follows a campaign that another program runs. Reads only new data.

use std::collections::BTreeSet;

use model::{CampaignResults, CellId, CellRecord, Nanos};

use crate::store::error::RowError;
use crate::store::read::{
    add_rounds, calibration, definition, environments, finished, planned, require, result, time,
};
use crate::store::row::{CELL, PLANNED_CELL, ReadView};
use crate::store::{CampaignId, Store, StoreError};

/// A campaign as of the last read.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignFollower {
    results: CampaignResults,
    session: Option<Nanos>,
}

impl CampaignFollower {
    /// Returns all stored data as of the last read, without request logs of disks.
    pub const fn results(&self) -> &CampaignResults {
        &self.results
    }

    /// Returns the start of the last session, in nanoseconds since 1970. Returns `None` before the
    /// first session.
    pub const fn session(&self) -> Option<Nanos> {
        self.session
    }
}

impl Store {
    /// Starts following a campaign.
    ///
    /// # Errors
    /// Returns an error if the campaign does not exist or is damaged.
    pub fn follow(&self, id: CampaignId) -> Result<CampaignFollower, StoreError> {
        let (started, campaign) = self.read_transaction(|view| definition(view, id))?;
        let mut followed = CampaignFollower {
            results: CampaignResults {
                id: id.0,
                started,
                campaign,
                environments: Vec::new(),
                calibration: None,
                cells: Vec::new(),
            },
            session: None,
        };
        self.catch_up(&mut followed)?;
        Ok(followed)
    }

    /// Reads the new data of a campaign. Returns true if a cell was planned or finished, or a
    /// session started.
    ///
    /// # Errors
    /// Returns an error if the stored data is damaged.
    pub fn catch_up(&self, followed: &mut CampaignFollower) -> Result<bool, StoreError> {
        let id = CampaignId(followed.results.id);
        self.read_transaction(|view| {
            require(view.connection, id)?;
            let session = session(view, id)?;
            let unread = unread(view, id, &followed.results)?;
            let further = further_cells(view, id, followed.results.cells.len())?;
            if session == followed.session && unread.is_empty() && further.is_empty() {
                return Ok(false);
            }
            let results = &mut followed.results;
            results.environments = environments(view, id)?;
            results.calibration = calibration(view, id)?;
            results.cells.extend(further);
            let planned = results.cells.iter().map(|stored| stored.cell.round).max();
            add_rounds(&mut results.campaign, planned);
            for stored in results.cells.iter_mut().filter(|c| unread.contains(&c.cell.id)) {
                let rest = "WHERE campaign = ?1 AND cell = ?2";
                let found = CELL.select(view, rest, [id.0, stored.cell.id.0.into()], result)?;
                stored.result = found.into_iter().map(|(_, result)| result).next();
            }
            results.validate().map_err(RowError::Damaged)?;
            followed.session = session;
            Ok(true)
        })
    }
}

fn session(view: ReadView<'_>, id: CampaignId) -> Result<Option<Nanos>, RowError> {
    let sql = "SELECT max(started) AS started FROM session WHERE campaign = ?1 HAVING count(*) > 0";
    let mut query = view.connection.prepare_cached(sql)?;
    let mut rows = query.query([id.0])?;
    Ok(match rows.next()? {
        Some(row) => Some(time(row, "started")?),
        None => None,
    })
}

/// Returns the planned cells after the first `known` ones.
fn further_cells(
    view: ReadView<'_>,
    id: CampaignId,
    known: usize,
) -> Result<Vec<CellRecord>, RowError> {
    let rest = "WHERE campaign = ?1 AND cell >= ?2 ORDER BY cell";
    let known = i64::try_from(known).unwrap_or(i64::MAX);
    let cells = PLANNED_CELL.select(view, rest, [id.0, known], planned)?;
    let cells = cells.into_iter().map(|cell| CellRecord { cell, result: None });
    Ok(cells.collect())
}

/// Returns the cells whose results are stored and not yet read.
fn unread(
    view: ReadView<'_>,
    id: CampaignId,
    known: &CampaignResults,
) -> Result<BTreeSet<CellId>, RowError> {
    let read = known.cells.iter().filter(|stored| stored.result.is_some());
    let read: BTreeSet<CellId> = read.map(|stored| stored.cell.id).collect();
    Ok(finished(view.connection, id)?.difference(&read).copied().collect())
}
