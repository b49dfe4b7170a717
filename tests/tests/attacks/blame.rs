//! Problems that are not the fault of a filesystem are not reported as its failures.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use end_to_end::{CommandOutput, DirectoryEntry, Gate, Sandbox, cells_of, run, succeed};
use model::{CellRecord, Status};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sys::process;

/// Timeout of a cell without progress. Cells that are not stopped report progress more often, even
/// on a busy machine.
const SILENCE: &str = "15s";
/// Minimum time for which processes are stopped, longer than the timeout of a cell.
const STOPPED: Duration = Duration::from_secs(20);

#[test]
fn an_orchestrator_that_is_stopped_for_longer_than_a_cell_may_be_silent() {
    let sandbox = Sandbox::new();
    let gate = Gate::new(&sandbox);
    let mut command = sandbox.campaign(&["gate"], "trial");
    command.args(["--stall-timeout", SILENCE]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let orchestrator = Pid::from_raw(child.id().cast_signed());
    let waiting = gate.reached();
    // Includes the agent of the machine, which watches the cells.
    let both = process::descendants(orchestrator).into_iter().take(2);
    let both: Vec<Pid> = both.map(|process| process.pid).collect();
    let send = |signal| both.iter().for_each(|pid| kill(*pid, signal).unwrap());
    send(Signal::SIGSTOP);
    thread::sleep(STOPPED);
    send(Signal::SIGCONT);
    waiting.release();
    CommandOutput::from(child.wait_with_output().unwrap()).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "gate")[0];
    assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    let told = cell.remarks.iter().any(|remark| remark.contains("fsarena was stopped"));
    assert!(told, "the report mentions the interruption: {:?}", cell.remarks);
}

#[test]
fn an_agent_that_is_stopped_for_longer_than_a_cell_may_be_silent() {
    let sandbox = Sandbox::new();
    let gate = Gate::new(&sandbox);
    let mut command = sandbox.campaign(&["gate"], "trial");
    command.args(["--stall-timeout", SILENCE]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let waiting = gate.reached();
    let orchestrator = Pid::from_raw(child.id().cast_signed());
    let agents: Vec<Pid> = process::descendants(orchestrator)
        .into_iter()
        // Skip the orchestrator and the agent of the machine.
        .skip(2)
        .map(|process| process.pid)
        .collect();
    assert!(!agents.is_empty());
    let send = |signal| agents.iter().for_each(|pid| kill(*pid, signal).unwrap());
    send(Signal::SIGSTOP);
    thread::sleep(STOPPED);
    send(Signal::SIGCONT);
    waiting.release();
    CommandOutput::from(child.wait_with_output().unwrap()).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "gate")[0];
    assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    let told = cell.remarks.iter().any(|remark| remark.contains("SIGSTOP"));
    assert!(told, "the report mentions the interruption: {:?}", cell.remarks);
}

#[test]
fn a_step_that_keeps_the_device_busy_and_never_ends_is_hung() {
    let sandbox = Sandbox::new();
    let script =
        "while :; do dd if=/dev/zero of=\"$1\" bs=64k count=1 conv=fsync,notrunc 2>/dev/null; done";
    sandbox.add(&DirectoryEntry::ext4("endless").mkfs(&["sh", "-c", script, "sh", "{device}"]));
    let mut command = sandbox.campaign(&["endless"], "trial");
    run(command.args(["--phase-limit", "15s"])).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "endless")[0];
    let failure = cell.failure.as_ref().unwrap();
    assert_eq!((cell.status, failure.step.as_str()), (Status::Hung, "mkfs"));
    assert!(failure.reason.contains("did not end within 15.0 s"), "{failure:?}");
    sandbox.assert_clean();
}

/// A filesystem that competes as a mounted directory, with the events of the campaign.
struct MountedWork {
    sandbox: Sandbox,
}

impl MountedWork {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let place = sandbox.path("srv");
        fs::create_dir(&place).unwrap();
        let mut mount = Command::new("mount");
        succeed(mount.args(["-t", "tmpfs", "-o", "mode=700", "none"]).arg(&place));
        Self { sandbox }
    }

    fn unmount(&self, how: &[&str]) -> bool {
        let mut umount = Command::new("umount");
        umount.args(how).arg(self.sandbox.path("srv"));
        umount.stderr(Stdio::null()).status().unwrap().success()
    }
}

impl Drop for MountedWork {
    fn drop(&mut self) {
        self.unmount(&["--quiet", "--lazy"]);
    }
}

#[test]
fn a_filesystem_is_unmounted_during_a_directory_campaign() {
    let mounted = MountedWork::new();
    let sandbox = &mounted.sandbox;
    let mut command = sandbox.fsarena();
    command.args([
        "--json",
        "run",
        "--suite",
        "trial",
        "--profile",
        "smoke",
        "--rounds",
        "200",
        "--dir",
    ]);
    command.arg(sandbox.path("srv")).arg("--work-dir").arg(sandbox.path("work"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ended = |line: &String| line.contains("\"cell-end\"");
    let first = lines.by_ref().map_while(Result::ok).find(ended);
    assert!(first.is_some(), "a cell ends");
    assert!(!mounted.unmount(&[]), "an ordinary unmount waits for the end of the campaign");
    assert!(mounted.unmount(&["--lazy"]));
    let rest = thread::spawn(move || lines.map_while(Result::ok).count());
    let ended = CommandOutput::from(child.wait_with_output().unwrap()).assert_code(3);
    rest.join().unwrap();
    assert!(ended.stderr.contains("unmounted"), "{}", ended.stderr);
    assert_eq!(
        fs::read_dir(sandbox.path("srv")).unwrap().count(),
        0,
        "no files were created below it"
    );
    let results = sandbox.results();
    let done: Vec<_> = results.cells.iter().filter_map(|c| c.result.as_ref()).collect();
    assert!(!done.is_empty() && done.len() < 200, "{}", done.len());
    assert!(done.iter().all(|cell| cell.status == Status::Ok));
}

#[test]
fn a_work_directory_is_removed_during_a_campaign() {
    let sandbox = Sandbox::new();
    let gate = Gate::new(&sandbox);
    let child = sandbox
        .campaign(&["gate", "ext4"], "trial")
        .args(["--rounds", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let waiting = gate.reached();
    let place = fs::read_dir(sandbox.path("work")).unwrap().next().unwrap();
    let (place, away) = (place.unwrap().path(), sandbox.path("away"));
    fs::rename(&place, &away).unwrap();
    waiting.release();
    let ended = CommandOutput::from(child.wait_with_output().unwrap()).assert_code(3);
    assert!(ended.stderr.contains("is not what fsarena made there"), "{}", ended.stderr);
    let results = sandbox.results();
    let failed = |cell: &CellRecord| {
        let result = cell.result.as_ref();
        result.is_some_and(|result| result.status != Status::Ok)
    };
    assert!(!results.cells.iter().any(failed), "nobody is blamed");
    fs::remove_dir_all(&away).unwrap();
}
