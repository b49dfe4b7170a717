//! A campaign can be killed at any instant and resumed: no result is lost or counted twice, and no
//! files or mounts remain.

use std::fs::{self, Metadata};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::gate::{BlockedContender, Gate};
use end_to_end::{CommandOutput, Sandbox, leak_check, program, run, succeed};
use model::{CampaignResults, SeededRng};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::campaign_directory;
use crate::stopwatch::Stopwatch;

const KILLS: u32 = 50;
/// Promised time of the reaction to Ctrl-C.
const PROMISE: Duration = Duration::from_secs(2);
/// Timeout for an event that happens immediately or never.
const NEVER: Duration = Duration::from_secs(120);

fn campaign(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.campaign(&["ext4", "tmpfs"], "trial");
    command.args(["--suite", "names", "--size", "24MiB"]);
    command
}

/// Two contenders, two tests, one round.
const CELLS: usize = 4;

/// Returns a campaign in a directory, with one contender and a test that waits at a gate.
fn in_a_directory(sandbox: &Sandbox) -> Command {
    let place = sandbox.path("place");
    fs::create_dir_all(&place).expect("a sandbox is writable");
    let mut command = sandbox.fsarena();
    command
        .args(["run", "--profile", "smoke", "--seed", "7"])
        .args(["--suite", "trial", "--suite", "names"])
        .args(["--suite", "gate", "--dir"])
        .arg(place);
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

/// Checks that there are this many cells and that each has a result.
fn assert_complete(results: &CampaignResults, cells: usize) {
    let mut seen: Vec<_> = results.cells.iter().map(|c| c.cell.id).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), results.cells.len(), "every cell exactly once");
    assert_eq!(seen.len(), cells);
    assert!(results.calibration.is_some(), "killed or not, it was taken");
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

/// Kills the orchestrator, whose agent then cleans up. Returns true if it was still running.
fn kill_after(child: Child, delay: Duration) -> bool {
    kill_by(child, delay, |orchestrator| kill(orchestrator, Signal::SIGKILL))
}

/// Kills the whole process group, so that no process cleans up.
fn kill_all_after(child: Child, delay: Duration) -> bool {
    kill_by(child, delay, |group| killpg(group, Signal::SIGKILL))
}

fn kill_by(mut child: Child, delay: Duration, kill: impl Fn(Pid) -> nix::Result<()>) -> bool {
    thread::sleep(delay);
    let alive = child.try_wait().expect("it is our child").is_none();
    if alive {
        kill(pid(&child)).expect("it is our child");
    }
    child.wait().expect("it is our child");
    alive
}

#[test]
fn killed_at_fifty_instants_every_cell_has_exactly_one_result() {
    let measured = Sandbox::new();
    let begin = Instant::now();
    run(&mut campaign(&measured)).assert_code(0);
    let whole = begin.elapsed();
    assert_complete(&measured.results(), CELLS);
    drop(measured);

    let mut rng = SeededRng::substream(50, "kill");
    let mut kills = 0;
    while kills < KILLS {
        let sandbox = Sandbox::new();
        let mut child = start(&mut campaign(&sandbox));
        // Kill fsarena alone or together with its agent, which would clean up.
        let kill = |kills: u32, child, delay| match kills % 2 {
            0 => kill_after(child, delay),
            _ => kill_all_after(child, delay),
        };
        while kill(kills, child, whole.mul_f64(rng.next_f64())) {
            kills += 1;
            assert_nothing_left(&sandbox);
            // A campaign that was killed before it was stored cannot be resumed, so start again.
            let begun = run(sandbox.fsarena().args(["report", "--format", "json"])).code == Some(0);
            child = start(&mut if begun { resume(&sandbox) } else { campaign(&sandbox) });
        }
        assert_complete(&sandbox.results(), CELLS);
        sandbox.assert_clean();
    }
}

#[test]
fn a_resumed_campaign_continues_its_write_budget() {
    let sandbox = Sandbox::new();
    let gate = Gate::new(&sandbox);
    let mut begun = campaign(&sandbox);
    begun.args(["--contender", "gate", "--max-written", "200 MiB"]);
    let child = start(&mut begun);
    let waiting = gate.reached();
    assert!(kill_after(child, Duration::ZERO));
    waiting.release();
    let refused = run(resume(&sandbox).args(["--max-written", "1 MiB"])).assert_code(3);
    assert!(refused.stderr.contains("--max-written is 1 MiB"), "{}", refused.stderr);
    let resumed = run(&mut resume(&sandbox)).assert_code(0);
    assert!(resumed.stderr.contains("the limit is 200 MiB"), "{}", resumed.stderr);
    sandbox.assert_clean();
}

/// Starts a campaign on an image, and kills it when the image exists and the first cell begins.
fn kill_with_an_image(sandbox: &Sandbox, database: &str, seed: &str) {
    let gate = Gate::new(sandbox);
    let mut command = Command::new(program::fsarena());
    command.arg("--db").arg(sandbox.path(database));
    command.arg("--catalog").arg(sandbox.path("catalog"));
    command.args(["run", "--profile", "smoke", "--rounds", "1", "--suite", "names"]);
    command.args(["--seed", seed, "--size", "24MiB", "--work-dir"]);
    command.arg(sandbox.path("work"));
    let child = start(command.args(["--contender", "gate", "--contender", "ext4"]));
    let waiting = gate.reached();
    assert!(kill_all_after(child, Duration::ZERO));
    drop(waiting);
    fs::remove_file(sandbox.path("gate")).expect("the gate exists");
    assert_nothing_left(sandbox);
}

#[test]
fn leftovers_of_a_killed_campaign_are_named_and_removed_by_the_next() {
    let sandbox = Sandbox::new();
    kill_with_an_image(&sandbox, "fsarena.db", "7");
    kill_with_an_image(&sandbox, "other.db", "8");
    let directory = |database: &str, seed| {
        sandbox.path("work").join(campaign_directory(&sandbox.path(database), seed))
    };
    let (own, other) = (directory("fsarena.db", 7), directory("other.db", 8));
    assert!(own.join("image-0").exists() && other.join("image-0").exists());

    let doctor = run(sandbox.fsarena().arg("doctor")).assert_code(0).stdout;
    let named = format!("{} (24.0 MiB) was left by campaign 1 that was killed", own.display());
    let line = doctor.lines().find(|line| line.starts_with(&named));
    let line = line.unwrap_or_else(|| panic!("{doctor}"));
    assert!(line.contains("`fsarena resume 1 --db "), "{line}");
    assert!(own.join("image-0").exists(), "who looks removes nothing");

    let ran = run(&mut campaign(&sandbox)).assert_code(0).stderr;
    let removed = format!("removed {}, which campaign 1 left", own.display());
    assert!(ran.lines().any(|line| line.starts_with(&removed)), "{ran}");
    let foreign = format!("{} (24.0 MiB) was left by a campaign of another", other.display());
    let line = ran.lines().find(|line| line.starts_with(&foreign));
    let advice = format!("rm -r {}", other.display());
    assert!(line.is_some_and(|line| line.ends_with(&advice)), "{ran}");
    assert!(!own.exists() && other.join("image-0").exists());

    // Files of a running campaign are no leftovers, and the campaign whose image was removed
    // continues.
    let gate = Gate::new(&sandbox);
    let living = start(&mut sandbox.campaign(&["gate", "ext4"], "names"));
    let waiting = gate.reached();
    let resumed = run(resume(&sandbox).arg("2")).assert_code(0).stderr;
    assert!(!resumed.contains("campaign 3"), "{resumed}");
    waiting.release();
    let ended = CommandOutput::from(living.wait_with_output().expect("it is our child"));
    ended.assert_code(0);
    fs::remove_dir_all(other).expect("the directory can be removed as advised");
}

/// A user may have mounted the image, or mounted another filesystem on the empty directory. Such
/// mounts do not belong to fsarena.
#[test]
fn leftovers_with_a_foreign_mount_are_not_removed() {
    let sandbox = Sandbox::new();
    kill_with_an_image(&sandbox, "fsarena.db", "7");
    let left = sandbox.path("work").join(campaign_directory(&sandbox.path("fsarena.db"), 7));
    let precious = sandbox.path("precious");
    fs::create_dir(&precious).expect("a sandbox is writable");
    fs::write(precious.join("photo"), "theirs").expect("a sandbox is writable");
    let mut mount = Command::new("mount");
    succeed(mount.arg("--bind").arg(&precious).arg(left.join("mnt")));
    let ran = run(&mut campaign(&sandbox)).assert_code(0).stderr;
    let resumed = run(resume(&sandbox).arg("1")).stderr;
    let unmounted = Command::new("umount").arg(left.join("mnt")).status();
    assert!(unmounted.expect("umount runs").success());
    let told =
        format!("cannot remove {}: a filesystem is mounted in it", left.join("mnt").display());
    assert!(ran.contains(&told), "{ran}");
    assert!(precious.join("photo").exists(), "{ran}\n{resumed}");
    run(&mut campaign(&sandbox)).assert_code(0);
    assert!(!left.exists(), "the directory is removed after the unmount");
}

#[test]
fn leftovers_in_a_mounted_directory_are_removed_by_the_next_campaign() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("place");
    let gate = Gate::in_a_test(&sandbox);
    let mut planned = in_a_directory(&sandbox);
    let of_a_cell = || {
        let entries = fs::read_dir(&place).into_iter().flatten().flatten();
        entries.count() > 0
    };
    let child = start(&mut planned);
    let waiting = gate.reached();
    assert!(of_a_cell(), "a cell has its directory");
    kill_all_after(child, Duration::ZERO);
    drop(waiting);
    run(&mut campaign(&sandbox)).assert_code(0);
    assert!(!of_a_cell());
}

/// Waits for an event that happens immediately or never.
#[track_caller]
fn wait_until(what: &str, has_come: impl Fn() -> bool) {
    let begin = Instant::now();
    while !has_come() {
        assert!(begin.elapsed() < NEVER, "it never came that {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a campaign of three contenders and waits until one of them is mounted and blocks.
fn start_mounted(sandbox: &Sandbox) -> (Child, BlockedContender) {
    let gate = Gate::when_mounted(sandbox);
    let child = start(campaign(sandbox).args(["--contender", "gate"]));
    let waiting = gate.reached();
    let found = leak_check::find(sandbox.root());
    assert!(found.iter().any(|line| line.starts_with("mount: ")), "{found:?}");
    (child, waiting)
}

/// Starts a campaign and waits until it is blocked by a driver that never answers.
fn start_hanging(sandbox: &Sandbox) -> Child {
    sandbox.add_faulty("bad", &["hang-on=write"]);
    let child = start(&mut sandbox.campaign(&["bad"], "trial"));
    wait_until("the driver hangs", || leak_check::hangs(sandbox.root()));
    child
}

#[track_caller]
fn assert_nothing_left(sandbox: &Sandbox) {
    let left = leak_check::find_lasting(sandbox.root());
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Sends Ctrl-C as a terminal does: to the whole process group.
fn interrupt(child: Child) -> CommandOutput {
    end_by(child, Signal::SIGINT)
}

fn end_by(child: Child, signal: Signal) -> CommandOutput {
    let stopwatch = Stopwatch::start();
    killpg(pid(&child), signal).expect("it is our child");
    let ended = CommandOutput::from(child.wait_with_output().expect("it is our child"));
    stopwatch.assert_within(PROMISE, signal.as_str());
    ended
}

fn assert_interrupted(sandbox: &Sandbox, ended: CommandOutput) {
    let ended = ended.assert_code(130);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("fsarena resume"), "the message names the command to continue: {said}");
    assert_nothing_left(sandbox);
}

#[test]
fn ctrl_c_ends_within_two_seconds_and_the_campaign_can_be_resumed() {
    let sandbox = Sandbox::new();
    let (child, waiting) = start_mounted(&sandbox);
    assert_interrupted(&sandbox, interrupt(child));
    waiting.release();
    run(&mut resume(&sandbox)).assert_code(0);
    assert_complete(&sandbox.results(), CELLS / 2 * 3);
    sandbox.assert_clean();
}

#[test]
fn as_json_ctrl_c_is_the_last_event_and_names_the_command_to_continue() {
    let sandbox = Sandbox::new();
    let gate = Gate::when_mounted(&sandbox);
    let child = start(campaign(&sandbox).args(["--contender", "gate", "--json"]));
    let _waiting = gate.reached();
    let ended = interrupt(child).assert_code(130);
    let last = ended.stdout.lines().last().unwrap_or_default();
    let event: serde_json::Value = serde_json::from_str(last).expect("an event");
    assert_eq!(event["event"], "interrupted");
    let resume = event["resume"].as_str().unwrap_or_default();
    assert!(resume.contains("fsarena resume 1"), "{resume}");
    assert_nothing_left(&sandbox);
}

#[test]
fn other_termination_signals_work_like_ctrl_c() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let sandbox = Sandbox::new();
        let (child, _waiting) = start_mounted(&sandbox);
        assert_interrupted(&sandbox, end_by(child, signal));
    }
}

#[test]
fn ctrl_c_ends_within_two_seconds_while_a_driver_does_not_answer() {
    let sandbox = Sandbox::new();
    let child = start_hanging(&sandbox);
    assert_interrupted(&sandbox, interrupt(child));
}

#[test]
fn a_kill_while_a_driver_hangs_leaves_no_processes() {
    let sandbox = Sandbox::new();
    let child = start_hanging(&sandbox);
    assert!(kill_after(child, Duration::ZERO), "it was still running");
    assert_nothing_left(&sandbox);
}

#[test]
fn ctrl_c_ends_within_two_seconds_while_the_image_is_written() {
    let sandbox = Sandbox::new();
    // The campaign cannot finish before the signal arrives.
    let _gate = Gate::new(&sandbox);
    let mut command = sandbox.campaign(&["ext4", "gate"], "trial");
    let child = start(command.args(["--size", "1GiB"]));
    wait_until("the image is begun", || is_being_written(&sandbox.path("work")));
    assert_interrupted(&sandbox, interrupt(child));
}

#[test]
fn a_campaign_in_a_directory_is_killed_interrupted_and_resumed() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("place");
    let gate = Gate::in_a_test(&sandbox);
    let child = start(&mut in_a_directory(&sandbox));
    let waiting = gate.reached();
    assert!(is_being_written(&place), "the test has written a file");
    assert!(kill_after(child, Duration::ZERO), "it was still running");
    drop(waiting);
    assert_nothing_left(&sandbox);
    let child = start(&mut resume(&sandbox));
    let waiting = gate.reached();
    assert!(is_being_written(&place), "the test has written a file");
    assert_interrupted(&sandbox, interrupt(child));
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "cleaned up");
    waiting.release();
    run(&mut resume(&sandbox)).assert_code(0);
    assert_complete(&sandbox.results(), CELLS / 2 + 1);
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "cleaned up");
}

#[test]
fn a_campaign_is_run_by_one_process_at_a_time() {
    let sandbox = Sandbox::new();
    let child = start_hanging(&sandbox);
    let second = run(&mut resume(&sandbox)).assert_code(3);
    assert!(second.stderr.contains("; wait for its end"), "{second:?}");
    assert!(leak_check::hangs(sandbox.root()), "the first one still runs");
    assert_interrupted(&sandbox, interrupt(child));
}

#[test]
fn a_campaign_in_a_directory_is_run_by_one_process_at_a_time() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("place");
    let gate = Gate::in_a_test(&sandbox);
    let child = start(&mut in_a_directory(&sandbox));
    let _waiting = gate.reached();
    let second = run(&mut resume(&sandbox)).assert_code(3);
    assert_interrupted(&sandbox, interrupt(child));
    assert!(second.stderr.contains("; wait for its end"), "{second:?}");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "cleaned up");
}

#[test]
fn resuming_a_complete_campaign_changes_no_results() {
    let sandbox = Sandbox::new();
    run(&mut campaign(&sandbox)).assert_code(0);
    let before = sandbox.results();
    run(&mut resume(&sandbox)).assert_code(0);
    assert_eq!(sandbox.results(), before);
    run(resume(&sandbox).arg("4711")).assert_code(2);
    sandbox.assert_clean();
}

/// The campaign is killed after the last cell was stored and before the image was removed.
#[test]
fn resuming_a_complete_campaign_removes_leftovers_of_a_kill() {
    let sandbox = Sandbox::new();
    run(&mut campaign(&sandbox)).assert_code(0);
    // The name contains the number, the seed and the database of the campaign.
    let left = sandbox.path("work").join(campaign_directory(&sandbox.path("fsarena.db"), 7));
    fs::create_dir(&left).unwrap();
    fs::write(left.join("lock"), "").unwrap();
    fs::write(left.join("image-0"), "an image").unwrap();
    run(&mut resume(&sandbox)).assert_code(0);
    sandbox.assert_clean();
}

/// Returns true if a nonempty file exists below a directory.
fn is_being_written(directory: &Path) -> bool {
    let written = |file: &Metadata| file.is_file() && file.len() > 0;
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        path.is_dir() && is_being_written(&path) || path.metadata().is_ok_and(|f| written(&f))
    })
}

#[test]
fn more_rounds_are_run_and_earlier_results_stay() {
    let sandbox = Sandbox::new();
    let mut first = sandbox.campaign(&["ext4"], "trial");
    run(first.args(["--rounds", "1"])).assert_code(0);
    let before = sandbox.results();
    let more = run(resume(&sandbox).args(["--rounds", "3"])).assert_code(0);
    let after = sandbox.results();
    assert_eq!(after.campaign.rounds, 3);
    assert_eq!(after.cells[..before.cells.len()], before.cells[..]);
    assert_complete(&after, 3 * before.cells.len());
    assert!(more.stdout.contains("each run 3 times"), "{}", more.stdout);
    sandbox.assert_clean();
}

/// Results of a directory do not mix with those of another filesystem that is mounted on it later.
#[test]
fn more_time_is_given_on_the_same_filesystem_only() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("place");
    fs::create_dir(&place).expect("a sandbox is writable");
    let mut command = sandbox.fsarena();
    command.args(["run", "--profile", "smoke", "--suite", "names", "--budget", "1s", "--dir"]);
    run(command.arg(&place)).assert_code(0);
    let mut more = resume(&sandbox);
    more.args(["--more", "1s"]);
    let script = "mount -t tmpfs none \"$1\" && shift && exec \"$@\"";
    let mut elsewhere = Command::new("unshare");
    elsewhere.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"]);
    elsewhere.arg(&place).arg(more.get_program()).args(more.get_args());
    let refused = run(&mut elsewhere).assert_code(3);
    assert!(refused.stderr.contains(" on tmpfs is another filesystem"), "{}", refused.stderr);
    run(&mut more).assert_code(0);
    let all = sandbox.results();
    assert!(all.cells.iter().all(|stored| stored.result.is_some()));
    assert_eq!(all.environments.len(), 2);
    sandbox.assert_clean();
}
