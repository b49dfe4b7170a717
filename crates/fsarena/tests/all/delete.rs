//! `fsarena delete`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use backend::CampaignDir;
use campaign::store::{CampaignId, Store};
use model::{Campaign, Nanos};
use serde_json::Value;

/// Creates a database with a campaign of each name; the first cell of each has a result.
fn stored(directory: &Path, names: &[&str]) -> PathBuf {
    let database = directory.join("results.db");
    let mut store = Store::open(&database).unwrap();
    let results = stats::fixture::plain();
    let cells: Vec<_> = results.cells.iter().map(|c| c.cell.clone()).collect();
    for name in names {
        let id = store.begin_campaign(&campaign(directory, name), &cells, Nanos(1)).unwrap();
        store.begin_session(id, &results.environments[0], Nanos(1)).unwrap();
        store.record(id, &cells[0], results.cells[0].result.as_ref().unwrap()).unwrap();
    }
    database
}

fn campaign(directory: &Path, name: &str) -> Campaign {
    let work_dir = directory.join("work");
    Campaign { name: name.to_owned(), work_dir, ..stats::fixture::plain().campaign }
}

fn delete(database: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fsarena"));
    command.arg("--db").arg(database).arg("delete").args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

/// Returns standard error of a command that fails with this code.
#[track_caller]
fn refused(database: &Path, arguments: &[&str], code: i32) -> String {
    let output = delete(database, arguments);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

fn left(database: &Path) -> Vec<i64> {
    let store = Store::open_read_only(database).unwrap().unwrap();
    store.campaigns().unwrap().iter().map(|campaign| campaign.id.0).collect()
}

#[test]
fn deletes_by_number_and_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let database = stored(directory.path(), &["nightly", "first", "nightly", "last"]);
    let page = |id: i64| directory.path().join(format!("reports/results-campaign-{id}.html"));
    std::fs::create_dir(directory.path().join("reports")).unwrap();
    (1..=4).for_each(|id| std::fs::write(page(id), "page").unwrap());
    let output = delete(&database, &["last", "1", "1", "--yes"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let begin = "deleted campaign 1 “nightly” with 1 result\ndeleted campaign 4 “last” with 1 result\nthe database is smaller by ";
    assert!(text.starts_with(begin), "{text}");
    assert_eq!(left(&database), [2, 3]);
    assert_eq!((1..=4).filter(|id| page(*id).exists()).collect::<Vec<_>>(), [2, 3]);
    let output = delete(&database, &["--json", "-y", "nightly"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = serde_json::json!([{ "campaign": 3, "name": "nightly", "results": 1 }]);
    assert_eq!(value["deleted"], expected);
    assert!(value["freed"].as_u64().unwrap() > 0, "{value}");
    assert_eq!(left(&database), [2]);
}

#[test]
fn names_that_select_no_single_campaign_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let database = stored(directory.path(), &["nightly", "nightly"]);
    let text = refused(&database, &["nigthly", "-y"], 2);
    assert!(
        text.contains("cannot delete nigthly: no such campaign; did you mean `nightly`?"),
        "{text}"
    );
    let text = refused(&database, &["1", "7", "-y"], 2);
    assert!(
        text.contains(
            "cannot delete 7: no such campaign; `fsarena list campaigns` shows all campaigns"
        ),
        "{text}"
    );
    let text = refused(&database, &["nightly", "-y"], 2);
    assert!(
        text.contains("2 campaigns have this name; give their numbers: fsarena delete 1 2"),
        "{text}"
    );
    assert_eq!(left(&database), [1, 2]);
    let none = directory.path().join("none.db");
    assert!(refused(&none, &["1", "-y"], 2).contains("no campaign was run yet"));
    assert!(!none.exists());
}

#[test]
fn a_path_that_is_no_database_is_refused_with_its_cause() {
    let directory = tempfile::tempdir().unwrap();
    let [pipe, link, file] = ["pipe", "link", "file"].map(|name| directory.path().join(name));
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink(&link, &link).unwrap();
    std::fs::write(&file, "x").unwrap();
    for (database, cause) in [
        (pipe, "it is no file; name another one"),
        (link, "Too many levels of symbolic links; name"),
        (directory.path().join("x".repeat(300)), "File name too long; choose"),
        (file.join("results.db"), "is not a directory; name another path"),
    ] {
        for words in [&["delete", "1", "-y"][..], &["resume"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_fsarena"));
            command.arg("--db").arg(&database).args(words).stdin(Stdio::null());
            let told = String::from_utf8(command.output().unwrap().stderr).unwrap();
            assert!(told.contains(cause), "{words:?}: {told}");
        }
    }
}

#[test]
fn asks_at_the_terminal_only() {
    let directory = tempfile::tempdir().unwrap();
    let database = stored(directory.path(), &["nightly"]);
    let text = refused(&database, &["1"], 2);
    let expected = "cannot delete campaign 1 “nightly” without confirmation: standard input is not a terminal; add --yes";
    assert!(text.contains(expected), "{text}");
    for (answer, remaining) in [("no", vec![1]), ("yes", vec![])] {
        let fsarena = env!("CARGO_BIN_EXE_fsarena");
        let command = format!("{fsarena} --db {} delete 1", database.display());
        let mut terminal = Command::new("script");
        terminal.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
        let mut script = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = script.stdin.take().unwrap();
        writeln!(input, "{answer}").unwrap();
        let output = script.wait_with_output().unwrap();
        drop(input);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("campaign 1 “nightly”: 1 result will be lost."), "{text}");
        assert_eq!(output.status.code(), Some(if remaining.is_empty() { 0 } else { 3 }), "{text}");
        assert_eq!(left(&database), remaining);
    }
}

#[test]
fn a_campaign_that_another_process_runs_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let database = stored(directory.path(), &["idle", "running"]);
    let runs = campaign(directory.path(), "running");
    let held = CampaignDir::acquire(&runs, CampaignId(2)).unwrap();
    let text = refused(&database, &["2", "1", "-y"], 3);
    assert!(text.contains("cannot delete campaign 2: another process runs it"), "{text}");
    assert_eq!(left(&database), [1, 2]);
    // The directory of a killed process is removed with its campaign.
    drop(held);
    let killed = CampaignDir::directory(&runs, CampaignId(2));
    std::fs::create_dir_all(&killed).unwrap();
    std::fs::write(killed.join("lock"), "").unwrap();
    assert!(delete(&database, &["2", "-y"]).status.success());
    assert_eq!(left(&database), [1]);
    assert!(!killed.exists());
    // A campaign without a directory here may run on another machine.
    let user = Store::open(&database).unwrap();
    let text = refused(&database, &["1", "-y"], 3);
    assert!(text.contains("or uses its database"), "{text}");
    drop(user);
    assert!(delete(&database, &["1", "-y"]).status.success());
}
