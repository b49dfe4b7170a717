//! Checks that stored rows cannot be changed by any program, even one that does not use fsarena's
//! connection settings, such as the sqlite3 shell.

use crate::common;
use std::path::Path;

use campaign::run::in_memory::{self, FakeBackend};
use campaign::run::{CampaignEnd, CellBackend, CellUpdate, RunLimits, StopFlag, StoredCampaign};
use campaign::store::{CampaignId, Store};
use model::{Calibration, Cell, Environment, Nanos, Test};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

const TABLES: [&str; 5] = ["campaign", "calibration", "session", "planned_cell", "cell"];
/// Views over the results.
const VIEWS: [&str; 2] = ["phase", "measurement"];

/// Creates a database with rows in each table.
fn fill(path: &Path) {
    let mut store = Store::open(path).unwrap();
    let cells = common::cells(4);
    let campaign = common::campaign();
    let id = store.begin_campaign(&campaign, &cells, Nanos(7)).unwrap();
    store.begin_session(id, &common::environment(1), Nanos(8)).unwrap();
    store.calibrate(id, &common::calibration()).unwrap();
    let result = common::result(&["seek"]);
    store.record(id, &cells[0], &result).unwrap();
}

/// A backend that another process uses until this one may prepare its cells.
struct Shared<'a, B> {
    path: &'a Path,
    id: CampaignId,
    backend: B,
}

impl<B: CellBackend> CellBackend for Shared<'_, B> {
    type Error = B::Error;

    fn environment(&mut self) -> Result<Environment, B::Error> {
        let mut store = Store::open(self.path).unwrap();
        store.calibrate(self.id, &common::calibration()).unwrap();
        let mut others = StoredCampaign::new(&mut store, self.id);
        let mut backend = FakeBackend::new(|_: &Cell, test: &Test| in_memory::ok_result(test));
        let (limits, stop) = (RunLimits::default(), StopFlag::default());
        let ended = campaign::run::run(&mut others, &mut backend, &limits, &(), &stop);
        assert_eq!(ended.unwrap(), CampaignEnd::Complete);
        self.backend.environment()
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, B::Error> {
        panic!("the other process calibrated")
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        self.backend.start(cell, test);
    }

    fn next_update(&mut self) -> CellUpdate {
        self.backend.next_update()
    }
}

#[test]
fn cells_that_another_process_ran_meanwhile_do_not_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("shared.db");
    let mut store = Store::open(path).unwrap();
    let ext4 = config::Catalog::builtin().unwrap().contender("ext4").unwrap();
    let campaign = in_memory::campaign(vec![ext4], 2);
    let plan = campaign::plan::plan(&campaign);
    let id = store.begin_campaign(&campaign, &plan, Nanos(1)).unwrap();
    let backend = FakeBackend::new(|cell: &Cell, _: &Test| panic!("{cell:?} ran twice"));
    let mut backend = Shared { path, id, backend };
    let mut stored = StoredCampaign::new(&mut store, id);
    let (limits, stop) = (RunLimits::default(), StopFlag::default());
    let ended = campaign::run::run(&mut stored, &mut backend, &limits, &(), &stop);
    assert_eq!(ended.unwrap(), CampaignEnd::Complete);
    assert!(store.load(id).unwrap().cells.iter().all(|stored| stored.result.is_some()));
}

/// Opens a connection with the settings of another program.
fn plain(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    let settings = "PRAGMA recursive_triggers = OFF; PRAGMA foreign_keys = OFF;";
    connection.execute_batch(settings).unwrap();
    connection
}

fn columns(connection: &Connection, table: &str) -> Vec<String> {
    let sql = "SELECT name FROM pragma_table_info(?1)";
    let mut query = connection.prepare(sql).unwrap();
    let names = query.query_map([table], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

/// Returns every row with the name of its table.
fn content(connection: &Connection) -> Vec<(&'static str, Vec<Value>)> {
    let mut all = Vec::new();
    for table in TABLES {
        let count = columns(connection, table).len();
        let sql = format!("SELECT * FROM {table}");
        let mut query = connection.prepare(&sql).unwrap();
        let values = |row: &rusqlite::Row<'_>| (0..count).map(|i| row.get(i)).collect();
        let rows = query.query_map([], values).unwrap();
        all.extend(rows.map(|row| (table, row.unwrap())));
    }
    all
}

#[test]
fn no_statement_can_change_or_remove_stored_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    fill(&path);
    let connection = plain(&path);
    let before = content(&connection);
    for table in TABLES {
        assert!(before.iter().any(|(of, _)| *of == table), "{table} is empty");
        let columns = columns(&connection, table);
        let first = &columns[0];
        for statement in [
            format!("DELETE FROM {table}"),
            format!("UPDATE {table} SET {first} = {first}"),
            format!("UPDATE OR REPLACE {table} SET {first} = {first} + 1"),
            format!("REPLACE INTO {table} SELECT * FROM {table}"),
            format!("INSERT OR REPLACE INTO {table} SELECT * FROM {table}"),
            format!("INSERT OR IGNORE INTO {table} SELECT * FROM {table}"),
            format!(
                "INSERT INTO {table} SELECT * FROM {table} WHERE true
                 ON CONFLICT DO UPDATE SET {first} = {first}"
            ),
        ] {
            let error = connection.execute(&statement, []).unwrap_err().to_string();
            assert!(error.contains("append-only"), "{statement}: {error}");
        }
    }
    assert_eq!(content(&connection), before);
}

#[test]
fn views_of_results_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    fill(&path);
    let connection = plain(&path);
    for view in VIEWS {
        let rows = format!("SELECT count(*) FROM {view}");
        assert!(connection.query_row(&rows, [], |row| row.get::<_, u32>(0)).unwrap() > 0);
        for statement in [
            format!("DELETE FROM {view}"),
            format!("UPDATE {view} SET cell = cell"),
            format!("INSERT INTO {view} SELECT * FROM {view}"),
        ] {
            let error = connection.execute(&statement, []).unwrap_err().to_string();
            assert!(error.contains("because it is a view"), "{statement}: {error}");
        }
    }
}

/// A row cannot be replaced through any of its unique keys, including the primary key.
#[test]
fn a_row_is_not_replaced_by_another_of_its_keys() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    fill(&path);
    let connection = plain(&path);
    let before = content(&connection);
    for statement in [
        "REPLACE INTO planned_cell SELECT campaign, cell + 100, contender, suite, test, round, seed, digest
         FROM planned_cell",
        "REPLACE INTO cell (rowid, campaign, cell, session, status, started, elapsed, result, digest)
         SELECT rowid, campaign, cell + 100, session, status, started, elapsed, result, digest FROM cell",
    ] {
        let error = connection.execute(statement, []).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{statement}: {error}");
    }
    assert_eq!(content(&connection), before);
}

#[test]
fn a_row_without_its_digest_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    fill(&path);
    let connection = plain(&path);
    for (table, mut row) in content(&connection) {
        let columns = columns(&connection, table);
        let Some(digest) = columns.iter().position(|column| column == "digest") else {
            continue;
        };
        // Values that differ from the keys of all rows.
        for value in &mut row {
            if let Value::Integer(number) = value {
                *number += 1000;
            }
        }
        let places = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO {table} VALUES ({places})");
        for wrong in [Value::Null, Value::Blob(vec![0; 31])] {
            row[digest] = wrong;
            let refused = connection.execute(&sql, params_from_iter(row.clone()));
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("digest"), "{table}: {error}");
        }
    }
}
