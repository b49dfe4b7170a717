//! `fsarena import`: output of other programs and other databases become campaigns. Invalid input
//! changes nothing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::told::assert_told;
use serde_json::Value;
use tempfile::TempDir;

fn sample(name: &str) -> PathBuf {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/samples");
    Path::new(samples).join(name)
}

/// Creates a directory for a database that does not exist yet.
fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn fsarena(home: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fsarena"));
    let database = home.path().join("results.db");
    command.arg("--db").arg(database).args(arguments);
    command.stdin(Stdio::null());
    command
}

fn run(home: &TempDir, arguments: &[&str]) -> Output {
    fsarena(home, arguments).output().unwrap()
}

#[track_caller]
fn said(home: &TempDir, arguments: &[&str]) -> String {
    let output = run(home, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn count(home: &TempDir) -> usize {
    let listed = said(home, &["list", "campaigns", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    listed.as_array().unwrap().len()
}

/// Runs with a limit on the memory of the program, in KiB.
fn limited(home: &TempDir, kib: u64, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {kib}; exec \"$@\"");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_fsarena"), "--db"]);
    command.arg(home.path().join("results.db")).args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

/// Once, 23 MB of hyperfine's output were accepted, and the page took 23.6 GB.
#[test]
fn an_import_that_no_report_could_show_is_refused_and_every_other_fits_into_memory() {
    const LIMIT: u64 = 1 << 20;
    let home = home();
    let file = home.path().join("results.json");
    let command = |n: usize| format!("{{\"command\":\"c{n}\",\"times\":[{}]}}", 1 + n % 7);
    let write = |count: usize| {
        let commands: Vec<String> = (0..count).map(command).collect();
        fs::write(&file, format!("{{\"results\":[{}]}}", commands.join(","))).unwrap();
    };
    let path = file.to_str().unwrap();
    for count in [1_500, 200_000] {
        write(count);
        let refused = limited(&home, LIMIT, &["import", path]);
        assert_told(&refused, 2, "more than a report can compare");
    }
    write(400);
    assert_eq!(limited(&home, LIMIT, &["import", path]).status.code(), Some(0));
    for format in ["table", "html", "markdown", "json", "csv", "bonnie-csv", "iozone"] {
        let report = limited(&home, LIMIT, &["--quiet", "report", "--format", format]);
        assert_eq!(report.status.code(), Some(0), "{format}: {report:?}");
        assert!(!report.stdout.is_empty(), "{format}");
    }
    let report = home.path().join("report.json");
    let json = limited(&home, LIMIT, &["report", "--json"]).stdout;
    let mut json: Value = serde_json::from_slice(&json).unwrap();
    let contenders = json["results"]["campaign"]["contenders"].as_array_mut().unwrap();
    let one = contenders[0].clone();
    contenders.extend((0..20_000).map(|number| {
        let mut more = one.clone();
        more["name"] = format!("more-{number}").into();
        more
    }));
    let (schema, results) = (&json["schema"], &json["results"]);
    let text = format!("{{\"schema\":{schema},\"results\":{results}}}");
    fs::write(&report, text).unwrap();
    for word in ["import", "report"] {
        let refused = limited(&home, LIMIT, &[word, report.to_str().unwrap()]);
        assert_told(&refused, 2, "more than a report can compare");
    }
}

#[test]
fn program_output_becomes_a_campaign_with_a_report() {
    let home = home();
    let bonnie = sample("bonnie-2.00.csv");
    let bonnie = bonnie.to_str().unwrap();
    let would = said(&home, &["import", bonnie, "--dry-run"]);
    assert_eq!(
        would,
        "would import “bonnie++” of bonnie++ 2.00a: 1 contender, 3 tests, 2 rounds, 20 values\n\
         assumed: contenders are named ext4 after the machine; --contender NAME or --contender-from changes that\n"
    );
    assert!(!home.path().join("results.db").exists());
    let told = said(&home, &["import", bonnie]);
    assert!(told.starts_with("campaign 1 “bonnie++” of bonnie++ 2.00a: "), "{told}");
    assert!(told.contains("; `fsarena report 1` shows it\n"), "{told}");
    let again = said(&home, &["import", bonnie]);
    assert!(again.starts_with("campaign 1 is here already: "), "{again}");
    assert_eq!(count(&home), 1);
    let show: Value = serde_json::from_str(&said(&home, &["show", "1", "--json"])).unwrap();
    let contender = &show["campaign"]["contenders"][0];
    assert_eq!(contender["filesystem"]["title"], "ext4", "it is the catalog's");
    assert_eq!(show["environments"][0]["kernel"], "");
    for format in ["table", "markdown", "html", "csv", "json"] {
        assert!(said(&home, &["report", "1", "--format", format]).contains("bonnie"));
    }
}

#[test]
fn files_of_several_contenders_are_one_campaign_and_names_win() {
    let home = home();
    let files = [sample("fio-3.33-plus.json"), sample("fio-3.33-plus.json")];
    let files = files.map(|file| file.display().to_string());
    let named = format!("xfs={}", files[1]);
    let told = said(&home, &["import", &files[0], &named, "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    let campaign = &told["campaigns"][0];
    assert_eq!(campaign["contenders"], serde_json::json!(["/mnt/ext4", "xfs"]));
    assert_eq!(told["assumed"].as_array().unwrap().len(), 1);
    assert_eq!((&campaign["campaign"], &campaign["rounds"]), (&1.into(), &1.into()));
    let mut piped = fsarena(&home, &["import", "-c", "btrfs", "-"]);
    piped.stdin(File::open(&files[0]).unwrap());
    assert!(piped.status().unwrap().success());
    let second = home.path().join("second.json").display().to_string();
    fs::copy(&files[1], &second).unwrap();
    said(&home, &["import", "-c", "jfs", &files[0], &second]);
    let show: Value = serde_json::from_str(&said(&home, &["show", "3", "--json"])).unwrap();
    assert_eq!(show["campaign"]["rounds"], 2);
    let told = run(&home, &["import", "-c", "jfs", &files[0], &files[1]]);
    assert_told(&told, 2, "fio-3.33-plus.json is given twice");
    let told = run(&home, &["import", "-c", "a", "-c", "b", &files[0]]);
    assert_told(&told, 2, "2 contenders are named for 1 files");
}

#[test]
fn reports_and_databases_are_imported_unchanged() {
    let (ours, theirs) = (home(), home());
    let grid = sample("iozone-489-grid.txt").display().to_string();
    said(&theirs, &["import", &grid]);
    let report = theirs.path().join("report.json").display().to_string();
    said(&theirs, &["report", "1", "--format", "json", "-o", &report]);
    let database = theirs.path().join("results.db").display().to_string();
    assert!(said(&ours, &["import", &report]).starts_with("campaign 1 "));
    let told = said(&ours, &["import", &database]);
    assert!(told.starts_with("campaign 1 is here already: "), "{told}");
    let show = |home: &TempDir| said(home, &["show", "1", "--json"]);
    assert_eq!(show(&ours), show(&theirs));
    let sheet = said(&ours, &["report", "1", "--format", "iozone"]);
    assert!(sheet.contains("\"Writer report\""), "{sheet}");
}

/// `+++++` of bonnie++ is at least as fast as any number. A row that contains it therefore has no
/// slowest contender.
#[test]
fn too_fast_results_do_not_rank_last() {
    let home = home();
    let line = |name: &str, files: &str| {
        let files = [files; 6].map(|rate| format!("{rate},9")).join(",");
        format!(
            "1.98,2.00a,{name},1,1,8M,,8192,5,571,40,946,42,900,40,946,42,800,40,700,9,1,,,,,{files},,,,,,,,,,,,\n"
        )
    };
    let lines =
        [line("ext4", "+++++"), line("xfs", "1000"), line("ext4", "+++++"), line("xfs", "1001")];
    let file = home.path().join("bonnie.csv");
    fs::write(&file, lines.concat()).unwrap();
    said(&home, &["import", file.to_str().unwrap()]);
    let report = said(&home, &["report", "1"]);
    let row = report.lines().find(|line| line.contains("create-seq")).unwrap();
    assert!(row.contains("too fast") && !row.contains(['▲', '▼']), "{row}");
    assert!(report.contains("Not ranked, since a test that ends too soon"), "{report}");
    let sheet = said(&home, &["report", "1", "--format", "bonnie-csv"]);
    assert!(sheet.lines().next().unwrap().contains("+++++,+++"), "{sheet}");
}

#[test]
fn a_contender_that_lacks_a_test_is_drawn_too() {
    let home = home();
    let heading = "campaign,campaign_name,contender,suite,test,phase,round,metric,unit,direction,value,cache,status,reason";
    let row = |contender: &str, test: &str| {
        format!("1,n,{contender},s,{test},p,1,elapsed,s,lower,2,unstated,ok,\n")
    };
    let rows = [row("a", "t"), row("b", "t"), row("a", "u")].concat();
    let file = home.path().join("results.csv");
    fs::write(&file, format!("{heading}\n{rows}")).unwrap();
    said(&home, &["import", file.to_str().unwrap()]);
    let charts = home.path().join("charts").display().to_string();
    said(&home, &["report", "1", "--charts", &charts]);
    assert!(said(&home, &["report", "1"]).contains("none"));
}

#[test]
fn an_imported_campaign_is_never_resumed() {
    let (ours, theirs) = (home(), home());
    let place = theirs.path().join("place");
    fs::create_dir(&place).unwrap();
    let place = place.display().to_string();
    let stopped = [
        "run",
        "--dir",
        &place,
        "-s",
        "tree",
        "--profile",
        "smoke",
        "-q",
        "--rounds",
        "3",
        "--max-time",
        "1ms",
        "--until-width",
        "1%",
    ];
    said(&theirs, &stopped);
    let database = theirs.path().join("results.db").display().to_string();
    said(&ours, &["import", &database]);
    assert_told(&run(&ours, &["resume", "1"]), 3, "cannot resume campaign 1: it was imported");
}

#[test]
fn bad_input_is_one_line_and_changes_no_data() {
    let home = home();
    let bad = |name: &str, content: &[u8]| {
        let path = home.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let good = sample("dbench-4.00.txt").display().to_string();
    said(&home, &["import", &good]);
    let whole = fs::read(sample("fio-3.33.json")).unwrap();
    let cases = [
        (bad("a", b""), "not a database or JSON report of fsarena"),
        (bad("b", &whole[..whole.len() / 2]), "cut off"),
        (bad("c", b"IOR-3\naccess bw(MiB/s)\nwrite \xff\n"), "line 3: `\u{fffd}` is no number"),
        (bad("d", b"SQLite format 3\0 and no more"), "database"),
        (bad("e", b"{\"schema\": \"fsarena-report/1\", \"results\": 1}"), "is no whole report"),
        (home.path().display().to_string(), "; name a regular file"),
        ("/dev/zero".to_owned(), "; name a regular file"),
        ("/nowhere/at-all".to_owned(), "cannot read"),
    ];
    for (file, words) in &cases {
        let output = run(&home, &["import", &good, file]);
        let code = output.status.code().unwrap();
        assert!([2, 3].contains(&code), "{file}: {code}");
        assert_told(&output, code, words);
    }
    let csv = "contender,suite,test,phase,round,metric,value,status\n";
    let twice = "a,s,t,p,1,elapsed,1,ok\n".repeat(2);
    let csv = bad("f.csv", format!("{csv}{twice}").as_bytes());
    let told = run(&home, &["import", "--from", "csv", &csv]);
    assert_told(&told, 2, "f.csv as csv: line 3: elapsed of t/p occurs twice");
    let report = said(&home, &["report", "1", "--format", "json"]);
    let named = format!("mine={}", bad("whole.json", report.as_bytes()));
    assert_told(&run(&home, &["import", &named]), 2, "leave the name out");
    let mut report: Value = serde_json::from_str(&report).unwrap();
    report["results"]["environments"] = serde_json::json!([]);
    let results = &report["results"];
    let report = format!("{{\"schema\":\"fsarena-report/1\",\"results\":{results}}}");
    let report = bad("g.json", report.as_bytes());
    let told = run(&home, &["import", &report]);
    assert_told(&told, 2, "g.json is no whole report");
    let forced = run(&home, &["import", "--from", "fio", &good]);
    assert_told(&forced, 2, "as fio: there is no JSON in it");
    assert_eq!(count(&home), 1);
}
