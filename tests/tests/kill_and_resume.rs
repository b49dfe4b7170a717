//! A campaign can be killed at any instant and resumed: nothing is lost, nothing is counted twice, and
//! nothing is left behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::{Ended, Sandbox, leftovers, run};
use model::{CampaignResults, SeededRng};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

const KILLS: u32 = 50;
/// The promise that a user is given for Ctrl-C.
const PROMISE: Duration = Duration::from_secs(2);
/// Bounds a wait for something that happens at once or never.
const NEVER: Duration = Duration::from_secs(60);

fn campaign(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.campaign(&["ext4", "tmpfs"], "trial");
    command.args(["--suite", "names"]);
    command
}

fn resume(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.fsarena();
    command.arg("resume");
    command
}

fn start(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("fsarena can be started")
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

fn assert_complete(results: &CampaignResults) {
    let mut seen: Vec<_> = results.cells.iter().map(|c| c.cell.id).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), results.cells.len(), "every cell exactly once");
    // Two contenders, two tests, one round.
    assert_eq!(seen.len(), 4);
    for stored in &results.cells {
        let result = stored.result.as_ref().expect("every cell has its result");
        let planned: Vec<_> = results
            .campaign
            .suites
            .iter()
            .flat_map(|suite| &suite.tests)
            .find(|test| test.name == stored.cell.test)
            .expect("the test was planned")
            .phases
            .iter()
            .map(|phase| &phase.name)
            .collect();
        let done: Vec<_> = result.phases.iter().map(|p| &p.phase).collect();
        assert_eq!(done, planned, "every phase exactly once");
        assert_eq!(result.status, model::Status::Ok, "{:?}", result.failure);
    }
}

/// Whether the process was still there to be killed.
fn kill_after(mut child: Child, delay: Duration) -> bool {
    thread::sleep(delay);
    let alive = child.try_wait().expect("it is our child").is_none();
    if alive {
        kill(pid(&child), Signal::SIGKILL).expect("it is our child");
    }
    child.wait().expect("it is our child");
    alive
}

#[test]
fn killed_at_fifty_instants_every_cell_is_there_exactly_once() {
    let measured = Sandbox::new();
    let begin = Instant::now();
    run(&mut campaign(&measured)).with(0);
    let whole = begin.elapsed();
    assert_complete(&measured.results());
    drop(measured);

    let mut rng = SeededRng::for_purpose(50, "kill");
    let mut kills = 0;
    while kills < KILLS {
        let sandbox = Sandbox::new();
        let mut child = start(&mut campaign(&sandbox));
        while kill_after(child, whole.mul_f64(rng.unit())) {
            kills += 1;
            let left = leftovers::find_lasting(sandbox.root());
            assert!(left.is_empty(), "left by a kill: {left:?}");
            // Killed before it was stored: nothing to resume, so it begins once more.
            let begun = run(sandbox.fsarena().args(["report", "--format", "json"])).code == Some(0);
            child = start(&mut if begun {
                resume(&sandbox)
            } else {
                campaign(&sandbox)
            });
        }
        assert_complete(&sandbox.results());
        sandbox.assert_clean();
    }
}

/// Waits until the campaign has mounted something, wherever that is to be seen.
fn wait_for_a_mount(sandbox: &Sandbox) {
    let begin = Instant::now();
    while !leftovers::find(sandbox.root())
        .iter()
        .any(|l| l.starts_with("mount: "))
    {
        assert!(
            begin.elapsed() < NEVER,
            "the campaign never mounted anything"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// Ctrl-C as a terminal sends it: to the whole group of processes.
fn interrupt(child: Child) -> Ended {
    killpg(pid(&child), Signal::SIGINT).expect("it is our child");
    let begin = Instant::now();
    let ended = Ended::from(child.wait_with_output().expect("it is our child"));
    let took = begin.elapsed();
    assert!(took < PROMISE, "Ctrl-C took {took:?}");
    ended
}

fn assert_interrupted(sandbox: &Sandbox, ended: Ended) {
    let ended = ended.with(130);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("fsarena resume"), "says how to go on: {said}");
    let left = leftovers::find_lasting(sandbox.root());
    assert!(left.is_empty(), "left by Ctrl-C: {left:?}");
}

#[test]
fn ctrl_c_ends_within_two_seconds_and_the_campaign_can_be_resumed() {
    let sandbox = Sandbox::new();
    let child = start(&mut campaign(&sandbox));
    wait_for_a_mount(&sandbox);
    assert_interrupted(&sandbox, interrupt(child));
    run(&mut resume(&sandbox)).with(0);
    assert_complete(&sandbox.results());
    sandbox.assert_clean();
}

#[test]
fn ctrl_c_ends_within_two_seconds_while_a_driver_does_not_answer() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["hang-on=write"]);
    let child = start(&mut sandbox.campaign(&["bad"], "trial"));
    wait_for_a_mount(&sandbox);
    assert_interrupted(&sandbox, interrupt(child));
}

#[test]
fn a_kill_while_a_driver_does_not_answer_leaves_nothing_running() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["hang-on=write"]);
    let child = start(&mut sandbox.campaign(&["bad"], "trial"));
    wait_for_a_mount(&sandbox);
    assert!(kill_after(child, Duration::ZERO), "it was still running");
    let left = leftovers::find_lasting(sandbox.root());
    assert!(left.is_empty(), "left by a kill: {left:?}");
}

#[test]
fn ctrl_c_ends_within_two_seconds_while_the_image_is_written() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.campaign(&["ext4"], "trial");
    let child = start(command.args(["--size", "2GiB"]));
    let begin = Instant::now();
    while !is_being_written(&sandbox.path("work")) {
        assert!(begin.elapsed() < NEVER, "no image was ever begun");
        thread::sleep(Duration::from_millis(5));
    }
    assert_interrupted(&sandbox, interrupt(child));
}

/// Whether some file of the work directory has bytes in it.
fn is_being_written(directory: &Path) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        path.is_dir() && is_being_written(&path)
            || path.metadata().is_ok_and(|m| m.len() > 0 && m.is_file())
    })
}
