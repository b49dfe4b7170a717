//! Follows the threads of a recorded program: their directories, and which thread started or awaited
//! which.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;
use std::rc::Rc;

use model::Nanos;

use super::descriptors::{Held, SharedTable};
use super::fs_model::FsModel;
use super::line::{ParsedCall, RecordingLine, descriptor, has, number};
use super::log_text::{self, MESSAGE, RecordingClock};
use super::messages::Channel;
use super::recording::{RecordingStart, Surroundings};
use super::tidy::tidy;
use super::{MAX_PATHS, TOO_MANY_PATHS, TraceImportError, calls, lines};
use crate::format::MAX_OPERATIONS;
use crate::paths::PathInterner;
use crate::trace::{
    Errno, SyncEvent, Syscall, SyscallResult, Trace, TraceHeader, TraceRecord, TreeEntry,
};

/// Limitation: order that only the calls of `SyncEvent` would show.
const ORDER: &str = "Order between threads is recorded only through starts, waits, pipes and local sockets: not through file locks, the network, shared memory and futexes.";
/// Limitation: a log that ends within a line.
const CUT: &str = "The last line is cut off, and its call is missing.";
/// Limitation: threads whose start is not in the log.
const STARTS: &str = "The start of some processes is not in the log.";

/// View of the filesystem of a process, or of several processes that share it.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Working directory, if known.
    pub directory: Option<Vec<u8>>,
    /// Root directory; empty for the root of the system.
    pub root: Vec<u8>,
    /// Permissions that are removed from new files.
    pub umask: u16,
}

/// A recorded thread.
pub struct Task {
    pub(super) number: u32,
    process: u32,
    pub(super) table: SharedTable,
    pub standing: Rc<RefCell<Standing>>,
    /// Start time and text so far of an unfinished call.
    unfinished: Option<(u64, Vec<u8>)>,
    /// Thread that an unfinished call has started. It may end before the call returns.
    child: Option<u32>,
    /// Whether the end of the thread was recorded.
    ended: bool,
    /// Start of the thread's last operation.
    latest: u64,
    /// Number of operations that other threads may depend on.
    pub(super) acted: u64,
}

/// Threads of a process.
#[derive(Default)]
struct ProcessThreads {
    /// Their kernel numbers.
    tasks: BTreeSet<u32>,
    /// Threads whose end was not recorded.
    running: usize,
}

/// Lines of a thread, each with its time.
type HeldLines = Vec<(u64, Vec<u8>)>;

/// Numbers of lines and their bytes.
type ReplayedLines = std::vec::IntoIter<(u64, Vec<u8>)>;

/// An import of strace's output, line by line.
pub struct StraceImporter {
    pub(super) below: Option<Vec<u8>>,
    pub(super) paths: PathInterner,
    pub(super) world: FsModel,
    pub(super) surroundings: Box<dyn Surroundings>,
    start: RecordingStart,
    tasks: HashMap<u32, Task>,
    members: BTreeMap<u32, ProcessThreads>,
    /// Threads with an unfinished call that starts another one.
    starting: BTreeSet<u32>,
    /// Lines of threads whose parent is not known yet.
    early: BTreeMap<u32, HeldLines>,
    /// Lines of threads whose parent has become known, the first ones last.
    replayed: Vec<(u32, ReplayedLines)>,
    /// Number of descriptors that were copied.
    pub(super) copied: usize,
    /// Reason to refuse the current line.
    pub(super) refused: Option<&'static str>,
    pub(super) clock: RecordingClock,
    /// Beginning of a call whose line a message of strace interrupted.
    interrupted: Option<Vec<u8>>,
    pub(super) operations: Vec<TraceRecord>,
    began: Option<u64>,
    threads: u32,
    processes: u32,
    pub(super) handles: u32,
    pub(super) messages: u32,
    pub(super) channels: HashMap<Vec<u8>, Channel>,
    pub(super) elsewhere: u64,
    pub(super) unseen: BTreeSet<&'static str>,
    /// True if the last thread of the first process has ended.
    first_ended: bool,
    /// Result of the first attempts to execute the command: the last error, if none succeeded.
    pub(super) started: Option<Result<(), String>>,
}

/// A call with its thread and time.
pub struct CallContext<'a> {
    pub task: u32,
    pub at: u64,
    pub duration: u64,
    /// Time of the return.
    pub end: u64,
    pub call: ParsedCall<'a>,
}

/// Imports the output of strace.
pub fn import(text: &[u8], below: Option<&[u8]>) -> Result<Trace, TraceImportError> {
    let mut importer = StraceImporter::new(below);
    importer.clock.is_relative = RecordingClock::is_relative(text);
    let mut whole = text;
    if log_text::is_cut(text) {
        importer.unseen.insert(CUT);
        let end = text.iter().rposition(|byte| *byte == b'\n');
        whole = &text[..end.unwrap_or(text.len())];
    }
    for (number, text) in lines(whole) {
        if log_text::is_blktrace(text) {
            let message =
                "blktrace records requests to a device; a trace needs the calls of strace";
            return Err(TraceImportError { line: number, message: message.to_owned() });
        }
        importer.line(text).map_err(|what| TraceImportError {
            line: number,
            message: match what.contains("; ") {
                true => what.to_owned(),
                false => {
                    format!("{what}; record with `strace -f -ttt -T -y -s 256 -o FILE COMMAND`")
                }
            },
        })?;
    }
    let first = |message: &str| TraceImportError { line: 1, message: message.into() };
    match (importer.began, &importer.below) {
        (None, _) => Err(first("there is nothing in it")),
        (_, None) => {
            Err(first("the working directory of the program is unknown: give --below DIR"))
        }
        _ => Ok(importer.finish(None)),
    }
}

impl StraceImporter {
    /// Starts an import of a log whose directory is known only from the calls in it.
    fn new(below: Option<&[u8]>) -> Self {
        let start = RecordingStart {
            standing: Standing { umask: 0o022, ..Standing::default() },
            ..RecordingStart::default()
        };
        Self {
            below: below.map(|path| calls::normalize_path(b"/", path)),
            paths: PathInterner::default(),
            world: FsModel::new(),
            surroundings: Box::new(()),
            start,
            tasks: HashMap::new(),
            members: BTreeMap::new(),
            starting: BTreeSet::new(),
            early: BTreeMap::new(),
            replayed: Vec::new(),
            copied: 0,
            refused: None,
            clock: RecordingClock::default(),
            interrupted: None,
            operations: Vec::new(),
            began: None,
            threads: 0,
            processes: 0,
            handles: 0,
            messages: 0,
            channels: HashMap::new(),
            elsewhere: 0,
            unseen: BTreeSet::new(),
            first_ended: false,
            started: None,
        }
    }

    /// Starts the import of a running recording.
    pub fn recording(mut start: RecordingStart, surroundings: Box<dyn Surroundings>) -> Self {
        let mut importer = Self::new(Some(&start.below));
        importer.world = FsModel::with_entries(&start.paths, &start.before);
        importer.paths = mem::take(&mut start.paths);
        importer.surroundings = surroundings;
        importer.start = start;
        importer
    }

    /// Imports the next line.
    ///
    /// # Errors
    /// Returns the reason if it is not a line of strace, or if the recording is too large.
    pub fn line(&mut self, text: &[u8]) -> Result<(), &'static str> {
        let joined;
        let mut text = text;
        if log_text::is_message(text) {
            return Ok(());
        }
        if let Some(at) = text.windows(MESSAGE.len()).position(|window| window == MESSAGE)
            && RecordingLine::read(text).is_ok_and(|line| ParsedCall::read(line.rest).is_none())
        {
            self.interrupted = Some(text[..at].to_vec());
            return Ok(());
        }
        if let Some(begun) = self.interrupted.take_if(|_| RecordingLine::read(text).is_err()) {
            joined = [&begun, text].concat();
            text = &joined;
        }
        let mut line = RecordingLine::read(text)?;
        line.at = self.clock.absolute(&line);
        self.take(&line);
        self.replay();
        match self.refused.take() {
            Some(why) => Err(why),
            None if self.operations.len() > MAX_OPERATIONS => {
                Err("it has more operations than a trace can have; record a part")
            }
            None if self.paths.len() > MAX_PATHS => Err(TOO_MANY_PATHS),
            None => Ok(()),
        }
    }

    /// Takes the lines of threads whose parent has become known.
    fn replay(&mut self) {
        while let Some((task, lines)) = self.replayed.last_mut() {
            let task = *task;
            match lines.next() {
                Some((at, rest)) => {
                    self.take(&RecordingLine { task, at, is_of_day: false, rest: &rest });
                }
                None => _ = self.replayed.pop(),
            }
        }
    }

    /// Takes a line with its absolute time.
    fn take(&mut self, line: &RecordingLine<'_>) {
        if self.tasks.get(&line.task).is_none_or(|task| task.ended) {
            if self.starting.len() > 1 || self.early.contains_key(&line.task) {
                let lines = self.early.entry(line.task).or_default();
                lines.push((line.at, line.rest.to_vec()));
                return;
            }
            self.began.get_or_insert(line.at);
            match self.starting.first().copied() {
                Some(parent) => {
                    let call = self.task(parent).unfinished.clone();
                    let (_, flags) = call.unwrap_or_default();
                    self.start(parent, line.task, line.at, &flags);
                    self.task_mut(parent).child = Some(line.task);
                }
                None => self.meet(line.task, line.at),
            }
        }
        self.follow(line);
    }

    /// Returns the number of running processes, once the first one has ended.
    pub fn left_behind(&self) -> Option<usize> {
        self.first_ended
            .then(|| self.members.values().filter(|process| process.running > 0).count())
    }

    /// Returns the error with which the command could not be executed.
    pub fn start_error(&self) -> Option<&str> {
        self.started.as_ref()?.as_ref().err().map(String::as_str)
    }

    fn follow(&mut self, line: &RecordingLine<'_>) {
        let what = line.rest;
        if what.starts_with(b"+++") {
            self.end(line.task, line.at, what);
        } else if what.starts_with(b"---") {
            // A signal.
        } else if what.starts_with(b"exit") {
            // A reader of a pipe may see its end before the end of this thread is shown.
            self.leave(line.task, line.at);
        } else if let Some(begun) = what.strip_suffix(b"<unfinished ...>") {
            let begun = begun.trim_ascii_end();
            self.begin(line.task, line.at, begun);
            self.set_unfinished(line.task, Some((line.at, begun.to_vec())));
        } else if what.starts_with(b"<... ") {
            let resumed = b"resumed>";
            let at = what.windows(resumed.len()).position(|window| window == resumed);
            let begun = self.set_unfinished(line.task, None);
            if let (Some(at), Some((began, mut text))) = (at, begun) {
                text.extend_from_slice(&what[at + resumed.len()..]);
                self.call(line.task, began, Some(line.at.max(began)), &text);
            }
        } else {
            self.call(line.task, line.at, None, what);
        }
    }

    /// Handles the start of a call that passes data or the end of a pipe, because a reader may get it
    /// before the call returns.
    fn begin(&mut self, task: u32, at: u64, text: &[u8]) {
        let whole = [text, b") = 0"].concat();
        let Some(said) = ParsedCall::read(&whole) else { return };
        let argument = said.argument(0);
        if text.starts_with(b"write") || text.starts_with(b"send") {
            if let Some(channel) = self.channel(argument, true) {
                self.sent(task, at, channel);
            }
        } else if text.starts_with(b"close(")
            && let Some((number, _)) = descriptor(argument)
            && matches!(self.held(task, number), Some(Held::Pipe(_)))
        {
            self.close(task, at, 0, number);
        }
    }

    fn call(&mut self, task: u32, at: u64, end: Option<u64>, text: &[u8]) {
        if let Some(said) = ParsedCall::read(text) {
            let duration = said.duration.unwrap_or(end.unwrap_or(at) - at);
            let end = end.unwrap_or(at.saturating_add(duration));
            calls::follow(self, &CallContext { task, at, duration, end, call: said });
        }
    }

    pub(super) fn task(&self, task: u32) -> &Task {
        &self.tasks[&task]
    }

    pub(super) fn task_mut(&mut self, task: u32) -> &mut Task {
        self.tasks.get_mut(&task).expect("each line's thread is met first")
    }

    /// Sets the unfinished call of a thread. Returns the one before.
    fn set_unfinished(
        &mut self,
        task: u32,
        call: Option<(u64, Vec<u8>)>,
    ) -> Option<(u64, Vec<u8>)> {
        let starts = |text: &[u8]| {
            [&b"clone"[..], b"fork", b"vfork"].iter().any(|name| text.starts_with(name))
        };
        match call.as_ref().is_some_and(|(_, text)| starts(text)) {
            true => self.starting.insert(task),
            false => self.starting.remove(&task),
        };
        mem::replace(&mut self.task_mut(task).unfinished, call)
    }

    /// Adds a thread that no known thread has started. The first one is the command.
    fn meet(&mut self, task: u32, at: u64) {
        let is_first = self.threads == 0;
        if !is_first {
            self.unseen.insert(STARTS);
        }
        self.processes += 1;
        let standing = Rc::new(RefCell::new(self.start.standing.clone()));
        self.add(task, self.processes - 1, Rc::default(), standing);
        for file in mem::take(&mut self.start.inherited) {
            calls::inherit(self, task, at, &file);
        }
    }

    fn add(
        &mut self,
        task: u32,
        process: u32,
        table: SharedTable,
        standing: Rc<RefCell<Standing>>,
    ) {
        self.forget(task);
        let number = self.threads;
        self.threads += 1;
        let new = Task {
            number,
            process,
            table,
            standing,
            unfinished: None,
            child: None,
            ended: false,
            latest: 0,
            acted: 0,
        };
        self.tasks.insert(task, new);
        let members = self.members.entry(process).or_default();
        members.tasks.insert(task);
        members.running += 1;
    }

    /// Removes a thread, whose number may be used again.
    fn forget(&mut self, task: u32) -> Option<Task> {
        let known = self.tasks.remove(&task)?;
        self.starting.remove(&task);
        if let Some(members) = self.members.get_mut(&known.process) {
            members.tasks.remove(&task);
            members.running -= usize::from(!known.ended);
            if members.tasks.is_empty() {
                self.members.remove(&known.process);
            }
        }
        Some(known)
    }

    /// Records that a thread has started another, whose number is known.
    pub(super) fn start(&mut self, parent: u32, child: u32, at: u64, flags: &[u8]) {
        let is_met = self.task_mut(parent).child.take() == Some(child);
        if is_met || self.tasks.get(&child).is_some_and(|task| !task.ended) {
            return;
        }
        self.unseen.insert(ORDER);
        let from = self.task(parent);
        let table = match has(flags, "CLONE_FILES") {
            true => Rc::clone(&from.table),
            false => Rc::new(RefCell::new(Rc::clone(&from.table.borrow()))),
        };
        let standing = match has(flags, "CLONE_FS") {
            true => Rc::clone(&from.standing),
            false => Rc::new(RefCell::new(from.standing.borrow().clone())),
        };
        let process = match has(flags, "CLONE_THREAD") {
            true => from.process,
            false => {
                self.processes += 1;
                self.processes - 1
            }
        };
        self.add(child, process, table, standing);
        let thread = self.task(child).number;
        self.order(parent, at, SyncEvent::Spawn { thread });
        let lines = self.early.remove(&child);
        self.replayed.extend(lines.map(|lines| (child, lines.into_iter())));
    }

    /// Records that a thread has waited for the end of a process.
    pub(super) fn process_reaped(&mut self, task: u32, at: u64, child: u32) {
        let Some(process) = self.tasks.get(&child).filter(|child| child.ended) else {
            return;
        };
        let members = self.members.get(&process.process);
        let members: Vec<u32> = members.into_iter().flat_map(|all| &all.tasks).copied().collect();
        let threads: BTreeSet<u32> = members.iter().map(|task| self.task(*task).number).collect();
        for thread in threads {
            self.order(task, at, SyncEvent::Join { thread });
        }
        for member in members {
            self.forget(member);
        }
    }

    pub(super) fn order(&mut self, task: u32, at: u64, order: SyncEvent) {
        self.push(task, at, 0, Syscall::Order(order), SyscallResult::Ok(0));
    }

    /// Adds an operation and returns its index.
    pub(super) fn push(
        &mut self,
        task: u32,
        at: u64,
        took: u64,
        call: Syscall,
        outcome: SyscallResult,
    ) -> usize {
        let from = self.began.unwrap_or(at);
        let task = self.task_mut(task);
        // Operations of a thread keep their order, although clocks are adjusted.
        task.latest = task.latest.max(at);
        let tells =
            matches!(call, Syscall::Order(SyncEvent::Send { .. } | SyncEvent::Spawn { .. }));
        task.acted += u64::from(!tells);
        let operation = TraceRecord {
            process: task.process,
            thread: task.number,
            began: Nanos(task.latest.saturating_sub(from)),
            duration: Nanos(took),
            call,
            outcome,
        };
        self.operations.push(operation);
        self.operations.len() - 1
    }

    /// Adds a call with its result.
    pub(super) fn done(
        &mut self,
        made: &CallContext<'_>,
        call: Syscall,
        outcome: SyscallResult,
    ) -> usize {
        self.push(made.task, made.at, made.duration, call, outcome)
    }

    /// Adds a failed call.
    pub(super) fn failed(&mut self, made: &CallContext<'_>, call: Syscall, errno: Errno) {
        self.done(made, call, SyscallResult::Err(errno));
    }

    /// Records the end of a thread. If another thread executes a program, it gets the number of the
    /// first one.
    fn end(&mut self, task: u32, at: u64, what: &[u8]) {
        let by = what.strip_prefix(b"+++ superseded by execve in pid ");
        let by = by.and_then(|text| text.split(|byte| !byte.is_ascii_digit()).next());
        let by = by.and_then(number).filter(|by| *by != task);
        if let Some(other) = by.and_then(|by| self.forget(by)) {
            self.task_mut(task).number = other.number;
            self.set_unfinished(task, other.unfinished);
            return;
        }
        self.leave(task, at);
        let ended = self.task_mut(task);
        ended.ended = true;
        ended.table = Rc::default();
        let process = ended.process;
        if let Some(members) = self.members.get_mut(&process) {
            members.running -= 1;
            self.first_ended |= process == 0 && members.running == 0;
        }
    }

    /// Returns the paths to which entries of the tree refer.
    pub fn paths(&mut self) -> &mut PathInterner {
        &mut self.paths
    }

    /// Finishes the import. A recording provides the tree after it.
    pub fn finish(mut self, after: Option<Vec<TreeEntry>>) -> Trace {
        while let Some((task, lines)) = self.early.pop_first() {
            for parent in mem::take(&mut self.starting) {
                self.task_mut(parent).unfinished = None;
            }
            self.replayed.push((task, lines.into_iter()));
            self.replay();
        }
        let said = ["What the kernel read ahead and when it wrote back is not in the trace."];
        let below = self.below.unwrap_or_default();
        let (before, after) = match after {
            Some(after) => (self.start.before, after),
            None => (self.world.before(), self.world.after(&mut self.paths)),
        };
        Trace {
            header: TraceHeader {
                command: vec![format!("below {}", String::from_utf8_lossy(&below))],
                recorder: "strace".into(),
                elsewhere: self.elsewhere,
                limitations: said.into_iter().chain(self.unseen).map(str::to_owned).collect(),
                ..TraceHeader::default()
            },
            before,
            after,
            paths: self.paths,
            operations: tidy(self.operations),
        }
    }
}

/// Returns the process number in the result of `wait4` and similar calls.
pub fn waited_for(said: &ParsedCall<'_>) -> Option<u32> {
    match said.name {
        b"waitid" => {
            let text = said.argument(2);
            let at = text.windows(7).position(|window| window == b"si_pid=")?;
            let digits = text[at + 7..].split(|byte| !byte.is_ascii_digit()).next()?;
            number(digits)
        }
        _ => said.returned.and_then(|number| u32::try_from(number).ok()).filter(|n| *n > 0),
    }
}
