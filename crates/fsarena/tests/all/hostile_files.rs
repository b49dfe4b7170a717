//! Campaign files and catalogs that are not regular files: pipes, directories, devices, files of
//! any size.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::told::assert_told;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::Value;

fn fsarena(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fsarena"));
    command
        .env("XDG_DATA_HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn pipe(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    path
}

/// Sends SIGINT as soon as the program handles it. Before that, a test in the background ignores it.
fn interrupt(child: &Child) {
    let handles_it = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
        caught & 1 << (Signal::SIGINT as i32 - 1) != 0
    };
    while !handles_it() {
        thread::sleep(Duration::from_millis(1));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
}

/// Writes to the standard input of a process as soon as it can.
fn write_all(child: &mut Child, text: &str) {
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn waiting_for_a_pipe_can_be_interrupted() {
    let directory = tempfile::tempdir().unwrap();
    let run = || {
        let mut command = fsarena(directory.path());
        command.args(["run", "/dev/stdin", "--dry-run"]).stdin(Stdio::piped()).spawn().unwrap()
    };
    let mut child = run();
    let held = child.stdin.take();
    interrupt(&child);
    assert_told(&child.wait_with_output().unwrap(), 130, "interrupted");
    drop(held);
    // A pipe without data.
    let mut child = run();
    write_all(&mut child, "");
    assert_told(&child.wait_with_output().unwrap(), 2, "/dev/stdin:1: missing key");
}

#[test]
fn a_campaign_can_come_out_of_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("directories = [{:?}]\nname = \"piped\"\n", directory.path());
    // The `<(command)` of a shell is such a path.
    let mut shell = Command::new("bash");
    shell.args(["-c", "exec \"$0\" run <(printf %s \"$1\") --dry-run"]);
    shell.args([env!("CARGO_BIN_EXE_fsarena"), &text]).env("XDG_DATA_HOME", directory.path());
    let output = shell.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("piped"));

    let mut command = fsarena(directory.path());
    command.args(["run", "/dev/stdin", "--dry-run"]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    write_all(&mut child, &text);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn invalid_campaign_files_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let large = directory.path().join("large.toml");
    File::create(&large).unwrap().set_len(1 << 30).unwrap();
    let binary = directory.path().join("binary.toml");
    fs::write(&binary, b"name = \"\xff\"").unwrap();
    for (path, words) in [
        (directory.path(), "; name a regular file"),
        (Path::new("/dev/null"), "; name a regular file"),
        (Path::new("/dev/zero"), "; name a regular file"),
        (&large, "it is larger than 1 MiB"),
        (&binary, "no text in UTF-8"),
    ] {
        let mut command = fsarena(directory.path());
        let output = command.arg("run").arg(path).output().unwrap();
        assert_told(&output, 2, words);
        assert_told(&output, 2, path.to_str().unwrap());
    }
}

#[test]
fn pipe_in_a_catalog_is_refused_without_waiting() {
    let directory = tempfile::tempdir().unwrap();
    pipe(directory.path(), "mine.toml");
    let mut command = fsarena(directory.path());
    let output = command.arg("--catalog").arg(directory.path()).arg("list");
    assert_told(&output.output().unwrap(), 2, "mine.toml: it is a pipe; name a regular file");
}

/// Returns paths that cannot be read as a file, or whose reading never ends.
fn no_files(directory: &Path) -> Vec<PathBuf> {
    let path = |name: &str| directory.join(name);
    let _ = UnixListener::bind(path("socket")).unwrap();
    File::create(path("sparse")).unwrap().set_len(1 << 40).unwrap();
    fs::create_dir(path("directory")).unwrap();
    for (name, target) in [("around", "around"), ("kernel", "/proc/kmsg"), ("piped", "pipe")] {
        symlink(target, path(name)).unwrap();
    }
    let names = ["socket", "sparse", "directory", "around", "kernel", "piped"].map(path);
    let devices = ["/dev/zero", "/dev/null", "/dev/tty"].map(PathBuf::from);
    [pipe(directory, "pipe")].into_iter().chain(names).chain(devices).collect()
}

/// Each command that reads a file of the user refuses what is none in one line, without waiting and
/// in little memory.
#[test]
fn every_command_refuses_what_is_no_file() {
    const FILE: &str = "FILE";
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().to_str().unwrap();
    let modules = directory.path().join("modules");
    fs::create_dir_all(modules.join("kernel")).unwrap();
    fs::write(modules.join("modules.builtin"), "").unwrap();
    let modules = modules.to_str().unwrap();
    let output = directory.path().join("output");
    let output = output.to_str().unwrap();
    let result = directory.path().join("result.csv");
    let line = "contender,suite,test,phase,round,metric,value,status\nc,s,t,p,1,rate,2,ok\n";
    fs::write(&result, line).unwrap();
    let result = result.to_str().unwrap();
    let commands: [&[&str]; 26] = [
        &["run", FILE],
        &["run", "--dry-run", FILE],
        &["run", "--dry-run", "--dir", home, "-s", "fio:FILE"],
        &["run", "--dry-run", "--backend", "vm", "-c", "ext4", "--kernel", FILE],
        &["guard", "a", "b", FILE],
        &["cluster", "work", FILE, "--all"],
        &["cluster", "collect", FILE],
        &["disk", "validate", FILE],
        &["study", "show", FILE],
        &["import", FILE],
        &["import", "--dry-run", "--from", "fio", FILE],
        &["report", FILE],
        &["advise", FILE],
        &["compare", FILE, FILE],
        &["tool", "agree", FILE, FILE],
        &["show", FILE],
        &["disk", "replay", FILE],
        &["trace", "import", FILE, "-o", output],
        &["trace", "show", FILE],
        &["trace", "anonymise", FILE, "-o", output],
        &["trace", "replay", FILE, "--dir", home],
        &["guest", "build", "--kernel", FILE, "--modules", modules],
        &["guest", "build", "--rootfs", FILE],
        &["--db", FILE, "import", result],
        &["--db", FILE, "report"],
        &["--catalog", FILE, "list", "filesystems"],
    ];
    for file in no_files(directory.path()) {
        let file = file.to_str().unwrap();
        for words in commands {
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -v 4000000; exec \"$@\"", "sh"]);
            command.arg(env!("CARGO_BIN_EXE_fsarena"));
            command.args(words.iter().map(|word| word.replace(FILE, file)));
            command.env("XDG_DATA_HOME", home).env("XDG_CACHE_HOME", home).stdin(Stdio::null());
            let output = command.output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code();
            assert!(matches!(code, Some(2 | 3)), "{words:?} {file}: {code:?} {told}");
            assert_eq!(told.lines().count(), 1, "{words:?} {file}: {told}");
        }
    }
    assert!(!Path::new(output).exists());
}

/// A command that waits for input ends on each signal, even in the middle of an endless line.
#[test]
fn signals_end_every_command_that_waits_for_input() {
    let directory = tempfile::tempdir().unwrap();
    let commands: [&[&str]; 3] =
        [&["import", "-"], &["import", "--from", "fio", "-"], &["run", "/dev/stdin"]];
    for words in commands {
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            // A shell starts jobs in the background with ignored signals.
            let mut command = Command::new("env");
            command.args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_fsarena")]);
            command.args(words).env("XDG_DATA_HOME", directory.path());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            // More than a pipe holds, so the command has begun to read if all is written.
            let part = [b'x'; 4096];
            let mut written = 0;
            while written < 256 << 10 {
                match input.write(&part) {
                    Ok(length) => written += length,
                    Err(_) => thread::sleep(Duration::from_millis(1)),
                }
            }
            kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
            let output = child.wait_with_output().unwrap();
            let is_signalled = output.status.signal() == Some(signal as i32);
            let is_told = output.status.code() == Some(130);
            assert!(is_signalled || is_told, "{words:?} {signal}: {output:?}");
            drop(input);
        }
    }
}

/// Paths that do not come from options: the environment, the working directory, the target of a
/// link.
#[test]
fn non_utf8_paths_are_reported_from_any_source() {
    let directory = tempfile::tempdir().unwrap();
    let strange = directory.path().join(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&strange).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&strange, &link).unwrap();
    let home = directory.path().to_str().unwrap();
    let link = link.to_str().unwrap();
    let run = ["run", "--profile", "smoke", "-s", "lifecycle", "--dir"];
    for (variable, rest, words) in [
        ("XDG_DATA_HOME", &[home][..], "XDG_DATA_HOME is not UTF-8"),
        ("HOME", &[home], "HOME is not UTF-8"),
        ("NOTHING", &["."], "--dir leads to"),
        ("NOTHING", &[link], "--dir leads to"),
        ("NOTHING", &[home, "--db", "a.db"], "--db leads to"),
        ("NOTHING", &[home, "--work-dir", "w"], "--work-dir leads to"),
    ] {
        let mut command = fsarena(directory.path());
        command.args(run).args(rest).current_dir(&strange);
        if variable == "HOME" {
            command.env_remove("XDG_DATA_HOME");
        }
        let output = command.env(variable, &strange).output().unwrap();
        assert_told(&output, 2, words);
    }
    assert_eq!(fs::read_dir(&strange).unwrap().count(), 0);
}

#[test]
fn non_utf8_arguments_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let strange = OsStr::from_bytes(b"/tmp/\xff");
    for (words, said) in [
        (&["list", "--db"][..], "`--db <FILE>`"),
        (&["list", "--catalog"], "`--catalog <DIR>`"),
        (&["run", "--dir"], "`--dir <DIR>`"),
        (&["run", "--name"], "is not UTF-8"),
        (&["run", "--contender"], "is not UTF-8"),
        (&["run"], "`[CAMPAIGN.toml]`"),
        (&["report", "-o"], "`--output <FILE>`"),
        (&["--json", "report", "--charts"], "`--charts <DIR>`"),
        (&["compare", "1"], "is not UTF-8"),
        (&["--json", "tool", "format", "hpfs"], "`<DEVICE>`"),
    ] {
        let mut command = fsarena(directory.path());
        let output = command.args(words).arg(strange).output().unwrap();
        assert_told(&output, 2, said);
        assert_eq!(output.stdout, b"");
    }
}

/// Returns a JSON report with the value at a pointer (RFC 6901) replaced.
fn changed(report: &Value, pointer: &str, value: u64) -> Value {
    let mut changed = report.clone();
    *changed.pointer_mut(pointer).unwrap() = value.into();
    changed
}

#[test]
fn imported_report_may_have_any_counts_but_needs_all_rounds() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let run = |words: &[&str]| fsarena(directory.path()).args(words).output().unwrap();
    let campaign = ["run", "--quiet", "--profile", "smoke", "-s", "lifecycle", "--dir"];
    assert!(run(&[&campaign[..], &[place]].concat()).status.success());
    let report: Value = serde_json::from_slice(&run(&["report", "--json"]).stdout).unwrap();
    let file = directory.path().join("report.json");
    let compared = |report: &Value| {
        fs::write(&file, report.to_string()).unwrap();
        let file = file.to_str().unwrap();
        run(&["compare", "1", file])
    };
    let phase = "/results/cells/0/result/phases/0";
    let mut most = report.clone();
    for count in ["cpu/user", "cpu/system", "wall", "operations"] {
        most = changed(&most, &format!("{phase}/{count}"), u64::MAX);
    }
    let output = compared(&most);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let many = changed(&report, "/results/campaign/rounds", u64::from(u32::MAX));
    assert_told(&compared(&many), 2, "fewer rounds than its campaign");
}

#[test]
fn plan_with_too_many_cells_is_refused_early() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = fsarena(directory.path());
    command.args(["run", "--profile", "study", "-s", "iozone"]);
    for number in 0..40 {
        let place = directory.path().join(format!("d{number}"));
        fs::create_dir(&place).unwrap();
        command.arg("--dir").arg(place);
    }
    let asked = [
        &["--rounds", "1000"][..],
        &["--rounds", "1000", "--dry-run"],
        &["--until-width", "5%", "--max-rounds", "1000"],
    ];
    for more in asked {
        let mut command = again(&command);
        let output = command.args(more).output().unwrap();
        assert_told(&output, 2, "cells are too many, 1000000 at most: 40 contenders × ");
        assert_told(&output, 2, "× 1000 rounds");
    }
}

/// Returns a copy of the command.
fn again(command: &Command) -> Command {
    let mut again = Command::new(command.get_program());
    again.args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        again.env(name, value.unwrap());
    }
    again
}
