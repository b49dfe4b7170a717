//! Runs a command under strace and records its operations below a directory.

mod tree;

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, pipe2};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::{Origin, WithOrigin};
use storage::find_program;
use trace::{
    InheritedFile, OpenFlags, RecordingStart, STRACE_CALLS, Standing, StraceImporter, Surroundings,
    Trace,
};

use crate::output::exit::{EnvironmentError, UsageError};

/// Options of strace, except calls and output.
const STRACE: [&str; 8] = [
    "-f",
    "-q",
    "--seccomp-bpf",
    "-yy",
    "-s",
    "128",
    "--absolute-timestamps=unix,ns",
    "--syscall-times=ns",
];
/// Shell commands that kill all processes of a recording when their standard input ends, at the
/// latest when this process is killed. strace itself would let the processes continue.
const GUARD: &str = "read tracer; read end
while left=$(grep -ls \"^TracerPid:.$tracer\\$\" /proc/[0-9]*/status | cut -d/ -f3) && [ \"$left\" ]; do
    kill -KILL $left
done";
/// Time limit for a command to end after a signal to the recorder. A command that exceeds it is killed.
const GRACE: Duration = Duration::from_secs(1);
/// Limitation: processes that still ran when the command had ended.
const KILLED: &str = "Processes that the command left behind were killed.";

/// Result of a recording.
#[derive(Debug)]
pub struct Recording {
    /// Recorded operations.
    pub trace: Trace,
    /// Exit status of the command.
    pub status: ExitStatus,
}

/// Processes of a recording, for the thread that handles signals.
struct RecordedProgram {
    /// Process of the command, after its first call.
    command: Option<Pid>,
    /// True until the command has ended.
    lives: bool,
    /// True if a signal asked the command to end. Processes that it leaves behind are then killed.
    asked: bool,
    /// True if the remaining processes of the command were killed.
    killed: bool,
    guard: Child,
}

/// Runs a command and records its operations below a directory. If processes remain when the
/// command has ended, calls `left` once with their number and waits for them.
///
/// # Errors
/// Returns an error if the directory cannot be read, strace or the command cannot be started, or
/// processes cannot be traced. The failure of the command is not an error.
pub fn record(
    command: &[OsString],
    below: &Path,
    left: &mut dyn FnMut(usize),
) -> anyhow::Result<Recording> {
    let unreadable = |error: io::Error| {
        let below = below.display();
        UsageError(format!("cannot read {below}: {error}; name a directory with --below"))
    };
    let program = command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
    let not_run = |error: &str| UsageError(format!("cannot run {program}: {error}"));
    let top = below.canonicalize().map_err(unreadable)?;
    let Some(strace) = find_program("strace") else {
        let fix = "strace is not installed; apt install strace";
        return Err(EnvironmentError(format!("cannot record {program}: {fix}")).into());
    };
    if find_program(&program).is_none() {
        let exists = program.contains('/') && Path::new(&*program).exists();
        let error = if exists { nix::libc::EACCES } else { nix::libc::ENOENT };
        return Err(not_run(&io::Error::from_raw_os_error(error).to_string()).into());
    }
    let (mut paths, mut unseen) = (trace::PathInterner::default(), BTreeSet::new());
    let before = tree::entries(&top, &mut paths, &mut unseen).map_err(unreadable)?;
    let mut importer = StraceImporter::recording(
        RecordingStart {
            below: top.as_os_str().as_bytes().to_vec(),
            before,
            paths,
            standing: Standing {
                directory: Some(std::env::current_dir()?.into_os_string().into_vec()),
                root: Vec::new(),
                umask: own_umask(),
            },
            inherited: (0..3).filter_map(own_descriptor).collect(),
        },
        Box::new(Outside::default()),
    );
    let traced = Traced::start(&strace, command)?;
    let (mut is_traced, mut told) = (false, false);
    let mut lines = BufReader::new(&traced.output);
    let (mut line, mut error) = (Vec::new(), None);
    while lines.read_until(b'\n', &mut line)? > 0 {
        if !is_traced {
            let number = line.split(u8::is_ascii_whitespace).next();
            let number = number.and_then(|number| std::str::from_utf8(number).ok()?.parse().ok());
            traced.running().command = number.map(Pid::from_raw);
            is_traced = true;
        }
        // The pipe must be emptied even if a line is not understood.
        error = error.or(importer.line(line.trim_ascii()).err());
        line.clear();
        if !told && let Some(processes) = importer.left_behind() {
            told = true;
            traced.running().command_ended();
            if processes > 0 {
                left(processes);
            }
        }
    }
    drop(lines);
    let (status, killed) = traced.finish()?;
    if let Some(error) = importer.start_error() {
        return Err(not_run(error).into());
    }
    if !is_traced {
        let why = "strace failed; ptrace has to be allowed, and strace 5.10 or newer is needed";
        return Err(EnvironmentError(format!("cannot record {program}: {why}")).into());
    }
    if let Some(error) = error {
        let why = format!("cannot read the output of strace: {error}");
        return Err(EnvironmentError(why).into());
    }
    let after = tree::entries(&top, importer.paths(), &mut unseen).map_err(unreadable)?;
    let mut trace = importer.finish(Some(after));
    let words = command.iter().map(|word| word.to_string_lossy().into_owned());
    trace.header.command = words.collect();
    trace.header.recorder = concat!("fsarena ", env!("CARGO_PKG_VERSION"), " with strace").into();
    trace.header.system = system();
    let limits = unseen.into_iter().chain(killed.then_some(KILLED));
    trace.header.limitations.extend(limits.map(str::to_owned));
    Ok(Recording { trace, status })
}

/// A command that runs under strace.
struct Traced {
    /// Output of strace.
    output: File,
    waiter: thread::JoinHandle<io::Result<ExitStatus>>,
    running: Arc<Mutex<RecordedProgram>>,
    signals: signal_hook::iterator::Handle,
    listener: thread::JoinHandle<()>,
}

impl Traced {
    fn start(strace: &Path, command: &[OsString]) -> anyhow::Result<Self> {
        let (output, input) = pipe2(OFlag::O_CLOEXEC).context("cannot create a pipe")?;
        let mut signals = SignalsInfo::<WithOrigin>::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
        // In a separate group, which Ctrl-C does not end.
        let mut guard = Command::new("sh")
            .args(["-c", GUARD])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot run sh")?;
        let mut strace = Command::new(strace);
        strace.args(STRACE).args(["-e", STRACE_CALLS, "-o"]);
        strace.arg(format!("/proc/{}/fd/{}", std::process::id(), input.as_raw_fd()));
        let spawned = strace.arg("--").args(command).spawn().context("cannot run strace");
        let mut strace = spawned.inspect_err(|_| drop(guard.kill().and_then(|()| guard.wait())))?;
        if let Some(stdin) = &mut guard.stdin {
            writeln!(stdin, "{}", strace.id())?;
        }
        let running =
            RecordedProgram { command: None, lives: true, asked: false, killed: false, guard };
        let running = Arc::new(Mutex::new(running));
        // strace opens the pipe once more. It ends when both are closed.
        let waiter = thread::spawn(move || {
            let status = strace.wait();
            drop(input);
            status
        });
        let shared = Arc::clone(&running);
        let handle = signals.handle();
        let listener =
            thread::spawn(move || signals.forever().for_each(|origin| pass(&shared, &origin)));
        Ok(Self { output: output.into(), waiter, running, signals: handle, listener })
    }

    fn running(&self) -> MutexGuard<'_, RecordedProgram> {
        lock(&self.running)
    }

    /// Returns the exit status of the command, and whether processes were killed.
    fn finish(self) -> anyhow::Result<(ExitStatus, bool)> {
        let status = self.waiter.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?;
        self.signals.close();
        // The thread only forwards signals and has no result.
        let _ = self.listener.join();
        let mut running = lock(&self.running);
        // The guard has nothing left to kill.
        let _ = running.guard.kill().and_then(|()| running.guard.wait());
        Ok((status.context("cannot wait for strace")?, running.killed))
    }
}

/// Handles a signal. Ctrl-C reaches the command directly, like all processes in the terminal's
/// foreground. A signal of another process is forwarded, and processes that the command leaves
/// behind are then killed, like a command that ignores it. After the end of the command, or before
/// its start, a signal kills its processes.
fn pass(running: &Arc<Mutex<RecordedProgram>>, origin: &Origin) {
    let signal = origin.signal;
    let is_key = origin.process.is_none() && [SIGINT, SIGQUIT].contains(&signal);
    let mut locked = lock(running);
    match locked.command {
        _ if locked.lives && is_key => {}
        Some(command) if locked.lives => {
            // Errors are ignored: the process may just have ended.
            let _ = kill(command, Signal::try_from(signal).ok());
            if !std::mem::replace(&mut locked.asked, true) {
                let running = Arc::clone(running);
                thread::spawn(move || {
                    thread::sleep(GRACE);
                    lock(&running).kill_rest();
                });
            }
        }
        _ => locked.kill_rest(),
    }
}

fn lock(running: &Mutex<RecordedProgram>) -> MutexGuard<'_, RecordedProgram> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RecordedProgram {
    fn command_ended(&mut self) {
        self.lives = false;
        if self.asked {
            self.kill_rest();
        }
    }

    fn kill_rest(&mut self) {
        self.killed = true;
        drop(self.guard.stdin.take());
    }
}

/// Returns the exit code that a shell would report for a command.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// Files outside the recorded directory. Caches which paths are not links.
#[derive(Default)]
struct Outside(HashSet<Vec<u8>>);

impl Surroundings for Outside {
    fn link(&mut self, path: &[u8]) -> Option<Vec<u8>> {
        // `/proc/self` would refer to this process.
        if path.starts_with(b"/proc/") || self.0.contains(path) {
            return None;
        }
        match nix::fcntl::readlink(OsStr::from_bytes(path)) {
            Ok(text) => Some(text.into_vec()),
            Err(error) => {
                if error == nix::errno::Errno::EINVAL {
                    self.0.insert(path.to_vec());
                }
                None
            }
        }
    }

    fn file(&self, path: &[u8]) -> Option<(u64, u16)> {
        let found = fs::symlink_metadata(OsStr::from_bytes(path)).ok()?;
        found.is_file().then(|| (found.len(), (found.mode() & 0o7777) as u16))
    }
}

/// Returns the name and version of the operating system, as reported by `uname`.
fn system() -> String {
    let Ok(names) = nix::sys::utsname::uname() else {
        return String::new();
    };
    let part = |part: &OsStr| part.to_string_lossy().into_owned();
    format!("{} {}", part(names.sysname()), part(names.release()))
}

/// Returns the umask of this process. Format: proc_pid_status(5).
fn own_umask() -> u16 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    umask.and_then(|umask| u16::from_str_radix(umask.trim(), 8).ok()).unwrap_or(0o022)
}

/// Returns the file of a descriptor of this process. Format: proc_pid_fdinfo(5).
fn own_descriptor(descriptor: i32) -> Option<InheritedFile> {
    let path = fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()?;
    let field = |name| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let flags = u32::from_str_radix(field("flags:")?, 8).ok()?;
    let made = OpenFlags::CREATE | OpenFlags::TRUNCATE;
    Some(InheritedFile {
        descriptor,
        path: path.into_os_string().into_vec(),
        flags: OpenFlags(flags & OpenFlags::KEPT & !made),
        position: field("pos:")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_of_a_signal_is_as_in_a_shell() {
        assert_eq!(exit_code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
    }
}
