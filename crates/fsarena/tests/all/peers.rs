//! Other programs as suites: their output becomes phases.

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::told::assert_told;
use serde_json::Value;
use tempfile::TempDir;

fn fsarena(home: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fsarena"));
    let database = home.path().join("results.db");
    command.arg("--db").arg(database).args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

/// Runs a fio job in a directory.
fn run_job(home: &TempDir, name: &str, job: &str) {
    let place = home.path().join("place");
    fs::create_dir(&place).unwrap();
    let file = home.path().join(name);
    fs::write(&file, job).unwrap();
    let suite = format!("fio:{}", file.display());
    let directory = place.display().to_string();
    let run = ["run", "--rounds", "1", "-q", "--dir", &directory, "-s", &suite];
    let output = fsarena(home, &run);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
}

#[test]
fn output_of_a_program_becomes_phases_of_its_test() {
    let home = tempfile::tempdir().unwrap();
    let job = "[global]\nsize=64k\n[a]\nrw=write\n[b]\nrw=randrw\nstonewall\n";
    run_job(&home, "My job.fio", job);
    let show = fsarena(&home, &["show", "1", "--json"]).stdout;
    let show: Value = serde_json::from_slice(&show).unwrap();
    let phases = show["cells"][0]["result"]["phases"].as_array().unwrap();
    let seen: Vec<_> = phases
        .iter()
        .map(|phase| {
            let field = |name: &str| phase[name].as_str().unwrap().to_owned();
            assert_eq!(field("status"), "ok");
            (field("phase"), field("primary_metric"))
        })
        .collect();
    let name = |phase: &str, metric: &str| (phase.to_owned(), metric.to_owned());
    assert_eq!(
        seen,
        [
            name("run", "elapsed"),
            name("a", "throughput"),
            name("b-read", "rate"),
            name("b-write", "rate")
        ]
    );
    assert!(phases[1]["stated"][0]["value"].as_f64().unwrap() > 0.0);
}

/// With `unified_rw_reporting`, fio prints one result for reads and writes.
#[test]
fn reads_and_writes_that_a_job_reports_together_are_one_phase() {
    let home = tempfile::tempdir().unwrap();
    run_job(&home, "mix.fio", "[m]\nrw=randrw\nsize=1m\nbs=4k\nunified_rw_reporting=1\n");
    let show = fsarena(&home, &["show", "1", "--json"]).stdout;
    let show: Value = serde_json::from_slice(&show).unwrap();
    let result = &show["cells"][0]["result"];
    assert_eq!(result["status"], "ok");
    let phases = result["phases"].as_array().unwrap();
    let names: Vec<_> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["run", "m"]);
    let rate = phases[1]["stated"].as_array().unwrap().iter().find(|s| s["metric"] == "rate");
    assert!(rate.unwrap()["value"].as_f64().unwrap() > 0.0, "{phases:?}");
}

#[test]
fn the_runtime_of_a_job_is_part_of_the_estimate() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().display().to_string();
    let seconds = |options: &str| {
        let file = home.path().join("job.fio");
        fs::write(&file, format!("[m]\nrw=randread\nsize=1m\n{options}")).unwrap();
        let suite = format!("fio:{}", file.display());
        let plan = ["run", "--dry-run", "--json", "--rounds", "2", "--dir", &directory];
        let output = fsarena(&home, &[&plan[..], &["-s", &suite]].concat());
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        plan["cost"]["time"].as_f64().unwrap() / 1e9
    };
    assert!(seconds("") < 20.0);
    let timed = seconds("runtime=5m\ntime_based\n");
    assert!((600.0..620.0).contains(&timed), "{timed}");
}

/// A value of a job is one argument of fio and starts no program, even if it contains quotes.
#[test]
fn job_values_never_become_options() {
    let home = tempfile::tempdir().unwrap();
    let hostile = "x' '--exec_prerun=touch started' '--description=y";
    let job = format!("[don't]\nrw=write\nsize=4k\ndescription={hostile}\n");
    run_job(&home, "job.fio", &job);
    let cell = fsarena(&home, &["show", "1", "--cell", "0", "--json"]).stdout;
    let cell: Value = serde_json::from_slice(&cell).unwrap();
    let steps = cell["result"]["steps"].as_array().unwrap();
    let words = steps.iter().flat_map(|step| step["command"].as_array().unwrap());
    let words: Vec<_> = words.filter_map(Value::as_str).collect();
    assert!(words.contains(&format!("--description={hostile}").as_str()), "{words:?}");
}

/// Regression test: an option without a value took the next one, whose text was a path.
#[test]
fn a_job_file_names_no_file_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    let (place, victim) = (home.path().join("place"), home.path().join("victim"));
    fs::create_dir(&place).unwrap();
    fs::write(&victim, "precious").unwrap();
    let directory = place.display().to_string();
    let up = "../".repeat(20);
    for description in [format!("x/{up}{}", victim.display()), format!(":{}", victim.display())] {
        let job = format!("[a]\nrw=write\nsize=4k\nfilename\ndescription={description}\n");
        let file = home.path().join("job.fio");
        fs::write(&file, job).unwrap();
        let suite = format!("fio:{}", file.display());
        let run = ["run", "--rounds", "1", "-q", "--dir", &directory, "-s", &suite];
        assert_told(&fsarena(&home, &run), 2, "line 4: `filename` has no value: add one");
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

/// Regression test: the first job file took exponential time, and the others all memory.
#[test]
fn included_files_and_variables_of_a_job_file_are_limited() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
    for level in 0..7 {
        write(&format!("m{level}.fio"), &format!("include m{}.fio\n", level + 1).repeat(20));
    }
    write("m7.fio", "[a]\n");
    write("sizes.fio", &"size=4k\n".repeat(30_000));
    write("many.fio", &format!("[a]\n{}", "include sizes.fio\n".repeat(5_000)));
    write("long.fio", &format!("[a]\n{}", "description=${LONG}\n".repeat(10_000)));
    write("large.fio", &"size=4k\n".repeat(100_000));
    let directory = home.path().display().to_string();
    for (name, words) in [
        ("m0.fio", "it has more than 1000 jobs"),
        ("many.fio", "it has more than 256 KiB with all that it includes"),
        ("long.fio", "it has more than 256 KiB with all that it includes"),
        ("large.fio", "it is larger than 256 KiB"),
    ] {
        let suite = format!("fio:{}", home.path().join(name).display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_fsarena"));
        command.env("LONG", "x".repeat(100_000)).stdin(Stdio::null());
        command.args(["run", "--dry-run", "--dir", &directory, "-s", &suite]);
        assert_told(&command.output().unwrap(), 2, words);
    }
}

#[test]
fn unusable_programs_are_refused_in_one_line() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = home.path().join("elsewhere.fio");
    fs::write(&elsewhere, "[a]\nfilename=/dev/sda\n").unwrap();
    let elsewhere = format!("fio:{}", elsewhere.display());
    let workload = home.path().join("w.f");
    fs::write(&workload, "system \"touch x\"\nrun 1\n").unwrap();
    let workload = format!("filebench:{}", workload.display());
    let directory = home.path().display().to_string();
    for (suite, code, words) in [
        ("tiobench:x", 2, "`tiobench` cannot be run as a suite"),
        ("iozone:-a", 2, "give -s and -r"),
        ("fio:/nowhere.fio", 2, "cannot read /nowhere.fio"),
        (&elsewhere, 2, "line 2: `filename` names a place"),
        ("fs_mark:-d /etc -n 1", 2, "`-d` names a place"),
        ("fs_mark:-n1 -lx", 2, "`-lx` names a place"),
        ("bonnie++:-qd ..", 2, "`-qd` names a place"),
        ("bonnie++:-s64m -m a,b", 2, "a comma would break the CSV output"),
        ("dbench:--dir=x 1", 2, "`--dir=x` names a place"),
        ("dbench:-B sockio 4", 2, "`-B` names a place"),
        ("mdtest:-n 1 --run-cmd-before-phase=reboot", 2, "names a place"),
        ("mdtest:-a S3 -n 1", 2, "`-a` names a place"),
        ("iozone:-s 1m -r 4k -U /", 2, "`-U` names a place"),
        ("bonnie++:'", 2, "that is not closed"),
        ("filebench:/nowhere.f", 2, "cannot read /nowhere.f"),
        (&workload, 2, "line 1: `system` is not accepted"),
    ] {
        let output = fsarena(&home, &["run", "--dir", &directory, "-s", suite]);
        assert_told(&output, code, words);
    }
    assert!(!home.path().join("results.db").exists());
}
