//! `fsarena compare` and `fsarena history` on real campaigns: exit codes, refusals, and level
//! changes.

use std::path::PathBuf;

use end_to_end::{CommandOutput, DirectoryEntry, Sandbox, run};
use serde_json::Value;

/// Runs a campaign of two contenders with this number of rounds and returns its JSON report.
fn campaign(sandbox: &Sandbox, rounds: u32) -> Value {
    sandbox.add(&DirectoryEntry::ext4("one"));
    sandbox.add(&DirectoryEntry::ext4("other"));
    let mut command = sandbox.campaign(&["one", "other"], "trial");
    run(command.args(["--rounds", &rounds.to_string()])).assert_code(0);
    let report = run(sandbox.fsarena().args(["report", "--format", "json"]));
    serde_json::from_str(&report.assert_code(0).stdout).unwrap()
}

fn write(sandbox: &Sandbox, name: &str, report: &Value) -> PathBuf {
    let file = sandbox.path(name);
    std::fs::write(&file, report.to_string()).unwrap();
    file
}

/// Returns the report of a machine on which each write of a contender takes a thousand times as
/// long.
fn slowed(report: &Value, contender: &str) -> Value {
    let mut slow = report.clone();
    for cell in slow["results"]["cells"].as_array_mut().unwrap() {
        if cell["cell"]["contender"] == contender {
            let wall = &mut cell["result"]["phases"][0]["wall"];
            *wall = (wall.as_u64().unwrap() * 1000).into();
        }
    }
    slow
}

fn compare(sandbox: &Sandbox, words: &[&str]) -> CommandOutput {
    run(sandbox.fsarena().arg("compare").args(words))
}

#[test]
fn only_a_significant_regression_above_the_threshold_exits_with_1() {
    let sandbox = Sandbox::new();
    // At most four results for each of two contenders: 7 rounds against 7 give p = 0.0006 for each.
    let report = campaign(&sandbox, 7);
    let before = write(&sandbox, "before.json", &report);
    let after = write(&sandbox, "after.json", &slowed(&report, "one"));
    let (before, after) = (before.to_str().unwrap(), after.to_str().unwrap());
    let found = compare(&sandbox, &[before, after, "--threshold", "5%"]).assert_code(1);
    let worse = found.stdout.split("\nWorse:\n").nth(1).expect("something is worse");
    assert!(worse.contains("data/write:throughput"), "{}", found.stdout);
    assert!(!worse.split("\n\n").next().unwrap().contains("other"), "{}", found.stdout);
    // In the reverse direction it got faster; compared with itself it is unchanged.
    compare(&sandbox, &[after, before, "--threshold", "5%"]).assert_code(0);
    let same = compare(&sandbox, &[before, before, "--threshold", "0%"]).assert_code(2);
    assert!(same.stderr.contains("both sides are campaign 1"), "{}", same.stderr);
    compare(&sandbox, &[before, after]).assert_code(0);
    compare(&sandbox, &[before, after, "--threshold", "5%", "-c", "other"]).assert_code(0);
    compare(&sandbox, &[before, after, "--threshold", "5%", "--only", "data/verify"])
        .assert_code(0);
    let json = compare(&sandbox, &["1", after, "--threshold", "5%", "--json"]).assert_code(1);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["regressions"], 1);
    let markdown = compare(&sandbox, &[before, after, "--markdown"]).assert_code(0).stdout;
    assert!(
        markdown.starts_with("# campaign 1") && markdown.contains("\n| contender |"),
        "{markdown}"
    );
    sandbox.assert_clean();
}

#[test]
fn refuses_invalid_comparisons_and_lists_differences_in_the_setting() {
    let sandbox = Sandbox::new();
    let report = campaign(&sandbox, 1);
    let before = write(&sandbox, "before.json", &report);
    let before = before.to_str().unwrap();
    let mut other = report.clone();
    other["results"]["campaign"]["backend"] = "dir".into();
    let dir = write(&sandbox, "dir.json", &other);
    let ended = compare(&sandbox, &[before, dir.to_str().unwrap()]).assert_code(3);
    assert_eq!(
        ended.stderr,
        "fsarena: cannot compare backend loop with dir; name campaigns of one backend\n"
    );
    let mut other = report.clone();
    other["results"]["environments"][0]["kernel"] = "Linux 99.0".into();
    let kernel = write(&sandbox, "kernel.json", &other);
    let kernel = kernel.to_str().unwrap();
    let text = compare(&sandbox, &[before, kernel]).assert_code(0).stdout;
    assert!(text.contains("Differences in the setting"), "{text}");
    assert!(text.lines().any(|l| l.contains("kernel") && l.ends_with("Linux 99.0")), "{text}");
    let ended = compare(&sandbox, &[before, kernel, "--threshold", "5%"]).assert_code(0);
    let said = ended.stdout.replace('\n', " ");
    assert!(said.contains("costs twice as much may have been missed"), "{said}");
    let words = [before, kernel, "--threshold", "5%", "--detect", "20%"];
    let ended = compare(&sandbox, &words).assert_code(5);
    assert!(ended.stderr.contains("a result that costs 20 % more"), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    let ended = compare(&sandbox, &[before, "no-such-campaign"]).assert_code(2);
    assert!(ended.stderr.contains("no campaign or file named"), "{}", ended.stderr);
    let small = sandbox.path("small.toml");
    let ended = compare(&sandbox, &[before, small.to_str().unwrap()]).assert_code(2);
    assert!(ended.stderr.contains("is neither a database nor"), "{}", ended.stderr);
    compare(&sandbox, &[before, before, "--threshold", "5"]).assert_code(2);
    sandbox.assert_clean();
}

#[test]
fn a_new_crash_exits_with_1() {
    let sandbox = Sandbox::new();
    let report = campaign(&sandbox, 2);
    let before = write(&sandbox, "before.json", &report);
    let mut crashed = report;
    crashed["results"]["cells"][0]["result"]["phases"][1]["status"] = "crashed".into();
    let after = write(&sandbox, "after.json", &crashed);
    let words = [before.to_str().unwrap(), after.to_str().unwrap(), "--threshold", "50%"];
    let text = compare(&sandbox, &words).assert_code(1).stdout;
    assert!(text.contains("Failed after, and not before"), "{text}");
    assert!(text.contains("data/rewrite: crashed in 1 of 2 rounds"), "{text}");
    sandbox.assert_clean();
}

#[test]
fn two_contenders_of_one_campaign_are_set_side_by_side() {
    let sandbox = Sandbox::new();
    let slow = slowed(&campaign(&sandbox, 7), "other");
    let file = write(&sandbox, "slow.json", &slow);
    let file = file.to_str().unwrap();
    let words = ["--within", file, "one", "other", "--threshold", "5%"];
    let text = compare(&sandbox, &words).assert_code(1).stdout;
    assert!(text.starts_with("one → other\n"), "{text}");
    assert!(text.contains("data/write:throughput"), "{text}");
    let ended = compare(&sandbox, &["--within", "1", "one", "third"]).assert_code(2);
    assert!(ended.stderr.contains("there is no contender `third`"), "{}", ended.stderr);
    sandbox.assert_clean();
}

#[test]
fn a_history_has_a_point_for_each_campaign_that_is_comparable() {
    let sandbox = Sandbox::new();
    sandbox.add(&DirectoryEntry::ext4("made"));
    for _ in 0..3 {
        run(&mut sandbox.campaign(&["made"], "trial")).assert_code(0);
    }
    std::fs::create_dir(sandbox.path("place")).unwrap();
    let mut elsewhere = sandbox.fsarena();
    elsewhere.args(["run", "--profile", "smoke", "-s", "trial", "--dir"]);
    run(elsewhere.arg(sandbox.path("place"))).assert_code(0);
    run(&mut sandbox.campaign(&["made"], "trial")).assert_code(0);
    let history = run(sandbox.fsarena().args(["history", "data/write", "--json"])).assert_code(0);
    let history: Value = serde_json::from_str(&history.stdout).unwrap();
    let points = history["series"][0]["points"].as_array().unwrap();
    let campaigns: Vec<i64> = points.iter().map(|p| p["campaign"].as_i64().unwrap()).collect();
    assert_eq!(campaigns, [1, 2, 3, 5]);
    assert_eq!(history["left_out"][0]["campaign"], 4);
    let text = run(sandbox.fsarena().args(["history", "data/*"])).assert_code(0).stdout;
    for result in ["data/write:throughput", "data/rewrite:throughput", "data/verify:throughput"] {
        assert!(text.contains(result), "{text}");
    }
    assert!(text.contains("campaign 4: its backend is dir"), "{text}");
    let ended = run(sandbox.fsarena().args(["history", "data/nothing"])).assert_code(2);
    assert!(ended.stderr.contains("no campaign has a result `data/nothing`"), "{}", ended.stderr);
    run(sandbox.fsarena().args(["history", "data"])).assert_code(2);
    sandbox.assert_clean();
}

#[test]
fn campaigns_of_several_sessions_are_compared_by_their_means() {
    let sandbox = Sandbox::new();
    sandbox.add(&DirectoryEntry::ext4("one"));
    for name in ["old", "new"] {
        let mut command = sandbox.campaign(&["one"], "trial");
        let ended =
            run(command.args(["--rounds", "1", "--sessions", "2", "--name", name])).assert_code(0);
        assert!(ended.stderr.contains("session 2 of 2 finished"), "{}", ended.stderr);
    }
    let said = |words: &[&str]| compare(&sandbox, words).assert_code(0).stdout.replace('\n', " ");
    let both = said(&["old", "new"]);
    assert!(both.contains("campaigns are compared: 2 and 1 before, 4 and 3 after"), "{both}");
    let one = said(&["old", "4"]);
    assert!(one.contains("campaigns are compared: 2 and 1 before, 4 after"), "{one}");
    let numbers = said(&["2", "3"]);
    assert!(numbers.contains("These rounds do not show"), "{numbers}");
    let same = compare(&sandbox, &["old", "2"]).assert_code(2);
    assert!(same.stderr.contains("both sides are campaign 2"), "{}", same.stderr);
    let history = run(sandbox.fsarena().args(["history", "data/write"])).assert_code(0).stdout;
    assert!(
        !history.contains("rounds of a campaign by"),
        "one round cannot show the variation of rounds: {history}"
    );
    sandbox.assert_clean();
}

#[test]
fn guard_alternates_contenders_and_exits_with_1_on_a_regression() {
    let sandbox = Sandbox::new();
    sandbox.add(&DirectoryEntry::ext4("one"));
    let guard = |words: &[&str]| {
        let mut command = sandbox.fsarena();
        command.arg("guard").args(words).args(["--suite", "trial", "--work-dir"]);
        run(command.arg(sandbox.path("work")).arg(sandbox.path("small.toml")))
    };
    let ended = guard(&["one", "again=one", "--rounds", "3", "--threshold", "900%"]);
    // On a busy machine even these results may be undecided.
    assert!(matches!(ended.code, Some(0 | 5)), "{ended:?}");
    assert!(ended.stdout.starts_with("one → again\n"), "{}", ended.stdout);
    // A single round decides nothing, which is neither good nor a refusal.
    let ended = guard(&["one", "again=one", "--rounds", "1"]).assert_code(5);
    assert!(ended.stderr.contains("no result is decided: too few rounds"), "{}", ended.stderr);
    let listed = run(sandbox.fsarena().args(["list", "campaigns", "--json"])).assert_code(0);
    assert!(listed.stdout.contains("again"), "{}", listed.stdout);
    let refused = guard(&["one", "again=one", "-c", "one"]).assert_code(2);
    assert!(refused.stderr.contains("remove -c and --dir"), "{}", refused.stderr);
    // A contender that fails, while the other one does not.
    sandbox.add_faulty("bad", &["errno-on=write:EIO"]);
    guard(&["one", "bad", "--rounds", "2"]).assert_code(1);
    // Mount options that are wrong are found before the first cell.
    let refused = guard(&["one", "wrong=one:nonsense", "--rounds", "2"]).assert_code(2);
    assert!(refused.stderr.contains("cannot mount `wrong`"), "{}", refused.stderr);
    sandbox.assert_clean();
}
