//! Databases of older versions are read unchanged, and migrated by the first writer.

use crate::common;
use std::fs;
use std::path::Path;

use campaign::store::{CampaignId, Store, StoreError};
use model::Nanos;
use rusqlite::{Connection, params};

const MIGRATIONS: [&str; 2] = [
    include_str!("../../migrations/0001_campaigns.sql"),
    include_str!("../../migrations/0002_calibration.sql"),
];
const ID: CampaignId = CampaignId(1);

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// Creates a database of an older version: a campaign of two cells, one of them with a result.
fn left_behind(path: &Path, version: usize) {
    let connection = Connection::open(path).unwrap();
    for migration in &MIGRATIONS[..version] {
        connection.execute_batch(migration).unwrap();
    }
    let header = format!("PRAGMA application_id = 0x66736172; PRAGMA user_version = {version};");
    connection.execute_batch(&header).unwrap();
    connection
        .execute(
            "INSERT INTO campaign VALUES (1, 'nightly', 7, 'quick', 'loop', ?1)",
            [json(&common::campaign())],
        )
        .unwrap();
    connection
        .execute("INSERT INTO session VALUES (1, 1, 8, ?1)", [json(&common::environment(1))])
        .unwrap();
    for cell in common::cells(2) {
        connection
            .execute(
                "INSERT INTO planned_cell VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    cell.id.0,
                    cell.contender,
                    cell.suite,
                    cell.test,
                    cell.round,
                    cell.seed.to_string()
                ],
            )
            .unwrap();
    }
    connection
        .execute(
            "INSERT INTO cell VALUES (1, 0, 1, 'ok', 1, 2, ?1)",
            [json(&common::result(&["seek"]))],
        )
        .unwrap();
    if version > 1 {
        connection
            .execute("INSERT INTO calibration VALUES (1, 9, ?1)", [json(&common::calibration())])
            .unwrap();
    }
}

/// Asserts that the campaign is unchanged.
#[track_caller]
fn assert_whole(store: &Store, version: usize) {
    let results = store.load(ID).unwrap();
    assert_eq!(results.campaign, common::campaign());
    assert_eq!(results.environments, [common::environment(1)]);
    let calibration = (version > 1).then(common::calibration);
    assert_eq!(results.calibration, calibration);
    assert_eq!(store.last_calibration().unwrap(), calibration);
    assert_eq!(results.cells.len(), 2);
    assert_eq!(results.cells[0].result, Some(common::result(&["seek"])));
    assert_eq!(store.campaigns().unwrap().len(), 1);
}

#[test]
fn reads_an_older_database_without_changing_it() {
    for version in [1, 2] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old.db");
        left_behind(&path, version);
        let before = fs::read(&path).unwrap();
        assert_whole(&Store::open_read_only(&path).unwrap().unwrap(), version);
        assert_eq!(fs::read(&path).unwrap(), before, "nothing is written");
    }
}

#[test]
fn migrates_an_older_database_and_keeps_its_campaigns() {
    for version in [1, 2] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old.db");
        left_behind(&path, version);
        let mut store = Store::open(&path).unwrap();
        assert_whole(&store, version);
        let second = &common::cells(2)[1];
        store.record(ID, second, &common::failed("late")).unwrap();
        assert_whole(&store, version);
        let results = store.load(ID).unwrap();
        assert_eq!(results.cells[1].result, Some(common::failed("late")));
        let again = store.begin_campaign(&common::campaign(), &[], Nanos(9));
        assert_eq!(again.unwrap(), CampaignId(2));
    }
}

/// Rows of older versions have no checksum, but must still be valid.
#[test]
fn reports_an_invalid_row_of_an_older_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.db");
    left_behind(&path, 2);
    let connection = Connection::open(&path).unwrap();
    let change = "DROP TRIGGER cell_stays; UPDATE cell SET result = '{}'";
    connection.execute_batch(change).unwrap();
    let error = Store::open(&path).unwrap().load(ID).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let line = error.to_string();
    assert!(
        line.starts_with("the stored result of cell 0 of campaign 1 in ")
            && line.contains(" is damaged (missing field"),
        "{line}"
    );
}
