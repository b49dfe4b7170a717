//! Process limits: exceeding one is reported in one line with an exit code, and never ends in a
//! signal.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::told::assert_told;
use campaign::store::Store;
use model::Nanos;
use stats::fixture;

/// Creates a database with one campaign.
fn database(directory: &Path) -> std::path::PathBuf {
    let path = directory.join("a.db");
    let results = fixture::realistic();
    let cells: Vec<_> = results.cells.iter().map(|c| c.cell.clone()).collect();
    let mut store = Store::open(&path).unwrap();
    let id = store.begin_campaign(&results.campaign, &cells, Nanos(1)).unwrap();
    store.begin_session(id, &results.environments[0], Nanos(1)).unwrap();
    for stored in &results.cells {
        if let Some(result) = &stored.result {
            store.record(id, &stored.cell, result).unwrap();
        }
    }
    path
}

/// Returns a command that runs fsarena with a limit in the syntax of `ulimit`.
fn limited(limit: &str, database: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit {limit} && exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_fsarena"))
        .arg("--db")
        .arg(database)
        .args(arguments)
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null());
    command
}

#[test]
fn exceeded_file_size_limit_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let page = directory.path().join("page.html");
    let report = ["report", "--format", "html", "-o", page.to_str().unwrap()];
    let output = limited("-f 8", &database, &report).output().unwrap();
    assert_told(&output, 3, "page.html: File too large");

    let mut command = limited("-f 8", &database, &["tool", "man"]);
    let into = File::create(directory.path().join("man")).unwrap();
    let output = command.stdout(into).output().unwrap();
    assert_told(&output, 3, "cannot write standard output: File too large");

    let place = directory.path().to_str().unwrap();
    let run = ["run", "--dir", place, "--profile", "smoke", "-s", "lifecycle"];
    let output = limited("-f 8", &database, &run).output().unwrap();
    assert_told(&output, 3, database.to_str().unwrap());
}

#[test]
fn unwritable_help_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let mut command = limited("-f unlimited", &directory.path().join("a.db"), arguments);
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = command.stdout(full).output().unwrap();
        assert_told(&output, 3, "cannot write standard output: No space left");
    }
}

#[test]
fn too_few_descriptors_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    for descriptors in 3..12 {
        let limit = format!("-n {descriptors}");
        for arguments in [&["report"][..], &["list"], &["list", "campaigns"], &["show"]] {
            let output = limited(&limit, &database, arguments).output().unwrap();
            match output.status.code() {
                Some(0) => {}
                _ => assert_told(&output, 3, "raise the limit with `ulimit -n 1024`"),
            }
        }
    }
}

#[test]
fn too_little_memory_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path());
    let output = |kilobytes: u32, arguments: &[&str]| {
        let limit = format!("-v {kilobytes}");
        limited(&limit, &database, arguments).output().unwrap()
    };
    let ends_well = |output: &Output| output.status.code() == Some(0);
    // With a smaller limit, the kernel does not even start the program.
    let least = (10_000..1_000_000).step_by(1000);
    let least = least.into_iter().find(|k| ends_well(&output(*k, &["--version"])));
    let mut refused = 0;
    for arguments in [&["list", "suites", "--json"][..], &["report", "--format", "html"]] {
        for kilobytes in (least.unwrap() + 1000..).step_by(2000) {
            let output = output(kilobytes, arguments);
            if ends_well(&output) {
                break;
            }
            assert_told(&output, 3, "memory");
            refused += 1;
        }
    }
    assert!(refused > 0);
}
