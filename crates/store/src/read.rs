//! Reading back what was stored, as the types it was stored from.

use std::collections::BTreeSet;

use model::{Calibration, Campaign, CampaignResults, Cell, CellId, Environment, Nanos, StoredCell};
use rusqlite::{OptionalExtension, Row, types::Type};
use serde::de::DeserializeOwned;

use crate::{CampaignId, Store, StoreError};

impl Store {
    /// Everything that is stored of a campaign.
    ///
    /// # Errors
    /// When there is no such campaign, or what is stored cannot be read.
    pub fn load(&self, id: CampaignId) -> Result<CampaignResults, StoreError> {
        // One snapshot for all queries, even while another program records cells.
        let snapshot = self.connection.unchecked_transaction()?;
        let (started, definition) = self.definition(id)?;
        let mut campaign: Campaign = parse("campaign", &definition)?;
        let cells = self.cells(id)?;
        if campaign.until.is_some() {
            // The definition never changes; rounds that were added are in the plan.
            let planned = cells.iter().map(|stored| stored.cell.round).max();
            campaign.rounds = campaign.rounds.max(planned.unwrap_or(0));
        }
        let results = CampaignResults {
            id: id.0,
            started,
            campaign,
            environments: self.environments(id)?,
            calibration: self.calibration(id)?,
            cells,
        };
        snapshot.finish()?;
        Ok(results)
    }

    /// The cells of a campaign that have a result.
    ///
    /// # Errors
    /// When there is no such campaign or SQLite refuses.
    pub fn done(&self, id: CampaignId) -> Result<BTreeSet<CellId>, StoreError> {
        self.require(id)?;
        let mut query = self
            .connection
            .prepare("SELECT cell FROM cell WHERE campaign = ?1")?;
        let cells = query
            .query_map([id.0], |row| row.get(0).map(CellId))?
            .collect::<Result<_, _>>()?;
        Ok(cells)
    }

    /// The campaign that was begun last; `None` where none is stored.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn latest(&self) -> Result<Option<CampaignId>, StoreError> {
        let id: Option<i64> =
            self.connection
                .query_row("SELECT max(id) FROM campaign", [], |row| row.get(0))?;
        Ok(id.map(CampaignId))
    }

    /// The calibration that was taken last, for whichever campaign; `None` where there is none.
    ///
    /// # Errors
    /// When SQLite refuses, or what is stored cannot be read.
    pub fn last_calibration(&self) -> Result<Option<Calibration>, StoreError> {
        let latest: Option<i64> = if self.has_calibrations()? {
            let query = "SELECT campaign FROM calibration ORDER BY taken DESC LIMIT 1";
            self.connection
                .query_row(query, [], |row| row.get(0))
                .optional()?
        } else {
            None
        };
        latest.map_or(Ok(None), |id| self.calibration(CampaignId(id)))
    }

    pub(crate) fn require(&self, id: CampaignId) -> Result<(), StoreError> {
        self.definition(id).map(drop)
    }

    fn definition(&self, id: CampaignId) -> Result<(Nanos, String), StoreError> {
        self.connection
            .query_row(
                "SELECT started, definition FROM campaign WHERE id = ?1",
                [id.0],
                |row| Ok((time(row, 0)?, row.get(1)?)),
            )
            .optional()?
            .ok_or(StoreError::NoCampaign(id))
    }

    fn environments(&self, id: CampaignId) -> Result<Vec<Environment>, StoreError> {
        let mut query = self
            .connection
            .prepare("SELECT environment FROM session WHERE campaign = ?1 ORDER BY id")?;
        let texts = query.query_map([id.0], |row| row.get::<_, String>(0))?;
        texts.map(|text| parse("environment", &text?)).collect()
    }

    /// The campaign's calibration. A database of an older version that may only be read has no table
    /// for it.
    pub(crate) fn calibration(&self, id: CampaignId) -> Result<Option<Calibration>, StoreError> {
        if !self.has_calibrations()? {
            return Ok(None);
        }
        let text: Option<String> = self
            .connection
            .query_row(
                "SELECT calibration FROM calibration WHERE campaign = ?1",
                [id.0],
                |row| row.get(0),
            )
            .optional()?;
        text.map(|t| parse("calibration", &t)).transpose()
    }

    fn has_calibrations(&self) -> Result<bool, StoreError> {
        Ok(self.connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'calibration')",
            [],
            |row| row.get(0),
        )?)
    }

    fn cells(&self, id: CampaignId) -> Result<Vec<StoredCell>, StoreError> {
        let mut query = self.connection.prepare(
            "SELECT planned_cell.cell, contender, suite, test, round, seed, result
             FROM planned_cell LEFT JOIN cell USING (campaign, cell)
             WHERE campaign = ?1 ORDER BY planned_cell.cell",
        )?;
        let rows = query.query_map([id.0], |row| {
            Ok((planned(row)?, row.get::<_, Option<String>>(6)?))
        })?;
        rows.map(|row| {
            let (cell, text) = row?;
            let result = text.map(|t| parse("result of a cell", &t)).transpose()?;
            Ok(StoredCell { cell, result })
        })
        .collect()
    }
}

fn planned(row: &Row<'_>) -> rusqlite::Result<Cell> {
    let seed: String = row.get(5)?;
    Ok(Cell {
        id: CellId(row.get(0)?),
        contender: row.get(1)?,
        suite: row.get(2)?,
        test: row.get(3)?,
        round: row.get(4)?,
        seed: seed.parse().map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(5, Type::Text, Box::new(error))
        })?,
    })
}

/// A column of nanoseconds.
pub fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Nanos> {
    let n: i64 = row.get(column)?;
    Ok(Nanos(u64::try_from(n).unwrap_or(0)))
}

pub fn parse<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Corrupt { what, source })
}
