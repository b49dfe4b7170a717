//! A database of many campaigns with a known change: a contender is slower from one of them on.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use campaign::store::Store;
use model::{CampaignResults, Clock, Nanos};
use serde_json::Value;
use stats::fixture::{Simulated, on_disks, simulated};

const CAMPAIGNS: u64 = 50;
/// First campaign in which the contender is slower.
const SLOWER_FROM: u64 = 31;

fn campaign(number: u64) -> CampaignResults {
    let what = Simulated {
        contenders: 2,
        tests: 1,
        rounds: 6,
        slower: if number < SLOWER_FROM { 0.0 } else { 0.3 },
        drift: 0.0,
    };
    simulated(number, what)
}

fn store(store: &mut Store, results: &CampaignResults, day: u64) {
    let cells: Vec<_> = results.cells.iter().map(|c| c.cell.clone()).collect();
    let started = Nanos::from_secs(1_760_000_000 + 86_400 * day);
    let id = store.begin_campaign(&results.campaign, &cells, started);
    let id = id.expect("the campaign can be stored");
    let begun = store.begin_session(id, &results.environments[0], started);
    begun.expect("the session can be stored");
    for stored in &results.cells {
        let result = stored.result.as_ref().expect("every cell has run");
        let done = store.record(id, &stored.cell, result);
        done.expect("the cell can be stored");
    }
}

fn fsarena(database: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fsarena"))
        .arg("--db")
        .arg(database)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("fsarena can be started")
}

#[track_caller]
fn said(database: &Path, arguments: &[&str], code: i32) -> Output {
    let output = fsarena(database, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    output
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

#[test]
fn regression_is_found_by_history_and_by_compare() {
    let directory = tempfile::tempdir().expect("there is room");
    let database = directory.path().join("results.db");
    let mut open = Store::open(&database).expect("a database can be made");
    for number in 1..=CAMPAIGNS {
        store(&mut open, &campaign(number), number);
    }
    drop(open);
    let history = said(&database, &["history", "file0/*", "--json"], 0);
    let history = json(&history);
    let all = history["series"].as_array().expect("a list");
    assert_eq!(all.len(), 10, "five phases of two contenders");
    for series in all {
        let points = series["points"].as_array().expect("a list").len();
        assert_eq!(points as u64, CAMPAIGNS);
        let changes = series["changes"].as_array().expect("a list");
        let near = |change: &&Value| {
            let at = change["at"].as_u64().expect("a place");
            at.abs_diff(SLOWER_FROM - 1) <= 2
        };
        let found = changes.iter().find(near);
        if series["contender"] == "fs1" {
            let found = found.unwrap_or_else(|| panic!("no change in {series}"));
            assert_eq!(found["worse"], true);
            assert!(found["p"].as_f64().is_some_and(|p| p <= 0.05));
        } else {
            assert_eq!(found, None, "{} did not change", series["phase"]);
        }
    }
    let text = said(&database, &["history", "file0/write", "-c", "fs1"], 0).stdout;
    let text = String::from_utf8(text).expect("it is text");
    assert!(text.lines().count() > CAMPAIGNS as usize, "{text}");

    let guard = |before: &str, after: &str, code: i32| {
        let words = ["compare", before, after, "--threshold", "5%", "--json"];
        json(&said(&database, &words, code))
    };
    assert_eq!(guard("1", "30", 0)["regressions"], 0);
    let across = guard("30", "50", 1);
    for change in across["differences"]["changes"].as_array().expect("a list") {
        let is_worse = change["significance"] == "worse";
        assert!(!is_worse || change["contender"] == "fs1", "{change}");
    }
}

/// Times of a model machine and of a real one: refused by compare in one line, and omitted from a
/// history.
#[test]
fn virtual_time_is_never_compared_with_real_time() {
    let directory = tempfile::tempdir().expect("there is room");
    let database = directory.path().join("results.db");
    let mut open = Store::open(&database).expect("a database can be made");
    store(&mut open, &campaign(1), 1);
    let mut model = campaign(2);
    model.campaign.clock = Clock::Virtual;
    store(&mut open, &model, 2);
    drop(open);
    let refused = said(&database, &["compare", "1", "2"], 3);
    assert_eq!(
        String::from_utf8_lossy(&refused.stderr),
        "fsarena: cannot compare real time with virtual time; use `fsarena tool agree` to compare their rankings\n"
    );
    assert!(refused.stdout.is_empty());
    let history = json(&said(&database, &["history", "file0/write", "--json"], 0));
    for series in history["series"].as_array().expect("a list") {
        let points = series["points"].as_array().expect("a list");
        let campaigns: Vec<_> = points.iter().map(|p| p["campaign"].as_i64()).collect();
        assert_eq!(campaigns, [Some(2)], "the latest campaign defines comparability");
    }
    assert_eq!(history["left_out"][0]["campaign"], 1);
    assert_eq!(history["left_out"][0]["why"], "it is in real time");
}

/// Campaigns with different clocks can still be compared by the order of their contenders.
#[test]
fn agree_compares_the_rankings_of_two_clocks() {
    let directory = tempfile::tempdir().expect("there is room");
    let database = directory.path().join("results.db");
    let mut open = Store::open(&database).expect("a database can be made");
    store(&mut open, &campaign(SLOWER_FROM), 1);
    let mut model = campaign(SLOWER_FROM);
    model.campaign.clock = Clock::Virtual;
    store(&mut open, &model, 2);
    drop(open);
    let agreement = json(&said(&database, &["tool", "agree", "2", "1", "--json"], 0));
    assert_eq!(agreement["first"], "virtual time");
    let all = &agreement["agreement"]["all"];
    assert_eq!(all["pairs"], 5, "two contenders in five phases");
    assert!(all["both_different"].as_u64() > Some(0), "{all}");
    assert_eq!(all["same_order"], all["both_different"]);
    let text = said(&database, &["tool", "agree", "2", "1"], 0).stdout;
    let text = String::from_utf8(text).expect("it is text");
    assert!(text.starts_with("Both order "), "{text}");
    let refused = said(&database, &["tool", "agree", "2", "2"], 2);
    let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(complaint.ends_with("name two campaigns\n"), "{complaint}");
}

/// The advice for one disk must not recommend a filesystem on another disk.
#[test]
fn advice_for_a_use_is_given_disk_by_disk() {
    let directory = tempfile::tempdir().expect("there is room");
    let database = directory.path().join("results.db");
    let what = Simulated { contenders: 4, tests: 1, rounds: 3, slower: 0.0, drift: 0.0 };
    let results = on_disks(simulated(1, what), &["slow", "slow", "fast", "fast"]);
    store(&mut Store::open(&database).expect("a database can be made"), &results, 1);
    let output = said(&database, &["advise", "--use", "file-server"], 0);
    let text = String::from_utf8(output.stdout).expect("it is text");
    for disk in ["slow", "fast"] {
        assert!(text.lines().any(|line| line.ends_with(&format!(", on {disk}"))), "{text}");
    }
    let both = json(&said(&database, &["advise", "--use", "file-server", "--json"], 0));
    assert_eq!(both["by_disk"].as_array().map(Vec::len), Some(2));
}

/// A script inserts the tables of the page between two marker lines.
#[test]
fn the_page_on_virtual_time_has_a_place_for_its_tables() {
    let page = include_str!("../../../../docs/virtual-time.md");
    let script = include_str!("../../../../scripts/virtual-time.sh");
    let [begin, end] = ["begin", "end"].map(|word| format!("<!-- fsarena tool agree: {word} -->"));
    for line in [&begin, &end] {
        assert_eq!(page.lines().filter(|l| l == line).count(), 1, "{line}");
        assert!(script.contains(line.as_str()), "{line}");
    }
    assert!(page.find(&begin) < page.find(&end));
}
