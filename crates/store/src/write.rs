//! Writing: a campaign with its plan, a session, a cell; each in one transaction.

use model::{Calibration, Campaign, Cell, CellResult, Environment, Nanos, PhaseResult};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Serialize;

use crate::{CampaignId, Store, StoreError};

impl Store {
    /// Stores a campaign and its plan; `started` counts from 1970.
    ///
    /// # Errors
    /// When SQLite refuses; nothing is stored then.
    pub fn begin_campaign(
        &mut self,
        campaign: &Campaign,
        plan: &[Cell],
        started: Nanos,
    ) -> Result<CampaignId, StoreError> {
        let transaction = self.transaction()?;
        transaction.execute(
            "INSERT INTO campaign (name, started, profile, backend, definition)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                campaign.name,
                integer(started),
                campaign.profile.name(),
                word(&campaign.backend),
                json(campaign),
            ],
        )?;
        let id = CampaignId(transaction.last_insert_rowid());
        insert_plan(&transaction, id, plan)?;
        transaction.commit()?;
        Ok(id)
    }

    /// Stores cells behind the plan of a campaign, all of them or none.
    ///
    /// # Errors
    /// When there is no such campaign, the cells do not follow the plan, or SQLite refuses.
    pub fn extend_plan(&mut self, campaign: CampaignId, cells: &[Cell]) -> Result<(), StoreError> {
        self.require(campaign)?;
        let transaction = self.transaction()?;
        let planned: u32 = transaction.query_row(
            "SELECT count(*) FROM planned_cell WHERE campaign = ?1",
            [campaign.0],
            |row| row.get(0),
        )?;
        let follows = (planned..).zip(cells).all(|(id, cell)| cell.id.0 == id);
        if !follows {
            return Err(StoreError::NotNext { campaign, planned });
        }
        insert_plan(&transaction, campaign, cells)?;
        transaction.commit()?;
        Ok(())
    }

    /// Stores that a campaign begins or goes on, and on what.
    ///
    /// # Errors
    /// When there is no such campaign or SQLite refuses.
    pub fn begin_session(
        &mut self,
        campaign: CampaignId,
        environment: &Environment,
        started: Nanos,
    ) -> Result<(), StoreError> {
        self.require(campaign)?;
        self.connection.execute(
            "INSERT INTO session (campaign, started, environment) VALUES (?1, ?2, ?3)",
            params![campaign.0, integer(started), json(environment)],
        )?;
        Ok(())
    }

    /// Stores what the instrument costs and what the device can do; a campaign has one calibration.
    ///
    /// # Errors
    /// When there is no such campaign, it has a calibration already, or SQLite refuses.
    pub fn calibrate(
        &mut self,
        campaign: CampaignId,
        calibration: &Calibration,
    ) -> Result<(), StoreError> {
        self.require(campaign)?;
        self.connection.execute(
            "INSERT INTO calibration (campaign, taken, calibration) VALUES (?1, ?2, ?3)",
            params![campaign.0, integer(calibration.taken), json(calibration)],
        )?;
        Ok(())
    }

    /// Stores what became of a cell, under the campaign's latest session; when this returns it is
    /// on the disk.
    ///
    /// # Errors
    /// When the cell is not planned, has a result already or has no session; nothing is stored then.
    pub fn record(
        &mut self,
        campaign: CampaignId,
        cell: &Cell,
        result: &CellResult,
    ) -> Result<(), StoreError> {
        let transaction = self.transaction()?;
        let session = latest_session(&transaction, campaign)?;
        require_open(&transaction, campaign, cell)?;
        transaction.execute(
            "INSERT INTO cell (campaign, cell, session, status, started, elapsed, result)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                campaign.0,
                cell.id.0,
                session,
                result.status.name(),
                integer(result.started),
                integer(result.elapsed),
                json(result),
            ],
        )?;
        for (position, phase) in (0..).zip(&result.phases) {
            insert_phase(&transaction, campaign, cell, position, phase)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// A transaction that locks out other writers from its beginning, so that what was checked
    /// still holds when it is written.
    fn transaction(&mut self) -> Result<Transaction<'_>, StoreError> {
        let behaviour = TransactionBehavior::Immediate;
        Ok(self.connection.transaction_with_behavior(behaviour)?)
    }
}

fn insert_plan(
    transaction: &Transaction<'_>,
    campaign: CampaignId,
    plan: &[Cell],
) -> Result<(), StoreError> {
    let mut insert = transaction.prepare(
        "INSERT INTO planned_cell (campaign, cell, contender, suite, test, round, seed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for cell in plan {
        insert.execute(params![
            campaign.0,
            cell.id.0,
            cell.contender,
            cell.suite,
            cell.test,
            cell.round,
            cell.seed.to_string(),
        ])?;
    }
    Ok(())
}

fn latest_session(transaction: &Transaction<'_>, campaign: CampaignId) -> Result<i64, StoreError> {
    let session: Option<i64> = transaction.query_row(
        "SELECT max(id) FROM session WHERE campaign = ?1",
        [campaign.0],
        |row| row.get(0),
    )?;
    session.ok_or(StoreError::NoSession(campaign))
}

/// Checks that the cell is planned and has no result yet.
fn require_open(
    transaction: &Transaction<'_>,
    campaign: CampaignId,
    cell: &Cell,
) -> Result<(), StoreError> {
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
        Some(true) => Err(StoreError::AlreadyRecorded { campaign, cell }),
        None => Err(StoreError::NotPlanned { campaign, cell }),
    }
}

fn insert_phase(
    transaction: &Transaction<'_>,
    campaign: CampaignId,
    cell: &Cell,
    position: u32,
    phase: &PhaseResult,
) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "INSERT INTO phase (campaign, cell, position, phase, status, cache)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            campaign.0,
            cell.id.0,
            position,
            phase.phase,
            phase.status.name(),
            word(&phase.cache),
        ])?;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO measurement
             (campaign, cell, position, phase, metric, unit, value, direction, cache)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for number in phase.measurements() {
        insert.execute(params![
            campaign.0,
            cell.id.0,
            position,
            phase.phase,
            number.metric.name(),
            word(&number.metric.unit()),
            number.value,
            word(&number.metric.direction()),
            word(&number.cache),
        ])?;
    }
    Ok(())
}

/// A quantity as SQLite's integer. Only for queries: the JSON beside it is exact.
fn integer(n: Nanos) -> i64 {
    i64::try_from(n.0).unwrap_or(i64::MAX)
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("the model holds only what JSON can say")
}

/// The word by which a type of the model is written in results.
fn word<T: Serialize>(value: &T) -> String {
    json(value).trim_matches('"').to_owned()
}
