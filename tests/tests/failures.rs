//! Failures are results: any fault of a filesystem gets its status and its evidence, the campaign
//! continues with the next contender, and no files or mounts remain.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use end_to_end::{DirectoryEntry, Sandbox, TestLoopDevice, cells_of, leak_check, run};
use model::{Attribution, CampaignResults, CellResult, Failure, PhaseResult, Status};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const GOOD: &str = "ext4";
/// Timeout for a contender that hangs. The good contender of the same campaign always reports
/// progress more often, even on a busy machine.
const SILENCE: &str = "15s";

/// Runs two rounds of a bad and a good contender. The good one runs at least once after the bad one
/// has failed, and must not be affected.
fn contest(sandbox: &Sandbox, bad: &str, good: &str, more: &[&str]) -> CampaignResults {
    let mut command = sandbox.campaign(&[bad, good], "trial");
    run(command.args(["--rounds", "2"]).args(more)).assert_code(0);
    let results = sandbox.results();
    for cell in cells_of(&results, good) {
        assert_eq!(cell.status, Status::Ok, "{good}: {:?}", cell.failure);
    }
    sandbox.assert_clean();
    results
}

/// Returns the common outcome of all cells of the bad contender.
fn verdict<'a>(results: &'a CampaignResults, bad: &str) -> (&'a CellResult, &'a Failure) {
    let cells = cells_of(results, bad);
    assert_eq!(cells.len(), 2, "a cell for each round");
    assert_eq!(cells[0].status, cells[1].status);
    let failure = cells[0].failure.as_ref().expect("a failed cell has a failure");
    (cells[0], failure)
}

fn phase<'a>(cell: &'a CellResult, name: &str) -> &'a PhaseResult {
    let found = cell.phases.iter().find(|p| p.phase == name);
    found.unwrap_or_else(|| panic!("no phase {name}: {:?}", cell.phases))
}

fn error_name(failure: &Failure) -> &str {
    failure.error.as_ref().map_or("", |error| &error.name)
}

#[test]
fn mkfs_that_exits_1_fails_with_its_output() {
    let sandbox = Sandbox::new();
    let script = "echo out of luck >&2; exit 1";
    sandbox.add(&DirectoryEntry::ext4("bad").mkfs(&["sh", "-c", script, "sh", "{device}"]));
    let results = contest(&sandbox, "bad", GOOD, &[]);
    let (cell, failure) = verdict(&results, "bad");
    assert_eq!(cell.status, Status::Failed);
    assert_eq!(failure.step, "mkfs");
    assert!(failure.reason.contains("ended with 1: out of luck"), "{failure:?}");
    let record = cell.steps.iter().find(|s| s.step == "mkfs").unwrap();
    assert_eq!((record.exit, record.output.as_str()), (Some(1), "out of luck"));
    assert!(cell.phases.iter().all(|p| p.status == Status::Skipped));
}

#[test]
fn missing_mkfs_fails_with_the_reason() {
    let sandbox = Sandbox::new();
    let script = "exec mkfs.nowhere \"$1\"";
    sandbox.add(&DirectoryEntry::ext4("bad").mkfs(&["sh", "-c", script, "sh", "{device}"]));
    let results = contest(&sandbox, "bad", GOOD, &[]);
    let (cell, failure) = verdict(&results, "bad");
    assert_eq!(cell.status, Status::Failed);
    assert!(failure.reason.contains("mkfs.nowhere: not found"), "{failure:?}");
}

#[test]
fn a_mount_without_effect_fails_and_no_phase_is_measured() {
    let sandbox = Sandbox::new();
    let script = "echo mounted, honestly: \"$@\"";
    let line = ["sh", "-c", script, "sh", "{options}", "{device}", "{mountpoint}"];
    sandbox.add(&DirectoryEntry::ext4("bad").mount(&line));
    let results = contest(&sandbox, "bad", GOOD, &[]);
    let (cell, failure) = verdict(&results, "bad");
    assert_eq!(cell.status, Status::Failed);
    assert_eq!(failure.step, "mount");
    assert!(failure.reason.contains("no filesystem is mounted"), "{failure:?}");
    assert!(cell.phases.iter().all(|p| p.status == Status::Skipped));
}

#[test]
fn waits_for_a_driver_that_forks_before_it_mounts() {
    let sandbox = Sandbox::new();
    let script = "(sleep 0.3; mount -o \"$1\" \"$2\" \"$3\") >/dev/null 2>&1 &";
    let line = ["sh", "-c", script, "sh", "{options}", "{device}", "{mountpoint}"];
    sandbox.add(&DirectoryEntry::ext4("late").mount(&line));
    let results = contest(&sandbox, "late", GOOD, &[]);
    for cell in cells_of(&results, "late") {
        assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    }
}

#[test]
fn a_mount_that_never_returns_is_hung() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["hang-on=mount"]);
    let results = contest(&sandbox, "bad", GOOD, &["--stall-timeout", SILENCE]);
    let (cell, failure) = verdict(&results, "bad");
    assert_eq!(cell.status, Status::Hung);
    assert_eq!(failure.step, "mount");
    let silence = failure.reason.split_once("nothing moved for ");
    let seconds = silence.and_then(|(_, time)| time.split(' ').next()?.parse::<f64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds >= 15.0), "{failure:?}");
    let stacks = failure.stacks.join("\n");
    assert!(stacks.contains("faultfs"), "the stacks show the hanging driver and call: {stacks}");
    assert!(cell.phases.iter().all(|p| p.status == Status::Skipped));
}

#[test]
fn a_driver_that_stops_answering_is_hung() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["hang-on=fsync"]);
    let results = contest(&sandbox, "bad", GOOD, &["--stall-timeout", SILENCE]);
    let (cell, failure) = verdict(&results, "bad");
    assert_eq!(cell.status, Status::Hung);
    assert_eq!(failure.step, "write");
    assert!(!failure.stacks.is_empty());
    assert_eq!(phase(cell, "write").status, Status::Hung);
    assert_eq!(phase(cell, "rewrite").status, Status::Skipped);
}

#[test]
fn a_driver_killed_in_mid_test_is_crashed() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["die-after=4MiB"]);
    let results = contest(&sandbox, "bad", GOOD, &[]);
    let (cell, failure) = verdict(&results, "bad");
    assert_eq!(cell.status, Status::Crashed);
    assert_eq!(failure.step, "write");
    assert!(["ENOTCONN", "ECONNABORTED"].contains(&error_name(failure)), "{failure:?}");
    assert!(failure.reason.contains("process of the filesystem is gone"), "{failure:?}");
    assert_eq!(phase(cell, "verify").status, Status::Skipped);
}

#[test]
fn a_filesystem_that_fills_up_fails_with_enospc() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["capacity=4MiB"]);
    let results = contest(&sandbox, "bad", GOOD, &[]);
    let (cell, failure) = verdict(&results, "bad");
    assert_eq!(cell.status, Status::Failed);
    assert_eq!(failure.step, "write");
    assert_eq!(error_name(failure), "ENOSPC");
    let reason = &failure.reason;
    assert!(reason.contains("ENOSPC") && reason.contains("at offset"), "{reason}");
}

#[test]
fn an_error_of_fsync_is_no_success() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["errno-on=fsync:EIO"]);
    let results = contest(&sandbox, "bad", GOOD, &[]);
    let (cell, failure) = verdict(&results, "bad");
    assert_eq!(cell.status, Status::Failed);
    let error = failure.error.as_ref().unwrap();
    assert_eq!((error.call.as_str(), error.name.as_str()), ("fsync", "EIO"));
}

#[test]
fn missing_features_of_a_filesystem_are_unsupported() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["no-links", "no-symlinks", "no-permissions"]);
    sandbox.add_faulty("forgetful", &["forgets-permissions"]);
    let contenders = ["bad", "forgetful", GOOD];
    run(&mut sandbox.campaign(&contenders, "abilities")).assert_code(0);
    let results = sandbox.results();
    let cells = cells_of(&results, "bad");
    assert_eq!(cells.len(), 3);
    for cell in cells {
        assert_eq!(cell.status, Status::Unsupported, "{:?}", cell.failure);
        let reason = &cell.failure.as_ref().unwrap().reason;
        assert!(reason.contains("EPERM"), "{reason}");
    }
    let forgetful = cells_of(&results, "forgetful");
    let of = |status| forgetful.iter().filter(|c| c.status == status).count();
    assert_eq!((of(Status::Ok), of(Status::Unsupported)), (2, 1));
    assert!(cells_of(&results, GOOD).iter().all(|c| c.status == Status::Ok));
    sandbox.assert_clean();
}

#[test]
fn a_wrong_byte_is_corrupt_with_its_place() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["corrupt-byte-at=5000"]);
    let results = contest(&sandbox, "bad", GOOD, &[]);
    let (cell, failure) = verdict(&results, "bad");
    assert_eq!(cell.status, Status::Failed);
    assert!(failure.reason.starts_with("corrupt: "), "{failure:?}");
    assert!(failure.reason.contains("at offset 5000"), "{failure:?}");
    assert!(failure.error.is_none(), "no call failed");
}

#[test]
fn old_content_of_a_rewritten_block_is_corrupt() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["stale"]);
    let results = contest(&sandbox, "bad", GOOD, &[]);
    let (cell, failure) = verdict(&results, "bad");
    assert_eq!(cell.status, Status::Failed);
    assert_eq!(failure.step, "verify");
    assert!(failure.reason.contains("generation 1 instead of 2"), "{failure:?}");
}

/// Returns the agent above a starting driver. The agent is identified by its unique command line.
fn agent_above(sandbox: &Sandbox) -> Option<Pid> {
    let found = leak_check::find(sandbox.root());
    let line = found.iter().find(|line| line.contains("--serve"))?;
    let mut process = line.split([' ', ':']).nth(1)?.to_owned();
    while fs::read(format!("{process}/cmdline")).ok()? != b"/proc/self/exe\0agent\0--restricted\0" {
        let status = fs::read_to_string(format!("{process}/status")).ok()?;
        let parent = status.lines().find_map(|l| l.strip_prefix("PPid:\t"))?;
        process = format!("/proc/{parent}");
    }
    let pid = process.strip_prefix("/proc/")?.parse().ok()?;
    Some(Pid::from_raw(pid))
}

/// Kills the agent as the kernel does when memory runs out.
#[test]
fn an_agent_that_is_killed_costs_one_cell() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["hang-on=mount"]);
    let mut command = sandbox.campaign(&["bad", GOOD], "trial");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let agent = loop {
        match agent_above(&sandbox) {
            Some(agent) => break agent,
            None => assert_eq!(child.try_wait().unwrap(), None, "it waits for the driver"),
        }
        thread::sleep(Duration::from_millis(5));
    };
    kill(agent, Signal::SIGKILL).unwrap();
    assert!(child.wait().unwrap().success());
    let results = sandbox.results();
    let cells = cells_of(&results, "bad");
    let failure = cells[0].failure.as_ref().unwrap();
    assert_eq!(cells[0].status, Status::Crashed, "{failure:?}");
    assert_eq!(failure.step, "mount");
    assert!(failure.reason.contains("signal 9"), "{failure:?}");
    assert_eq!(cells_of(&results, GOOD)[0].status, Status::Ok);
    sandbox.assert_clean();
}

#[test]
fn a_vanishing_device_is_a_failure_with_the_kernel_log() {
    const SIZE: u64 = 64 << 20;
    // Start of every data block of the phases, but not of the calibration or mkfs.
    const STAMP: &str = "fsa2";
    let sandbox = Sandbox::new();
    let device = TestLoopDevice::vanishing(&sandbox.path("vanishing"), SIZE, STAMP);
    let word = device.path().to_str().unwrap();
    let mut command = sandbox.campaign(&[GOOD, "tmpfs"], "trial");
    run(command.args(["--rounds", "2", "--device", word])).assert_code(0);
    let results = sandbox.results();
    let cells = cells_of(&results, GOOD);
    let first = cells[0].failure.as_ref().unwrap();
    assert_eq!(cells[0].status, Status::Failed, "{first:?}");
    assert_eq!((first.step.as_str(), error_name(first)), ("write", "EIO"));
    // Other devices of this machine may have problems, too.
    let name = word.trim_start_matches("/dev/");
    let log = &cells[0].kernel_log;
    let complains = |line: &String| line.contains("I/O error") && line.contains(name);
    let complaint = log.iter().find(|event| event.lines.iter().any(complains));
    let concern = complaint.map(|event| event.concern);
    assert_eq!(concern, Some(Attribution::Cell), "{name}: {log:#?}");
    assert_eq!(cells[1].status, Status::Failed, "{:?}", cells[1].failure);
    for cell in cells_of(&results, "tmpfs") {
        assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    }
    drop(device);
    sandbox.assert_clean();
}
