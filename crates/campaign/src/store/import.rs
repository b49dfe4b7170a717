//! Imports campaigns into this file: from other databases, and from results of other programs.
//!
//! All campaigns are imported in one transaction. A row of another database is verified against its
//! checksum and copied verbatim; it gets a new checksum, because that also covers its new keys.

use std::collections::BTreeSet;
use std::path::Path;

use model::{CampaignResults, Cell, CellId, CellResult, Nanos};
use rusqlite::types::Value;
use rusqlite::{Row, Transaction};
use sha2::{Digest, Sha256};

use crate::store::error::RowError;
use crate::store::read::{planned, result};
use crate::store::row::{CALIBRATION, CAMPAIGN, CELL, IMPORTED, PLANNED_CELL, ReadView, SESSION};
use crate::store::write::{insert_plan, integer, json, next_campaign, next_id, serde_name};
use crate::store::{CampaignId, Store, StoreError, schema};

/// Source of imported campaigns.
#[derive(Clone, Copy, Debug)]
pub enum ImportSource<'a> {
    /// A campaign in memory.
    Results(&'a CampaignResults),
    /// All campaigns of another database.
    Database(&'a Store),
}

/// An imported campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedRow {
    /// Number of the campaign in this database.
    pub id: CampaignId,
    /// Whether the campaign was not yet in this database, under any number.
    pub is_new: bool,
    /// Its name.
    pub name: String,
    /// The number of the campaign in the other database.
    pub from: Option<CampaignId>,
    /// Number of measurements in its results.
    pub values: usize,
}

/// The rows of a campaign, without the keys of their database.
struct Incoming {
    from: Option<CampaignId>,
    name: String,
    started: i64,
    profile: String,
    backend: String,
    definition: String,
    sessions: Vec<(i64, String)>,
    plan: Vec<Cell>,
    calibration: Option<(i64, String)>,
}

/// The row of a cell. The session is an index into the sessions of the campaign.
struct CellRow {
    cell: CellId,
    session: usize,
    status: String,
    started: i64,
    elapsed: i64,
    result: String,
    /// Number of measurements in the result.
    values: usize,
}

/// Calls a function with each cell row of a campaign, one at a time, because all rows together may
/// be large.
type CellVisitor<'a> =
    &'a dyn Fn(&mut dyn FnMut(CellRow) -> Result<(), RowError>) -> Result<(), RowError>;

impl Store {
    /// Imports campaigns, all or none. Returns the existing number of campaigns that are already
    /// stored verbatim.
    ///
    /// # Errors
    /// Returns an error if either database is damaged or SQLite refuses; no campaign is stored in
    /// that case.
    pub fn import(&mut self, sources: &[ImportSource<'_>]) -> Result<Vec<ImportedRow>, StoreError> {
        let own = self.path().to_owned();
        self.write_transaction(|transaction| {
            let mut taken = Vec::new();
            for source in sources {
                match source {
                    ImportSource::Results(results) => {
                        let incoming = of_results(results)?;
                        let each = |take: &mut dyn FnMut(CellRow) -> Result<(), RowError>| {
                            cells_of(results).try_for_each(|row| take(row?))
                        };
                        taken.push(take(transaction, &incoming, &each)?);
                    }
                    ImportSource::Database(other) => {
                        taken.extend(
                            other.read_transaction(|view| take_all(transaction, &own, view))?,
                        );
                    }
                }
            }
            Ok(taken)
        })
    }
}

/// Imports all campaigns of another database. Write errors are attributed to this file, not to the
/// other.
fn take_all(
    transaction: &Transaction<'_>,
    own: &Path,
    view: ReadView<'_>,
) -> Result<Vec<ImportedRow>, RowError> {
    let ids =
        CAMPAIGN.select(view, "ORDER BY id", [], |row| Ok(row.get("id").map(CampaignId)?))?;
    let mut taken = Vec::new();
    for id in ids {
        let incoming = of_database(view, id)?;
        let each =
            |take: &mut dyn FnMut(CellRow) -> Result<(), RowError>| each_cell(view, id, take);
        let here = |trouble: RowError| RowError::Known(trouble.with_path(own));
        taken.push(take(transaction, &incoming, &each).map_err(here)?);
    }
    Ok(taken)
}

/// Stores a campaign unless it already exists.
fn take(
    transaction: &Transaction<'_>,
    incoming: &Incoming,
    each: CellVisitor<'_>,
) -> Result<ImportedRow, RowError> {
    let values = std::cell::Cell::new(0);
    let each = |take: &mut dyn FnMut(CellRow) -> Result<(), RowError>| {
        values.set(0);
        each(&mut |row| {
            values.set(values.get() + row.values);
            take(row)
        })
    };
    let here = equal(transaction, incoming, &each)?;
    let is_new = here.is_none();
    let id = match here {
        Some(id) => id,
        None => insert(transaction, incoming, &each)?,
    };
    let (name, from) = (incoming.name.clone(), incoming.from);
    Ok(ImportedRow { id, is_new, name, from, values: values.get() })
}

/// Returns the stored campaign that is identical to this one, if any.
fn equal(
    transaction: &Transaction<'_>,
    incoming: &Incoming,
    each: CellVisitor<'_>,
) -> Result<Option<CampaignId>, RowError> {
    let view = ReadView { connection: transaction, digests: true };
    let rest = "WHERE started = ?1 AND name = ?2 AND definition = ?3 ORDER BY id";
    let keys = (incoming.started, &incoming.name, &incoming.definition);
    let alike = CAMPAIGN.select(view, rest, keys, |row| Ok(row.get("id").map(CampaignId)?))?;
    if alike.is_empty() {
        return Ok(None);
    }
    let wanted = fingerprint(incoming, each)?;
    for id in alike {
        let known = of_database(view, id)?;
        let each =
            |take: &mut dyn FnMut(CellRow) -> Result<(), RowError>| each_cell(view, id, take);
        if fingerprint(&known, &each)? == wanted {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn insert(
    transaction: &Transaction<'_>,
    incoming: &Incoming,
    each: CellVisitor<'_>,
) -> Result<CampaignId, RowError> {
    let id = next_campaign(transaction)?;
    let text = |text: &String| Value::from(text.clone());
    let values = vec![
        id.0.into(),
        text(&incoming.name),
        incoming.started.into(),
        text(&incoming.profile),
        text(&incoming.backend),
        text(&incoming.definition),
    ];
    CAMPAIGN.insert(transaction, values)?;
    IMPORTED.insert(transaction, vec![id.0.into()])?;
    insert_plan(transaction, id, &incoming.plan)?;
    let mut sessions = Vec::new();
    for (started, environment) in &incoming.sessions {
        let session = next_id(transaction, "session")?;
        let values = vec![session.into(), id.0.into(), (*started).into(), text(environment)];
        SESSION.insert(transaction, values)?;
        sessions.push(session);
    }
    if let Some((taken, calibration)) = &incoming.calibration {
        let values = vec![id.0.into(), (*taken).into(), text(calibration)];
        CALIBRATION.insert(transaction, values)?;
    }
    let plan = incoming.plan.iter().map(|cell| cell.id).collect();
    each(&mut |row| insert_cell(transaction, id, &sessions, &plan, row))?;
    Ok(id)
}

fn insert_cell(
    transaction: &Transaction<'_>,
    id: CampaignId,
    sessions: &[i64],
    planned: &BTreeSet<CellId>,
    row: CellRow,
) -> Result<(), RowError> {
    let unknown = || RowError::Damaged(format!("cell {} has no session", row.cell.0));
    let session = *sessions.get(row.session).ok_or_else(unknown)?;
    if !planned.contains(&row.cell) {
        return Err(RowError::Damaged(format!("cell {} is not planned", row.cell.0)));
    }
    let values = vec![
        id.0.into(),
        row.cell.0.into(),
        session.into(),
        row.status.into(),
        row.started.into(),
        row.elapsed.into(),
        row.result.into(),
    ];
    CELL.insert(transaction, values)
}

fn of_results(results: &CampaignResults) -> Result<Incoming, RowError> {
    let campaign = &results.campaign;
    let started = nanos(results.started);
    let mut sessions = Vec::new();
    for environment in &results.environments {
        sessions.push((started, json("environment", environment)?));
    }
    let calibration = match &results.calibration {
        Some(calibration) => Some((nanos(calibration.taken), json("calibration", calibration)?)),
        None => None,
    };
    Ok(Incoming {
        from: None,
        name: campaign.name.clone(),
        started,
        profile: campaign.profile.name().to_owned(),
        backend: serde_name(&campaign.backend)?,
        definition: json("campaign", campaign)?,
        sessions,
        plan: results.cells.iter().map(|stored| stored.cell.clone()).collect(),
        calibration,
    })
}

/// Returns the cells with a result. Campaigns in memory do not record the session of a cell, so the
/// last session is used.
fn cells_of(results: &CampaignResults) -> impl Iterator<Item = Result<CellRow, RowError>> {
    let session = results.environments.len().saturating_sub(1);
    let done = results.cells.iter();
    let done = done.filter_map(|stored| Some((stored.cell.id, stored.result.as_ref()?)));
    done.map(move |(cell, result)| {
        Ok(CellRow {
            cell,
            session,
            status: result.status.name().to_owned(),
            started: nanos(result.started),
            elapsed: nanos(result.elapsed),
            result: json("result of a cell", result)?,
            values: measurements(result),
        })
    })
}

fn of_database(view: ReadView<'_>, id: CampaignId) -> Result<Incoming, RowError> {
    let rest = "WHERE campaign = ?1 ORDER BY id";
    let sessions = SESSION
        .select(view, rest, [id.0], |row| Ok((row.get("started")?, row.get("environment")?)))?;
    let rest = "WHERE campaign = ?1 ORDER BY cell";
    let plan = PLANNED_CELL.select(view, rest, [id.0], planned)?;
    let calibration = match schema::has_table(view.connection, "calibration")? {
        true => CALIBRATION.select(view, "WHERE campaign = ?1", [id.0], |row| {
            Ok((row.get("taken")?, row.get("calibration")?))
        })?,
        false => Vec::new(),
    };
    let head = |row: &Row<'_>| {
        Ok(Incoming {
            from: Some(id),
            name: row.get("name")?,
            started: row.get("started")?,
            profile: row.get("profile")?,
            backend: row.get("backend")?,
            definition: row.get("definition")?,
            sessions: Vec::new(),
            plan: Vec::new(),
            calibration: None,
        })
    };
    let found = CAMPAIGN.select(view, "WHERE id = ?1", [id.0], head)?;
    let found = found.into_iter().next().ok_or(StoreError::NoCampaign(id))?;
    Ok(Incoming { sessions, plan, calibration: calibration.into_iter().next(), ..found })
}

fn each_cell(
    view: ReadView<'_>,
    id: CampaignId,
    take: &mut dyn FnMut(CellRow) -> Result<(), RowError>,
) -> Result<(), RowError> {
    let sessions = SESSION.select(view, "WHERE campaign = ?1 ORDER BY id", [id.0], |row| {
        Ok(row.get::<_, i64>("id")?)
    })?;
    let mut cells =
        view.connection.prepare("SELECT cell FROM cell WHERE campaign = ?1 ORDER BY cell")?;
    let cells = cells.query_map([id.0], |row| row.get(0))?;
    // Attributes damage to the database that is read here, and not to the one that stores the row.
    let damaged = |trouble: RowError| match view.connection.path() {
        Some(path) => RowError::Known(trouble.with_path(Path::new(path))),
        None => trouble,
    };
    for cell in cells.collect::<Result<Vec<u32>, _>>()? {
        let rest = "WHERE campaign = ?1 AND cell = ?2";
        let rows = CELL.select(view, rest, [id.0, cell.into()], |row| {
            let session: i64 = row.get("session")?;
            let place = sessions.iter().position(|known| *known == session);
            let (cell, parsed) = result(row)?;
            Ok(CellRow {
                cell,
                session: place.ok_or_else(|| RowError::Damaged("it has no session".into()))?,
                status: row.get("status")?,
                started: row.get("started")?,
                elapsed: row.get("elapsed")?,
                result: row.get("result")?,
                values: measurements(&parsed),
            })
        });
        rows.map_err(damaged)?.into_iter().try_for_each(&mut *take)?;
    }
    Ok(())
}

fn measurements(result: &CellResult) -> usize {
    result.phases.iter().map(|phase| phase.measurements().len()).sum()
}

/// Returns a digest of all rows of a campaign, excluding their keys.
fn fingerprint(incoming: &Incoming, each: CellVisitor<'_>) -> Result<[u8; 32], RowError> {
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    };
    let Incoming { name, started, profile, backend, definition, .. } = incoming;
    for text in [name, &started.to_string(), profile, backend, definition] {
        add(text);
    }
    for (started, environment) in incoming.sessions.iter().chain(&incoming.calibration) {
        add(&started.to_string());
        add(environment);
    }
    for cell in &incoming.plan {
        add(&json("cell", cell)?);
    }
    each(&mut |row| {
        let CellRow { cell, session, started, elapsed, .. } = &row;
        add(&format!("{} {session} {started} {elapsed} {}", cell.0, row.status));
        add(&row.result);
        Ok(())
    })?;
    Ok(digest.finalize().into())
}

/// Converts a time to its column value.
fn nanos(time: Nanos) -> i64 {
    match integer(time) {
        Value::Integer(number) => number,
        _ => i64::MAX,
    }
}
