//! Campaigns in guests: filesystems that the host kernel may lack, run in parallel without
//! privileges, and equal to the nanosecond in every run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use end_to_end::{Sandbox, program, run};
use model::{Bytes, CampaignResults, Clock, Nanos, PhaseResult, Status};

/// Contenders. Most of them have no driver in the kernels of the usual test machines.
const ROWS: [&str; 4] = ["affs-ffs", "hpfs", "nilfs2", "ufs2"];
/// Contenders that run twice.
const TWICE: [&str; 2] = ["affs-ffs", "hpfs"];

/// Returns a campaign of one test in virtual time.
fn campaign(sandbox: &Sandbox, contenders: &[&str], jobs: &str) -> Command {
    let fsarena = sandbox.fsarena();
    let mut command = sandbox.in_guests(fsarena, contenders, jobs);
    command.args(["--suite", "trial"]);
    command
}

/// Returns an fsarena command without any capabilities, which cannot mount.
fn unprivileged(sandbox: &Sandbox) -> Command {
    let plain = sandbox.fsarena();
    let mut command = Command::new("setpriv");
    command
        .args(["--inh-caps=-all", "--bounding-set=-all"])
        .arg(plain.get_program())
        .args(plain.get_args())
        .stdin(Stdio::null());
    command
}

/// Returns all measured phases, by contender.
fn phases(results: &CampaignResults) -> BTreeMap<&str, &[PhaseResult]> {
    let each = results.cells.iter().map(|stored| {
        let result = stored.result.as_ref().expect("every cell has a result");
        assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
        (stored.cell.contender.as_str(), result.phases.as_slice())
    });
    each.collect()
}

#[test]
fn virtual_time_results_are_independent_of_parallel_cells_and_user() {
    let sandbox = Sandbox::new();
    let shown = run(campaign(&sandbox, &ROWS, "2").arg("--no-cache"));
    let shown = shown.assert_code(0).stdout;
    assert!(shown.contains("model machine"), "{shown}");
    let all = sandbox.results();
    assert_eq!(all.campaign.clock, Clock::Virtual);
    let machine = all.campaign.guest.as_ref().expect("it has a machine");
    assert_eq!(machine.model().expect("its disk is a model").name, "nvme-consumer");
    assert!(all.calibration.is_none(), "this machine's disk is no matter");
    let all_results = phases(&all);
    assert_eq!(all_results.len(), ROWS.len());

    let alone = unprivileged(&sandbox);
    let mut alone = sandbox.in_guests(alone, &TWICE, "1");
    run(alone.args(["--suite", "trial", "--no-cache"])).assert_code(0);
    let again = sandbox.results();
    let again = phases(&again);
    assert_eq!(again.len(), TWICE.len());
    for (contender, phases) in again {
        assert!(phases.iter().all(|phase| phase.elapsed.0 > 0), "{contender}");
        assert_eq!(phases, all_results[contender], "{contender}");
    }
    sandbox.assert_clean();
}

#[test]
fn options_are_tried_in_a_guest_before_the_campaign() {
    let sandbox = Sandbox::new();
    let said = "cannot mount `xfs:nobarrier`: xfs: Unknown parameter 'nobarrier'; ";
    for (contenders, more) in
        [(&["ext4:noatime", "xfs:nobarrier"][..], &["--dry-run"][..]), (&["xfs:nobarrier"], &[])]
    {
        let mut command = campaign(&sandbox, contenders, "1");
        let ended = run(command.args(more)).assert_code(2);
        let told = ended.stderr.lines().last().unwrap_or_default();
        assert!(told.contains(said), "{}", ended.stderr);
        assert!(!ended.stderr.contains("`ext4:noatime`:"), "{}", ended.stderr);
    }
    let directory = sandbox.path("plan");
    let mut plan = sandbox.fsarena();
    plan.args(["cluster", "plan", "--backend", "vm", "-c", "xfs:nobarrier", "-s", "trial"]);
    plan.args(["--profile", "smoke", "-o"]).arg(&directory);
    let ended = run(plan.env("XDG_CACHE_HOME", program::cache())).assert_code(2);
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert!(!directory.exists(), "no plan was written");
    sandbox.assert_clean();
}

#[test]
fn a_cell_that_was_run_before_is_served_with_the_same_results() {
    let sandbox = Sandbox::new();
    let results = || {
        run(&mut campaign(&sandbox, &["affs-ffs"], "1")).assert_code(0);
        sandbox.results()
    };
    let (first, second) = (results(), results());
    assert_eq!(phases(&first), phases(&second));
    let served = |cell: &model::CellRecord| cell.result.as_ref().is_some_and(|r| r.from_cache);
    // One in twenty cells is run again to check that the result is equal.
    let most = second.cells.len() / 2;
    assert!(second.cells.iter().filter(|cell| served(cell)).count() >= most, "nobody gave a seed");
}

/// A suite with a file too large for one disk of 16 MiB, but not for two.
const STRIPED: &str = r#"
name = "striped"
title = "Files on more than one small disk"
source = "made for a test"

[[test]]
name = "striped"
title = "One file"
rationale = "One disk cannot hold it."
space = "20 MiB"
phase = [
  { name = "write", op = "write", file = "f", size = "20 MiB", block = "1 MiB", cache = "warm", ends = "fsync" },
  { name = "verify", op = "read", file = "f", block = "1 MiB", verify = true, cache = "cold", ends = "call" },
]
"#;

/// ext2 uses a stripe of the kernel, ZFS a pool, which needs disks of at least 64 MiB. On two
/// disks, the written file is larger than one disk.
#[test]
fn several_disks_form_a_stripe_that_is_faster_than_one_disk_or_a_pool() {
    let sandbox = Sandbox::new();
    sandbox.add_slow_disk();
    sandbox.add_suite("striped", STRIPED);
    let wall = |contender: &str, suite: &str, file: Bytes, disks: &str, size: &str| {
        let mut command = sandbox.in_guests(sandbox.fsarena(), &[contender], "1");
        command.args(["--suite", suite, "--disk", "slow"]);
        run(command.args(["--disks", disks, "--size", size])).assert_code(0);
        let results = sandbox.results();
        let machine = results.campaign.guest.as_ref().unwrap();
        assert_eq!(machine.disks.to_string(), disks);
        let written = &phases(&results)[contender][0];
        assert_eq!(written.phase, "write");
        let bytes = written.device.expect("its disks are counted").write_bytes;
        assert!(bytes >= file, "{contender}: {bytes}");
        written.elapsed
    };
    let striped = |disks, size| wall("ext2", "striped", Bytes::mib(20), disks, size);
    let (one, two) = (striped("1", "32MiB"), striped("2", "16MiB"));
    assert!(two.0 * 5 < one.0 * 4, "{two} on two disks, {one} on one");
    // ZFS on FUSE takes more processor time than disk time.
    wall("zfs-fuse", "wide", Bytes::mib(70), "2", "64MiB");
    sandbox.assert_clean();
}

/// The campaign is killed after its first result.
#[test]
fn a_killed_campaign_in_guests_resumes_after_its_last_result() {
    let sandbox = Sandbox::new();
    let mut first = campaign(&sandbox, &["affs-ffs", "hpfs", "jfs"], "1");
    let first = first.args(["--json", "--no-cache"]).stdout(Stdio::piped());
    let mut child = first.spawn().expect("fsarena can be started");
    let events = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut lines = events.lines().map(|line| line.expect("it is text"));
    let ended = lines.find(|line| line.contains("\"cell-end\""));
    assert!(ended.is_some(), "no cell finished");
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");

    let mut resume = sandbox.fsarena();
    resume.args(["resume", "--json"]).env("XDG_CACHE_HOME", program::cache());
    let resumed = run(&mut resume).assert_code(0).stdout;
    let begun = resumed.lines().filter(|l| l.contains("\"cell-begin\"")).count();
    assert!(begun < 3, "what has a result is not run again: {resumed}");
    assert_eq!(phases(&sandbox.results()).len(), 3);
    sandbox.assert_clean();
}

#[test]
fn impossible_guests_are_refused_before_any_cell_runs() {
    let sandbox = Sandbox::new();
    for (options, complaint) in [
        (["--memory", "255MiB"], "is too little for a guest; give 256 MiB"),
        (["--processors", "2"], "in virtual time a machine has one processor"),
        (["--device", "/dev/null"], "cannot use --device"),
        (["--disk", "floppy"], "there is no disk `floppy`"),
        (["--size", "64KiB"], "larger --size"),
    ] {
        let ended = run(campaign(&sandbox, &["hpfs"], "1").args(options)).assert_code(2);
        assert!(ended.stderr.contains(complaint), "{options:?}: {}", ended.stderr);
    }
}

/// A suite of two commands, and of writes that arrive during 12 s. The guest contains the program of
/// only the first command.
const COMMANDS: &str = r#"
name = "commands"
title = "Commands"
source = "made for a test"
requires = { packages = ["e2fsprogs"], programs = ["mke2fs"] }
[[test]]
name = "commands"
title = "Commands"
rationale = "Made for a test."
space = "16 MiB"
phase = [{ name = "file", op = "write", file = "f", size = "1 MiB", block = "64 KiB",
           cache = "warm", ends = "fsync" },
         { name = "paced", op = "random-write", file = "f", block = "4 KiB", operations = 240, rate = 20,
           cache = "warm", ends = "fsync" },
         { name = "version", op = "exec", command = "mke2fs -V" },
         { name = "missing", op = "exec", command = "nothing" }]
"#;

#[test]
fn commands_of_a_suite_run_in_guests_that_have_their_programs() {
    let sandbox = Sandbox::new();
    sandbox.add_suite("commands", COMMANDS);
    let mut command = sandbox.in_guests(sandbox.fsarena(), &["minix"], "1");
    run(command.args(["--suite", "commands"])).assert_code(0);
    let results = sandbox.results();
    let cell = results.cells[0].result.as_ref().expect("it ran");
    let [file, paced, version, missing] = &cell.phases[..] else {
        panic!("{cell:?}");
    };
    assert!(file.timeline.is_none(), "it is short");
    let timeline = paced.timeline.as_ref().expect("it takes 12 s");
    assert_eq!(timeline.intervals.len(), 120, "two requests arrive in each tenth of a second");
    assert!(timeline.intervals.iter().all(|interval| interval.operations == 2));
    assert!(timeline.samples.iter().all(|sample| sample.dirty.is_some()), "{timeline:?}");
    let stall = timeline.stall.expect("there were operations");
    assert!((50_000_000..60_000_000).contains(&stall.length.0), "{stall:?}");
    let steady = timeline.steady.expect("it never changes");
    assert_eq!((steady.from, steady.rate), (Nanos(0), 20.0));
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    assert!(report.contains("Values over time"), "{report}");
    assert_eq!(version.status, Status::Ok, "{:?}", version.failure);
    assert_eq!(missing.status, Status::Unsupported);
    let reason = &missing.failure.as_ref().expect("it says why").reason;
    assert!(reason.contains("there is no program `nothing`"), "{reason}");
}
