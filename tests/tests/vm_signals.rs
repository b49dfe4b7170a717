//! SIGINT and SIGTERM to a campaign in guests whose emulator hangs, floods or keeps its output
//! open.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use end_to_end::{Sandbox, guest};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::stopwatch::Stopwatch;

/// Promised time from a signal to the end.
const PROMISE: Duration = Duration::from_secs(2);
const VERSION: &str = "QEMU emulator version 7.2.0";

#[test]
fn signals_end_a_campaign_whose_emulator_misbehaves() {
    guest();
    for (version, machine) in [
        (format!("echo {VERSION}"), "exec sleep 1000"),
        (format!("echo {VERSION}"), "exec yes"),
        (format!("echo {VERSION}"), "exec cat /dev/zero"),
        ("exec yes".to_owned(), "exit 1"),
        ("sleep 1000 & echo $! >\"$0.child\"; exit 0".to_owned(), "exit 1"),
    ] {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let sandbox = Sandbox::new();
            let programs = sandbox.path("programs");
            let (emulator, started) =
                (programs.join("qemu-system-x86_64"), sandbox.path("started"));
            fs::create_dir(&programs).unwrap();
            let script = format!(
                "#!/bin/sh\n: >{}\ncase $1 in --version) {version};; *) {machine};; esac\n",
                started.display()
            );
            fs::write(&emulator, script).unwrap();
            fs::set_permissions(&emulator, fs::Permissions::from_mode(0o755)).unwrap();
            let path = std::env::var("PATH").unwrap();
            let mut command = sandbox.in_guests(sandbox.fsarena(), &["ext4"], "1");
            command
                .args(["--suite", "trial"])
                .env("PATH", format!("{}:{path}", programs.display()));
            let mut run = with_default_signals(&command).spawn().unwrap();
            while !started.exists() {
                assert!(run.try_wait().unwrap().is_none(), "{version}, {machine}: it has ended");
                std::thread::sleep(Duration::from_millis(20));
            }
            let stopwatch = Stopwatch::start();
            kill(Pid::from_raw(run.id().cast_signed()), signal).unwrap();
            let status = run.wait().unwrap();
            stopwatch.assert_within(PROMISE, &format!("{signal}: {version}, {machine}"));
            assert_eq!(status.code(), Some(130), "{signal}: {version}, {machine}");
            // A child that the emulator left is not known to fsarena.
            let child = fs::read_to_string(programs.join("qemu-system-x86_64.child"));
            if let Ok(child) = child {
                kill(Pid::from_raw(child.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
            }
            sandbox.assert_clean();
        }
    }
}

/// Returns the command as a shell in a terminal starts it. A job in the background ignores SIGINT.
fn with_default_signals(command: &Command) -> Command {
    let mut quiet = Command::new("env");
    quiet.arg("--default-signal=INT,TERM").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        quiet.env(name, value);
    }
    quiet.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet
}
