//! The guarantees of the store to its callers.

use crate::common;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use campaign::store::{CampaignId, Store, StoreError};
use model::{
    Bytes, CellId, CellResult, DataKind, Metric, Nanos, PhaseResult, RequestLogChunk, SpaceUsage,
    Stall, Status, SteadyState, Timeline,
};
use tempfile::TempDir;

struct Fixture {
    _directory: TempDir,
    path: PathBuf,
    store: Store,
    id: CampaignId,
}

/// Creates a store with one campaign of four cells and one session.
fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("not/yet/there/results.db");
    let mut store = Store::open(&path).unwrap();
    let id = store.begin_campaign(&common::campaign(), &common::cells(4), Nanos(7)).unwrap();
    store.begin_session(id, &common::environment(1), Nanos(8)).unwrap();
    Fixture { _directory: directory, path, store, id }
}

#[test]
fn returns_elapsed_times_without_reading_results() {
    let mut f = fixture();
    let cells = common::cells(4);
    for (cell, seconds) in [(&cells[0], 9), (&cells[2], 4)] {
        let mut result = common::result(&["seek"]);
        result.elapsed = Nanos::from_secs(seconds);
        f.store.record(f.id, cell, &result).unwrap();
    }
    let name = ("ext4".to_owned(), "block".to_owned());
    let took = [9, 4].map(Nanos::from_secs).to_vec();
    let elapsed = f.store.elapsed(f.id).unwrap();
    assert_eq!(elapsed, BTreeMap::from([(name, took)]));
    assert!(f.store.elapsed(CampaignId(77)).is_err());
}

#[test]
fn following_a_campaign_gives_the_same_as_loading_it() {
    let mut f = fixture();
    let cells = common::cells(6);
    let reader = Store::open_read_only(&f.path).unwrap().unwrap();
    let mut followed = reader.follow(f.id).unwrap();
    assert_eq!(followed.session(), Some(Nanos(8)));
    assert!(!reader.catch_up(&mut followed).unwrap());
    // Parallel cells end in any order.
    for cell in [&cells[2], &cells[0]] {
        f.store.record(f.id, cell, &common::result(&["seek"])).unwrap();
        assert!(reader.catch_up(&mut followed).unwrap());
        assert_eq!(followed.results(), &f.store.load(f.id).unwrap());
    }
    f.store.extend_plan(f.id, &cells[4..]).unwrap();
    f.store.begin_session(f.id, &common::environment(2), Nanos(9)).unwrap();
    f.store.calibrate(f.id, &common::calibration()).unwrap();
    assert!(reader.catch_up(&mut followed).unwrap());
    assert!(!reader.catch_up(&mut followed).unwrap());
    assert_eq!(followed.session(), Some(Nanos(9)));
    let results = followed.results();
    assert_eq!((results.cells.len(), results.environments.len()), (6, 2));
    assert!(results.calibration.is_some());
    assert!(reader.follow(CampaignId(77)).is_err());
}

#[test]
fn a_campaign_reads_back_unchanged() {
    let mut f = fixture();
    let cells = common::cells(4);
    f.store.record(f.id, &cells[2], &common::result(&["seek"])).unwrap();
    f.store.begin_session(f.id, &common::environment(2), Nanos(9)).unwrap();
    f.store.record(f.id, &cells[0], &common::failed("no space")).unwrap();

    let results = Store::open(&f.path).unwrap().load(f.id).unwrap();
    assert_eq!(results.id, f.id.0);
    assert_eq!(results.started, Nanos(7));
    assert_eq!(results.campaign, common::campaign());
    assert_eq!(results.environments, [common::environment(1), common::environment(2)]);
    let planned: Vec<_> = results.cells.iter().map(|c| c.cell.clone()).collect();
    assert_eq!(planned, cells);
    assert_eq!(results.cells[0].result, Some(common::failed("no space")));
    assert_eq!(results.cells[1].result, None);
    assert_eq!(results.cells[2].result, Some(common::result(&["seek"])));
}

#[test]
fn stores_the_write_limit_of_a_campaign() {
    let mut f = fixture();
    let campaign =
        model::Campaign { max_written: Some(model::Bytes::mib(200)), ..common::campaign() };
    let id = f.store.begin_campaign(&campaign, &[], Nanos(7)).unwrap();
    let stored = Store::open(&f.path).unwrap().load(id).unwrap();
    assert_eq!(stored.campaign, campaign);
}

#[test]
fn a_plan_grows_at_its_end_and_the_campaign_has_the_rounds_of_its_plan() {
    let mut f = fixture();
    let until =
        model::StoppingRule { width: 0.05, share: 1.0, max_rounds: 9, max_time: Some(Nanos(11)) };
    let campaign = model::Campaign { rounds: 2, stopping_rule: Some(until), ..common::campaign() };
    let cells = common::cells(4);
    let id = f.store.begin_campaign(&campaign, &cells[..2], Nanos(7)).unwrap();
    assert_eq!(f.store.load(id).unwrap().campaign.rounds, 2);
    for misfit in [&cells[3..], &cells[1..3]] {
        let refused = f.store.extend_plan(id, misfit).unwrap_err();
        assert!(matches!(refused, StoreError::NonContiguousPlan { planned: 2, .. }), "{refused}");
    }
    f.store.extend_plan(id, &cells[2..3]).unwrap();
    f.store.extend_plan(id, &cells[3..]).unwrap();
    let results = f.store.load(id).unwrap();
    let planned: Vec<_> = results.cells.iter().map(|c| c.cell.clone()).collect();
    assert_eq!(planned, cells);
    assert_eq!(results.campaign.rounds, 4);
    assert_eq!(results.campaign.stopping_rule, Some(until));
    let nobody = f.store.extend_plan(CampaignId(99), &cells[..1]);
    assert!(matches!(nobody, Err(StoreError::NoCampaign(_))));
}

/// Regression test: two processes that collected at the same time stored a campaign twice.
#[test]
fn a_campaign_of_one_moment_is_stored_once() {
    let mut f = fixture();
    let (campaign, cells) = (common::campaign(), common::cells(4));
    let mut once = |started| f.store.begin_campaign_if_new(&campaign, &cells, started);
    assert_eq!(once(Nanos(7)).unwrap(), f.id);
    let other = once(Nanos(8)).unwrap();
    assert_ne!(other, f.id);
    assert_eq!(once(Nanos(8)).unwrap(), other);
}

#[test]
fn a_second_result_for_a_cell_is_refused_and_the_first_one_stays() {
    let mut f = fixture();
    let cell = &common::cells(4)[1];
    f.store.record(f.id, cell, &common::result(&["seek"])).unwrap();
    let error = f.store.record(f.id, cell, &common::failed("later")).unwrap_err();
    assert!(matches!(
        error,
        StoreError::AlreadyRecorded { campaign, cell: CellId(1) } if campaign == f.id
    ));
    let kept = &f.store.load(f.id).unwrap().cells[1].result;
    assert_eq!(*kept, Some(common::result(&["seek"])));
}

#[test]
fn results_without_plan_session_or_campaign_are_refused() {
    let mut f = fixture();
    let stranger = &common::cells(5)[4];
    assert!(matches!(
        f.store.record(f.id, stranger, &common::result(&[])),
        Err(StoreError::NotPlanned { cell: CellId(4), .. })
    ));
    let other = f.store.begin_campaign(&common::campaign(), &common::cells(1), Nanos(1)).unwrap();
    assert!(matches!(
        f.store
            .record(other, &common::cells(1)[0], &common::result(&[])),
        Err(StoreError::NoSession(id)) if id == other
    ));
    let none = CampaignId(99);
    assert!(matches!(f.store.load(none), Err(StoreError::NoCampaign(id)) if id == none));
    assert!(matches!(f.store.finished_cells(none), Err(StoreError::NoCampaign(_))));
    assert!(matches!(
        f.store.begin_session(none, &common::environment(1), Nanos(1)),
        Err(StoreError::NoCampaign(_))
    ));
}

#[test]
fn measurements_are_rows_with_unit_and_direction() {
    let mut f = fixture();
    f.store.record(f.id, &common::cells(4)[0], &common::result(&["seek"])).unwrap();
    let connection = rusqlite::Connection::open(&f.path).unwrap();
    let row: (String, f64, String, String) = connection
        .query_row(
            "SELECT unit, value, direction, cache FROM measurement WHERE metric = 'throughput'",
            [],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)),
        )
        .unwrap();
    let expected = f64::from(50 * 1024 * 1024);
    assert_eq!(row, ("bytes-per-second".into(), expected, "higher".into(), "cold".into()));
}

/// The view repeats names, units and directions in SQL.
#[test]
fn the_view_of_measurements_has_every_metric() {
    let f = fixture();
    let connection = rusqlite::Connection::open(&f.path).unwrap();
    let sql = "SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = 'measurement'";
    let view: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    let word = |value: serde_json::Value| value.as_str().unwrap().to_owned();
    for metric in Metric::ALL {
        let unit = word(serde_json::to_value(metric.unit()).unwrap());
        let direction = word(serde_json::to_value(metric.direction()).unwrap());
        let row = format!("('{}', '{unit}', '{direction}')", metric.name());
        assert!(view.contains(&row), "{row}");
    }
}

#[test]
fn the_view_of_measurements_has_the_numbers_of_the_program() {
    let mut f = fixture();
    let space = |free| SpaceUsage { free: Bytes::mib(free), ..SpaceUsage::default() };
    let phase = PhaseResult {
        content: Some(DataKind::Text),
        space_before: Some(space(90)),
        space_after: Some(space(50)),
        timeline: Some(Timeline {
            stall: Some(Stall { at: Nanos(1), length: Nanos(123_456_789) }),
            steady: Some(SteadyState { from: Nanos::from_secs(3), rate: 2.5, throughput: 1e7 }),
            ..Timeline::default()
        }),
        ..common::phase("write")
    };
    let result = CellResult { phases: vec![phase.clone()], ..common::result(&["write"]) };
    f.store.record(f.id, &common::cells(4)[0], &result).unwrap();
    let connection = rusqlite::Connection::open(&f.path).unwrap();
    let mut query = connection.prepare("SELECT metric, value FROM measurement").unwrap();
    let rows = query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, f64>(1)?)));
    let found: BTreeMap<String, f64> = rows.unwrap().map(Result::unwrap).collect();
    let numbers = phase.measurements().into_iter();
    let expected = numbers.map(|number| (number.metric.name().to_owned(), number.value));
    let expected: BTreeMap<String, f64> = expected.collect();
    assert_eq!(found, expected);
    assert_eq!((found["compression"], found["stall"]), (2.5, 0.123_456_789));
}

/// A request log is larger than all other data of a cell.
#[test]
fn request_logs_are_parsed_only_when_asked_for() {
    let mut f = fixture();
    let cells = common::cells(4);
    let chunk = RequestLogChunk {
        phase: Some("a \"journal\":[ of ]}".into()),
        packed: "AAAA".into(),
        timed: vec![(Nanos(1), Nanos(2))],
    };
    let journal = vec![chunk.clone(), RequestLogChunk { phase: None, ..chunk }];
    let result = CellResult { journal: journal.clone(), ..common::result(&["seek"]) };
    f.store.record(f.id, &cells[0], &result).unwrap();
    let without = Some(common::result(&["seek"]));
    assert_eq!(f.store.load(f.id).unwrap().cells[0].result, without);
    assert_eq!(f.store.follow(f.id).unwrap().results().cells[0].result, without);
    assert_eq!(f.store.journal(f.id, CellId(0)).unwrap(), journal);
    assert_eq!(f.store.journal(f.id, CellId(1)).unwrap(), []);
    let connection = rusqlite::Connection::open(&f.path).unwrap();
    let change = "DROP TRIGGER cell_stays; UPDATE cell SET digest = NULL, result = replace(result, 'packed', 'rest')";
    connection.execute_batch(change).unwrap();
    assert_eq!(f.store.load(f.id).unwrap().cells[0].result, without);
    assert!(f.store.journal(f.id, CellId(0)).is_err());
}

#[test]
fn a_calibration_reads_back_and_a_second_one_is_refused() {
    let mut f = fixture();
    assert_eq!(f.store.load(f.id).unwrap().calibration, None);
    let first = common::calibration();
    f.store.calibrate(f.id, &first).unwrap();
    let second = model::Calibration { taken: Nanos(99), ..first.clone() };
    assert!(f.store.calibrate(f.id, &second).is_err());
    assert!(matches!(f.store.calibrate(CampaignId(99), &first), Err(StoreError::NoCampaign(_))));
    let kept = Store::open(&f.path).unwrap().load(f.id).unwrap().calibration;
    assert_eq!(kept, Some(first));
}

#[test]
fn the_list_counts_cells_by_status() {
    let mut f = fixture();
    let cells = common::cells(4);
    f.store.record(f.id, &cells[0], &common::result(&[])).unwrap();
    f.store.record(f.id, &cells[1], &common::failed("x")).unwrap();
    f.store.record(f.id, &cells[2], &common::failed("y")).unwrap();
    let list = f.store.campaigns().unwrap();
    assert_eq!(list.len(), 1);
    assert_eq!((list[0].name.as_str(), list[0].planned, list[0].done), ("nightly", 4, 3));
    assert_eq!(list[0].statuses, BTreeMap::from([(Status::Ok, 1), (Status::Failed, 2)]));
}

#[test]
fn the_latest_campaign_is_the_one_begun_last() {
    let mut f = fixture();
    assert_eq!(f.store.latest().unwrap(), Some(f.id));
    let next = f.store.begin_campaign(&common::campaign(), &[], Nanos(1)).unwrap();
    assert_eq!(f.store.latest().unwrap(), Some(next));
    let empty = tempfile::tempdir().unwrap();
    let store = Store::open(&empty.path().join("new.db")).unwrap();
    assert_eq!(store.latest().unwrap(), None);
}

#[test]
fn a_newer_schema_is_refused_in_one_line() {
    let f = fixture();
    rusqlite::Connection::open(&f.path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(&f.path).unwrap_err();
    assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }));
    let line = error.to_string();
    assert!(line.contains("newer fsarena (schema 99, this one knows 7)"), "{line}");
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn does_not_change_files_of_other_programs() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    let notes = "These are my notes, and they are no database.\n".repeat(50);
    // SQLite treats a file of one byte as a new database.
    for content in [notes.as_str(), "x"] {
        fs::write(&text, content).unwrap();
        for refused in [Store::open(&text).err(), Store::open_read_only(&text).err()] {
            assert!(matches!(refused, Some(StoreError::NotAnFsarenaDatabase { .. })));
        }
        assert_eq!(fs::read_to_string(&text).unwrap(), content);
    }

    let foreign = directory.path().join("browser.db");
    rusqlite::Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE history (url TEXT)")
        .unwrap();
    let before = fs::read(&foreign).unwrap();
    assert!(matches!(Store::open(&foreign), Err(StoreError::NotAnFsarenaDatabase { .. })));
    assert_eq!(fs::read(&foreign).unwrap(), before);
}

#[test]
fn opening_to_read_does_not_create_or_change_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    assert!(Store::open_read_only(&path).unwrap().is_none());
    assert!(!path.exists());
    fs::write(&path, "").unwrap();
    assert!(Store::open_read_only(&path).unwrap().is_none());
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[test]
fn special_names_of_sqlite_are_treated_as_files() {
    let directory = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:x?mode=memory"] {
        let path = directory.path().join(name);
        Store::open(&path).unwrap();
        assert!(path.is_file(), "{name}");
    }
}

#[test]
fn two_programs_may_open_a_new_file_at_once() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..20 {
        let path = directory.path().join(format!("{number}.db"));
        std::thread::scope(|scope| {
            let openers: Vec<_> = (0..4).map(|_| scope.spawn(|| Store::open(&path))).collect();
            for opener in openers {
                opener.join().unwrap().unwrap();
            }
        });
    }
}

/// With billions of rounds, the analysis would use all memory.
#[test]
fn more_rounds_than_a_campaign_can_have_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("results.db")).unwrap();
    let mut campaign = common::campaign();
    campaign.rounds = u32::MAX;
    let id = store.begin_campaign(&campaign, &common::cells(1), Nanos(1)).unwrap();
    let error = store.load(id).unwrap_err().to_string();
    assert!(error.contains("it has 4294967295 rounds"), "{error}");
}
