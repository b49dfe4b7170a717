//! Versions of the tools of a filesystem.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use model::ToolVersion;
use sys::interruption;

use crate::find_program;

/// Time limit for a program to print its version.
const LIMIT: Duration = Duration::from_secs(5);
/// Interval between checks whether the user asked to stop.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum size of a version line.
const MAX_TOOL_VERSION_SIZE: u64 = 4096;

/// Runs a version command. Returns `None` if the command or program does not exist. The version is
/// `unknown` if the program prints nothing in time.
pub fn tool_version(words: &[String]) -> Option<ToolVersion> {
    version_within(words, LIMIT)
}

fn version_within(words: &[String], limit: Duration) -> Option<ToolVersion> {
    let (program, arguments) = words.split_first()?;
    let path = find_program(program)?;
    let output = first_output(Command::new(path).args(arguments), limit).unwrap_or_default();
    let version = first_line(&output).unwrap_or_else(|| "unknown".to_owned());
    Some(ToolVersion { program: program.clone(), version })
}

/// Returns the beginning of the combined output of a command, or `None` if it does not end in time.
fn first_output(command: &mut Command, limit: Duration) -> Option<String> {
    let (mut reader, writer) = std::io::pipe().ok()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone().ok()?).stderr(writer).env("LC_ALL", "C");
    let mut child = command.spawn().ok()?;
    // The command also holds the write end of the pipe, and reading would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (send, receive) = mpsc::channel();
    let reading = thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = (&mut reader).take(MAX_TOOL_VERSION_SIZE).read_to_end(&mut bytes);
        // The receiver is dropped after the time limit.
        let _ = send.send(read.map(|_| bytes));
    });
    if reading.is_err() {
        end(&mut child);
        return None;
    }
    let start = Instant::now();
    let answer = loop {
        match receive.recv_timeout(STOP_CHECK_INTERVAL.min(limit)) {
            Err(RecvTimeoutError::Timeout)
                if start.elapsed() < limit && !interruption::is_requested() => {}
            answer => break answer,
        }
    };
    end(&mut child);
    let bytes = answer.ok()?.ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Kills and reaps the child. Errors mean that it has already exited.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn first_line(output: &str) -> Option<String> {
    output.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time that any program needs at most to start on a busy machine.
    const LONG: Duration = Duration::from_secs(120);

    fn version(words: &[&str], limit: Duration) -> Option<String> {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        version_within(&words, limit).map(|tool| tool.version)
    }

    #[test]
    fn reads_the_first_line_of_stdout_or_stderr() {
        let said = version(&["sh", "-c", "echo; echo 'mkfs 1.47' >&2; echo more"], LONG);
        assert_eq!(said.as_deref(), Some("mkfs 1.47"));
    }

    #[test]
    fn a_silent_program_has_an_unknown_version_and_a_missing_one_none() {
        assert_eq!(version(&["true"], LONG).as_deref(), Some("unknown"));
        assert_eq!(version(&["no-such-program-anywhere"], LONG), None);
        assert_eq!(version(&[], LONG), None);
    }

    #[test]
    fn a_program_that_prints_without_end_is_ended() {
        let said = version(&["sh", "-c", "while echo endless; do :; done"], LONG);
        assert_eq!(said.as_deref(), Some("endless"));
    }

    #[test]
    fn a_program_that_never_ends_is_given_up() {
        let said = version(&["sleep", "1000"], Duration::from_millis(50));
        assert_eq!(said.as_deref(), Some("unknown"));
    }
}
