//! Campaigns on another host through a real sshd, including a cable cut during a cell and a kill of
//! either side.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::gate::Gate;
use end_to_end::{RemoteHost, Sandbox, results_of, run};
use model::{Calibration, Status};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::campaign_directory;

/// Timeout for an event that happens or never does.
const NEVER: Duration = Duration::from_secs(120);

fn campaign(sandbox: &Sandbox, far: &RemoteHost, contenders: &[&str]) -> Command {
    let mut command = sandbox.campaign(contenders, "trial");
    far.configure_ssh(command.args(["--host", "far"]));
    command
}

fn start(command: &mut Command) -> Child {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("fsarena can be started")
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < NEVER, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn assert_all_ok(sandbox: &Sandbox, cells: usize) {
    let mut report = sandbox.fsarena();
    let results = results_of(run(report.args(["report", "--format", "json"])));
    assert_eq!(results.cells.len(), cells);
    for stored in &results.cells {
        let result = stored.result.as_ref().expect("every cell has its result");
        assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
    }
    assert_eq!(results.campaign.host.as_deref(), Some("far"));
}

#[test]
fn a_campaign_runs_on_another_host_that_needs_no_installation() {
    let sandbox = Sandbox::new();
    let far = RemoteHost::new(&sandbox);
    let ended = run(&mut campaign(&sandbox, &far, &["ext4", "tmpfs"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_all_ok(&sandbox, 2);
    assert!(far.agents().is_empty());
    let mut doctor = sandbox.fsarena();
    let told = run(far.configure_ssh(doctor.args(["doctor", "--host", "far"])));
    assert!(told.stdout.contains("ext4"), "{}", told.stderr);
}

/// Directories are named, and the source is searched, on the remote host.
#[test]
fn directories_and_a_source_on_another_host_can_be_used() {
    let sandbox = Sandbox::new();
    let far = RemoteHost::new(&sandbox);
    let [first, second, source] = ["first", "second", "source"].map(|name| {
        let path = sandbox.path(name);
        fs::create_dir(&path).expect("a sandbox is writable");
        path
    });
    fs::write(source.join("file"), [7; 70_000]).expect("a sandbox is writable");
    let compare = |directories: &[&Path], source: &Path| {
        let mut command = sandbox.fsarena();
        command.args(["run", "--host", "far", "--suite", "tree", "--profile", "smoke"]);
        command.args(["--rounds", "1", "--work-dir"]).arg(sandbox.path("work"));
        for directory in directories {
            command.arg("--dir").arg(directory);
        }
        run(far.configure_ssh(command.arg("--source").arg(source)))
    };
    let ended = compare(&[&first, &second], &source);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_all_ok(&sandbox, 2);
    for (directory, source, reason) in [
        (Path::new("first"), &source, "give an absolute path on that machine"),
        (&sandbox.path("nowhere"), &source, "No such file or directory"),
        (&first, &sandbox.path("nothing"), "No such file or directory"),
        (&first, &first, "overlap"),
    ] {
        let ended = compare(&[directory], source);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    }
}

#[test]
fn another_host_is_calibrated() {
    let sandbox = Sandbox::new();
    let far = RemoteHost::new(&sandbox);
    let mut calibrate = sandbox.fsarena();
    calibrate.args([
        "--json",
        "tool",
        "calibrate",
        "--host",
        "far",
        "--size",
        "8 MiB",
        "--work-dir",
    ]);
    calibrate.arg(sandbox.path("work"));
    let ended = run(far.configure_ssh(&mut calibrate));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let taken: Calibration = serde_json::from_str(&ended.stdout).expect("it is JSON");
    assert!(taken.raw_device.is_some(), "{}", taken.device);
    assert!(far.agents().is_empty());
}

#[test]
fn leftovers_of_a_killed_campaign_on_another_host_are_removed() {
    let sandbox = Sandbox::new();
    let far = RemoteHost::new(&sandbox);
    let ended = run(&mut campaign(&sandbox, &far, &["tmpfs"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let seed = sandbox.results().campaign.seed;
    let left = sandbox.path("work").join(campaign_directory(&sandbox.path("fsarena.db"), seed));
    fs::create_dir(&left).expect("it was removed");
    fs::write(left.join("lock"), "").expect("root may");
    fs::write(left.join("image-0"), [1; 8192]).expect("root may");
    let mut doctor = sandbox.fsarena();
    let told = run(far.configure_ssh(doctor.args(["doctor", "--host", "far"])));
    let says = format!("{} (8 KiB) was left by campaign 1 that was killed", left.display());
    assert!(told.stdout.contains(&says), "{}", told.stdout);
    let here = run(sandbox.fsarena().arg("doctor"));
    assert!(!here.stdout.contains(&says), "{}", here.stdout);
    let ended = run(&mut campaign(&sandbox, &far, &["tmpfs"]));
    assert!(ended.stderr.contains("which campaign 1 left"), "{}", ended.stderr);
    assert!(!left.exists());
}

/// Both sides detect the cut cable without a message.
#[test]
fn a_cell_with_a_broken_connection_runs_again_after_reconnection() {
    let sandbox = Sandbox::new();
    let far = RemoteHost::new(&sandbox);
    let gate = Gate::new(&sandbox);
    let child = start(&mut campaign(&sandbox, &far, &["gate", "tmpfs"]));
    let waiting = gate.reached();
    far.disconnect();
    wait_until("the agent ends without a connection", || far.agents().is_empty());
    waiting.release();
    far.reconnect();
    let output = child.wait_with_output().expect("it was started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("it runs once more"), "{said}");
    assert_all_ok(&sandbox, 2);
}

#[test]
fn an_agent_that_is_killed_is_started_again() {
    let sandbox = Sandbox::new();
    let far = RemoteHost::new(&sandbox);
    let gate = Gate::new(&sandbox);
    let child = start(&mut campaign(&sandbox, &far, &["gate", "tmpfs"]));
    let waiting = gate.reached();
    for agent in far.agents() {
        let _ = kill(Pid::from_raw(agent), Signal::SIGKILL);
    }
    waiting.release();
    let output = child.wait_with_output().expect("it was started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_all_ok(&sandbox, 2);
}

#[test]
fn a_killed_orchestrator_leaves_no_files_on_the_host() {
    let sandbox = Sandbox::new();
    let far = RemoteHost::new(&sandbox);
    let gate = Gate::new(&sandbox);
    let mut child = start(&mut campaign(&sandbox, &far, &["gate", "tmpfs"]));
    let waiting = gate.reached();
    child.kill().expect("it runs");
    child.wait().expect("it was started");
    wait_until("the agent lives on", || far.agents().is_empty());
    waiting.release();
    let mut resume = sandbox.fsarena();
    let ended = run(far.configure_ssh(resume.arg("resume")));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_all_ok(&sandbox, 2);
}

/// The rounds of a campaign are divided between two hosts, and its contenders are compared over
/// both.
#[test]
fn each_host_is_a_block_and_contenders_are_compared_over_all() {
    let sandbox = Sandbox::new();
    let [one, _two] = ["n1", "n2"].map(|name| RemoteHost::with_name(name, &sandbox));
    let mut command = sandbox.campaign(&["ext4", "tmpfs"], "trial");
    command.args(["--hosts", "n1,n2", "--name", "both", "--rounds", "2", "--divide"]);
    let ended = run(one.configure_ssh(&mut command));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let said: Vec<&str> = ended.stdout.split_whitespace().collect();
    let said = said.join(" ");
    for told in ["Both ran on each of 2 hosts", "Hosts, "] {
        assert!(said.contains(told), "{told}: {}", ended.stdout);
    }
    let list = run(sandbox.fsarena().args(["list", "campaigns"]));
    assert_eq!(list.stdout.matches("both").count(), 2, "{}", list.stdout);
    for (words, told) in [
        (&["--hosts", "n1,n2"][..], "--hosts takes --name NAME"),
        (&["--hosts", "n1,n1", "--name", "x"], "named twice"),
        (&["--hosts", "n1", "--name", "x", "--sessions", "2"], "takes no --host"),
    ] {
        let mut command = sandbox.campaign(&["tmpfs"], "trial");
        let ended = run(one.configure_ssh(command.args(words)));
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}

#[test]
fn unavailable_features_on_another_host_are_refused_in_one_line() {
    let sandbox = Sandbox::new();
    let far = RemoteHost::new(&sandbox);
    for (host, backend, reason) in [
        ("far", "vm", "guests run on this machine"),
        ("-oProxyCommand=x", "loop", "begins with `-`"),
        ("nowhere.invalid", "loop", "cannot reach nowhere.invalid"),
    ] {
        let mut command = sandbox.campaign(&["tmpfs"], "trial");
        command.arg(format!("--host={host}")).args(["--backend", backend]);
        let ended = run(far.configure_ssh(&mut command));
        assert!(matches!(ended.code, Some(2 | 3)), "{}", ended.stderr);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    }
}

/// Both hosts run each test at the same time, in one directory.
#[test]
fn hosts_run_each_test_together_and_their_work_is_added() {
    let sandbox = Sandbox::new();
    let [one, _two] = ["n1", "n2"].map(|name| RemoteHost::with_name(name, &sandbox));
    let shared = sandbox.path("shared");
    fs::create_dir(&shared).unwrap();
    let words = ["run", "--hosts", "n1,n2", "--together", "--profile", "smoke", "--rounds", "1"];
    let together = |more: &[&str]| {
        let mut command = sandbox.fsarena();
        command.args(words).args(more).arg("--dir").arg(&shared);
        run(one.configure_ssh(&mut command))
    };
    let ended = together(&[]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("n1, n2 together"), "{}", ended.stdout);
    let results = results_of(run(sandbox.fsarena().args(["report", "--format", "json"])));
    let phases = results.cells.iter().flat_map(|cell| &cell.result.as_ref().unwrap().phases);
    let phases: Vec<_> = phases.collect();
    assert_eq!(phases.len(), 11);
    for phase in phases {
        assert_eq!(phase.status, Status::Ok, "{:?}", phase.failure);
        let names: Vec<&str> = phase.hosts.iter().map(|work| work.host.as_str()).collect();
        assert_eq!(names, ["n1", "n2"], "{}", phase.phase);
        let [first, second] = [0, 1].map(|at| &phase.hosts[at]);
        assert_eq!(first.operations, second.operations, "{}", phase.phase);
        assert_eq!(phase.operations, 2 * first.operations);
        assert_eq!(phase.elapsed, first.elapsed.max(second.elapsed));
    }
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 0, "it leaves nothing");
    let ended = together(&["-s", "lifecycle"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("no threads that hosts can share"), "{}", ended.stderr);
}
