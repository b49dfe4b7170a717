//! Damaged data is detected: by its checksum when it is read, and by a check of the whole file
//! before data is added.

use crate::common;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use campaign::store::{CampaignId, Store, StoreError};
use model::{CampaignResults, Nanos, SeededRng};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

const ID: CampaignId = CampaignId(1);
/// Number of damaged bytes, each in a separate database.
const FLIPS: u32 = 400;

/// Creates a database with two campaigns of four cells, all with a result.
fn filled() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let mut store = Store::open(&path).unwrap();
    let cells = common::cells(4);
    for _ in 0..2 {
        let campaign = common::campaign();
        let id = store.begin_campaign(&campaign, &cells, Nanos(7)).unwrap();
        let environment = common::environment(1);
        store.begin_session(id, &environment, Nanos(8)).unwrap();
        store.calibrate(id, &common::calibration()).unwrap();
        for cell in &cells {
            store.record(id, cell, &common::result(&["seek"])).unwrap();
        }
    }
    (directory, path)
}

fn load(path: &Path) -> Result<CampaignResults, StoreError> {
    Store::open_read_only(path)?.unwrap().load(ID)
}

/// Changes rows without the triggers, to simulate damage.
fn change(path: &Path, statement: &str) {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema WHERE type = 'trigger'";
    let drop: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    let all = format!("{drop}; PRAGMA foreign_keys = OFF; {statement}");
    connection.execute_batch(&all).unwrap();
}

#[test]
fn names_a_row_that_was_changed() {
    for (statement, what) in [
        (
            "UPDATE campaign SET definition = replace(definition, 'nightly', 'mightly')",
            "definition of campaign 1",
        ),
        ("UPDATE campaign SET started = 8", "definition of campaign 1"),
        (
            "UPDATE session SET environment = replace(environment, '0.1', '0.2')",
            "environment 1, of campaign 1,",
        ),
        ("UPDATE planned_cell SET seed = '5' WHERE cell = 3", "plan of cell 3 of campaign 1"),
        (
            "UPDATE calibration SET calibration = replace(calibration, 'a disk', 'a dish')",
            "calibration of campaign 1",
        ),
        (
            "UPDATE cell SET result = replace(result, '0', '1') WHERE cell = 2",
            "result of cell 2 of campaign 1",
        ),
        ("UPDATE cell SET status = 'failed' WHERE cell = 2", "result of cell 2 of campaign 1"),
        ("UPDATE cell SET digest = zeroblob(32) WHERE cell = 1", "result of cell 1 of campaign 1"),
    ] {
        let (_directory, path) = filled();
        change(&path, statement);
        let error = load(&path).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        let expected = format!(
            "the stored {what} in {} is damaged (it does not match its checksum): put a sound copy",
            path.display()
        );
        assert!(error.to_string().starts_with(&expected), "{statement}: {error}");
    }
}

#[test]
fn detects_a_row_that_was_moved() {
    for statement in [
        "UPDATE cell SET cell = -1 WHERE cell = 1; UPDATE cell SET cell = 1 WHERE cell = 2",
        "UPDATE cell SET campaign = campaign + 10; UPDATE cell SET campaign = 13 - campaign",
        "UPDATE calibration SET campaign = 9 WHERE campaign = 1; UPDATE calibration SET campaign = 1 WHERE campaign = 2",
        "UPDATE session SET campaign = 3 - campaign",
    ] {
        let (_directory, path) = filled();
        change(&path, statement);
        let error = load(&path).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{statement}: {error}");
    }
}

/// A damaged byte anywhere in the file: a read returns the stored data or an error.
#[test]
fn a_read_returns_stored_data_or_an_error_for_any_damage() {
    let (_directory, path) = filled();
    let sound = fs::read(&path).unwrap();
    let stored = load(&path).unwrap();
    let mut chance = SeededRng::new(0);
    let mut found = 0;
    for _ in 0..FLIPS {
        let mut bytes = sound.clone();
        let at = chance.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << chance.below(8);
        fs::write(&path, bytes).unwrap();
        match load(&path) {
            Ok(read) => {
                let missing = |(a, b): (&model::CellRecord, &model::CellRecord)| {
                    a.cell == b.cell && (a.result == b.result || a.result.is_none())
                };
                assert!(read.cells.iter().zip(&stored.cells).all(missing), "byte {at}");
                assert_eq!(read.campaign, stored.campaign, "byte {at}");
            }
            Err(error) => {
                found += 1;
                assert_eq!(error.to_string().lines().count(), 1, "byte {at}: {error}");
            }
        }
    }
    assert!(found > 20, "{found} of {FLIPS} were found");
}

#[test]
fn refuses_to_add_data_to_a_damaged_database() {
    let (_directory, path) = filled();
    let sound = fs::read(&path).unwrap();
    let mut chance = SeededRng::new(1);
    let mut refused = 0;
    for _ in 0..FLIPS {
        let mut bytes = sound.clone();
        let at = chance.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << chance.below(8);
        fs::write(&path, &bytes).unwrap();
        if let Err(error) = Store::open(&path) {
            refused += 1;
            assert_eq!(error.to_string().lines().count(), 1, "byte {at}: {error}");
            assert!(fs::read(&path).unwrap() == bytes, "byte {at}: {error}");
        }
    }
    assert!(refused > 20, "{refused} of {FLIPS} were refused");
}

/// Overwrites the page of the calibrations and keeps the modification time of the file.
fn damage_quietly(path: &Path) {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'calibration'";
    let page: u32 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(connection);
    let file = fs::File::options().write(true).open(path).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(&[0xff], u64::from(page - 1) * 4096).unwrap();
    file.set_modified(time).unwrap();
}

/// Copies a file with its modification time.
fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
    let time = fs::metadata(from).unwrap().modified().unwrap();
    fs::File::options().write(true).open(to).unwrap().set_modified(time).unwrap();
}

/// A check reads the whole file, which takes long if it is large.
#[test]
fn only_a_file_that_its_last_writer_closed_is_not_checked() {
    let (directory, path) = filled();
    // Opening without a change keeps the mark.
    drop(Store::open(&path).unwrap());
    damage_quietly(&path);
    drop(Store::open(&path).expect("it was closed and looks unchanged"));
    assert!(load(&path).is_err(), "a damaged row is never returned");
    let time = SystemTime::now();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "changed by another program: {error}");

    // A killed writer leaves its log, even if it did not change the file itself.
    let (_other, path) = filled();
    let mut writer = Store::open(&path).unwrap();
    writer.begin_session(ID, &common::environment(2), Nanos(9)).unwrap();
    let killed = directory.path().join("killed.db");
    copy(&path, &killed);
    copy(&path.with_extension("db-wal"), &killed.with_extension("db-wal"));
    damage_quietly(&killed);
    let error = Store::open(&killed).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

/// A report of one campaign must not depend on the size or the state of the others.
#[test]
fn a_campaign_is_read_without_the_results_of_others() {
    let (_directory, path) = filled();
    let before = load(&path).unwrap();
    change(&path, "UPDATE cell SET result = '{}', digest = zeroblob(32) WHERE campaign = 2");
    assert_eq!(load(&path).unwrap(), before);
    let store = Store::open_read_only(&path).unwrap().unwrap();
    assert_eq!(store.campaigns().unwrap()[1].done, 4);
    assert_eq!(store.finished_cells(CampaignId(2)).unwrap().len(), 4);
    assert_eq!(store.definition(ID).unwrap(), before.campaign);
    assert!(store.load(CampaignId(2)).is_err());
}

#[test]
fn detects_a_truncated_file() {
    let (_directory, path) = filled();
    let sound = fs::read(&path).unwrap();
    for length in [1, 99, 100, 512, 4095, 4096, 8192, sound.len() - 4096] {
        fs::write(&path, &sound[..length]).unwrap();
        for error in [load(&path).unwrap_err(), Store::open(&path).unwrap_err()] {
            let known = matches!(
                error,
                StoreError::Damaged { .. } | StoreError::NotAnFsarenaDatabase { .. }
            );
            assert!(known, "{length}: {error}");
            let line = error.to_string();
            assert!(line.contains(&path.display().to_string()), "{line}");
        }
        assert_eq!(fs::read(&path).unwrap().len(), length, "nothing was added");
    }
}

#[test]
fn reports_orphaned_rows_before_adding_data() {
    let (_directory, path) = filled();
    change(&path, "DELETE FROM session WHERE id = 2");
    let error = Store::open(&path).unwrap_err().to_string();
    assert!(error.contains("table cell belong to nothing"), "{error}");
}

#[test]
fn refuses_directories_and_devices_as_databases() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path(), Path::new("/dev/null")] {
        for error in [Store::open(path).unwrap_err(), Store::open_read_only(path).unwrap_err()] {
            assert!(matches!(error, StoreError::NotAFile { .. }), "{error}");
            assert!(error.to_string().contains(&path.display().to_string()));
        }
    }
}
