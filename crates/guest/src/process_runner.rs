//! Runs the programs of a guest build, until they end or the user interrupts. Reads their output
//! while they run, and extracts the reason of a failure. Independent of the purpose of the
//! programs.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};

use model::Bytes;
use sys::io::bounded::{self, StreamLimits};

use crate::GuestError;
use crate::process_group::ProcessGroup;

/// Limits of the output of a program.
const OUTPUT_LIMITS: StreamLimits =
    StreamLimits { line: Bytes::mib(16), total: Bytes::mib(1024), lines_per_second: None };
/// Maximum size of the output of a filter: more than any unpacked kernel.
const MAX_FILTERED_SIZE: Bytes = Bytes::mib(512);
/// Maximum size of the error output that is searched for the reason of a failure.
const MAX_COMPLAINT_SIZE: Bytes = Bytes::mib(16);

/// Runs programs. Programs that still run when the runner is dropped are killed, with all their
/// descendants.
#[derive(Debug, Default)]
pub struct ProcessRunner {
    /// Group of the programs. `None` if they end without it when their output is closed.
    group: Option<ProcessGroup>,
    stop: Arc<AtomicBool>,
    /// Directory for temporary files of the programs.
    temporary: Option<PathBuf>,
}

impl ProcessRunner {
    /// Creates a runner whose programs end as soon as `stop` becomes true, or when this process
    /// ends.
    pub fn new(stop: &Arc<AtomicBool>) -> Result<Self, GuestError> {
        Self::begin(stop, None, None)
    }

    /// Runs programs for a build directory. They hold its lock while they live.
    pub fn with_lock(
        stop: &Arc<AtomicBool>,
        lock: &File,
        temporary: &Path,
    ) -> Result<Self, GuestError> {
        Self::begin(stop, Some(lock), Some(temporary.to_owned()))
    }

    fn begin(
        stop: &Arc<AtomicBool>,
        lock: Option<&File>,
        temporary: Option<PathBuf>,
    ) -> Result<Self, GuestError> {
        let group = ProcessGroup::spawn(stop, lock).map_err(|source| GuestError::Program {
            program: "sh".to_owned(),
            package: "dash",
            source,
        })?;
        Ok(Self { group: Some(group), stop: Arc::clone(stop), temporary })
    }

    /// Returns an error if the user has asked to stop.
    pub fn check_stop(&self) -> Result<(), GuestError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(GuestError::Interrupted { left: None }),
            false => Ok(()),
        }
    }

    /// Starts a program. `package` is the Debian package that contains it, for the error message.
    pub fn start(&self, command: &mut Command, package: &'static str) -> Result<Child, GuestError> {
        self.check_stop()?;
        command.env("LC_ALL", "C");
        if let Some(group) = &self.group {
            command.process_group(group.id().as_raw());
        }
        if let Some(temporary) = &self.temporary {
            command.env("TMPDIR", temporary);
        }
        command.spawn().map_err(|source| not_started(command, package, source))
    }

    /// Runs a program until it ends and returns its output.
    pub fn run(&self, command: &mut Command, package: &'static str) -> Result<String, GuestError> {
        let mut text = String::new();
        self.run_lines(command, package, &mut |line| {
            text += line;
            text.push('\n');
        })?;
        Ok(text)
    }

    /// Runs a program until it ends and passes on each line of its output immediately.
    pub fn run_lines(
        &self,
        command: &mut Command,
        package: &'static str,
        heard: &mut dyn FnMut(&str),
    ) -> Result<(), GuestError> {
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.start(piped, package)?;
        let stdout = child.stdout.take().expect("piped above");
        let stderr = child.stderr.take().expect("piped above");
        let complaint = thread::scope(|scope| {
            // Read errors are ignored; the exit status decides.
            let read = move || bounded::read_beginning(stderr, MAX_COMPLAINT_SIZE);
            let complaint = spawn_scoped(scope, read)?;
            for read in bounded::lines(BufReader::new(stdout), OUTPUT_LIMITS) {
                match read {
                    Ok(line) => heard(&String::from_utf8_lossy(&line)),
                    Err(error) if error.kind() == ErrorKind::InvalidData => {
                        let _ = child.kill();
                        let _ = child.wait();
                        return Err(unexpected(command, &error));
                    }
                    Err(_) => break,
                }
            }
            Ok(complaint.join().ok().and_then(Result::ok).unwrap_or_default())
        })?;
        let status = child.wait().map_err(|source| not_started(command, package, source))?;
        match status.success() {
            true => Ok(()),
            false => Err(self.failed(command, &complaint)),
        }
    }

    /// Runs a program as a filter and returns its output. A separate thread writes the input,
    /// because the program may fill its output pipe before it has read all input.
    pub fn filter(
        &self,
        command: &mut Command,
        package: &'static str,
        input: &[u8],
    ) -> Result<Vec<u8>, GuestError> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.start(piped, package)?;
        let mut stdin = child.stdin.take().expect("piped above");
        let output = thread::scope(|scope| {
            // A program that stops reading early reports the reason when it exits.
            spawn_scoped(scope, move || stdin.write_all(input))?;
            let stopped = || self.stop.load(Ordering::Relaxed);
            let output = bounded::output_of(child, MAX_FILTERED_SIZE, &stopped);
            output.map_err(|source| match self.check_stop() {
                Err(interrupted) => interrupted,
                Ok(()) => not_started(command, package, source),
            })
        })?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(self.failed(command, &output.stderr)),
        }
    }

    /// Runs a pipeline of programs. Returns for each program whether it succeeded, and the reason
    /// of a failure.
    pub fn pipe<const N: usize>(
        &self,
        steps: [(Command, &'static str); N],
    ) -> Result<([bool; N], String), GuestError> {
        let no_pipe =
            |error| GuestError::UnexpectedOutput(format!("no pipe for a program: {error}"));
        let (complaints, complain) = io::pipe().map_err(no_pipe)?;
        let mut children: Vec<Child> = Vec::with_capacity(N);
        for (mut command, package) in steps {
            let before = children.last_mut().and_then(|child| child.stdout.take());
            let is_last = children.len() == N - 1;
            command
                .stdin(before.map_or_else(Stdio::null, Stdio::from))
                .stdout(if is_last { Stdio::null() } else { Stdio::piped() })
                .stderr(complain.try_clone().map_err(no_pipe)?);
            children.push(self.start(&mut command, package)?);
        }
        drop(complain);
        // Read errors are ignored; the exit statuses decide.
        let complaint = bounded::read_beginning(complaints, MAX_COMPLAINT_SIZE).unwrap_or_default();
        let mut ended = [false; N];
        for (child, well) in children.iter_mut().zip(&mut ended) {
            *well = child.wait().is_ok_and(|status| status.success());
        }
        self.check_stop()?;
        let complaint = String::from_utf8_lossy(&complaint);
        Ok((ended, reason(&complaint).to_owned()))
    }

    /// Returns the error of a failed program, or `Interrupted` if the user interrupted it.
    fn failed(&self, command: &Command, complaint: &[u8]) -> GuestError {
        match self.check_stop() {
            Err(interrupted) => interrupted,
            Ok(()) => GuestError::Failed {
                command: line(command),
                complaint: reason(&String::from_utf8_lossy(complaint)).to_owned(),
            },
        }
    }
}

/// Returns the error for a program that could not start.
fn not_started(command: &Command, package: &'static str, source: io::Error) -> GuestError {
    match source.kind() {
        ErrorKind::NotFound => GuestError::Program {
            program: command.get_program().to_string_lossy().into_owned(),
            package,
            source,
        },
        _ => unexpected(command, &source),
    }
}

fn unexpected(command: &Command, error: &io::Error) -> GuestError {
    GuestError::UnexpectedOutput(format!("`{}`: {error}", line(command)))
}

/// Formats a command as typed in a shell. Long commands are cut after the first words.
fn line(command: &Command) -> String {
    const MAX_PROGRAMS_SIZE: usize = 12;
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let mut words: Vec<_> = words.map(|w| w.to_string_lossy()).collect();
    if words.len() > MAX_PROGRAMS_SIZE {
        words.truncate(MAX_PROGRAMS_SIZE);
        words.push("…".into());
    }
    words.join(" ")
}

/// Messages of programs and the kernel that report a full disk.
pub const NO_ROOM: [&str; 3] =
    ["No space left on device", "Disk quota exceeded", "enough free space in"];

/// Returns the line of the error output that explains the failure: a full disk, or an error of a
/// compiler or loader (make then reports only that it failed). Otherwise returns the last line.
fn reason(complaint: &str) -> &str {
    const MARKS: [&str; 3] = [" error: ", ": not found", "error while loading"];
    // The first line of an error of `configure` is empty, or only names the directory.
    const HEADING: &str = "configure: error:";
    let is_heading = |line: &str| {
        let rest = line.strip_prefix(HEADING);
        rest.is_some_and(|rest| rest.trim().is_empty() || rest.starts_with(" in "))
    };
    let lines = || complaint.lines().filter(|line| !line.trim().is_empty());
    let first = |marks: &[&str]| lines().find(|line| marks.iter().any(|mark| line.contains(mark)));
    first(&NO_ROOM)
        .or_else(|| lines().skip_while(|line| !is_heading(line)).nth(1))
        .or_else(|| first(&MARKS))
        .or_else(|| lines().next_back())
        .map_or("it said nothing", str::trim)
}

/// Starts a parallel thread. Returns an error instead of a panic if no thread can be started.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, GuestError> {
    let thread = thread::Builder::new().spawn_scoped(scope, work);
    thread.map_err(|error| GuestError::UnexpectedOutput(format!("cannot start a thread: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_program_is_reported_with_its_last_line() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo a >&2; echo b >&2; exit 1"]);
        let programs = ProcessRunner::default();
        let error = programs.run(&mut command, "dash").unwrap_err();
        assert!(error.to_string().ends_with("failed: b"), "{error}");
        let mut missing = Command::new("no-such-program");
        let error = programs.run(&mut missing, "none").unwrap_err();
        assert!(error.to_string().contains("apt-get install none"), "{error}");
    }

    #[test]
    fn error_of_the_compiler_is_preferred_to_the_last_line() {
        let said = "make[1]: x\nsuper.c:7:1: error: no such thing\nmake: *** [all] Error 2\n";
        assert_eq!(reason(said), "super.c:7:1: error: no such thing");
        assert_eq!(
            reason("/bin/sh: 1: gcc-12: not found\nmake: *** Error 127"),
            "/bin/sh: 1: gcc-12: not found"
        );
        let full = "x.c:7:1: error: y\ncc1: No space left on device\nmake: *** Error 1";
        assert_eq!(reason(full), "cc1: No space left on device");
        let configured = "configure: error: in '/t':\nconfigure: error: no working compiler\nSee x";
        assert_eq!(reason(configured), "configure: error: no working compiler");
        let indented = "configure: error: \n\t*** Unable to build an empty module.\n\n";
        assert_eq!(reason(indented), "*** Unable to build an empty module.");
        assert_eq!(reason("\n"), "it said nothing");
    }

    #[test]
    fn output_is_delivered_line_by_line() {
        let mut heard = Vec::new();
        let mut command = Command::new("printf");
        command.arg("one\ntwo");
        let mut hear = |line: &str| heard.push(line.to_owned());
        let programs = ProcessRunner::default();
        programs.run_lines(&mut command, "coreutils", &mut hear).unwrap();
        assert_eq!(heard, ["one", "two"]);
    }

    #[test]
    fn a_line_without_an_end_is_an_error() {
        let mut command = Command::new("sh");
        command.args(["-c", "exec tr '\\n' x </dev/zero"]);
        let error = ProcessRunner::default().run(&mut command, "coreutils").unwrap_err();
        assert!(error.to_string().contains("a line is longer than 16 MiB"), "{error}");
    }

    #[test]
    fn a_filter_whose_output_never_ends_is_an_error() {
        let mut command = Command::new("yes");
        let error = ProcessRunner::default().filter(&mut command, "coreutils", b"").unwrap_err();
        assert!(error.to_string().contains("it is longer than 512 MiB"), "{error}");
    }

    #[test]
    fn pipeline_passes_data_and_collects_all_errors() {
        let steps = |scripts: [&str; 2]| {
            scripts.map(|script| {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                (command, "dash")
            })
        };
        let programs = ProcessRunner::default();
        let ended = programs.pipe(steps(["echo a", "grep -q a"])).unwrap();
        assert_eq!(ended, ([true, true], "it said nothing".to_owned()));
        let ended = programs.pipe(steps(["echo b; echo bad >&2; exit 1", "cat"]));
        assert_eq!(ended.unwrap(), ([false, true], "bad".to_owned()));
    }

    #[test]
    fn interrupt_ends_a_program_and_prevents_further_starts() {
        let stop = Arc::new(AtomicBool::new(false));
        let programs = ProcessRunner::new(&stop).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo; sleep 600; true"]);
        let heard = programs.run_lines(&mut command, "dash", &mut |_| {
            stop.store(true, Ordering::Relaxed);
        });
        assert!(matches!(heard, Err(GuestError::Interrupted { .. })));
        let next = programs.run(&mut Command::new("true"), "coreutils");
        assert!(matches!(next, Err(GuestError::Interrupted { .. })));
    }
}
