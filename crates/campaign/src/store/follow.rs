//! Follows a campaign that another program runs. Reads only new data.

use std::collections::BTreeMap;

use model::{CampaignResults, CellId, CellRecord, CellResult, Nanos};

use crate::store::error::RowError;
use crate::store::read::{
    add_rounds, calibration, definition, environments, parse, planned, require, time,
};
use crate::store::row::{CELL, PLANNED_CELL, ReadView};
use crate::store::{CampaignId, Store, StoreError};

/// A campaign as of the last read.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignFollower {
    results: CampaignResults,
    session: Option<Nanos>,
    /// The last row of results that was read. Rows are never removed, so new rows have higher
    /// numbers.
    last: i64,
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
            last: 0,
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
            let last = last_row(view, id)?;
            let further = further_cells(view, id, followed.results.cells.len())?;
            let is_new =
                session != followed.session || last != followed.last || !further.is_empty();
            if !is_new {
                return Ok(false);
            }
            let results = &mut followed.results;
            results.environments = environments(view, id)?;
            results.calibration = calibration(view, id)?;
            results.cells.extend(further);
            add_rounds(&mut results.campaign, &results.cells);
            let mut news = news(view, id, followed.last)?;
            for stored in &mut results.cells {
                if let Some(result) = news.remove(&stored.cell.id) {
                    stored.result = Some(result);
                }
            }
            results.validate().map_err(RowError::Damaged)?;
            (followed.session, followed.last) = (session, last);
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

fn last_row(view: ReadView<'_>, id: CampaignId) -> Result<i64, RowError> {
    let sql = "SELECT coalesce(max(rowid), 0) FROM cell WHERE campaign = ?1";
    let mut query = view.connection.prepare_cached(sql)?;
    Ok(query.query_row([id.0], |row| row.get(0))?)
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

/// Returns the results stored after row `last`.
fn news(
    view: ReadView<'_>,
    id: CampaignId,
    last: i64,
) -> Result<BTreeMap<CellId, CellResult>, RowError> {
    let rest = "WHERE campaign = ?1 AND rowid > ?2";
    let found = CELL.select(view, rest, [id.0, last], |row| {
        let mut result: CellResult = parse(row, "result")?;
        result.journal = Vec::new();
        Ok((CellId(row.get("cell")?), result))
    })?;
    Ok(found.into_iter().collect())
}
