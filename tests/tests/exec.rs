//! User-defined commands as phases: timed, stored with their output, and confined to the filesystem
//! that they run on.

use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::{DirectoryEntry, Sandbox, cells_of, run};
use model::{Metric, Status};

/// Returns a suite with three commands in ten lines. The first leaves a process behind. The second
/// searches for this process and tries to write to `elsewhere`. The third fails.
fn suite(elsewhere: &str) -> String {
    format!(
        r#"name = "ours"
title = "What we do all day"
source = "our own"
[[test]]
name = "ours"
rationale = "Made for a test."
space = "16 MiB"
phase = [{{ name = "count", op = "exec", writes = "2 MiB", command = "sh -c 'seq 200000 >numbers; sleep 600 & exit 0'" }},
         {{ name = "sort", op = "exec", command = "sh -c '! grep -qx sleep /proc/[0-9]*/comm && ! echo x >{elsewhere} && sort -rn -o sorted numbers && pwd'" }},
         {{ name = "fails", op = "exec", command = "sh -c 'echo much; echo the reason >&2; exit 7'" }}]
"#
    )
}

/// Some programs share files in `/tmp` even if TMPDIR is set. The machine's /tmp is read-only for
/// them.
#[test]
fn programs_get_a_private_tmp_if_the_campaign_is_not_below_tmp() {
    let sandbox = Sandbox::new();
    let work = tempfile::tempdir_in("/var/tmp").unwrap();
    let own = format!("/tmp/of-{}", work.path().file_name().unwrap().display());
    let suite = suite("/proc/nowhere")
        .replace("seq 200000 >numbers", &format!("seq 200000 >numbers && echo x >{own}"));
    sandbox.add_suite("ours", &suite);
    sandbox.add(&DirectoryEntry::ext4("watched"));
    let campaign = sandbox.path("small.toml");
    let mut command = sandbox.fsarena();
    command.arg("run").arg(campaign).args([
        "--suite",
        "ours",
        "--contender",
        "watched",
        "--work-dir",
    ]);
    run(command.arg(work.path())).assert_code(0);
    let results = sandbox.results();
    let count = &cells_of(&results, "watched")[0].phases[0];
    assert_eq!(count.status, Status::Ok, "{:?}", count.failure);
    assert!(!Path::new(&own).exists(), "it is in the machine's /tmp");
}

#[test]
fn three_commands_take_ten_lines_and_a_failing_one_gives_the_reason() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.path("elsewhere");
    let suite = suite(&elsewhere.display().to_string());
    assert_eq!(suite.lines().count(), 10);
    sandbox.add_suite("ours", &suite);
    sandbox.add(&DirectoryEntry::ext4("watched"));
    run(&mut sandbox.campaign(&["watched"], "ours")).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "watched")[0];
    let [count, sort, fails] = &cell.phases[..] else {
        panic!("{cell:?}");
    };
    assert_eq!(count.status, Status::Ok, "{:?}", count.failure);
    assert_eq!(sort.status, Status::Ok, "{:?} {:?}", sort.failure, cell.steps);
    for phase in [count, sort] {
        assert!(phase.elapsed.0 > 0 && phase.faults.minor > 0, "{phase:?}");
        assert!(phase.cpu.user.0 + phase.cpu.system.0 > 0, "{phase:?}");
        assert_eq!((phase.operations, phase.passes.len()), (1, 0));
    }
    let written = count.device.expect("an image is a device").write_bytes;
    assert!(written.0 > 1_000_000, "what was written is synced: {written}");
    let failure = fails.failure.as_ref().unwrap();
    assert_eq!(fails.status, Status::Failed);
    assert_eq!(failure.reason, "`sh` ended with 7: the reason");
    let commands: Vec<_> = cell.steps.iter().filter(|s| s.step == "exec").collect();
    assert_eq!(commands.len(), 3);
    assert!(commands[0].command[2].starts_with("seq 200000"));
    assert_eq!(commands[2].output, "much\nthe reason");
    assert!(!elsewhere.exists(), "it wrote outside of its filesystem");
    let table = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    assert!(table.contains("`sh` ended with 7: the reason"), "{table}");
    let row = table.lines().find(|line| line.trim_start().starts_with("count"));
    assert!(row.is_some_and(|row| row.contains("ms")), "{table}");
    sandbox.assert_clean();
}

/// Runs a suite once in a new directory, which is returned.
fn run_in_directory(sandbox: &Sandbox, suite: &str) -> PathBuf {
    let place = sandbox.path("place");
    fs::create_dir(&place).unwrap();
    let mut campaign = sandbox.fsarena();
    campaign.args(["run", "--profile", "smoke", "--rounds", "1", "-s", suite, "--dir"]);
    run(campaign.arg(&place)).assert_code(0);
    place
}

/// A benchmark's own numbers are results, ranked before the time of the command.
#[test]
fn values_that_a_command_prints_are_results_and_missing_ones_fail() {
    let sandbox = Sandbox::new();
    let suite = r#"
name = "ours"
title = "Ours"
source = "our own"
[[test]]
name = "ours"
rationale = "Made for a test."
space = "1 MiB"
parameters = { rate = 120 }
phase = [{ name = "bench", op = "exec", group = "durable", command = "sh -c 'echo $rate per second, 99 % within 7 ms'",
           prints = ['rate: (?<n>\d+) per second', 'latency-p99: 99 % within (?<ms>\d+) ms'] },
         { name = "counted", op = "exec", command = "sleep 0.01", operations = 500 },
         { name = "silent", op = "exec", command = "true", prints = ['rate: tps (?<n>\d+)'] }]
"#;
    sandbox.add_suite("ours", suite);
    let place = run_in_directory(&sandbox, "ours");
    let results = sandbox.results();
    let [bench, counted, silent] = &results.cells[0].result.as_ref().unwrap().phases[..] else {
        panic!("three phases");
    };
    let value = |phase: &model::PhaseResult, metric| {
        phase.measurements().iter().find(|m| m.metric == metric).map(|m| m.value)
    };
    assert_eq!(bench.primary_value(), Some(120.0));
    assert_eq!(value(bench, Metric::LatencyP99), Some(0.007));
    assert!(value(bench, Metric::Elapsed).is_some_and(|time| time > 0.0));
    assert_eq!((counted.operations, counted.primary_metric), (500, Metric::Rate));
    assert!(counted.primary_value().is_some_and(|rate| rate < 50_000.0 && rate > 1.0));
    assert_eq!(silent.status, Status::Failed);
    let reason = &silent.failure.as_ref().unwrap().reason;
    assert_eq!(reason, r"`true`: it printed no rate (`tps (?<n>\d+)`)");
    let table = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    assert!(table.contains("120") && table.contains("latency-p99"), "{table}");

    let wrong = suite.replace("rate: (?<n>", "rate: (?<ms>");
    sandbox.add_suite("ours", &wrong);
    let mut campaign = sandbox.fsarena();
    campaign.args(["run", "--profile", "smoke", "-s", "ours", "--dir"]);
    let stderr = run(campaign.arg(&place)).assert_code(2).stderr;
    assert!(stderr.contains("the pattern of rate needs one group: `(?<n>…)`"), "{stderr}");
}

/// The database itself runs, waits for its syncs, and checks its files.
#[test]
fn sqlite_stores_rows_and_checks_them() {
    let sandbox = Sandbox::new();
    run_in_directory(&sandbox, "sqlite");
    let results = sandbox.results();
    let phases = &results.cells[0].result.as_ref().unwrap().phases;
    for phase in phases {
        assert_eq!(phase.status, Status::Ok, "{}: {:?}", phase.phase, phase.failure);
    }
    assert_eq!((phases[0].phase.as_str(), phases[0].operations), ("rollback", 100));
    assert_eq!(phases[0].primary_metric, Metric::Rate);
    let check = phases.last().unwrap();
    assert_eq!(check.phase, "check");
}

#[test]
fn a_missing_program_is_unsupported_and_named_with_its_package() {
    let sandbox = Sandbox::new();
    let phase = |name: &str, command: &str| {
        format!("[[test.phase]]\nname = \"{name}\"\nop = \"exec\"\ncommand = \"{command}\"\n")
    };
    let text = [
        "name = \"ours\"\ntitle = \"Ours\"\nsource = \"our own\"\n".to_owned(),
        "requires = { packages = [\"no-such-package\"] }\n".into(),
        "[[test]]\nname = \"ours\"\nrationale = \"Made for a test.\"\nspace = \"1 MiB\"\n".into(),
        phase("missing", "no-such-program --now"),
        phase("killed", "sh -c 'touch here; kill -9 $$'"),
        phase("after", "true"),
    ];
    sandbox.add_suite("ours", &text.concat());
    let place = run_in_directory(&sandbox, "ours");
    let results = sandbox.results();
    let phases = &results.cells[0].result.as_ref().unwrap().phases;
    let outcomes: Vec<_> = phases
        .iter()
        .map(|phase| (phase.status, phase.failure.as_ref().unwrap().reason.as_str()))
        .collect();
    assert_eq!(
        outcomes,
        [
            (
                Status::Unsupported,
                "there is no program `no-such-program`; apt-get install no-such-package"
            ),
            (Status::Failed, "`sh` was killed by signal 9"),
            (Status::Skipped, "killed did not succeed"),
        ]
    );
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "nothing is left");

    // The requirements of a suite are checked before the campaign.
    let requires = "packages = [\"no-such-package\"], programs = [\"no-such-program\"], files = \
                    [\"usr/include/no-such-file.h\", \"usr/no-such-prefix*\"]";
    let text = text.concat().replace("packages = [\"no-such-package\"]", requires);
    sandbox.add_suite("ours", &text);
    for dry in [&["--dry-run"][..], &[]] {
        let mut campaign = sandbox.fsarena();
        campaign.args(["run", "--profile", "smoke", "-s", "ours"]).args(dry).arg("--dir");
        let stderr = run(campaign.arg(&place)).assert_code(3).stderr;
        let reason = "cannot run suite ours: it needs no-such-program, \
                      /usr/include/no-such-file.h, missing here; apt-get install no-such-package";
        assert!(stderr.contains(reason), "{stderr}");
    }
    let mut campaign = sandbox.fsarena();
    campaign.args(["run", "--dry-run", "--profile", "smoke", "-s", "ours", "-s", "tree", "--dir"]);
    let planned = run(campaign.arg(&place)).assert_code(0);
    assert!(
        planned.stderr.contains("suite ours is skipped: it needs no-such-program"),
        "{planned:?}"
    );
    assert!(planned.stdout.contains("tree") && !planned.stdout.contains("ours"), "{planned:?}");
    let mut campaign = sandbox.fsarena();
    campaign.args([
        "run",
        "--profile",
        "smoke",
        "--rounds",
        "1",
        "-s",
        "ours",
        "-s",
        "trial",
        "--dir",
    ]);
    let screen = run(campaign.arg(&place)).assert_code(0).stdout;
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    assert!(screen.contains("Skipped   Suite ours, whose programs are missing."), "{screen}");
    assert!(report.contains("Suite ours was skipped: it needs no-such-program"), "{report}");
    // A guard needs every suite.
    let mut guard = sandbox.fsarena();
    guard.args([
        "guard",
        place.to_str().unwrap(),
        place.to_str().unwrap(),
        "-s",
        "ours",
        "-s",
        "trial",
    ]);
    let refused = run(guard.args(["--profile", "smoke"]));
    assert!(refused.stderr.contains("cannot run suite ours: it needs"), "{refused:?}");
    let doctor = run(sandbox.fsarena().arg("doctor")).assert_code(0).stdout;
    assert!(
        doctor.contains("Suite ours lacks no-such-program, /usr/include/no-such-file.h: "),
        "{doctor}"
    );
    let packages = run(sandbox.fsarena().args(["doctor", "--packages"])).assert_code(0).stdout;
    assert!(packages.split_whitespace().any(|p| p == "no-such-package"), "{packages}");
}
