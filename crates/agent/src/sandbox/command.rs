//! Runs the programs of a filesystem: mkfs, mount, umount, fsck.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use model::{CommandRecord, Failure, Nanos};
use nix::sys::memfd::{MFdFlags, memfd_create};
use sys::io::clock;

use crate::sandbox::{SandboxProfile, SandboxedRunner};

/// Maximum output kept per program, in bytes, counted from the end, which contains the cause of an
/// error.
const OUTPUT_KEPT: u64 = 4096;
/// Directories of filesystem tools on Debian, which an ordinary `PATH` may lack.
const TOOL_PATHS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A failed run of a program.
pub struct CommandFailed {
    /// Record of the command, if it was started.
    pub record: Option<CommandRecord>,
    /// Why.
    pub failure: Failure,
}

/// Runs a program until it exits and records the result; `clean` lists the exit codes that mean
/// success.
///
/// Output goes to a file, not a pipe: a driver that stays in the background keeps the descriptor
/// open, so a pipe would never reach its end.
pub fn run(
    runner: &SandboxedRunner,
    step: &str,
    command: &[String],
    clean: &[i32],
) -> Result<CommandRecord, CommandFailed> {
    let failed = |record, reason| {
        Err(CommandFailed {
            record,
            failure: Failure { step: step.to_owned(), reason, ..Failure::default() },
        })
    };
    let Some((program, arguments)) = command.split_first() else {
        return failed(None, format!("the catalog gives no command for {step}"));
    };
    let output = match output_file() {
        Ok(file) => file,
        Err(error) => {
            return failed(None, format!("cannot keep the output of {program}: {error}"));
        }
    };
    let start = clock::now();
    let status = output.try_clone().and_then(|errors| {
        let mut started = Command::new(program);
        started
            .args(arguments)
            .env("PATH", search_path())
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(errors);
        runner.status(started, task(step, program))
    });
    let elapsed = clock::since(start);
    let status = match status {
        Ok(status) => status,
        Err(error) => return failed(None, format!("cannot run `{program}`: {error}")),
    };
    let record = record(step, command, status, elapsed, &output);
    match (record.exit, record.signal) {
        (Some(code), _) if clean.contains(&code) => Ok(record),
        (Some(code), _) => {
            let complaint = complaint(program, &record.output);
            let reason = format!("`{program}` ended with {code}{complaint}");
            failed(Some(record), reason)
        }
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            let reason = format!("`{program}` was killed by signal {signal}");
            failed(Some(record), reason)
        }
    }
}

/// Builds the record of a program that has exited.
pub fn record(
    step: &str,
    command: &[String],
    status: ExitStatus,
    elapsed: Nanos,
    output: &File,
) -> CommandRecord {
    CommandRecord {
        step: step.to_owned(),
        command: command.to_vec(),
        exit: status.code(),
        signal: status.signal(),
        elapsed,
        output: tail(output),
    }
}

/// Returns the permissions that a program needs. A script of the catalog may mount or start a
/// driver in any step.
fn task(step: &str, program: &str) -> SandboxProfile {
    match step {
        "mkfs" | "fsck" if program != "sh" => SandboxProfile::Device,
        _ => SandboxProfile::Mount,
    }
}

/// Returns the search path for programs.
pub fn search_path() -> String {
    match std::env::var("PATH") {
        Ok(path) if !path.is_empty() => format!("{path}:{TOOL_PATHS}"),
        _ => TOOL_PATHS.to_owned(),
    }
}

/// Creates an unnamed file in memory. The kernel removes the file when its last descriptor is
/// closed.
pub fn output_file() -> io::Result<File> {
    Ok(memfd_create(c"fsarena-output", MFdFlags::MFD_CLOEXEC)?.into())
}

fn tail(output: &File) -> String {
    let length = output.metadata().map_or(0, |m| m.len());
    let mut bytes = vec![0; length.min(OUTPUT_KEPT) as usize];
    let read = output.read_at(&mut bytes, length.saturating_sub(OUTPUT_KEPT)).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..read]);
    let text = text.trim_end();
    // Drop the first line if it is cut, unless it is the only one.
    match text.split_once('\n') {
        Some((_, whole)) if length > OUTPUT_KEPT => whole.to_owned(),
        _ => text.to_owned(),
    }
}

/// Returns the line with the cause: the last one that starts with the program's name, as error
/// messages do (unlike banners, hints and usage text), otherwise the last line.
fn complaint(program: &str, output: &str) -> String {
    let lines = || output.lines().rev().map(str::trim).filter(|l| !l.is_empty() && !is_banner(l));
    let prefix = format!("{program}: ");
    let line = lines().find(|l| l.starts_with(&prefix)).or_else(|| lines().next());
    line.map(|l| format!(": {}", cut(l))).unwrap_or_default()
}

/// Cuts a line of a program that is too long for a message.
pub fn cut(line: &str) -> String {
    const MAX_LENGTH: usize = 400;
    match line.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Returns true for a line that only contains the version of a program: `fsck.fat 4.2
/// (2021-01-31)`.
fn is_banner(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let version = words.nth(1).map(|word| word.trim_start_matches('v'));
    let is_version = version.and_then(|v| v.split_once('.')).is_some_and(|(major, rest)| {
        major.parse::<u32>().is_ok() && rest.starts_with(|c: char| c.is_ascii_digit())
    });
    is_version && words.count() <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split('|').map(str::to_owned).collect()
    }

    fn run(step: &str, command: &[String], clean: &[i32]) -> Result<CommandRecord, CommandFailed> {
        super::run(&SandboxedRunner::Unrestricted, step, command, clean)
    }

    #[test]
    fn exit_code_output_and_last_line_are_kept() {
        let command = words("sh|-c|echo one; echo two >&2; exit 3");
        let failed = run("mkfs", &command, &[0]).err().unwrap();
        let record = failed.record.unwrap();
        assert_eq!((record.exit, record.output.as_str()), (Some(3), "one\ntwo"));
        assert_eq!(failed.failure.reason, "`sh` ended with 3: two");
        assert!(run("mkfs", &command, &[0, 3]).is_ok(), "3 may be fine");
    }

    #[test]
    fn the_name_and_version_of_a_program_is_no_reason() {
        let fat = "Both FATs appear to be corrupt. Giving up.\nfsck.fat 4.2 (2021-01-31)\n";
        assert_eq!(complaint("fsck.fat", fat), ": Both FATs appear to be corrupt. Giving up.");
        let ext = "e2fsck 1.47.0 (5-Feb-2023)\nthe superblock is corrupt\n";
        assert_eq!(complaint("e2fsck", ext), ": the superblock is corrupt");
        assert!(!is_banner("block 4.2 is claimed twice by a file"));
        assert!(!is_banner("Giving up"));
    }

    #[test]
    fn complaint_is_the_error_message_not_the_hint() {
        let output = "mke2fs 1.47.0\nmount: /mnt: bad option\n       dmesg(1) may have more\n";
        assert_eq!(complaint("mount", output), ": mount: /mnt: bad option");
        assert_eq!(complaint("sh", output), ": dmesg(1) may have more");
        assert_eq!(complaint("sh", "\n \n"), "");
        let long = format!(": {}…", "é".repeat(400));
        assert_eq!(complaint("sh", &"é".repeat(5000)), long);
    }

    #[test]
    fn distinguishes_a_missing_program_from_a_killed_one() {
        let missing = run("mkfs", &words("no-such-program"), &[0]).err().unwrap();
        assert!(missing.failure.reason.starts_with("cannot run `no-such-program`"));
        let killed = run("mkfs", &words("sh|-c|kill -9 $$"), &[0]).err().unwrap();
        assert_eq!(killed.failure.reason, "`sh` was killed by signal 9");
    }

    #[test]
    fn a_program_that_leaves_something_in_the_background_is_not_waited_for() {
        let command = words("sh|-c|sleep 600 & echo $!");
        let record = run("mount", &command, &[0]).ok().unwrap();
        let pid = nix::unistd::Pid::from_raw(record.output.parse().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    }

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let record = run("fsck", &words("seq|1|5000"), &[0]).ok().unwrap();
        assert!(record.output.len() <= 4096 && record.output.ends_with("\n5000"));
    }
}
