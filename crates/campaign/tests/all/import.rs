//! Import of campaigns from other databases and of results of other programs.

use crate::common;
use std::fs;
use std::path::Path;

use campaign::store::{CampaignId, ImportSource, Store, StoreError};
use model::{CampaignResults, CellResult, Nanos, Status};
use rusqlite::Connection;

/// Creates a database with a campaign of two sessions in which one cell has no result.
fn other(path: &Path) -> Store {
    let mut store = Store::open(path).unwrap();
    let campaign = common::campaign();
    let plan = common::cells(3);
    let id = store.begin_campaign(&campaign, &plan, Nanos(5)).unwrap();
    store.begin_session(id, &common::environment(1), Nanos(6)).unwrap();
    store.calibrate(id, &common::calibration()).unwrap();
    let result = CellResult::with_status(Status::Ok);
    store.record(id, &plan[0], &result).unwrap();
    store.begin_session(id, &common::environment(1), Nanos(7)).unwrap();
    store.record(id, &plan[2], &result).unwrap();
    store
}

/// Loads a campaign without its number.
fn unnumbered(store: &Store, id: i64) -> CampaignResults {
    CampaignResults { id: 0, ..store.load(CampaignId(id)).unwrap() }
}

#[test]
fn imports_a_campaign_of_another_database_once_and_completely() {
    let directory = tempfile::tempdir().unwrap();
    let theirs = other(&directory.path().join("theirs.db"));
    let mut ours = other(&directory.path().join("ours.db"));
    let results = unnumbered(&theirs, 1);
    let mut renamed = results.clone();
    renamed.campaign.name = "of theirs".into();
    ours.import(&[ImportSource::Results(&renamed)]).unwrap();
    assert_eq!(unnumbered(&ours, 2), renamed);
    let mut fresh = Store::open(&directory.path().join("fresh.db")).unwrap();
    let both = [ImportSource::Database(&ours), ImportSource::Database(&theirs)];
    let taken = fresh.import(&both).unwrap();
    let seen: Vec<_> = taken.iter().map(|t| (t.id.0, t.is_new)).collect();
    assert_eq!(seen, [(1, true), (2, true), (1, false)]);
    assert_eq!(unnumbered(&fresh, 1), results);
    assert_eq!(unnumbered(&fresh, 2), renamed);
    assert!(fresh.import(&both).unwrap().iter().all(|t| !t.is_new));
    assert!(fresh.is_imported(taken[0].id).unwrap());
    let own = ours.campaigns().unwrap()[0].id;
    assert!(!ours.is_imported(own).unwrap());
    assert_eq!(fresh.campaigns().unwrap().len(), 2);
}

#[test]
fn imports_no_campaign_of_a_damaged_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("theirs.db");
    let theirs = other(&path);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "DROP TRIGGER cell_stays; UPDATE cell SET elapsed = elapsed + 1 WHERE cell = 2;",
        )
        .unwrap();
    let mut ours = Store::open(&directory.path().join("ours.db")).unwrap();
    let good = other(&directory.path().join("good.db"));
    let both = [ImportSource::Database(&good), ImportSource::Database(&theirs)];
    let error = ours.import(&both).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("theirs.db"), "{error}");
    assert_eq!(ours.campaigns().unwrap(), []);
    assert!(fs::metadata(path).unwrap().len() > 0);
}

/// Reading a view executes its query, which another program may have written.
#[test]
fn refuses_a_database_with_views_that_run_code() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("theirs.db");
    drop(other(&path));
    let connection = Connection::open(&path).unwrap();
    let endless = "ALTER TABLE campaign RENAME TO c2;
                   CREATE VIEW campaign AS WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM r)
                   SELECT id, 'x' AS name FROM r";
    connection.execute_batch(endless).unwrap();
    drop(connection);
    let refused = Store::open_immutable(&path).unwrap_err();
    assert!(matches!(refused, StoreError::NotAnFsarenaDatabase { .. }), "{refused}");
}
