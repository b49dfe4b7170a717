//! A study runs in its own sizes, and no campaign wears out a disk without confirmation.

use end_to_end::{Sandbox, run};
use serde_json::Value;

/// Returns the plan of a dry run.
fn planned(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    planned_with(0, sandbox, arguments)
}

/// Returns the plan of a dry run that exits with this code: 3 if the run would be refused.
fn planned_with(code: i32, sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let mut command = sandbox.fsarena();
    command.args(["run", "--dry-run", "--json"]).args(arguments);
    let said = run(&mut command).assert_code(code).stdout;
    // The lines before the plan name the excluded contenders.
    let plan = said.lines().last().unwrap_or_default();
    serde_json::from_str(plan).expect("a plan in JSON is one line")
}

fn tests(plan: &Value) -> Vec<&str> {
    let suites = plan["campaign"]["suites"].as_array().into_iter().flatten();
    let tests = suites.flat_map(|suite| suite["tests"].as_array().into_iter().flatten());
    tests.filter_map(|test| test["name"].as_str()).collect()
}

#[test]
fn a_study_sets_its_volume_memory_tests_and_filesystems() {
    let sandbox = Sandbox::new();
    let plan = planned(&sandbox, &["--study", "debian-file-server-2006"]);
    let campaign = &plan["campaign"];
    assert_eq!(campaign["name"], "debian-file-server-2006");
    assert_eq!(campaign["profile"], "study");
    assert_eq!(campaign["size"], 20_000_000_000_u64);
    assert_eq!(campaign["memory"], 512_u64 << 20);
    assert_eq!(campaign["rounds"], 3);
    assert_eq!(tests(&plan), ["lifecycle", "large-file", "tree"]);
    let contenders = campaign["contenders"].as_array().into_iter().flatten();
    let contenders: Vec<&str> = contenders.filter_map(|c| c["name"].as_str()).collect();
    assert_eq!(contenders, ["ext3", "xfs"], "of its four, those that run here");
    let other = ["--study", "os2-shootout-2002", "-c", "ext2", "--rounds", "1"];
    let plan = planned(&sandbox, &other);
    assert_eq!(plan["campaign"]["size"], 1_000_000_000_u64);
    assert_eq!(plan["campaign"]["rounds"], 1);
    assert_eq!(plan["campaign"]["contenders"][0]["name"], "ext2");
}

#[test]
fn a_study_with_a_small_profile_has_its_tests_and_the_default_volume() {
    let sandbox = Sandbox::new();
    let small = ["--study", "debian-file-server-2006", "--profile", "smoke"];
    let plan = planned(&sandbox, &small);
    assert_eq!(plan["campaign"]["name"], "debian-file-server-2006");
    assert_eq!(plan["campaign"]["profile"], "smoke");
    assert_eq!(tests(&plan), ["lifecycle", "large-file", "tree"]);
    let usual = planned(&sandbox, &["--profile", "smoke", "-c", "ext3"]);
    assert_eq!(plan["campaign"]["size"], usual["campaign"]["size"]);
}

#[test]
fn excessive_writes_are_refused_until_the_limit_is_named() {
    let sandbox = Sandbox::new();
    let grid = ["--profile", "study", "--suite", "iozone", "-c", "ext4", "-c", "xfs"];
    let plan = planned_with(3, &sandbox, &grid);
    let least = plan["cost"]["least_written"].as_u64().unwrap();
    assert!(least > 1_500_000_000_000, "{least}");
    assert!(plan["max_written"].is_null());
    let refused = run(sandbox.fsarena().arg("run").args(grid)).assert_code(3);
    let line = refused.stderr.lines().last().unwrap_or_default();
    assert!(line.contains("--max-written \""), "{line}");
    assert!(plan["refused"].as_str().is_some_and(|why| line.ends_with(why)));
    let most = format!("{} GB", least.div_ceil(1_000_000_000));
    let named = [&grid[..], &["--max-written", &most]].concat();
    assert!(planned(&sandbox, &named)["refused"].is_null());
    let one = planned(&sandbox, &[&grid[..6], &["--rounds", "2"]].concat());
    assert_eq!(one["max_written"], 1_500_000_000_000_u64);
}

#[test]
fn claims_come_with_their_verdicts_and_their_numbers() {
    let sandbox = Sandbox::new();
    let said = |arguments: &[&str]| run(sandbox.fsarena().args(arguments)).assert_code(0).stdout;
    let text = said(&["study", "claims", "os2-shootout-2002"]);
    assert!(
        text.starts_with("os2-shootout-2002: 19 claims: 11 supported, 3 partly, 5 undecidable\n"),
        "{text}"
    );
    assert!(text.contains("off: said about 2 times, is 1.92\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours without a terminal");
    assert!(
        text.contains("taken as 1.95 to 2.05 times\n")
            && text.contains("taken as the same within 5 %\n"),
        "{text}"
    );
    let counts = said(&["study", "claims"]);
    assert!(
        counts.contains(
            "35 of the 59 undecidable are all the claims of vanninen-wang-2003, which printed one number in its 67 figures.\n"
        ),
        "{counts}"
    );
    let all: Value = serde_json::from_str(&said(&["study", "claims", "all", "--json"])).unwrap();
    let claims = all["studies"].as_array().into_iter().flatten();
    let claims = claims.map(|study| study["claims"].as_array().map_or(0, Vec::len));
    assert_eq!(claims.sum::<usize>(), 147);
    let refused = run(sandbox.fsarena().args(["study", "claims", "nothing"])).assert_code(2);
    assert!(
        refused
            .stderr
            .starts_with("fsarena: there is no study `nothing`: there are bonnie-linux-2011, "),
        "{}",
        refused.stderr
    );
}

#[test]
fn figures_of_a_study_are_shown_in_every_format() {
    let sandbox = Sandbox::new();
    let said = |arguments: &[&str]| run(sandbox.fsarena().args(arguments)).assert_code(0).stdout;
    let shown = said(&["study", "show", "emerging-filesystems-2007"]);
    assert!(shown.contains("204531*") && shown.contains("+++++"), "{shown}");
    assert!(shown.lines().take(20).all(|line| line.chars().count() < 500));
    let report = |format| said(&["report", "--study", "bonnie-linux-2011", "--format", format]);
    for format in ["table", "csv", "json", "markdown", "html", "bonnie-csv"] {
        assert!(report(format).contains("hfsplus"), "{format}");
    }
    let table = report("table");
    assert!(
        table.starts_with("The ultimate Linux filesystems benchmark\n22 claims, judged by its own figures: 12 supported, 5 partly, 1 contradicted and 4 undecidable (fsarena study claims bonnie-linux-2011).\n"),
        "{table}"
    );
    // A published study cannot be repeated with more rounds.
    for advice in ["--budget", "--rounds", "no advice"] {
        assert!(!table.contains(advice), "{advice}: {table}");
    }
    let bonnie = report("bonnie-csv");
    let ext4 = bonnie.lines().find(|line| line.contains(",ext4,")).unwrap();
    assert!(ext4.contains(",28852,"), "{ext4}");
    let none =
        run(sandbox.fsarena().args(["report", "--study", "vanninen-wang-2003"])).assert_code(2);
    assert!(none.stderr.contains("published no usable number"), "{}", none.stderr);
}
