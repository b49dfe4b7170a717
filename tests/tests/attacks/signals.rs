//! SIGINT and SIGTERM to a command that waits for another party: they end it within two seconds, and
//! nothing remains.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use end_to_end::{DirectoryEntry, Sandbox, run};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rusqlite::Connection;

use crate::stopwatch::Stopwatch;

/// Promised time from a signal to the end.
const PROMISE: Duration = Duration::from_secs(2);
/// A program that ends on no signal but SIGKILL.
const STUBBORN: &str = "trap '' INT TERM HUP; while :; do sleep 1; done";

/// Waits until a command and its children no longer use a processor.
fn wait_until_idle(child: &mut Child) {
    let root = Pid::from_raw(child.id().cast_signed());
    let used = || {
        let all = sys::process::descendants(root);
        let pids = all.iter().map(|process| process.pid).chain([root]);
        let stats = pids.map(|pid| fs::read_to_string(format!("/proc/{pid}/schedstat")));
        stats.map(Result::unwrap_or_default).collect::<Vec<_>>()
    };
    let (mut last, mut same) = (used(), 0);
    while same < 10 {
        assert!(child.try_wait().unwrap().is_none(), "it does not wait");
        thread::sleep(Duration::from_millis(20));
        let now = used();
        // A check of the stop flag takes less than a millisecond.
        same = if is_idle(&last, &now) { same + 1 } else { 0 };
        last = now;
    }
}

/// Returns true if the same processes used less than two milliseconds. Format: schedstats of the
/// kernel's documentation.
fn is_idle(before: &[String], after: &[String]) -> bool {
    let used = |stat: &String| -> u64 {
        stat.split(' ').next().and_then(|time| time.parse().ok()).unwrap_or(0)
    };
    let sum = |stats: &[String]| stats.iter().map(used).sum::<u64>();
    before.len() == after.len() && sum(after).saturating_sub(sum(before)) < 2_000_000
}

/// Starts a command, and sends it a signal when it waits. Returns its exit code, which is 130 or
/// that of the signal.
fn end_by(command: &mut Command, signal: Signal, waits_for: &str) {
    // A shell starts jobs in the background with ignored signals.
    let mut quiet = Command::new("env");
    quiet.arg("--default-signal=INT,TERM,HUP").arg(command.get_program());
    quiet.args(command.get_args());
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        quiet.env(name, value);
    }
    quiet.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = quiet.spawn().unwrap();
    wait_until_idle(&mut child);
    let stopwatch = Stopwatch::start();
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
    let status = child.wait().unwrap();
    stopwatch.assert_within(PROMISE, &format!("{signal} while it waits for {waits_for}"));
    let is_told = status.code() == Some(130) || status.signal() == Some(signal as i32);
    assert!(is_told, "{waits_for}, {signal}: {status}");
}

/// Runs an attack with each signal, in a sandbox that reports what remains.
fn each_signal(waits_for: &str, command: impl Fn(&Sandbox) -> Command) {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let sandbox = Sandbox::new();
        end_by(&mut command(&sandbox), signal, waits_for);
        sandbox.assert_clean();
    }
}

fn of(sandbox: &Sandbox, words: &[&str]) -> Command {
    let mut command = sandbox.fsarena();
    command.args(words);
    command
}

#[test]
fn signals_end_a_command_that_waits_for_a_database() {
    let sandbox = Sandbox::new();
    run(&mut sandbox.campaign(&["tmpfs"], "trial")).assert_code(0);
    let report = run(&mut of(&sandbox, &["report", "--format", "json"])).stdout;
    let file = sandbox.path("report.json");
    fs::write(&file, report.replace("\"seed\":7", "\"seed\":8")).unwrap();
    let file = file.to_str().unwrap();
    let holder = Connection::open(sandbox.path("fsarena.db")).unwrap();
    for (lock, commands) in [
        (
            "BEGIN IMMEDIATE",
            &[&["resume"][..], &["delete", "1", "--yes"], &["import", file]] as &[&[&str]],
        ),
        // Without a write-ahead log, a writer locks readers out.
        (
            "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE",
            &[&["report"], &["list", "campaigns"], &["advise"], &["compare", "1", "1"]],
        ),
    ] {
        holder.execute_batch(lock).unwrap();
        for words in commands {
            for signal in [Signal::SIGINT, Signal::SIGTERM] {
                end_by(&mut of(&sandbox, words), signal, &format!("the database: {words:?}"));
            }
        }
        holder.execute_batch("ROLLBACK").unwrap();
    }
}

#[test]
fn signals_end_a_command_whose_output_is_not_read() {
    // More than a pipe holds.
    for words in [&["report", "--schema"][..], &["list", "suites", "--json"]] {
        each_signal("a full pipe", |sandbox| of(sandbox, words));
    }
}

#[test]
fn signals_end_a_campaign_that_waits_for_a_program() {
    for script in ["exec sleep 1000", STUBBORN, "sleep 1000 & wait", "kill -STOP $$"] {
        each_signal(script, |sandbox| {
            let mkfs = ["sh", "-c", script, "{device}"];
            sandbox.add(&DirectoryEntry::ext4("silent").mkfs(&mkfs));
            sandbox.campaign(&["silent"], "trial")
        });
    }
}

/// Creates programs that never end.
fn silent_programs(sandbox: &Sandbox, names: &[&str]) -> String {
    let bin = sandbox.path("bin");
    fs::create_dir_all(&bin).unwrap();
    for name in names {
        fs::write(bin.join(name), "#!/bin/sh\nexec sleep 1000\n").unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

/// Programs that fsarena asks before the first cell.
#[test]
fn signals_end_a_command_that_waits_for_an_answer_of_a_program() {
    each_signal("the version of mke2fs", |sandbox| {
        let path = silent_programs(sandbox, &["mke2fs"]);
        let mut command = sandbox.campaign(&["ext4"], "trial");
        command.env("PATH", path);
        command
    });
    for name in ["sbatch", "scontrol"] {
        each_signal(name, |sandbox| {
            fs::create_dir_all(sandbox.path("bin")).unwrap();
            let path = silent_programs(sandbox, &[name]);
            if name != "sbatch" {
                let sbatch = sandbox.path("bin/sbatch");
                fs::write(&sbatch, "#!/bin/sh\necho slurm 22.05\n").unwrap();
                fs::set_permissions(sbatch, fs::Permissions::from_mode(0o755)).unwrap();
            }
            let plan = sandbox.path("plan");
            let words = ["run", "--backend", "vm", "-c", "ext4", "--on", "slurm", "--plan"];
            let mut command = of(sandbox, &words);
            command.arg(plan).env("PATH", path);
            command
        });
    }
}

fn locked(path: PathBuf) -> Flock<File> {
    let file = File::options().create(true).append(true).open(path).unwrap();
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error).unwrap()
}

#[test]
fn signals_end_a_campaign_that_waits_for_another_campaign() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let sandbox = Sandbox::new();
        // The directory of the lock is that of the sandbox.
        let _lock = locked(sandbox.path("fsarena-caches.lock"));
        end_by(&mut sandbox.campaign(&["tmpfs"], "trial"), signal, "the lock of the caches");
    }
}

#[test]
fn signals_end_a_question() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let sandbox = Sandbox::new();
        run(&mut sandbox.campaign(&["tmpfs"], "trial")).assert_code(0);
        let delete = of(&sandbox, &["delete", "1"]);
        let words = delete.get_args().map(|word| word.to_str().unwrap()).collect::<Vec<_>>();
        // `script` ends with the exit code of the command.
        let line = format!("{} {}", delete.get_program().to_str().unwrap(), words.join(" "));
        let mut script = Command::new("script");
        let shown = sandbox.path("shown");
        script.args(["-qec", &format!("exec {line}")]).arg(&shown).stdin(Stdio::piped());
        let mut script = script.stdout(Stdio::null()).spawn().unwrap();
        let terminal = Pid::from_raw(script.id().cast_signed());
        while sys::process::children(terminal).is_empty() {
            thread::yield_now();
        }
        wait_until_idle(&mut script);
        let stopwatch = Stopwatch::start();
        kill(sys::process::children(terminal)[0].pid, signal).unwrap();
        // Waiting closes the input of the terminal, which ends with the signal.
        let status = script.wait().unwrap();
        stopwatch.assert_within(PROMISE, signal.as_str());
        let ends = [130, 128 + signal as i32];
        let shown = fs::read_to_string(shown).unwrap_or_default();
        assert!(status.code().is_some_and(|code| ends.contains(&code)), "{status}: {shown}");
    }
}

/// A recording ends, too, and has the operations until then.
#[test]
fn signals_end_a_recording() {
    for script in ["exec sleep 1000", STUBBORN, "sleep 1000 & wait", "kill -STOP $$"] {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let sandbox = Sandbox::new();
            let mut command = of(&sandbox, &["trace", "record", "--output"]);
            command.arg(sandbox.path("out.trace")).arg("--below").arg(sandbox.root());
            let made = sandbox.path("made");
            command.args(["--", "sh", "-c"]).arg(format!("echo >{}; {script}", made.display()));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            end_to_end::slurm::wait_for("the command", || made.exists(), String::new);
            wait_until_idle(&mut child);
            let stopwatch = Stopwatch::start();
            kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
            let status = child.wait().unwrap();
            stopwatch.assert_within(PROMISE, &format!("{signal}: {script}"));
            assert!(status.code().is_some_and(|code| code > 128), "{script} {signal}: {status}");
            assert!(sandbox.path("out.trace").exists(), "{script} {signal}");
        }
    }
}
