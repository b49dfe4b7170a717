//! Writes a campaign with its plan, a session or a cell, each in one transaction.

use model::{Calibration, Campaign, Cell, CellResult, Environment, Nanos};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::store::error::RowError;
use crate::store::read::require;
use crate::store::row::{CALIBRATION, CAMPAIGN, CELL, PLANNED_CELL, SESSION};
use crate::store::{CampaignId, Store, StoreError};

impl Store {
    /// Stores a campaign and its plan; `started` counts from 1970.
    ///
    /// # Errors
    /// Returns an error if SQLite refuses; no rows are stored in that case.
    pub fn begin_campaign(
        &mut self,
        campaign: &Campaign,
        plan: &[Cell],
        started: Nanos,
    ) -> Result<CampaignId, StoreError> {
        self.write_transaction(|transaction| insert_campaign(transaction, campaign, plan, started))
    }

    /// Stores a campaign unless it exists with the same start time and definition. If several
    /// processes do so at the same time, one of them stores it and all get the same number.
    ///
    /// # Errors
    /// Returns the errors of [`Store::begin_campaign`].
    pub fn begin_campaign_if_new(
        &mut self,
        campaign: &Campaign,
        plan: &[Cell],
        started: Nanos,
    ) -> Result<CampaignId, StoreError> {
        self.write_transaction(|transaction| {
            let sql = "SELECT id FROM campaign WHERE started = ?1 AND definition = ?2";
            let found = transaction.query_row(
                sql,
                (integer(started), json("campaign", campaign)?),
                |row| row.get(0),
            );
            match found.optional()? {
                Some(id) => Ok(CampaignId(id)),
                None => insert_campaign(transaction, campaign, plan, started),
            }
        })
    }

    /// Appends cells to the plan in one transaction.
    ///
    /// # Errors
    /// Returns an error if the campaign does not exist, the cells do not continue the plan, or
    /// SQLite refuses.
    pub fn extend_plan(&mut self, campaign: CampaignId, cells: &[Cell]) -> Result<(), StoreError> {
        self.write_transaction(|transaction| {
            require(transaction, campaign)?;
            let planned: u32 = transaction.query_row(
                "SELECT count(*) FROM planned_cell WHERE campaign = ?1",
                [campaign.0],
                |row| row.get(0),
            )?;
            let follows = (planned..).zip(cells).all(|(id, cell)| cell.id.0 == id);
            if !follows {
                return Err(StoreError::NonContiguousPlan { campaign, planned }.into());
            }
            insert_plan(transaction, campaign, cells)
        })
    }

    /// Stores the start of a session and its environment.
    ///
    /// # Errors
    /// Returns an error if the campaign does not exist or SQLite refuses.
    pub fn begin_session(
        &mut self,
        campaign: CampaignId,
        environment: &Environment,
        started: Nanos,
    ) -> Result<(), StoreError> {
        self.write_transaction(|transaction| {
            require(transaction, campaign)?;
            let values = vec![
                next_id(transaction, "session")?.into(),
                campaign.0.into(),
                integer(started),
                json("environment", environment)?.into(),
            ];
            SESSION.insert(transaction, values)
        })
    }

    /// Stores the overhead of fsarena and the speed of the device; a campaign has one calibration.
    ///
    /// # Errors
    /// Returns an error if the campaign does not exist, already has a calibration, or SQLite
    /// refuses.
    pub fn calibrate(
        &mut self,
        campaign: CampaignId,
        calibration: &Calibration,
    ) -> Result<(), StoreError> {
        self.write_transaction(|transaction| {
            require(transaction, campaign)?;
            let values = vec![
                campaign.0.into(),
                integer(calibration.taken),
                json("calibration", calibration)?.into(),
            ];
            CALIBRATION.insert(transaction, values)
        })
    }

    /// Stores the result of a cell under the latest session of the campaign. The result is on disk
    /// when this returns.
    ///
    /// # Errors
    /// Returns an error if the cell is not planned, already has a result or has no session; no rows
    /// are stored in that case.
    pub fn record(
        &mut self,
        campaign: CampaignId,
        cell: &Cell,
        result: &CellResult,
    ) -> Result<(), StoreError> {
        self.write_transaction(|transaction| {
            let session = latest_session(transaction, campaign)?;
            require_open(transaction, campaign, cell)?;
            let values = vec![
                campaign.0.into(),
                cell.id.0.into(),
                session.into(),
                result.status.name().to_owned().into(),
                integer(result.started),
                integer(result.elapsed),
                json("result of a cell", result)?.into(),
            ];
            CELL.insert(transaction, values)
        })
    }
}

/// Returns the next key. SQLite would choose the same one, but the digest of the row covers its
/// key.
pub fn next_id(connection: &Connection, table: &str) -> rusqlite::Result<i64> {
    let sql = format!("SELECT coalesce(max(id), 0) + 1 FROM {table}");
    connection.query_row(&sql, [], |row| row.get(0))
}

/// Returns the number of the next campaign, which no deleted campaign had.
pub fn next_campaign(connection: &Connection) -> rusqlite::Result<CampaignId> {
    let sql = "SELECT coalesce(max(value), 0) FROM upkeep WHERE name = 'campaigns'";
    let deleted: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(CampaignId(next_id(connection, "campaign")?.max(deleted + 1)))
}

/// Stores a campaign with the cells of its plan.
fn insert_campaign(
    transaction: &Transaction<'_>,
    campaign: &Campaign,
    plan: &[Cell],
    started: Nanos,
) -> Result<CampaignId, RowError> {
    let id = next_campaign(transaction)?;
    let values = vec![
        id.0.into(),
        campaign.name.clone().into(),
        integer(started),
        campaign.profile.name().to_owned().into(),
        serde_name(&campaign.backend)?.into(),
        json("campaign", campaign)?.into(),
    ];
    CAMPAIGN.insert(transaction, values)?;
    insert_plan(transaction, id, plan)?;
    Ok(id)
}

pub(crate) fn insert_plan(
    transaction: &Transaction<'_>,
    campaign: CampaignId,
    plan: &[Cell],
) -> Result<(), RowError> {
    for cell in plan {
        let values = vec![
            campaign.0.into(),
            cell.id.0.into(),
            cell.contender.clone().into(),
            cell.suite.clone().into(),
            cell.test.clone().into(),
            cell.round.into(),
            cell.seed.to_string().into(),
        ];
        PLANNED_CELL.insert(transaction, values)?;
    }
    Ok(())
}

fn latest_session(transaction: &Transaction<'_>, campaign: CampaignId) -> Result<i64, RowError> {
    let session: Option<i64> = transaction.query_row(
        "SELECT max(id) FROM session WHERE campaign = ?1",
        [campaign.0],
        |row| row.get(0),
    )?;
    session.ok_or_else(|| StoreError::NoSession(campaign).into())
}

/// Checks that the cell is planned and has no result yet.
fn require_open(
    transaction: &Transaction<'_>,
    campaign: CampaignId,
    cell: &Cell,
) -> Result<(), RowError> {
    let recorded: Option<bool> = transaction
        .query_row(
            "SELECT EXISTS (SELECT 1 FROM cell WHERE cell.campaign = ?1 AND cell.cell = ?2)
             FROM planned_cell WHERE campaign = ?1 AND cell = ?2",
            params![campaign.0, cell.id.0],
            |row| row.get(0),
        )
        .optional()?;
    let cell = cell.id;
    match recorded {
        Some(false) => Ok(()),
        Some(true) => Err(StoreError::AlreadyRecorded { campaign, cell }.into()),
        None => Err(StoreError::NotPlanned { campaign, cell }.into()),
    }
}

/// Converts a time to an integer of SQLite. Only for queries: the JSON in the same row is exact.
pub fn integer(n: Nanos) -> Value {
    i64::try_from(n.0).unwrap_or(i64::MAX).into()
}

/// Serialises a value as JSON.
pub fn json<T: Serialize>(what: &'static str, value: &T) -> Result<String, RowError> {
    let text = serde_json::to_string(value);
    text.map_err(|source| StoreError::InvalidJson { what, source }.into())
}

/// Returns the serialised name of an enum value of the model.
pub fn serde_name<T: Serialize>(value: &T) -> Result<String, RowError> {
    Ok(json("word", value)?.trim_matches('"').to_owned())
}
