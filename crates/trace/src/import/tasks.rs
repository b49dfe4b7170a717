//! Follows the threads of a recorded program: their directories, their descriptors, and which
//! thread started or awaited which.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use model::Nanos;

use super::fs_model::{FsModel, Inode};
use super::line::{Line, ParsedCall, descriptor, has, number};
use super::{TraceImportError, calls, lines};
use crate::paths::{PathId, PathInterner};
use crate::trace::{
    Errno, HandleId, SyncEvent, Syscall, SyscallResult, Trace, TraceHeader, TraceRecord,
};

/// An open file, shared by all descriptors that refer to it.
#[derive(Debug)]
pub struct OpenDescription {
    pub handle: HandleId,
    pub path: PathId,
    pub node: Inode,
    pub position: u64,
    pub appends: bool,
    /// Operation that currently lists the directory.
    pub listing: Option<usize>,
    descriptors: usize,
}

/// Descriptors of a process, each with its close-on-exec flag.
type TaskTable = HashMap<i32, (Rc<RefCell<OpenDescription>>, bool)>;

/// Attributes that tasks share with `CLONE_FS`.
#[derive(Clone)]
pub struct Standing {
    pub directory: RefCell<Option<Vec<u8>>>,
    /// Permission bits that are removed from new files.
    pub umask: Cell<u16>,
}

/// A recorded thread.
pub struct Task {
    pub number: u32,
    process: u32,
    pub table: Rc<RefCell<TaskTable>>,
    pub standing: Rc<Standing>,
    /// Start time and text so far of an unfinished call.
    unfinished: Option<(u64, Vec<u8>)>,
    /// Whether the end of the thread was recorded.
    ended: bool,
}

/// Umask of the first process, which strace does not print.
const INITIAL_UMASK: u16 = 0o022;

/// State of the import at a line.
pub struct Importer {
    pub below: Option<Vec<u8>>,
    pub paths: PathInterner,
    pub world: FsModel,
    tasks: HashMap<u32, Task>,
    pub operations: Vec<TraceRecord>,
    began: Option<u64>,
    processes: u32,
    pub handles: u32,
    messages: u32,
    /// Last message in each pipe.
    pipes: HashMap<Vec<u8>, u32>,
    pub elsewhere: u64,
    pub unseen: BTreeSet<&'static str>,
}

/// A call with its thread and time.
pub struct CallContext<'a> {
    pub task: u32,
    pub at: u64,
    pub duration: u64,
    pub call: ParsedCall<'a>,
}

/// Imports the output of strace.
pub fn import(text: &[u8], below: Option<&[u8]>) -> Result<Trace, TraceImportError> {
    let mut importer = Importer {
        below: below.map(|path| calls::normalize_path(b"/", path)),
        paths: PathInterner::default(),
        world: FsModel::new(),
        tasks: HashMap::new(),
        operations: Vec::new(),
        began: None,
        processes: 0,
        handles: 0,
        messages: 0,
        pipes: HashMap::new(),
        elsewhere: 0,
        unseen: BTreeSet::new(),
    };
    let mut read = 0;
    for (number, text) in lines(text) {
        let line = Line::read(text).map_err(|what| TraceImportError {
            line: number,
            message: format!("{what}: record with `strace -f -ttt -T -y -s 256 -o FILE COMMAND`"),
        })?;
        importer.line(&line);
        read += 1;
    }
    match (read, &importer.below) {
        (0, _) => Err(TraceImportError { line: 1, message: "there is nothing in it".into() }),
        (_, None) => Err(TraceImportError {
            line: 1,
            message: "the working directory of the program is unknown: give --below DIR".into(),
        }),
        _ => Ok(importer.finish()),
    }
}

impl Importer {
    fn line(&mut self, line: &Line<'_>) {
        self.began.get_or_insert(line.at);
        self.meet(line.task, line.at);
        let what = line.rest;
        if what.starts_with(b"+++") {
            self.end(line.task, line.at);
        } else if what.starts_with(b"---") {
            // A signal.
        } else if let Some(begun) = what.strip_suffix(b"<unfinished ...>") {
            let begun = (line.at, begun.trim_ascii_end().to_vec());
            self.task_mut(line.task).unfinished = Some(begun);
        } else if what.starts_with(b"<... ") {
            let resumed = b"resumed>";
            let at = what.windows(resumed.len()).position(|window| window == resumed);
            let begun = self.task_mut(line.task).unfinished.take();
            if let (Some(at), Some((began, mut text))) = (at, begun) {
                text.extend_from_slice(&what[at + resumed.len()..]);
                self.call(line.task, began, line.at - began.min(line.at), &text);
            }
        } else {
            self.call(line.task, line.at, 0, what);
        }
    }

    fn call(&mut self, task: u32, at: u64, took: u64, text: &[u8]) {
        if let Some(said) = ParsedCall::read(text) {
            let took = said.duration.unwrap_or(took);
            calls::follow(self, &CallContext { task, at, duration: took, call: said });
        }
    }

    pub fn task(&self, task: u32) -> &Task {
        &self.tasks[&task]
    }

    fn task_mut(&mut self, task: u32) -> &mut Task {
        self.tasks.get_mut(&task).expect("each line's thread is met first")
    }

    /// Handles the first line of a thread. Except for the very first thread, it was started by an
    /// unfinished call of another thread.
    fn meet(&mut self, task: u32, at: u64) {
        if self.tasks.contains_key(&task) {
            return;
        }
        let starts = |text: &[u8]| {
            [&b"clone"[..], b"fork", b"vfork"].iter().any(|name| text.starts_with(name))
        };
        let mut parents: Vec<(u32, Vec<u8>)> = self
            .tasks
            .iter()
            .filter_map(|(number, task)| {
                let (_, text) = task.unfinished.as_ref()?;
                starts(text).then(|| (*number, text.clone()))
            })
            .collect();
        parents.sort_unstable();
        match parents.first() {
            Some((parent, text)) => {
                let text = text.clone();
                self.start(*parent, task, at, &text);
            }
            None => {
                if !self.tasks.is_empty() {
                    self.unseen.insert("who started some of the processes");
                }
                let process = self.processes;
                self.processes += 1;
                let standing =
                    Standing { directory: RefCell::default(), umask: Cell::new(INITIAL_UMASK) };
                self.add(task, process, Rc::default(), Rc::new(standing));
            }
        }
    }

    fn add(
        &mut self,
        task: u32,
        process: u32,
        table: Rc<RefCell<TaskTable>>,
        standing: Rc<Standing>,
    ) {
        let number = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
        let task_of = Task { number, process, table, standing, unfinished: None, ended: false };
        self.tasks.insert(task, task_of);
    }

    /// Records that a thread has started another, whose number is known.
    pub fn start(&mut self, parent: u32, child: u32, at: u64, flags: &[u8]) {
        if self.tasks.contains_key(&child) {
            return;
        }
        let from = self.task(parent);
        let process = from.process;
        let table = match has(flags, "CLONE_FILES") {
            true => Rc::clone(&from.table),
            false => {
                let table = from.table.borrow().clone();
                table.values().for_each(|(open, _)| open.borrow_mut().descriptors += 1);
                Rc::new(RefCell::new(table))
            }
        };
        let standing = match has(flags, "CLONE_FS") {
            true => Rc::clone(&from.standing),
            false => Rc::new(Standing::clone(&from.standing)),
        };
        let process = match has(flags, "CLONE_THREAD") {
            true => process,
            false => {
                self.processes += 1;
                self.processes - 1
            }
        };
        self.add(child, process, table, standing);
        let thread = self.task(child).number;
        self.order(parent, at, SyncEvent::Spawn { thread });
    }

    /// Records that a thread has waited for the end of a process.
    pub fn process_reaped(&mut self, task: u32, at: u64, child: u32) {
        if let Some(child) = self.tasks.get(&child) {
            let thread = child.number;
            self.order(task, at, SyncEvent::Join { thread });
        }
    }

    /// Records a write to a pipe.
    pub fn sent(&mut self, task: u32, at: u64, pipe: Vec<u8>) {
        let message = self.messages;
        self.messages += 1;
        self.pipes.insert(pipe, message);
        self.order(task, at, SyncEvent::Send { message });
    }

    /// Records a read from a pipe, or of its end of file.
    pub fn received(&mut self, task: u32, at: u64, pipe: &[u8]) {
        if let Some(message) = self.pipes.get(pipe).copied() {
            self.order(task, at, SyncEvent::Receive { message });
        }
    }

    fn order(&mut self, task: u32, at: u64, order: SyncEvent) {
        self.push(task, at, 0, Syscall::Order(order), SyscallResult::Ok(0));
    }

    /// Adds an operation and returns its index.
    pub fn push(
        &mut self,
        task: u32,
        at: u64,
        took: u64,
        call: Syscall,
        outcome: SyscallResult,
    ) -> usize {
        let from = self.began.unwrap_or(at);
        let task = self.task(task);
        self.operations.push(TraceRecord {
            process: task.process,
            thread: task.number,
            began: Nanos(at.saturating_sub(from)),
            duration: Nanos(took),
            call,
            outcome,
        });
        self.operations.len() - 1
    }

    /// Adds a call with its result.
    pub fn done(&mut self, made: &CallContext<'_>, call: Syscall, outcome: SyscallResult) -> usize {
        self.push(made.task, made.at, made.duration, call, outcome)
    }

    /// Adds a failed call.
    pub fn failed(&mut self, made: &CallContext<'_>, call: Syscall, errno: Errno) {
        self.done(made, call, SyscallResult::Err(errno));
    }

    /// Records that a descriptor refers to an open file.
    pub fn install(
        &mut self,
        task: u32,
        descriptor: i32,
        open: Rc<RefCell<OpenDescription>>,
        closes: bool,
    ) {
        open.borrow_mut().descriptors += 1;
        let table = Rc::clone(&self.task(task).table);
        table.borrow_mut().insert(descriptor, (open, closes));
    }

    /// Creates an open file with the next handle and no descriptor.
    pub fn opening(
        &mut self,
        path: PathId,
        node: Inode,
        appends: bool,
    ) -> Rc<RefCell<OpenDescription>> {
        let handle = HandleId(self.handles);
        self.handles += 1;
        Rc::new(RefCell::new(OpenDescription {
            handle,
            path,
            node,
            position: 0,
            appends,
            listing: None,
            descriptors: 0,
        }))
    }

    /// Returns the open file of a descriptor if it is below the directory.
    pub fn open(&self, task: u32, descriptor: i32) -> Option<Rc<RefCell<OpenDescription>>> {
        let table = self.task(task).table.borrow();
        table.get(&descriptor).map(|(open, _)| Rc::clone(open))
    }

    /// Closes a descriptor, and the file with its last descriptor. Returns true if the descriptor
    /// was known.
    pub fn close(&mut self, task: u32, at: u64, took: u64, descriptor: i32) -> bool {
        let table = Rc::clone(&self.task(task).table);
        let Some((open, _)) = table.borrow_mut().remove(&descriptor) else {
            return false;
        };
        let mut open = open.borrow_mut();
        open.descriptors -= 1;
        if open.descriptors == 0 {
            let handle = open.handle;
            self.push(task, at, took, Syscall::Close { handle }, SyscallResult::Ok(0));
        }
        true
    }

    /// Handles the execution of another program, which closes all close-on-exec descriptors.
    pub fn exec(&mut self, task: u32, at: u64) {
        let closed = |(descriptor, (_, closes)): (&i32, &(_, bool))| closes.then_some(*descriptor);
        let closed: BTreeSet<i32> =
            self.task(task).table.borrow().iter().filter_map(closed).collect();
        for descriptor in closed {
            self.close(task, at, 0, descriptor);
        }
    }

    /// Records the end of a thread. The last thread of a process also closes all its open files.
    fn end(&mut self, task: u32, at: u64) {
        self.task_mut(task).ended = true;
        let table = Rc::clone(&self.task(task).table);
        let others = self.tasks.values().filter(|other| !other.ended);
        if others.filter(|other| Rc::ptr_eq(&other.table, &table)).count() > 0 {
            return;
        }
        let descriptors: BTreeSet<i32> = table.borrow().keys().copied().collect();
        for descriptor in descriptors {
            self.close(task, at, 0, descriptor);
        }
    }

    fn finish(mut self) -> Trace {
        self.operations.sort_by_key(|operation| operation.began);
        let said = [
            "what the kernel read ahead and when it wrote back",
            "pages that were read or written through mappings",
        ];
        let below = self.below.unwrap_or_default();
        Trace {
            header: TraceHeader {
                command: vec![format!("below {}", String::from_utf8_lossy(&below))],
                recorder: "strace".into(),
                elsewhere: self.elsewhere,
                limitations: said.into_iter().chain(self.unseen).map(str::to_owned).collect(),
                ..TraceHeader::default()
            },
            before: self.world.before(),
            after: self.world.after(),
            paths: self.paths,
            operations: self.operations,
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

/// Returns the name of the pipe to which a descriptor refers. Returns `None` for other descriptors.
pub fn pipe(argument: &[u8]) -> Option<Vec<u8>> {
    descriptor(argument)?.1.filter(|path| path.starts_with(b"pipe:["))
}
