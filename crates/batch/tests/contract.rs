//! Plan, work and collect with in-memory workers: each cell is recorded once, regardless of stray
//! files in the directory.

mod planned;

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use batch::{
    Batch, BatchEntry, BatchError, CollectBackend, Digest, EntryRange, RejectedFile,
    ResultDirectory, ResultState, RunKind, WorkerShare,
};
use campaign::run::in_memory::{self, FakeBackend};
use campaign::run::{CampaignEnd, CampaignError, RunLimits, StopFlag};
use model::{Cell, CellResult, Environment, Failure, Status, Test, ToolVersion};
use proptest::prelude::*;
use sys::fs::safe_path::SafeDir;
use sys::secret_key::SecretKey;

use planned::{in_memory_directory, outcome, plan_in, taken};

/// Runs entries on a host and returns how many ran.
fn work(batch: &Batch, entries: Vec<BatchEntry>, host: &str) -> Result<usize, BatchError> {
    work_as(batch, entries, host, outcome)
}

fn work_as(
    batch: &Batch,
    entries: Vec<BatchEntry>,
    host: &str,
    outcome: impl Fn(&Cell, &Test) -> CellResult,
) -> Result<usize, BatchError> {
    let runs = RefCell::new(0);
    let mut cells = FakeBackend::new(|cell: &Cell, test: &Test| {
        *runs.borrow_mut() += 1;
        outcome(cell, test)
    });
    let (mut share, _) = WorkerShare::new(batch, &batch.plan().campaign, entries, host);
    let ended = campaign::run::run(
        &mut share,
        &mut cells,
        &RunLimits::default(),
        &(),
        &StopFlag::default(),
    );
    match ended {
        Ok(ended) => assert_eq!(ended, CampaignEnd::Complete),
        Err(CampaignError::Ledger(error)) => return Err(error),
        Err(error) => panic!("{error}"),
    }
    drop(cells);
    Ok(runs.into_inner())
}

fn entries(batch: &Batch, half: RunKind) -> Vec<BatchEntry> {
    let all = batch.all().unwrap();
    all.into_iter().filter(|entry| entry.half == half).collect()
}

/// Collects the available results.
fn collect(
    results: &ResultDirectory<'_>,
    store: &mut in_memory::MemorySink,
) -> Result<CampaignEnd, String> {
    let mut backend = CollectBackend::new(results, &Environment::default());
    let ended =
        campaign::run::run(store, &mut backend, &RunLimits::default(), &(), &StopFlag::default());
    ended.map_err(|error| error.to_string())
}

fn path_of(batch: &Batch, entry: &BatchEntry) -> PathBuf {
    let name = entry.name.to_string();
    let check = match entry.half {
        RunKind::First => "",
        RunKind::Verification => ".check",
    };
    batch.path().join(format!("results/{}/{name}{check}.json", &name[..2]))
}

/// Returns the content of a result file, as a holder of the plan's key would write it.
fn signed(batch: &Batch, json: &str) -> String {
    let directory = SafeDir::open(batch.path()).unwrap();
    let key = SecretKey::read(&directory, "secret").unwrap().unwrap();
    format!("{}\n{json}", key.code("result", json.as_bytes()))
}

/// Regression test: a result with a correct digest was accepted from any writer.
#[test]
fn a_result_counts_only_with_the_key_of_its_plan() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 1, 0);
    let cells = entries(&batch, RunKind::First);
    work(&batch, cells.clone(), "n1").unwrap();
    let path = path_of(&batch, &cells[0]);
    let text = fs::read_to_string(&path).unwrap();
    let (_, json) = text.split_once('\n').unwrap();
    assert_eq!(signed(&batch, json), text);
    // The host, the cell and the plan are covered by the code, as is the result.
    let other = path_of(&batch, &cells[1]);
    for forged in [
        format!("{}\n{json}", Digest::sha256(json.as_bytes())),
        text.replace("\"host\":\"n1\"", "\"host\":\"n2\""),
        text.replace(&cells[0].name.to_string(), &cells[1].name.to_string()),
    ] {
        assert_ne!(forged, text);
        fs::write(&other, forged).unwrap();
        let found = ResultDirectory::of(&batch).unwrap();
        let untaken: Vec<&RejectedFile> = found.rejected().collect();
        assert_eq!(untaken, [&RejectedFile::Damaged(other.clone())]);
        assert_eq!(found.missing(), [1].into());
    }
    let secret = batch.path().join("secret");
    for (mode, told) in [(0o644, "all users can read"), (0o666, "may be changed by other users")] {
        fs::set_permissions(&secret, fs::Permissions::from_mode(mode)).unwrap();
        let refused = Batch::open(batch.path()).unwrap_err().to_string();
        assert!(refused.contains(told), "{refused}");
    }
}

/// Regression test: root followed a link that another user had put into a directory of the plan.
#[test]
fn a_directory_of_the_plan_that_others_can_write_or_that_is_a_link_is_refused() {
    let place = in_memory_directory();
    let batch = plan_in(place.path(), 1, 0);
    work(&batch, entries(&batch, RunKind::First), "n1").unwrap();
    let all = |batch: &Batch| -> Result<(), BatchError> {
        let opened = Batch::open(batch.path())?;
        opened.log()?;
        opened.entry(0)?;
        ResultDirectory::of(&opened).map(drop)
    };
    all(&batch).unwrap();
    let name = entries(&batch, RunKind::First)[0].name.to_string();
    let shelf = |directory: &str| format!("{directory}/{}", &name[..2]);
    for directory in
        ["log", "results", "cells", "guest", "traces", &shelf("results"), &shelf("cells")]
    {
        let path = batch.path().join(directory);
        for mode in [0o777, 0o1777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let refused = all(&batch).unwrap_err().to_string();
            assert!(refused.contains("may be changed by other users"), "{directory}: {refused}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let aside = place.path().join("aside");
        fs::rename(&path, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &path).unwrap();
        // A link among the results is reported as no result.
        let outcome = all(&batch);
        let is_shelf = directory.starts_with("results/");
        assert_eq!(outcome.is_ok(), is_shelf, "{directory}: {outcome:?}");
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
        all(&batch).unwrap();
    }
}

#[test]
fn a_plan_that_is_no_file_is_refused_unread() {
    let place = in_memory_directory();
    let directory = place.path().join("it");
    fs::create_dir(&directory).unwrap();
    std::os::unix::fs::symlink("/dev/zero", directory.join("plan.json")).unwrap();
    let refused = Batch::open(&directory).unwrap_err();
    assert!(matches!(refused, BatchError::Damaged { .. }), "{refused}");
}

/// Unusable files in the result directory are reported and ignored, and reading never blocks.
#[test]
fn ignores_pipes_links_and_large_files_among_results() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 1, 0);
    let cells = entries(&batch, RunKind::First);
    work(&batch, cells.clone(), "n1").unwrap();
    let results = batch.path().join("results");
    let [pipe, link, large] = ["00/pipe.json", "01/link", "02/large.json"].map(|n| results.join(n));
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink("/", &link).unwrap();
    let sparse = fs::File::create(&large).unwrap();
    sparse.set_len(1 << 40).unwrap();
    fs::create_dir(results.join("03/directory.json")).unwrap();
    let found = ResultDirectory::of(&batch).unwrap();
    assert_eq!(found.rejected().count(), 4);
    assert_eq!(found.missing(), [].into());
}

/// Regression test: a complete file with the phases of another test, or without phases, became the
/// permanent result "crashed".
#[test]
fn reruns_a_cell_whose_result_has_other_phases() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 1, 0);
    let cells = entries(&batch, RunKind::First);
    work(&batch, cells.clone(), "n1").unwrap();
    for entry in &cells {
        let path = path_of(&batch, entry);
        let text = fs::read_to_string(&path).unwrap();
        let (_, json) = text.split_once('\n').unwrap();
        let mut file: serde_json::Value = serde_json::from_str(json).unwrap();
        file["result"]["phases"] = serde_json::json!([]);
        let json = format!("{file}\n");
        fs::write(path, signed(&batch, &json)).unwrap();
    }
    let found = ResultDirectory::of(&batch).unwrap();
    assert_eq!((found.rejected().count(), found.missing().len()), (2, 2));
    assert_eq!(work(&batch, cells, "n1").unwrap(), 2);
    assert_eq!(ResultDirectory::of(&batch).unwrap().missing(), [].into());
}

/// The plan vouches for every other file in its directory, so anyone who can write it decides what
/// runs.
#[test]
fn a_plan_that_others_can_write_is_refused() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 1, 0);
    let plan = batch.path().join("plan.json");
    fs::set_permissions(&plan, fs::Permissions::from_mode(0o666)).unwrap();
    let refused = Batch::open(batch.path()).unwrap_err().to_string();
    assert!(refused.contains("may be changed by other users"), "{refused}");
}

#[test]
fn results_of_two_hosts_are_recorded_once_in_one_campaign() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 10, 50);
    assert_eq!((batch.plan().cells, batch.plan().checks), (20, 1));
    let cells = entries(&batch, RunKind::First);
    for (entry, host) in cells.iter().zip(["n1", "n2"].into_iter().cycle()) {
        assert_eq!(batch.entry(entry.index).unwrap(), *entry);
        assert_eq!(work(&batch, vec![entry.clone()], host).unwrap(), 1);
    }
    // Entries with a valid result do not run again on any host.
    assert_eq!(work(&batch, cells.clone(), "n3").unwrap(), 0);
    let mut store = in_memory::MemorySink::new(&batch.plan().campaign);
    let results = ResultDirectory::of(&batch).unwrap();
    assert_eq!(results.missing(), [20].into());
    assert_eq!(
        collect(&results, &mut store),
        Ok(CampaignEnd::Interrupted),
        "one cell still needs its check"
    );
    assert_eq!(taken(&store).len(), 19);
    assert_eq!(work(&batch, entries(&batch, RunKind::Verification), "n3").unwrap(), 1);
    let results = ResultDirectory::of(&batch).unwrap();
    assert_eq!(collect(&results, &mut store), Ok(CampaignEnd::Complete));
    let mut alone = in_memory::MemorySink::new(&batch.plan().campaign);
    let ended = campaign::run::run(
        &mut alone,
        &mut FakeBackend::new(outcome),
        &RunLimits::default(),
        &(),
        &StopFlag::default(),
    );
    assert_eq!(ended.unwrap(), CampaignEnd::Complete);
    assert_eq!(taken(&store), taken(&alone));
    assert_eq!(results.rejected().count(), 0);
}

#[test]
fn a_cell_that_differs_between_hosts_stops_the_campaign_and_names_both() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 1, 1);
    work(&batch, entries(&batch, RunKind::First), "n1").unwrap();
    let other = |cell: &Cell, test: &Test| {
        let mut result = outcome(cell, test);
        result.phases[0].elapsed.0 += 1;
        result
    };
    work_as(&batch, entries(&batch, RunKind::Verification), "n2", other).unwrap();
    let mut store = in_memory::MemorySink::new(&batch.plan().campaign);
    let error = collect(&ResultDirectory::of(&batch).unwrap(), &mut store).unwrap_err();
    let checked = entries(&batch, RunKind::Verification)[0].cell.id.0;
    let (one, two) = (1000 + checked, 1001 + checked);
    let told = format!("write.wall is {one} on n1 and {two} on n2");
    assert!(error.contains(&told), "{error}");
    assert!(!taken(&store).contains_key(&checked));
}

#[test]
fn a_check_is_of_another_host() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 1, 1);
    let checks = entries(&batch, RunKind::Verification);
    work(&batch, entries(&batch, RunKind::First), "n1").unwrap();
    let (share, elsewhere) = WorkerShare::new(&batch, &batch.plan().campaign, checks.clone(), "n1");
    assert!(share.is_empty());
    assert_eq!(elsewhere, checks);
    // Simulate that one host ran both runs at the same time: the result of the check is rejected.
    let first = path_of(&batch, &BatchEntry { half: RunKind::First, ..checks[0].clone() });
    let (aside, path) = (fs::read(&first).unwrap(), path_of(&batch, &checks[0]));
    fs::remove_file(&first).unwrap();
    work(&batch, checks.clone(), "n1").unwrap();
    fs::write(&first, aside).unwrap();
    let results = ResultDirectory::of(&batch).unwrap();
    let untaken: Vec<&RejectedFile> = results.rejected().collect();
    assert_eq!(untaken, [&RejectedFile::SameHost(path)]);
    assert_eq!(results.missing(), [2].into());
    assert_eq!(results.first_run_host(2), Some("n1"));
    assert_eq!(work(&batch, checks, "n2").unwrap(), 1);
    assert_eq!(ResultDirectory::of(&batch).unwrap().rejected().count(), 0);
}

#[test]
fn reports_invalid_result_files_and_reruns_their_cells() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 2, 0);
    let cells = entries(&batch, RunKind::First);
    work(&batch, cells.clone(), "n1").unwrap();
    let other = in_memory_directory();
    let foreign = plan_in(other.path(), 3, 0);
    assert_ne!(foreign.plan_id(), batch.plan_id());
    work(&foreign, entries(&foreign, RunKind::First), "n1").unwrap();
    let results = batch.path().join("results");
    let [damaged, whole] = [0, 1].map(|n| path_of(&batch, &cells[n]));
    fs::write(&damaged, &fs::read(&damaged).unwrap()[1..]).unwrap();
    let doubled = whole.with_extension("json.1");
    fs::copy(&whole, &doubled).unwrap();
    let strange = results.join("strange.json");
    fs::copy(path_of(&foreign, &entries(&foreign, RunKind::First)[0]), &strange).unwrap();
    fs::write(results.join("00/.partial-x"), "half of").unwrap();

    let mut found = ResultDirectory::of(&batch).unwrap();
    let untaken: Vec<RejectedFile> = found.rejected().cloned().collect();
    for expected in [
        RejectedFile::Damaged(damaged),
        RejectedFile::Duplicate(doubled),
        RejectedFile::Damaged(strange),
    ] {
        assert!(untaken.contains(&expected), "{expected} is not in {untaken:?}");
    }
    assert_eq!(untaken.len(), 3);
    let mut store = in_memory::MemorySink::new(&batch.plan().campaign);
    assert_eq!(collect(&found, &mut store), Ok(CampaignEnd::Interrupted));
    assert_eq!(taken(&store).len(), 3);
    assert_eq!(work(&batch, cells.clone(), "n2").unwrap(), 1, "only the damaged entry ran again");
    found.refresh().unwrap();
    assert_eq!(found.state(cells[0].id()), ResultState::Ready);
    assert_eq!(collect(&found, &mut store), Ok(CampaignEnd::Complete));
    assert_eq!(found.rejected().count(), 2);
}

#[test]
fn a_provisioning_failure_stores_no_result() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 1, 0);
    let broken = |_: &Cell, test: &Test| {
        let mut result = in_memory::ok_result(test);
        (result.status, result.failure) = (
            Status::Failed,
            Some(Failure {
                step: "provision".into(),
                reason: "No space left on device".into(),
                ..Failure::default()
            }),
        );
        result
    };
    let cells = entries(&batch, RunKind::First);
    let error = work_as(&batch, cells, "n1", broken).unwrap_err().to_string();
    assert!(error.contains("could not be run on n1: No space left on device"), "{error}");
    assert_eq!(ResultDirectory::of(&batch).unwrap().missing().len(), 2);
}

#[test]
fn another_emulator_is_refused_before_the_first_cell() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 1, 0);
    let (mut share, _) =
        WorkerShare::new(&batch, &batch.plan().campaign, entries(&batch, RunKind::First), "n1");
    let newer = Environment {
        tools: vec![ToolVersion {
            program: "qemu-system-x86_64".into(),
            version: "QEMU 99".into(),
        }],
        ..Environment::default()
    };
    let error = campaign::run::ResultSink::begin_session(&mut share, &newer).unwrap_err();
    assert!(error.to_string().starts_with("n1 has QEMU 99"), "{error}");
}

#[test]
fn each_bad_directory_has_its_line() {
    let directory = in_memory_directory();
    let error = |result: Result<Batch, BatchError>| {
        let error = result.err().unwrap();
        assert!(error.is_input());
        error.to_string()
    };
    let none = error(Batch::open(&directory.path().join("none")));
    assert!(none.contains("holds no plan: `fsarena cluster plan"), "{none}");
    assert!(error(Batch::open(directory.path())).contains("holds no plan"));
    let batch = plan_in(directory.path(), 1, 0);
    let index = batch.entry(2).unwrap_err().to_string();
    assert!(index.ends_with("has entries 0 to 1: there is no entry 2"), "{index}");
    let far = EntryRange { first: 2, count: 9 };
    assert!(batch.entries_in(far).is_err());
    assert_eq!(batch.entries_in(EntryRange { first: 1, count: u32::MAX }).unwrap().len(), 1);
    let other = batch.require_program("2", Path::new("/bin/true")).unwrap_err();
    assert!(other.to_string().contains("planned by fsarena 1, and this is fsarena 2"), "{other}");
    let other = batch.require_program("1", Path::new("/bin/false")).unwrap_err();
    assert!(other.to_string().contains("another build"), "{other}");
    batch.require_program("1", Path::new("/bin/true")).unwrap();
    let file = batch.path().join("plan.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"seed\":1", "\"seed\":2")).unwrap();
    let changed = Batch::open(batch.path()).unwrap();
    assert!(changed.entry(0).unwrap_err().to_string().contains("is damaged"));
    assert!(changed.all().unwrap_err().to_string().contains("is damaged"));
    fs::write(&file, &text[1..]).unwrap();
    assert!(error(Batch::open(batch.path())).contains("is damaged"));
    fs::write(&file, text.replace("\"rounds\":1", "\"rounds\":[]")).unwrap();
    let typed = error(Batch::open(batch.path()));
    assert!(typed.contains("invalid type: a list, expected a whole number: the file"), "{typed}");
    // A plan with more cells than fit into memory is rejected without planning it.
    for (from, to) in
        [("\"rounds\":1", "\"rounds\":4294967295"), ("\"checks\":0", "\"checks\":4294967295")]
    {
        let many = text.replace(from, to);
        assert_ne!(many, text);
        fs::write(&file, many).unwrap();
        let told = error(Batch::open(batch.path()));
        assert!(told.contains("has not the cells of its campaign"), "{told}");
    }
}

/// An event in the directory between two scans.
#[derive(Clone, Debug)]
enum Happens {
    /// A worker runs entries, possibly the same ones as another worker.
    Works { first: u32, count: u32, host: usize },
    /// A file is truncated.
    IsDamaged { entry: u32 },
    /// A worker is killed while it writes a file.
    IsLeft { entry: u32 },
    /// A file is copied.
    IsCopied { entry: u32 },
    /// The available results are collected.
    IsCollected,
}

/// Plays events between scans; in the end every cell has been recorded once.
fn story(events: Vec<Happens>) {
    const HOSTS: [&str; 3] = ["n1", "n2", "n3"];
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 6, 100);
    let all = batch.all().unwrap();
    let mut store = in_memory::MemorySink::new(&batch.plan().campaign);
    let mut results = ResultDirectory::of(&batch).unwrap();
    for happens in events {
        match happens {
            Happens::Works { first, count, host } => {
                let part = batch.entries_in(EntryRange { first, count }).unwrap();
                work(&batch, part, HOSTS[host]).unwrap();
            }
            Happens::IsDamaged { entry } => {
                let path = path_of(&batch, &all[entry as usize]);
                if let Ok(bytes) = fs::read(&path) {
                    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
                }
            }
            Happens::IsLeft { entry } => {
                let shelf = path_of(&batch, &all[entry as usize]).with_file_name(".partial-1");
                fs::write(shelf, "half").unwrap();
            }
            Happens::IsCopied { entry } => {
                let path = path_of(&batch, &all[entry as usize]);
                let _ = fs::copy(&path, path.with_extension("copy"));
            }
            Happens::IsCollected => {
                results.refresh().unwrap();
                collect(&results, &mut store).unwrap();
            }
        }
    }
    for host in HOSTS {
        for half in [RunKind::First, RunKind::Verification] {
            work(&batch, entries(&batch, half), host).unwrap();
        }
    }
    results.refresh().unwrap();
    assert_eq!(collect(&results, &mut store), Ok(CampaignEnd::Complete));
    let of = |result: &CellResult| result.phases[0].elapsed.0;
    let taken: Vec<u64> = taken(&store).values().map(of).collect();
    assert_eq!(taken, (1000..1012).collect::<Vec<u64>>());
}

/// Regression test: a check was rejected for good when the first run was repeated by another host
/// after a scan that had seen the old one.
#[test]
fn a_check_is_compared_with_the_first_run_of_the_same_scan() {
    story(vec![
        Happens::Works { first: 0, count: 3, host: 2 },
        Happens::IsCollected,
        Happens::IsDamaged { entry: 2 },
        Happens::Works { first: 12, count: 2, host: 2 },
    ]);
}

fn happens() -> impl Strategy<Value = Happens> {
    let entry = 0..14u32;
    prop_oneof![
        4 => (entry.clone(), 1..6u32, 0..3usize).prop_map(|(first, count, host)| Happens::Works { first, count, host }),
        1 => entry.clone().prop_map(|entry| Happens::IsDamaged { entry }),
        1 => entry.clone().prop_map(|entry| Happens::IsLeft { entry }),
        1 => entry.prop_map(|entry| Happens::IsCopied { entry }),
        2 => Just(Happens::IsCollected),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// For any sequence of events, only written results are recorded, none is recorded twice (a
    /// store would refuse that), and in the end every cell has one.
    #[test]
    fn every_cell_is_recorded_once_after_any_sequence_of_events(events in proptest::collection::vec(happens(), 0..30)) {
        story(events);
    }
}
