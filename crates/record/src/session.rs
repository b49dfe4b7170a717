//! A recording from the start of its command to the end of its last process.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use model::Nanos;
use nix::unistd::Pid;
use sys::ptrace::{self, Resume, Stop};
use thiserror::Error;
use trace::{OpenFlags, SyncEvent, Syscall, Trace, TraceHeader, TracedKind};

use crate::descriptors::ALL_MEMORY;
use crate::files::{HeldFile, RecordedFiles};
use crate::filter;
use crate::interruption::Interruption;
use crate::log::Who;
use crate::mappings::Memory;
use crate::recorder::{Caller, Recorder, Standing, TracedProcess};
use crate::then::Then;
use crate::tidy::tidy;
use crate::tree;

/// Limitation: programs in the recorded directory.
const PROGRAM: &str =
    "Programs below the directory were run: how the kernel read them is not in the trace.";
/// Limitation: order between the threads of a process.
const THREADS: &str = "Order between the threads of a process (futex) is recorded only if they communicate through pipes, sockets or file locks.";
/// Processes that still ran when the command had ended.
const KILLED: &str = "Processes that the command left behind were killed.";

/// Result of a recording.
#[derive(Debug)]
pub struct Recording {
    /// Recorded operations.
    pub trace: Trace,
    /// Exit status of the command.
    pub ending: Ending,
}

/// Exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The command exited with this code.
    Code(i32),
    /// The command was killed by this signal.
    Signal(i32),
}

/// Reason why a recording failed.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The directory could not be read.
    #[error("cannot read {directory}: {error}; name a directory with --below")]
    Directory {
        /// The directory.
        directory: String,
        /// Why.
        error: io::Error,
    },
    /// The command could not be started.
    #[error("cannot run {program}: {error}")]
    Command {
        /// Its program.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// The processes could not be traced.
    #[error("cannot trace a process here: {0}; ptrace has to be allowed")]
    Tracing(#[from] io::Error),
}

/// Runs a command and records its operations below a directory. If processes remain when the
/// command has ended, calls `left` once with their number and waits for them.
///
/// # Errors
/// Returns an error if the directory cannot be read, the command cannot be started, or processes
/// cannot be traced. The failure of the command is not an error.
pub fn record(
    command: &[OsString],
    below: &Path,
    left: &mut dyn FnMut(usize),
) -> Result<Recording, RecordError> {
    let unreadable =
        |error| RecordError::Directory { directory: below.display().to_string(), error };
    let top = below.canonicalize().map_err(unreadable)?;
    let mut recorder = Recorder::new(top.as_os_str().as_bytes());
    let unseen = &mut recorder.log.unseen;
    let before = tree::entries(&top, &mut recorder.resolver.paths, unseen).map_err(unreadable)?;
    for entry in &before {
        match entry.kind {
            TracedKind::Symlink(_) => recorder.resolver.links_below = true,
            TracedKind::Pipe => {
                let channel = recorder.orders.channel();
                recorder.named_pipes.insert(entry.path, channel);
            }
            _ => {}
        }
    }
    let mut session = RecordingSession::start(recorder, command)?;
    let ending = session.follow(left)?;
    if let Some(error) = session.started.take().and_then(ptrace::Started::fault) {
        let program = command.first().map(|program| program.to_string_lossy());
        return Err(RecordError::Command {
            program: program.unwrap_or_default().into_owned(),
            error,
        });
    }
    let mut recorder = session.recorder;
    let paths = &mut recorder.resolver.paths;
    let after = tree::entries(&top, paths, &mut recorder.log.unseen).map_err(unreadable)?;
    let words = command.iter().map(|word| word.to_string_lossy().into_owned());
    let about = TraceHeader {
        command: words.collect(),
        recorder: concat!("fsarena ", env!("CARGO_PKG_VERSION")).to_owned(),
        system: system(),
        anonymised: false,
        elsewhere: recorder.log.elsewhere,
        limitations: recorder.log.unseen.iter().map(|line| (*line).to_owned()).collect(),
    };
    let trace = Trace {
        header: about,
        paths: recorder.resolver.paths,
        before,
        operations: tidy(recorder.log.operations),
        after,
    };
    Ok(Recording { trace, ending })
}

/// Returns the name and version of the operating system, as reported by `uname`.
fn system() -> String {
    let Ok(names) = nix::sys::utsname::uname() else {
        return String::new();
    };
    let part = |part: &OsStr| part.to_string_lossy().into_owned();
    format!("{} {}", part(names.sysname()), part(names.release()))
}

struct RecordedTask {
    caller: Caller,
    /// Start of the current call, and its action on return.
    pending: Option<(Nanos, Then)>,
    has_left: bool,
}

struct RecordingSession {
    recorder: Recorder,
    started: Option<ptrace::Started>,
    first: Pid,
    tasks: HashMap<Pid, RecordedTask>,
    /// New threads that stopped before the clone event of their parent.
    early: HashSet<Pid>,
    threads: u32,
    processes: u32,
    interruption: Interruption,
}

impl RecordingSession {
    fn start(mut recorder: Recorder, command: &[OsString]) -> Result<Self, RecordError> {
        let words = command.iter().map(|word| CString::new(word.as_bytes()));
        let words: Vec<CString> = words.collect::<Result<_, _>>().map_err(io::Error::from)?;
        let filter = filter::program().map_err(io::Error::other)?;
        let interruption = Interruption::listen()?;
        let who = Who { process: 0, thread: 0 };
        let files = inherited(&mut recorder, who);
        let started = ptrace::start(&words, &filter)?;
        let first = started.pid;
        let standing = Standing { umask: own_umask(), ..Standing::default() };
        let caller = Caller {
            tid: first,
            who,
            process: Rc::new(TracedProcess {
                number: 0,
                pid: first,
                threads: RefCell::new(vec![0]),
                living: Cell::new(1),
            }),
            files: Rc::new(RefCell::new(files)),
            standing: Rc::new(RefCell::new(standing)),
            memory: Rc::default(),
        };
        let mut living = interruption.living();
        living.first = Some(first);
        living.all.insert(first);
        drop(living);
        let mut session = Self {
            recorder,
            started: Some(started),
            first,
            tasks: HashMap::new(),
            early: HashSet::new(),
            threads: 1,
            processes: 1,
            interruption,
        };
        session.add(caller);
        Ok(session)
    }

    fn add(&mut self, caller: Caller) {
        let task = RecordedTask { caller, pending: None, has_left: false };
        self.tasks.insert(task.caller.tid, task);
    }

    /// Follows all processes until the last one has ended. Returns the exit status of the first
    /// one.
    fn follow(&mut self, left: &mut dyn FnMut(usize)) -> io::Result<Ending> {
        let mut ending = Ending::Code(0);
        while let Some((tid, stop)) = ptrace::wait()? {
            match stop {
                Stop::Exited(_) | Stop::Killed(_) => {
                    self.gone(tid);
                    if tid == self.first {
                        ending = match stop {
                            Stop::Exited(code) => Ending::Code(code),
                            Stop::Killed(signal) => Ending::Signal(signal),
                            _ => unreachable!("only ends are here"),
                        };
                        let mut living = self.interruption.living();
                        living.first = None;
                        if !living.all.is_empty() {
                            left(living.all.len());
                        }
                    }
                }
                _ => self.stopped(tid, stop)?,
            }
        }
        if self.interruption.living().killed {
            self.recorder.log.unseen.insert(KILLED);
        }
        Ok(ending)
    }

    fn stopped(&mut self, tid: Pid, stop: Stop) -> io::Result<()> {
        if !self.tasks.contains_key(&tid) && stop != Stop::Exec {
            // The thread is resumed when the clone event of its parent arrives.
            self.early.insert(tid);
            return Ok(());
        }
        let (mut signal, mut how) = (0, None);
        match stop {
            Stop::Entry => self.enters(tid)?,
            Stop::Return => self.returns(tid)?,
            Stop::Clone => self.clones(tid)?,
            Stop::Exec => self.executes(tid)?,
            Stop::Exiting => self.leaves(tid),
            Stop::Group => how = Some(Resume::Listen),
            Stop::Signal(number) => signal = number,
            Stop::New | Stop::Exited(_) | Stop::Killed(_) => {}
        }
        let waits = |task: &RecordedTask| task.pending.is_some();
        let how = how.unwrap_or(match self.tasks.get(&tid).is_some_and(waits) {
            true => Resume::ToReturn,
            false => Resume::Run,
        });
        ptrace::resume(tid, how, signal)
    }

    fn enters(&mut self, tid: Pid) -> io::Result<()> {
        let Some(task) = self.tasks.get_mut(&tid) else {
            return Ok(());
        };
        let Some(entry) = survived(ptrace::entry(tid))? else {
            return Ok(());
        };
        let then = self.recorder.begins(&task.caller, &entry);
        // Operations recorded at the entry precede the call, and their time does not belong to it.
        let began = self.recorder.log.now();
        task.pending = then.map(|then| (began, then));
        Ok(())
    }

    fn returns(&mut self, tid: Pid) -> io::Result<()> {
        let Some(task) = self.tasks.get_mut(&tid) else {
            return Ok(());
        };
        let Some((began, then)) = task.pending.take() else {
            return Ok(());
        };
        if let Some(returned) = survived(ptrace::returned(tid))? {
            self.recorder.returns(&task.caller, began, then, returned);
        }
        Ok(())
    }

    /// Handles the creation of a thread or process.
    fn clones(&mut self, tid: Pid) -> io::Result<()> {
        let Some(new) = survived(ptrace::event_message(tid))? else {
            return Ok(());
        };
        let parent = self.tasks[&tid].caller.clone();
        let flags = survived(clone_flags(&parent))?.unwrap_or(0);
        let has = |flag: i32| flags & flag as u64 != 0;
        let thread = self.threads;
        self.threads += 1;
        let process = if has(libc::CLONE_THREAD) {
            self.recorder.log.unseen.insert(THREADS);
            let process = Rc::clone(&parent.process);
            process.threads.borrow_mut().push(thread);
            process.living.set(process.living.get() + 1);
            process
        } else {
            self.processes += 1;
            self.interruption.living().all.insert(new);
            Rc::new(TracedProcess {
                number: self.processes - 1,
                pid: new,
                threads: RefCell::new(vec![thread]),
                living: Cell::new(1),
            })
        };
        let who = Who { process: process.number, thread };
        let copy = |files: &RefCell<RecordedFiles>| Rc::new(RefCell::new(files.borrow().copy()));
        let caller = Caller {
            tid: new,
            who,
            process,
            files: match has(libc::CLONE_FILES) {
                true => Rc::clone(&parent.files),
                false => copy(&parent.files),
            },
            standing: match has(libc::CLONE_FS) {
                true => Rc::clone(&parent.standing),
                false => Rc::new(RefCell::new(parent.standing.borrow().clone())),
            },
            memory: match has(libc::CLONE_VM) {
                true => Rc::clone(&parent.memory),
                false => Rc::new(RefCell::new(parent.memory.borrow().copy())),
            },
        };
        let order = SyncEvent::Spawn { thread };
        self.recorder.log.push_order(parent.who, order);
        self.add(caller);
        if self.early.remove(&new) {
            ptrace::resume(new, Resume::Run, 0)?;
        }
        Ok(())
    }

    /// Handles an exec. The new program runs in the first thread, and all other threads have ended.
    fn executes(&mut self, tid: Pid) -> io::Result<()> {
        let former = survived(ptrace::event_message(tid))?.unwrap_or(tid);
        if former != tid {
            self.gone(tid);
            if let Some(mut task) = self.tasks.remove(&former) {
                task.caller.tid = tid;
                self.tasks.insert(tid, task);
                self.interruption.living().all.insert(tid);
            }
        }
        let Some(task) = self.tasks.get_mut(&tid) else {
            return Ok(());
        };
        let recorder = &mut self.recorder;
        drop_memory(recorder, &mut task.caller);
        let own = Rc::new(RefCell::new(task.caller.files.borrow().copy()));
        let shared = std::mem::replace(&mut task.caller.files, own);
        let caller = task.caller.clone();
        close_all(recorder, &caller, shared);
        let closed = caller.files.borrow().closed_by_exec();
        for number in closed {
            let held = caller.files.borrow_mut().remove(number);
            recorder.released(&caller, held);
        }
        let program = caller.link("exe").unwrap_or_default();
        if recorder.resolver.below(&program).is_some() {
            recorder.log.unseen.insert(PROGRAM);
        }
        Ok(())
    }

    /// Processes the exit of a thread, whose memory still exists.
    fn leaves(&mut self, tid: Pid) {
        let Some(task) = self.tasks.get_mut(&tid) else {
            return;
        };
        if std::mem::replace(&mut task.has_left, true) {
            return;
        }
        task.pending = None;
        drop_memory(&mut self.recorder, &mut task.caller);
        let files = std::mem::take(&mut task.caller.files);
        let caller = task.caller.clone();
        close_all(&mut self.recorder, &caller, files);
        let process = &caller.process;
        process.living.set(process.living.get() - 1);
        if process.living.get() == 0 {
            self.recorder.ended.insert(process.pid, Rc::clone(process));
        }
    }

    /// Handles the end of a thread.
    fn gone(&mut self, tid: Pid) {
        self.leaves(tid);
        self.early.remove(&tid);
        self.tasks.remove(&tid);
        self.interruption.living().all.remove(&tid);
    }
}

/// Releases a thread's memory. Records the touched pages if no other thread shares the memory.
fn drop_memory(recorder: &mut Recorder, caller: &mut Caller) {
    if Rc::strong_count(&caller.memory) == 1 {
        recorder.unmap(&caller.clone(), ALL_MEMORY);
    }
    caller.memory = Rc::new(RefCell::new(Memory::default()));
}

/// Closes all descriptors, unless another thread shares them.
fn close_all(recorder: &mut Recorder, caller: &Caller, files: Rc<RefCell<RecordedFiles>>) {
    let Some(files) = Rc::into_inner(files) else {
        return;
    };
    let mut files = files.into_inner();
    for number in files.numbers(0, i32::MAX) {
        let held = files.remove(number);
        recorder.released(caller, held);
    }
}

/// Returns the flags of the current `clone`, `clone3` or `vfork` of a thread. Source: clone(2).
fn clone_flags(caller: &Caller) -> io::Result<u64> {
    let (number, argument) = ptrace::call_inside(caller.tid)?;
    Ok(match number as i64 {
        libc::SYS_clone => argument,
        libc::SYS_clone3 => caller.numbers::<1>(argument).map_or(0, |[flags]| flags),
        libc::SYS_vfork => libc::CLONE_VM as u64,
        _ => 0,
    })
}

/// Returns `None` if a thread was killed while it was stopped. The end of the thread is reported
/// next.
fn survived<T>(asked: io::Result<T>) -> io::Result<Option<T>> {
    match asked {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the umask of this process. Format: proc_pid_status(5).
fn own_umask() -> u16 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    umask.and_then(|umask| u16::from_str_radix(umask.trim(), 8).ok()).unwrap_or(0o022)
}

/// Records the inherited descriptors that refer to files below the directory, such as a redirected
/// standard output, as if the command had opened them.
fn inherited(recorder: &mut Recorder, who: Who) -> RecordedFiles {
    let mut files = RecordedFiles::default();
    for number in 0..3 {
        let Some((real, position, flags)) = own_descriptor(number) else {
            continue;
        };
        let Some(path) = recorder.resolver.below(&real) else {
            continue;
        };
        let opening = recorder.new_opening(path, real, flags.has(OpenFlags::APPEND));
        opening.position.set(position);
        let call = Syscall::Open {
            path,
            flags: OpenFlags(flags.0 & !OpenFlags::CREATE & !OpenFlags::TRUNCATE),
            mode: 0,
            handle: Some(opening.handle),
        };
        let outcome = trace::SyscallResult::Ok(0);
        recorder.log.push(who, Nanos(0), call, outcome);
        files.insert(number, HeldFile::Opening(opening), false);
    }
    files
}

/// Returns the real path, position and flags of a descriptor of this process. Format:
/// proc_pid_fdinfo(5).
fn own_descriptor(number: i32) -> Option<(Vec<u8>, u64, OpenFlags)> {
    let real = fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
    let field = |name| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let flags = u32::from_str_radix(field("flags:")?, 8).ok()?;
    let real = real.as_os_str().as_bytes().to_vec();
    let flags = OpenFlags(flags & OpenFlags::KEPT);
    Some((real, field("pos:")?.parse().ok()?, flags))
}
