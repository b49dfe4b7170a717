//! Deleting campaigns removes all their data, gives the space back and changes nothing else.

use crate::common;
use std::fs;
use std::path::{Path, PathBuf};

use campaign::store::{CampaignId, Store, StoreError};
use model::{CellResult, Nanos, RequestLogChunk};
use rusqlite::Connection;
use tempfile::TempDir;

/// Creates a database with a number of campaigns, each with four large results.
fn filled(campaigns: i64) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let mut store = Store::open(&path).unwrap();
    for number in 1..=campaigns {
        begin(&mut store, number);
    }
    (directory, path)
}

fn begin(store: &mut Store, number: i64) {
    let cells = common::cells(4);
    let id = store.begin_campaign(&common::campaign(), &cells, Nanos(7)).unwrap();
    assert_eq!(id, CampaignId(number));
    store.begin_session(id, &common::environment(1), Nanos(8)).unwrap();
    store.calibrate(id, &common::calibration()).unwrap();
    let log = RequestLogChunk { phase: None, packed: "A".repeat(100_000), timed: Vec::new() };
    let result = CellResult { journal: vec![log], ..common::result(&["seek"]) };
    for cell in &cells {
        store.record(id, cell, &result).unwrap();
    }
}

fn rows(path: &Path, table: &str) -> u32 {
    let connection = Connection::open(path).unwrap();
    let sql = format!("SELECT count(*) FROM {table}");
    connection.query_row(&sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn deletes_everything_of_a_campaign_and_nothing_of_others() {
    let (_directory, path) = filled(3);
    let mut store = Store::open(&path).unwrap();
    let kept = [1, 3].map(|id| store.load(CampaignId(id)).unwrap());
    let mut followed = store.follow(CampaignId(3)).unwrap();
    let before = fs::metadata(&path).unwrap().len();
    store.delete(&[CampaignId(2)]).unwrap();
    let freed = store.give_space_back().unwrap().0;
    let after = fs::metadata(&path).unwrap().len();
    assert_eq!(before - freed, after);
    assert!(freed > before / 4, "{freed} of {before}");
    assert!(matches!(store.load(CampaignId(2)), Err(StoreError::NoCampaign(_))));
    assert_eq!([1, 3].map(|id| store.load(CampaignId(id)).unwrap()), kept);
    assert!(!store.catch_up(&mut followed).unwrap(), "a watched campaign has no news");
    drop(store);
    for (table, each) in [("campaign", 1), ("session", 1), ("planned_cell", 4), ("cell", 4)] {
        assert_eq!(rows(&path, table), 2 * each, "{table}");
    }
    assert_eq!((rows(&path, "calibration"), rows(&path, "phase")), (2, 8));
    // The remaining rows are protected again.
    let error = Connection::open(&path).unwrap().execute("DELETE FROM cell", []).unwrap_err();
    assert!(error.to_string().contains("append-only"), "{error}");
    Store::open(&path).unwrap();
}

#[test]
fn a_number_is_not_used_again() {
    let (_directory, path) = filled(3);
    let mut store = Store::open(&path).unwrap();
    store.delete(&[CampaignId(3), CampaignId(1)]).unwrap();
    begin(&mut store, 4);
    store.delete(&[CampaignId(4), CampaignId(2)]).unwrap();
    assert_eq!(store.campaigns().unwrap(), []);
    begin(&mut store, 5);
}

#[test]
fn deletes_all_or_none() {
    let (_directory, path) = filled(2);
    let mut store = Store::open(&path).unwrap();
    let refused = store.delete(&[CampaignId(1), CampaignId(9)]);
    assert!(matches!(refused, Err(StoreError::NoCampaign(CampaignId(9)))));
    assert_eq!(store.campaigns().unwrap().len(), 2);
}

/// Files of older versions have tables of phases and measurements, and no room for an incremental
/// vacuum.
#[test]
fn deletes_campaigns_of_older_versions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.db");
    let sql = include_str!("../old_databases/loop.sql");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let mut store = Store::open(&path).unwrap();
    let all: Vec<CampaignId> = store.campaigns().unwrap().iter().map(|c| c.id).collect();
    assert!(rows(&path, "measurement") > 0);
    store.delete(&all).unwrap();
    assert!(store.give_space_back().unwrap().0 > 0);
    for table in ["campaign", "cell", "phase", "measurement", "session", "planned_cell"] {
        assert_eq!(rows(&path, table), 0, "{table}");
    }
    assert_eq!(store.give_space_back().unwrap().0, 0);
}

#[test]
fn another_connection_is_noticed() {
    let (_directory, path) = filled(1);
    let store = Store::open(&path).unwrap();
    assert!(!store.is_open_elsewhere().unwrap());
    let reader = Store::open_read_only(&path).unwrap().unwrap();
    assert!(store.is_open_elsewhere().unwrap());
    assert_eq!(reader.latest().unwrap(), Some(CampaignId(1)));
    drop(reader);
    assert!(!store.is_open_elsewhere().unwrap());
}
