//! Statistics from end to end: a contender listed twice, and rounds that are added until results
//! are known. The assertions do not depend on measured speed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use end_to_end::{Sandbox, run};
use model::{Cell, Status};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Returns the analysis from the JSON report.
fn analysis(sandbox: &Sandbox) -> Value {
    let report = run(sandbox.fsarena().args(["report", "--format", "json"])).assert_code(0);
    let mut document: Value = serde_json::from_str(&report.stdout).expect("the report is JSON");
    document["analysis"].take()
}

fn table(sandbox: &Sandbox) -> String {
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    // Sentences are wrapped between words.
    report.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_contender_entered_twice_shows_the_noise_floor() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.campaign(&["tmpfs", "again=tmpfs"], "trial");
    run(command.args(["--rounds", "6"])).assert_code(0);
    let results = sandbox.results();
    let names: Vec<&str> = results.campaign.contenders.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["tmpfs", "again"]);
    let ok = |c: &model::CellRecord| c.result.as_ref().is_some_and(|r| r.status == Status::Ok);
    assert!(results.cells.iter().all(ok));
    let analysis = analysis(&sandbox);
    let floors = analysis["noise"].as_array().expect("a list");
    assert_eq!(floors.len(), 1, "one pair is the same");
    let number = |key: &str| floors[0][key].as_u64().expect("a number");
    let phases: usize = results.campaign.suites[0].tests.iter().map(|t| t.phases.len()).sum();
    assert_eq!(number("compared"), phases as u64);
    let apart = floors[0]["called_different"].as_array();
    let apart = apart.expect("a list").len();
    println!("a real A/A campaign: {apart} of {phases} results called different; {}", floors[0]);
    let shown = table(&sandbox);
    assert!(shown.contains("Noise floor: tmpfs and again are the same"), "{shown}");
    sandbox.assert_clean();
}

#[test]
fn a_directory_entered_twice_is_two_contenders() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("place");
    std::fs::create_dir_all(&place).expect("a sandbox is writable");
    let mut command = sandbox.fsarena();
    command.args(["run", "--profile", "smoke", "--suite", "trial", "--rounds", "2"]);
    for name in ["one", "two"] {
        command.args(["--dir", &format!("{name}={}", place.display())]);
    }
    run(&mut command).assert_code(0);
    let results = sandbox.results();
    let directories: Vec<_> = results.campaign.contenders.iter().map(|c| &c.directory).collect();
    assert_eq!(directories[0], directories[1]);
    assert_eq!(analysis(&sandbox)["noise"].as_array().map(Vec::len), Some(1));
}

fn growing(sandbox: &Sandbox, width: &str, rounds: &str, most: &str) -> Command {
    let mut command = sandbox.campaign(&["tmpfs", "again=tmpfs"], "trial");
    command.args(["--rounds", rounds, "--until-width", width, "--max-rounds", most]);
    command
}

fn cells(sandbox: &Sandbox) -> Vec<Cell> {
    let results = sandbox.results();
    assert!(results.cells.iter().all(|c| c.result.is_some()), "every cell has its result");
    results.cells.into_iter().map(|c| c.cell).collect()
}

#[test]
fn rounds_are_added_up_to_the_limit_and_are_those_of_a_longer_campaign() {
    let sandbox = Sandbox::new();
    run(&mut growing(&sandbox, "0.001%", "1", "3")).assert_code(0);
    let added = cells(&sandbox);
    assert_eq!(sandbox.results().campaign.rounds, 3);
    let stop = analysis(&sandbox)["stop"].take();
    assert_eq!(stop["reason"], "most-rounds");
    let counted = stop["counted"].as_u64().expect("a number");
    assert_eq!(stop["wide"].as_array().map(|w| w.len() as u64), Some(counted));
    let shown = table(&sandbox);
    assert!(
        shown.contains(&format!("After 3 rounds 0 of {counted} results are known to ±0.001 %")),
        "{shown}"
    );
    assert!(shown.contains("it stopped at the maximum number of rounds. Still wide:"), "{shown}");
    // No cells remain to run.
    run(sandbox.fsarena().arg("resume")).assert_code(0);
    assert_eq!(cells(&sandbox), added);

    let longer = Sandbox::new();
    run(longer.campaign(&["tmpfs", "again=tmpfs"], "trial").args(["--rounds", "3"])).assert_code(0);
    assert_eq!(cells(&longer), added, "order and seeds come from the campaign's seed");
}

#[test]
fn within_a_budget_all_cells_run_once_and_more_for_open_answers() {
    let sandbox = Sandbox::new();
    let mut campaign = sandbox.campaign(&["tmpfs", "again=tmpfs", "ext2"], "trial");
    let ended = run(campaign.args(["--budget", "5s"])).assert_code(0);
    let cells = sandbox.results().cells;
    assert!(cells.iter().all(|stored| stored.result.is_some()));
    let first = cells.iter().filter(|stored| stored.cell.round == 1).count();
    assert_eq!(first % 3, 0, "each contender in each test");
    let words = format!("{}{}", sandbox.report(), ended.stderr);
    let ends = ["known within half the margin", "the budget is spent"];
    assert!(ends.iter().any(|end| words.contains(end)), "{words}");
    assert!(words.contains("Within the budget of 5.00 s"), "{words}");
}

#[test]
fn rounds_stop_as_soon_as_results_are_known_or_at_the_limit() {
    let sandbox = Sandbox::new();
    run(&mut growing(&sandbox, "100%", "5", "8")).assert_code(0);
    let stop = analysis(&sandbox)["stop"].take();
    let rounds = stop["rounds"].as_u64().expect("a number");
    assert!((6..=8).contains(&rounds), "five are too few for any interval of 95 %");
    let wide = stop["wide"].as_array().expect("a list").len();
    match stop["reason"].as_str() {
        Some("narrow") => assert_eq!(wide, 0),
        Some("most-rounds") => assert!(wide > 0 && rounds == 8),
        other => panic!("finished with an unexpected reason: {other:?}"),
    }
    assert_eq!(sandbox.results().campaign.rounds as u64, rounds);
}

/// One nanosecond has passed when the first round ends.
#[test]
fn no_round_is_added_after_the_time_limit() {
    let sandbox = Sandbox::new();
    let mut command = growing(&sandbox, "0.001%", "1", "9");
    run(command.args(["--max-time", "1ns"])).assert_code(0);
    assert_eq!(sandbox.results().campaign.rounds, 1);
    let stop = analysis(&sandbox)["stop"].take();
    assert_eq!(stop["reason"], "most-time");
    let shown = table(&sandbox);
    assert!(shown.contains("it stopped as its time was over"), "{shown}");
    // No cells remain to run.
    run(sandbox.fsarena().arg("resume")).assert_code(0);
    assert_eq!(sandbox.results().campaign.rounds, 1);
}

#[test]
fn a_campaign_file_has_a_stopping_rule_and_options_override_it() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("rule.toml");
    let text = "contenders = [\"tmpfs\"]\nsuites = [\"tree\"]\nprofile = \"smoke\"\n\
                until_width = \"5%\"\nuntil_share = \"90%\"\nmax_rounds = 12\nmax_time = \"2h\"\n";
    std::fs::write(&file, text).expect("a sandbox is writable");
    let rule = |options: &[&str]| {
        let mut command = sandbox.fsarena();
        command.arg("run").arg(&file).args(["--dry-run", "--json"]);
        let planned = run(command.args(options)).assert_code(0).stdout;
        let planned: Value = serde_json::from_str(&planned).expect("the plan is JSON");
        planned["campaign"]["until"].clone()
    };
    let hours = |hours: u64| hours * 3_600_000_000_000;
    let of_file = serde_json::json!({
        "width": 0.05, "share": 0.9, "max_rounds": 12, "max_time": hours(2),
    });
    assert_eq!(rule(&[]), of_file);
    let other = serde_json::json!({
        "width": 0.05, "share": 0.9, "max_rounds": 15, "max_time": hours(1),
    });
    assert_eq!(rule(&["--max-rounds", "15", "--max-time", "1h"]), other);
}

/// Starts a campaign that writes its events, and kills it after the given number of finished cells.
/// Returns false if it ended earlier.
fn kill_behind(command: &mut Command, ends: usize) -> bool {
    let mut child: Child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("fsarena can be started");
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let lines = output.lines().map_while(Result::ok);
    let seen = lines.filter(|line| line.contains("\"event\":\"cell-end\"")).take(ends).count();
    if seen == ends {
        let pid = Pid::from_raw(child.id().cast_signed());
        kill(pid, Signal::SIGKILL).expect("it is our child");
    }
    child.wait().expect("it is our child");
    seen == ends
}

#[test]
fn added_rounds_are_the_same_after_a_kill_at_any_cell() {
    let whole = Sandbox::new();
    run(&mut growing(&whole, "0.001%", "1", "3")).assert_code(0);
    let wanted = cells(&whole);
    // After the last cell of a round, the next round is planned.
    for ends in 1..wanted.len() {
        let sandbox = Sandbox::new();
        let mut command = growing(&sandbox, "0.001%", "1", "3");
        assert!(kill_behind(command.arg("--json"), ends), "{ends} cells finish");
        run(sandbox.fsarena().arg("resume")).assert_code(0);
        assert_eq!(cells(&sandbox), wanted, "killed behind cell {ends}");
        assert_eq!(analysis(&sandbox)["stop"]["reason"], "most-rounds");
        sandbox.assert_clean();
    }
}

#[test]
fn a_rule_that_makes_no_sense_is_one_line_and_code_2() {
    let sandbox = Sandbox::new();
    for wrong in [
        &["--until-width", "5"][..],
        &["--until-width", "0%"],
        &["--max-rounds", "9"],
        &["--budget", "1h", "--rounds", "3"],
        &["--budget", "0s"],
        &["--max-time", "2h"],
        &["--until-width", "5%", "--max-time", "soon"],
        &["--until-width", "5%", "--rounds", "5", "--max-rounds", "4"],
        &["--until-width", "5%", "--until-share", "120%"],
    ] {
        let ended = run(sandbox.campaign(&["tmpfs"], "trial").args(wrong)).assert_code(2);
        assert!(!ended.stderr.is_empty(), "{wrong:?}");
    }
    run(sandbox.campaign(&["Again=tmpfs"], "trial").arg("--dry-run")).assert_code(2);
    let dry = run(growing(&sandbox, "5%", "3", "9").arg("--dry-run")).assert_code(0);
    assert!(dry.stdout.contains("up to 9"), "{}", dry.stdout);
}
