//! Commands that read a stored campaign.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use campaign::store::Store;
use model::{
    BackendKind, Bytes, Campaign, Cell, CellResult, Environment, Failure, Features, Nanos,
    SizeProfile, Status,
};
use serde_json::Value;
use tempfile::TempDir;

struct StoredDatabase {
    _directory: TempDir,
    database: PathBuf,
}

/// Creates a campaign of two contenders and one test: the first cell failed, the second never ran.
fn stored() -> StoredDatabase {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("results.db");
    let campaign = campaign();
    let plan = campaign::plan::plan(&campaign);
    let mut store = Store::open(&database).unwrap();
    let started = Nanos::from_secs(1_760_000_000);
    let id = store.begin_campaign(&campaign, &plan, started).unwrap();
    store.begin_session(id, &environment(), started).unwrap();
    store.record(id, &plan[0], &failed(&plan[0])).unwrap();
    StoredDatabase { _directory: directory, database }
}

fn environment() -> Environment {
    Environment {
        program: "fsarena 0.1.0".into(),
        kernel: "Linux 6.1.0 x86_64".into(),
        ..Environment::default()
    }
}

fn campaign() -> Campaign {
    let catalog = config::Catalog::builtin().unwrap();
    Campaign {
        name: "two of them".into(),
        contenders: ["ext4", "xfs"].map(|c| catalog.contender(c).unwrap()).into(),
        groups: Vec::new(),
        suites: vec![catalog.suite("large-file", SizeProfile::Smoke).unwrap().clone()],
        profile: SizeProfile::Smoke,
        rounds: 1,
        stopping_rule: None,
        budget: None,
        clock: model::Clock::Real,
        guest: None,
        seed: 3,
        size: Bytes::mib(384),
        memory: None,
        backend: BackendKind::Loop,
        skipped: Vec::new(),
        measured_by: None,
        device: None,
        work_dir: "/nowhere".into(),
        database: None,
        stall_timeout: Nanos::from_secs(60),
        readahead: None,
        max_written: None,
        keep_aged: false,
        source: None,
        host: None,
        together: Vec::new(),
        archives: Vec::new(),
        phase_limit: Nanos::from_secs(600),
    }
}

fn failed(cell: &Cell) -> CellResult {
    CellResult {
        journal: Vec::new(),
        status: Status::Failed,
        failure: Some(Failure {
            step: "mkfs".into(),
            reason: format!("mkfs of {} ended with exit code 1\u{1b}[2J", cell.contender),
            ..Failure::default()
        }),
        phases: Vec::new(),
        steps: Vec::new(),
        features: Features::default(),
        kernel_log: vec![model::KernelEvent::from_line("loop0: I/O error")],
        kernel_log_readable: true,
        started: Nanos::from_secs(1_760_000_001),
        elapsed: Nanos(1_500_000_000),
        from_cache: false,
        remarks: Vec::new(),
        disturbance: None,
        mounted: None,
        age: None,
        first: None,
    }
}

fn fsarena(database: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fsarena"))
        .arg("--db")
        .arg(database)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(database: &Path, arguments: &[&str]) -> String {
    let output = fsarena(database, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn campaigns_are_listed_with_their_progress() {
    let stored = stored();
    insta::assert_snapshot!("list-campaigns", said(&stored.database, &["list", "campaigns"]));
    let json: Value =
        serde_json::from_str(&said(&stored.database, &["list", "campaigns", "--json"])).unwrap();
    assert_eq!(json[0]["done"], 1);
    assert_eq!(json[0]["statuses"]["failed"], 1);
}

#[test]
fn a_campaign_is_shown_cell_by_cell() {
    let stored = stored();
    let shown = said(&stored.database, &["show"]);
    insta::assert_snapshot!("show", shown);
    assert_eq!(said(&stored.database, &["show", "1"]), shown);
    assert!(!shown.contains('\u{1b}'), "a tool's output moves no cursor");
}

#[test]
fn a_campaign_without_a_budget_gets_more_rounds_and_no_time() {
    for (more, said) in [
        (["--more", "10min"], "cannot give campaign 1 more time: it was run without --budget; "),
        (["--rounds", "1"], "cannot give campaign 1 more rounds: it has "),
    ] {
        let refused = fsarena(&stored().database, &[&["resume", "1"], &more[..]].concat());
        assert_eq!(refused.status.code(), Some(2));
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(told.contains(said) && told.lines().count() == 1, "{told}");
    }
}

#[test]
fn a_cell_is_shown_with_its_evidence() {
    let stored = stored();
    insta::assert_snapshot!("show-cell", said(&stored.database, &["show", "--cell", "0"]));
    let json: Value =
        serde_json::from_str(&said(&stored.database, &["show", "--cell", "0", "--json"])).unwrap();
    assert_eq!(json["result"]["status"], "failed");
}

#[test]
fn missing_campaign_or_cell_is_a_usage_error() {
    let stored = stored();
    for (arguments, hint) in [
        (vec!["show", "9"], "list campaigns"),
        (vec!["show", "--cell", "99"], "its cells are 0 to"),
        (vec!["report", "9"], "list campaigns"),
    ] {
        let output = fsarena(&stored.database, &arguments);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(hint) && complaint.lines().count() == 1, "{complaint}");
    }
}

#[test]
fn report_writes_every_format_to_a_file() {
    let stored = stored();
    for format in ["table", "html", "csv", "json", "markdown", "bonnie-csv"] {
        let text = said(&stored.database, &["report", "--format", format]);
        let file = stored.database.with_extension(format);
        let written =
            said(&stored.database, &["report", "--format", format, "-o", file.to_str().unwrap()]);
        assert_eq!(written, "", "{format}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "{format}");
    }
}

#[test]
fn a_campaign_is_chosen_by_number_by_name_or_by_file() {
    let stored = stored();
    let mut store = Store::open(&stored.database).unwrap();
    let mut other = campaign();
    for (name, seed) in [("another", 4), ("two of them", 5)] {
        (other.name, other.seed) = (name.into(), seed);
        let plan = campaign::plan::plan(&other);
        let started = Nanos::from_secs(1_760_000_000 + seed);
        let id = store.begin_campaign(&other, &plan, started).unwrap();
        store.begin_session(id, &environment(), started).unwrap();
        store.record(id, &plan[0], &failed(&plan[0])).unwrap();
    }
    drop(store);
    let file = stored.database.with_extension("json");
    let file = file.to_str().unwrap();
    said(&stored.database, &["report", "2", "-o", file]);
    for command in ["report", "show", "advise"] {
        let by = |name: &str| {
            let output = fsarena(&stored.database, &[command, name]);
            assert!(output.status.success(), "{command} {name}: {output:?}");
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
        };
        assert_eq!(by("another"), by("2"), "{command}");
        assert_eq!(by(file), by("2"), "{command}");
        let (latest, note) = by("two of them");
        assert_eq!(latest, by("3").0, "{command}");
        assert_eq!(note, "campaign 3 “two of them” is the latest of 2 with this name\n");
        let quiet = fsarena(&stored.database, &[command, "two of them", "--quiet"]);
        assert_eq!(quiet.stderr, b"", "{command}");
        let none = fsarena(&stored.database, &[command, "nightly"]);
        let complaint = String::from_utf8(none.stderr).unwrap();
        assert_eq!(none.status.code(), Some(2), "{command}: {complaint}");
        assert!(complaint.contains("`fsarena list campaigns`"), "{command}: {complaint}");
    }
}

#[test]
fn every_command_that_takes_a_campaign_takes_its_name() {
    let stored = stored();
    let commands = [
        (&["resume"][..], &[][..]),
        (&["disk", "requests"], &[]),
        (&["disk", "replay"], &[]),
        (&["explain"], &["large-file/write", "ext4", "xfs"]),
        (&["study", "replicate", "bonnie-linux-2011", "--campaign"], &[]),
        (&["delete", "--yes"], &[]),
    ];
    let complaint = |before: &[&str], name: &str, after: &[&str]| {
        let output = fsarena(&stored.database, &[before, &[name], after].concat());
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (before, after) in commands {
        let told = complaint(before, "two of then", after);
        assert!(told.contains("did you mean `two of them`?"), "{before:?}: {told}");
        if !["resume", "delete"].contains(&before[0]) {
            let told = complaint(before, "two of them", after);
            assert_eq!(told, complaint(before, "1", after), "{before:?}");
        }
    }
}

#[test]
fn the_ending_of_an_output_file_selects_its_format() {
    let stored = stored();
    let place = stored.database.parent().unwrap();
    for (name, begin) in [("a.html", "<!DOCTYPE html>"), ("a.json", "{"), ("a.md", "# ")] {
        let file = place.join(name);
        said(&stored.database, &["report", "-o", file.to_str().unwrap()]);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with(begin), "{name}: {}", &text[..40]);
    }
    for name in ["a.docx", "none/a.html", "none/a.docx"] {
        let file = place.join(name);
        let output = fsarena(&stored.database, &["report", "-o", file.to_str().unwrap()]);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {complaint}");
        assert!(complaint.starts_with("fsarena: cannot write /"), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert_eq!(output.stdout, b"", "{name}");
        assert!(!file.exists() && !place.join("none").exists(), "{name}");
    }
}

#[test]
fn a_database_of_another_program_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("notes.txt");
    std::fs::write(&database, "not a database, but notes\n".repeat(100)).unwrap();
    let output = fsarena(&database, &["show"]);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        complaint.contains("name another file") && complaint.lines().count() == 1,
        "{complaint}"
    );
    assert_eq!(output.status.code(), Some(2));
}
