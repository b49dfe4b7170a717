//! Databases of released programs are read correctly, and their values are written again as the
//! same bytes.
//!
//! Rows have digests over their stored text, so a changed name of a serialised field or variant
//! makes old databases unreadable or old campaigns look new. These tests fail on such a change.
//!
//! `old_databases/NAME.sql` is a database as SQL text, and `old_databases/NAME.json` a summary of
//! its contents. The SQL files never change. Most were made by `scripts/dump-databases.sh`; dumps
//! of a later program belong in another folder. Two files contain rows that were written by hand as
//! JSON text:
//!
//! - `statuses.sql`: its second campaign has a result with each status.
//! - `every_name.sql`: each field and each variant of the stored types appears at least once. It
//!   was generated from their JSON schema, so its values have no meaning.
//!
//! After a new SQL file or a change of `summary`, write the summaries with `WRITE_EXPECTED=1 cargo
//! test --package campaign --test old_databases`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use campaign::store::{CampaignId, Store};
use model::{CampaignResults, CellResult, Nanos, PhaseResult};
use rusqlite::types::Value as Column;
use rusqlite::{Connection, Params, Row};
use serde::Serialize;
use serde_json::{Value, json};

/// The databases.
const DATABASES: [&str; 8] =
    ["loop", "dir", "vm", "imported", "aged", "interrupted", "statuses", "every_name"];

/// Tables with columns that are derived from the stored values. Table `imported` has none.
const TABLES: [&str; 7] =
    ["campaign", "session", "planned_cell", "cell", "calibration", "phase", "measurement"];

/// A database that was rebuilt from its SQL text, in a directory that is removed on drop.
struct Rebuilt {
    name: &'static str,
    directory: tempfile::TempDir,
}

impl Rebuilt {
    fn new(name: &'static str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let rebuilt = Self { name, directory };
        let sql = fs::read_to_string(fixture(name, "sql")).unwrap();
        rebuilt.connection().execute_batch(&sql).unwrap();
        rebuilt
    }

    fn path(&self) -> PathBuf {
        let file = format!("{}.db", self.name);
        self.directory.path().join(file)
    }

    fn connection(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// Opens the database read-only.
    fn store(&self) -> Store {
        Store::open_read_only(&self.path()).unwrap().unwrap()
    }
}

fn all() -> impl Iterator<Item = Rebuilt> {
    DATABASES.into_iter().map(Rebuilt::new)
}

fn fixture(name: &str, extension: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_databases");
    directory.join(format!("{name}.{extension}"))
}

fn select<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    take: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut query = connection.prepare(sql).unwrap();
    let rows = query.query_map(parameters, |row| take(row)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn texts(connection: &Connection, sql: &str, parameters: impl Params) -> Vec<String> {
    select(connection, sql, parameters, |row| row.get(0))
}

fn as_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// Serialises values as the store does.
fn all_as_json<'a, T: Serialize + 'a>(values: impl IntoIterator<Item = &'a T>) -> Vec<String> {
    values.into_iter().map(as_json).collect()
}

/// Loads a campaign with the request logs of simulated disks, which `Store::load` omits.
fn load(store: &Store, id: CampaignId) -> CampaignResults {
    let mut results = store.load(id).unwrap();
    for stored in &mut results.cells {
        if let Some(result) = &mut stored.result {
            result.journal = store.journal(id, stored.cell.id).unwrap();
        }
    }
    results
}

fn done(results: &CampaignResults) -> impl Iterator<Item = &CellResult> {
    let results = results.cells.iter();
    results.filter_map(|stored| stored.result.as_ref())
}

/// Compares texts one by one, so that a failure shows the difference only.
#[track_caller]
fn assert_same(written: &[String], stored: &[String], what: &str) {
    for (written, stored) in written.iter().zip(stored) {
        if written == stored {
            continue;
        }
        let pairs = written.char_indices().zip(stored.chars());
        let mut different = pairs.filter_map(|((at, a), b)| (a != b).then_some(at));
        let shorter = written.len().min(stored.len());
        let at = different.next().unwrap_or(shorter).saturating_sub(60);
        let part = |text: &str| -> String { text.chars().skip(at).take(160).collect() };
        panic!("{what}: stored and written differ:\n{}\n{}", part(stored), part(written));
    }
    assert_eq!(written.len(), stored.len(), "{what}");
}

/// Returns all rows of a table as text, in key order.
fn rows(connection: &Connection, table: &str) -> Vec<String> {
    let sql = format!("SELECT * FROM {table}");
    let mut rows = select(connection, &sql, [], |row| {
        let columns = 0..row.as_ref().column_count();
        let columns = columns.map(|column| row.get::<_, Column>(column));
        Ok(format!("{:?}", columns.collect::<Result<Vec<_>, _>>()?))
    });
    rows.sort();
    rows
}

#[test]
fn stored_values_are_written_again_as_the_same_bytes() {
    for database in all() {
        let (name, store, connection) = (database.name, database.store(), database.connection());
        let definitions = store.definitions().unwrap();
        let stored = texts(&connection, "SELECT definition FROM campaign ORDER BY id", []);
        let written = all_as_json(definitions.iter().map(|(_, campaign)| campaign));
        assert_same(&written, &stored, &format!("{name}: campaigns"));
        for (id, _) in definitions {
            let results = load(&store, id);
            let sql = "SELECT environment FROM session WHERE campaign = ?1 ORDER BY id";
            let stored = texts(&connection, sql, [id.0]);
            let written = all_as_json(&results.environments);
            assert_same(&written, &stored, &format!("{name}: environments"));
            let sql = "SELECT calibration FROM calibration WHERE campaign = ?1";
            let stored = texts(&connection, sql, [id.0]);
            let written = all_as_json(&results.calibration);
            assert_same(&written, &stored, &format!("{name}: calibration"));
            let sql = "SELECT result FROM cell WHERE campaign = ?1 ORDER BY cell";
            let stored = texts(&connection, sql, [id.0]);
            let written = all_as_json(done(&results));
            assert_same(&written, &stored, &format!("{name}: results"));
        }
    }
}

/// Also covers digests, enum words in other columns, and the numbers derived from results.
#[test]
fn values_that_are_stored_again_give_the_same_rows() {
    for database in all() {
        let (old, connection) = (database.store(), database.connection());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new.db");
        let mut new = Store::open(&path).unwrap();
        for (id, campaign) in old.definitions().unwrap() {
            let results = load(&old, id);
            let plan: Vec<_> = results.cells.iter().map(|c| c.cell.clone()).collect();
            let begun = new.begin_campaign(&campaign, &plan, results.started);
            assert_eq!(begun.unwrap(), id);
            let sql = "SELECT id, started FROM session WHERE campaign = ?1 ORDER BY id";
            let sessions = select(&connection, sql, [id.0], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            });
            assert_eq!(sessions.len(), results.environments.len());
            for ((session, started), environment) in sessions.iter().zip(&results.environments) {
                let started = Nanos(u64::try_from(*started).unwrap());
                new.begin_session(id, environment, started).unwrap();
                let sql = "SELECT cell FROM cell WHERE session = ?1 ORDER BY rowid";
                for cell in select(&connection, sql, [session], |row| row.get::<_, u32>(0)) {
                    let mut cells = results.cells.iter();
                    let stored = cells.find(|stored| stored.cell.id.0 == cell).unwrap();
                    let result = stored.result.as_ref().unwrap();
                    new.record(id, &stored.cell, result).unwrap();
                }
            }
            if let Some(calibration) = &results.calibration {
                new.calibrate(id, calibration).unwrap();
            }
        }
        drop(new);
        let written = Connection::open(&path).unwrap();
        for table in TABLES {
            let what = format!("{}: table {table}", database.name);
            let (written, stored) = (rows(&written, table), rows(&connection, table));
            assert_same(&written, &stored, &what);
        }
    }
}

/// Opens the databases for writing, which checks the whole file first.
#[test]
fn databases_contain_the_expected_values() {
    for database in all() {
        let store = Store::open(&database.path()).unwrap();
        let found = summary(&store);
        let path = fixture(database.name, "json");
        if std::env::var_os("WRITE_EXPECTED").is_some() {
            let text = serde_json::to_string_pretty(&found).unwrap();
            fs::write(&path, text + "\n").unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        let expected: Value = serde_json::from_str(&text).unwrap();
        let lines = |value| {
            let text = serde_json::to_string_pretty(value).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_same(&lines(&found), &lines(&expected), database.name);
    }
}

/// Without a digest, a damaged row would not be detected on reading.
#[test]
fn each_row_has_a_digest() {
    for database in all() {
        for table in ["campaign", "session", "planned_cell", "cell", "calibration"] {
            let sql = format!("SELECT count(*) FROM {table} WHERE digest IS NULL");
            let without = select(&database.connection(), &sql, [], |row| row.get::<_, u32>(0));
            assert_eq!(without, [0], "{}: {table}", database.name);
        }
    }
}

#[test]
fn databases_contain_each_backend_each_status_and_each_kind_of_evidence() {
    let mut seen = BTreeSet::new();
    for database in all() {
        let (store, connection) = (database.store(), database.connection());
        let words = "SELECT backend FROM campaign UNION SELECT status FROM cell";
        seen.extend(texts(&connection, words, []));
        for (id, _) in store.definitions().unwrap() {
            let results = load(&store, id);
            let any = |holds: fn(&CellResult) -> bool| done(&results).any(holds);
            let kinds = [
                ("request log", any(|r| !r.journal.is_empty())),
                ("age", any(|r| r.age.is_some())),
                ("kernel log", any(|r| !r.kernel_log.is_empty())),
                ("earlier result", any(|r| r.first.is_some())),
                ("calibration", results.calibration.is_some()),
                ("resumed", results.environments.len() > 1),
                ("incomplete", done(&results).count() < results.cells.len()),
                ("imported", store.is_imported(id).unwrap()),
            ];
            let found = kinds.into_iter().filter(|(_, found)| *found);
            seen.extend(found.map(|(kind, _)| kind.to_owned()));
        }
    }
    let wanted = "loop, dir, vm, elsewhere, ok, unsupported, failed, crashed, hung, skipped, invalid, request log, age, \
                  kernel log, earlier result, calibration, resumed, incomplete, imported";
    let missing: Vec<_> = wanted.split(", ").filter(|kind| !seen.contains(*kind)).collect();
    assert_eq!(missing, [""; 0]);
}

/// Returns the main contents of a database, read through the fields and methods of the types.
fn summary(store: &Store) -> Value {
    let campaigns = store.campaigns().unwrap().into_iter().map(|listed| {
        let results = load(store, listed.id);
        let campaign = &results.campaign;
        let tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
        let tests = tests.map(|test| {
            let phases = test.phases.iter().map(|phase| {
                let operation = serde_json::to_value(&phase.op).unwrap()["op"].take();
                format!("{}: {}", phase.name, operation.as_str().unwrap())
            });
            json!({"suite": test.suite, "test": test.name, "phases": phases.collect::<Vec<_>>()})
        });
        json!({
            "listed": listed,
            "seed": campaign.seed,
            "size": campaign.size.0,
            "rounds": campaign.rounds,
            "tests": tests.collect::<Vec<_>>(),
            "kernels": results.environments.iter().map(|e| &e.kernel).collect::<Vec<_>>(),
            "devices": results.environments.iter().map(|e| &e.device).collect::<Vec<_>>(),
            "nanoseconds of an operation": results.calibration.as_ref().map(|c| c.overhead.operation.median),
            "imported": store.is_imported(listed.id).unwrap(),
            "cells": results.cells.iter().map(|stored| {
                let cell = &stored.cell;
                json!({
                    "cell": format!(
                        "{} {} {}/{} round {} seed {}",
                        cell.id.0, cell.contender, cell.suite, cell.test, cell.round, cell.seed
                    ),
                    "result": stored.result.as_ref().map(summary_of_result),
                })
            }).collect::<Vec<_>>(),
        })
    });
    campaigns.collect()
}

fn summary_of_result(result: &CellResult) -> Value {
    json!({
        "status": result.status.name(),
        "reason": result.failure.as_ref().map(|failure| &failure.reason),
        "started": result.started.0,
        "elapsed": result.elapsed.0,
        "steps": result.steps.iter().map(|step| step.command.join(" ")).collect::<Vec<_>>(),
        "features": result.features.0.len(),
        "kernel log": result.kernel_lines().count(),
        "request log": result.journal.iter().map(|part| part.packed.len()).collect::<Vec<_>>(),
        "files of the aged filesystem": result.age.as_ref().map(|age| age.files),
        "phases": result.phases.iter().map(summary_of_phase).collect::<Vec<_>>(),
    })
}

fn summary_of_phase(phase: &PhaseResult) -> String {
    let numbers = phase.measurements();
    let first = numbers.first();
    let first = first.map(|number| format!("{} {}", number.metric.name(), number.value));
    format!(
        "{}: {}, {} operations, {} bytes, {} ns, {} latencies, {} numbers, {}",
        phase.phase,
        phase.status,
        phase.operations,
        phase.bytes.0,
        phase.elapsed.0,
        phase.latency.len(),
        numbers.len(),
        first.as_deref().unwrap_or("none")
    )
}
