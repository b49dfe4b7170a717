//! Reads stored campaigns as the types they were stored from.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Calibration, Campaign, CampaignResults, Cell, CellId, CellRecord, CellResult, Environment,
    Nanos, RequestLogChunk,
};
use rusqlite::{Connection, OptionalExtension, Row};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::store::error::RowError;
use crate::store::row::{CALIBRATION, CAMPAIGN, CELL, IMPORTED, PLANNED_CELL, ReadView, SESSION};
use crate::store::{CampaignId, Store, StoreError, schema};

impl Store {
    /// Loads a campaign with all its results, without request logs of disks.
    ///
    /// # Errors
    /// Returns an error if the campaign does not exist or is damaged.
    pub fn load(&self, id: CampaignId) -> Result<CampaignResults, StoreError> {
        self.read_transaction(|view| {
            let (started, mut campaign) = definition(view, id)?;
            let cells = cells(view, id)?;
            add_rounds(&mut campaign, cells.iter().map(|stored| stored.cell.round).max());
            let results = CampaignResults {
                id: id.0,
                started,
                campaign,
                environments: environments(view, id)?,
                calibration: calibration(view, id)?,
                cells,
            };
            results.validate().map_err(RowError::Damaged)?;
            Ok(results)
        })
    }

    /// Returns the request log of the simulated disks of a cell; empty if it had none.
    ///
    /// # Errors
    /// Returns an error if the campaign does not exist or is damaged.
    pub fn journal(
        &self,
        id: CampaignId,
        cell: CellId,
    ) -> Result<Vec<RequestLogChunk>, StoreError> {
        self.read_transaction(|view| {
            require(view.connection, id)?;
            let rest = "WHERE campaign = ?1 AND cell = ?2";
            let found = CELL.select(view, rest, [id.0, cell.0.into()], |row| {
                #[derive(Deserialize)]
                struct RequestLog {
                    #[serde(default)]
                    journal: Vec<RequestLogChunk>,
                }
                Ok(parse::<RequestLog>(row, "result")?.journal)
            })?;
            Ok(found.into_iter().flatten().collect())
        })
    }

    /// Returns a campaign with the rounds of its plan. Reads no results.
    ///
    /// # Errors
    /// Returns an error if the campaign does not exist or its definition is damaged.
    pub fn definition(&self, id: CampaignId) -> Result<Campaign, StoreError> {
        self.read_transaction(|view| {
            let (_, mut campaign) = definition(view, id)?;
            let sql = "SELECT max(round) FROM planned_cell WHERE campaign = ?1";
            let planned = view.connection.query_row(sql, [id.0], |row| row.get(0))?;
            add_rounds(&mut campaign, planned);
            Ok(campaign)
        })
    }

    /// Returns the cells of a campaign that have a result.
    ///
    /// # Errors
    /// Returns an error if the campaign does not exist or SQLite fails.
    pub fn finished_cells(&self, id: CampaignId) -> Result<BTreeSet<CellId>, StoreError> {
        self.read_transaction(|view| {
            require(view.connection, id)?;
            finished(view.connection, id)
        })
    }

    /// Returns the planned cells of a campaign without a result, in order.
    ///
    /// # Errors
    /// Returns an error if the campaign does not exist or SQLite fails.
    pub fn open_cells(&self, id: CampaignId) -> Result<Vec<CellId>, StoreError> {
        self.read_transaction(|view| {
            require(view.connection, id)?;
            let sql = "SELECT cell FROM planned_cell WHERE campaign = ?1 \
                       EXCEPT SELECT cell FROM cell WHERE campaign = ?1 ORDER BY cell";
            let mut query = view.connection.prepare_cached(sql)?;
            let cells = query.query_map([id.0], |row| row.get(0).map(CellId))?;
            Ok(cells.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the elapsed time of each cell with a result, by contender and test.
    ///
    /// # Errors
    /// Returns an error if the campaign does not exist or SQLite refuses.
    pub fn elapsed(
        &self,
        id: CampaignId,
    ) -> Result<BTreeMap<(String, String), Vec<Nanos>>, StoreError> {
        self.read_transaction(|view| {
            require(view.connection, id)?;
            let sql = "SELECT contender, test, elapsed FROM cell JOIN planned_cell \
                       USING (campaign, cell) WHERE campaign = ?1 ORDER BY cell";
            let mut query = view.connection.prepare(sql)?;
            let mut rows = query.query([id.0])?;
            let mut cells: BTreeMap<(String, String), Vec<Nanos>> = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let name = (row.get("contender")?, row.get("test")?);
                cells.entry(name).or_default().push(time(row, "elapsed")?);
            }
            Ok(cells)
        })
    }

    /// Returns the most recent campaign, or `None` if no campaign is stored.
    ///
    /// # Errors
    /// Returns an error if SQLite refuses.
    pub fn latest(&self) -> Result<Option<CampaignId>, StoreError> {
        self.read_transaction(|view| {
            let sql = "SELECT max(id) FROM campaign";
            let id: Option<i64> = view.connection.query_row(sql, [], |row| row.get(0))?;
            Ok(id.map(CampaignId))
        })
    }

    /// Returns true if the campaign was imported.
    ///
    /// # Errors
    /// Returns an error if SQLite refuses or the database is damaged.
    pub fn is_imported(&self, id: CampaignId) -> Result<bool, StoreError> {
        self.read_transaction(|view| {
            if !schema::has_table(view.connection, "imported")? {
                return Ok(false);
            }
            let found = IMPORTED.select(view, "WHERE campaign = ?1", [id.0], |_| Ok(()))?;
            Ok(!found.is_empty())
        })
    }

    /// Returns the most recent calibration of any campaign, if any.
    ///
    /// # Errors
    /// Returns an error if SQLite refuses or the database is damaged.
    pub fn last_calibration(&self) -> Result<Option<Calibration>, StoreError> {
        self.read_transaction(|view| {
            if !schema::has_table(view.connection, "calibration")? {
                return Ok(None);
            }
            let sql = "SELECT campaign FROM calibration ORDER BY taken DESC LIMIT 1";
            let latest = view.connection.query_row(sql, [], |row| row.get(0));
            match latest.optional()? {
                Some(id) => calibration(view, CampaignId(id)),
                None => Ok(None),
            }
        })
    }
}

/// Counts added rounds, which are only in the plan, because the stored definition never changes.
/// `planned` is the last round of the plan.
pub fn add_rounds(campaign: &mut Campaign, planned: Option<u32>) {
    campaign.rounds = campaign.rounds.max(planned.unwrap_or(0));
}

/// Checks that a campaign exists.
pub fn require(connection: &Connection, id: CampaignId) -> Result<(), RowError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM campaign WHERE id = ?1)";
    match connection.query_row(sql, [id.0], |row| row.get(0))? {
        true => Ok(()),
        false => Err(StoreError::NoCampaign(id).into()),
    }
}

/// Returns the cells of a campaign that have a result.
pub fn finished(connection: &Connection, id: CampaignId) -> Result<BTreeSet<CellId>, RowError> {
    let mut query = connection.prepare_cached("SELECT cell FROM cell WHERE campaign = ?1")?;
    let cells = query.query_map([id.0], |row| row.get(0).map(CellId))?;
    Ok(cells.collect::<Result<_, _>>()?)
}

/// Returns the start time and the definition of a campaign.
pub fn definition(view: ReadView<'_>, id: CampaignId) -> Result<(Nanos, Campaign), RowError> {
    let found = CAMPAIGN.select(view, "WHERE id = ?1", [id.0], |row| {
        Ok((time(row, "started")?, parse(row, "definition")?))
    })?;
    let mut found = found.into_iter();
    found.next().ok_or_else(|| StoreError::NoCampaign(id).into())
}

/// Returns the environment of each session of a campaign, in order.
pub fn environments(view: ReadView<'_>, id: CampaignId) -> Result<Vec<Environment>, RowError> {
    let rest = "WHERE campaign = ?1 ORDER BY id";
    SESSION.select(view, rest, [id.0], |row| parse(row, "environment"))
}

/// Returns the campaign's calibration. Read-only databases of older versions have no table for it.
pub fn calibration(view: ReadView<'_>, id: CampaignId) -> Result<Option<Calibration>, RowError> {
    if !schema::has_table(view.connection, "calibration")? {
        return Ok(None);
    }
    let rest = "WHERE campaign = ?1";
    let found = CALIBRATION.select(view, rest, [id.0], |row| parse(row, "calibration"))?;
    Ok(found.into_iter().next())
}

fn cells(view: ReadView<'_>, id: CampaignId) -> Result<Vec<CellRecord>, RowError> {
    let rest = "WHERE campaign = ?1 ORDER BY cell";
    let planned = PLANNED_CELL.select(view, rest, [id.0], planned)?;
    let results = CELL.select(view, rest, [id.0], result)?;
    let mut results: BTreeMap<CellId, CellResult> = results.into_iter().collect();
    let stored =
        planned.into_iter().map(|cell| CellRecord { result: results.remove(&cell.id), cell });
    Ok(stored.collect())
}

/// Reads a planned cell from a row.
pub fn planned(row: &Row<'_>) -> Result<Cell, RowError> {
    let seed: String = row.get("seed")?;
    let seed = seed.parse().map_err(|_| RowError::Damaged("its seed is no number".into()))?;
    Ok(Cell {
        id: CellId(row.get("cell")?),
        contender: row.get("contender")?,
        suite: row.get("suite")?,
        test: row.get("test")?,
        round: row.get("round")?,
        seed,
    })
}

/// Reads the result of a cell without its request log: that is larger than all other data, and
/// [`Store::journal`] returns it.
pub fn result(row: &Row<'_>) -> Result<(CellId, CellResult), RowError> {
    #[derive(Deserialize)]
    struct UnparsedLog<'a> {
        #[serde(borrow, default)]
        journal: Option<&'a RawValue>,
    }
    let damaged = |error: serde_json::Error| RowError::Damaged(error.to_string());
    let text: String = row.get("result")?;
    let log: UnparsedLog<'_> = serde_json::from_str(&text).map_err(damaged)?;
    let rest = match log.journal {
        Some(log) => {
            let at = log.get().as_ptr().addr() - text.as_ptr().addr();
            [&text[..at], "[]", &text[at + log.get().len()..]].concat()
        }
        None => text,
    };
    Ok((CellId(row.get("cell")?), serde_json::from_str(&rest).map_err(damaged)?))
}

/// Reads a column of nanoseconds.
pub fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<Nanos> {
    let n: i64 = row.get(column)?;
    Ok(Nanos(u64::try_from(n).unwrap_or(0)))
}

/// Reads a column of JSON.
pub fn parse<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, RowError> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| RowError::Damaged(error.to_string()))
}
