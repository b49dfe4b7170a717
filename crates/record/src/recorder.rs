//! State of the recorded processes, and functions shared by all system calls.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

use model::Nanos;
use nix::unistd::Pid;
use sys::ptrace;
use trace::{HandleId, PathId, Syscall, SyscallResult};

use crate::files::{HeldFile, RecordedFiles, RecordedOpening};
use crate::log::{CallLog, Who, outcome};
use crate::mappings::Memory;
use crate::orders::{Channel, Orders};
use crate::resolve::{ProcessView, Resolved, Resolver};
use crate::then::Then;

/// Maximum length of a path. Source: limits.h, `PATH_MAX`.
const MAX_PATH: usize = 4096;

/// A process.
#[derive(Debug)]
pub struct TracedProcess {
    /// Process number in the trace.
    pub number: u32,
    /// Process number in the system.
    pub pid: Pid,
    /// Thread numbers in the trace.
    pub threads: RefCell<Vec<u32>>,
    /// Number of threads that have not ended.
    pub living: Cell<u32>,
}

/// View of the filesystem of a process, or of several processes that share it.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Working directory and the value of the move counter for which it is valid. Read on demand.
    pub directory: Option<(Vec<u8>, u64)>,
    /// Root directory; empty for the root of the system.
    pub root: Vec<u8>,
    /// Permissions that are removed from new files.
    pub umask: u16,
}

/// A thread and the state that it may share with other threads.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Thread number in the system.
    pub tid: Pid,
    /// Process and thread numbers in the trace.
    pub who: Who,
    /// Its process.
    pub process: Rc<TracedProcess>,
    /// Its descriptors.
    pub files: Rc<RefCell<RecordedFiles>>,
    /// Its directories.
    pub standing: Rc<RefCell<Standing>>,
    /// Files mapped into the thread's memory.
    pub memory: Rc<RefCell<Memory>>,
}

impl Caller {
    /// Reads `N` numbers from the thread's memory.
    pub fn numbers<const N: usize>(&self, address: u64) -> Option<[u64; N]> {
        let bytes = self.bytes(address, N * 8)?;
        let mut numbers = [0; N];
        for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
            *number = u64::from_ne_bytes(bytes.try_into().ok()?);
        }
        Some(numbers)
    }

    /// Reads `length` bytes from the thread's memory.
    pub fn bytes(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        let read = ptrace::read_memory(self.tid, address, &mut bytes).ok()?;
        (read == length).then_some(bytes)
    }

    /// Reads a zero-terminated string from the thread's memory.
    pub fn text(&self, address: u64) -> Option<Vec<u8>> {
        ptrace::read_text(self.tid, address, MAX_PATH).ok()
    }

    /// Returns the permissions of a new file.
    pub fn without_umask(&self, mode: u64) -> u16 {
        (mode & 0o7777) as u16 & !self.standing.borrow().umask
    }

    /// Returns the target of a link in the thread's directory in `/proc`.
    pub fn link(&self, name: &str) -> Option<Vec<u8>> {
        let link = fs::read_link(format!("/proc/{}/{name}", self.tid)).ok()?;
        Some(link.as_os_str().as_bytes().to_vec())
    }
}

/// Object that a call refers to.
#[derive(Debug)]
pub enum TracedTarget {
    /// A path below the recorded directory.
    Path(PathId, Vec<u8>),
    /// An open file description, given by a descriptor.
    Opening(Rc<RecordedOpening>),
}

/// A connection requested at a socket's name: the channels to the server and back.
pub type Connection = (Channel, Channel);

/// State of a recording.
pub struct Recorder {
    /// Recorded operations.
    pub log: CallLog,
    /// Resolver for names.
    pub resolver: Resolver,
    /// Order of threads through messages and locks.
    pub orders: Orders,
    /// Number of directory moves so far.
    pub moves: u64,
    /// Named pipes in the recorded directory, each with its channel.
    pub named_pipes: HashMap<PathId, Channel>,
    /// Connections that were requested and not yet accepted, by socket name.
    pub connections: HashMap<Vec<u8>, VecDeque<Connection>>,
    /// Processes that have ended and whose parents have not waited for them.
    pub ended: HashMap<Pid, Rc<TracedProcess>>,
    /// Number of open file descriptions so far.
    handles: Cell<u32>,
}

impl Recorder {
    /// Creates a recorder for the directory with this real path.
    pub fn new(top: &[u8]) -> Self {
        Self {
            log: CallLog::new(),
            resolver: Resolver::new(top),
            orders: Orders::default(),
            moves: 0,
            named_pipes: HashMap::new(),
            connections: HashMap::new(),
            ended: HashMap::new(),
            handles: Cell::new(0),
        }
    }

    /// Returns the number for a new open file description.
    pub fn new_handle(&self) -> HandleId {
        let number = self.handles.get();
        self.handles.set(number + 1);
        HandleId(number)
    }

    /// Creates an open file description for a path.
    pub fn new_opening(&self, path: PathId, real: Vec<u8>, appends: bool) -> Rc<RecordedOpening> {
        let real = (real, self.moves);
        Rc::new(RecordedOpening::new(self.new_handle(), path, real, appends))
    }

    /// Counts an operation outside the recorded directory.
    pub fn elsewhere<T>(&mut self) -> Option<T> {
        self.log.elsewhere += 1;
        None
    }

    /// Returns the open file description of a descriptor. Counts an operation elsewhere if the
    /// descriptor is not tracked.
    pub fn opening(&mut self, caller: &Caller, descriptor: u64) -> Option<Rc<RecordedOpening>> {
        let opening = caller.files.borrow().opening(descriptor as i32);
        opening.or_else(|| self.elsewhere())
    }

    /// Resolves a name relative to a directory descriptor.
    pub fn resolve(
        &mut self,
        caller: &Caller,
        directory: u64,
        text: &[u8],
        follow: bool,
    ) -> Option<Resolved> {
        let base = match text.first()? {
            b'/' => Vec::new(),
            _ => self.base(caller, directory as i32)?,
        };
        let root = caller.standing.borrow().root.clone();
        let view = ProcessView { process: caller.process.pid, root: &root, base: &base };
        Some(self.resolver.resolve(&view, text, follow))
    }

    /// Returns the real path of the directory that a relative name starts from.
    pub fn base(&mut self, caller: &Caller, directory: i32) -> Option<Vec<u8>> {
        if directory == libc::AT_FDCWD {
            let mut standing = caller.standing.borrow_mut();
            return match &standing.directory {
                Some((known, moves)) if *moves == self.moves => Some(known.clone()),
                _ => {
                    let found = caller.link("cwd")?;
                    standing.directory = Some((found.clone(), self.moves));
                    Some(found)
                }
            };
        }
        let opening = caller.files.borrow().opening(directory);
        let Some(opening) = opening else {
            return caller.link(&format!("fd/{directory}"));
        };
        let mut real = opening.real.borrow_mut();
        if real.1 != self.moves {
            *real = (caller.link(&format!("fd/{directory}"))?, self.moves);
        }
        Some(real.0.clone())
    }

    /// Returns the target of a name and a directory descriptor, if it is below the recorded
    /// directory. If the name is missing or empty, and this is allowed, the target is the
    /// descriptor itself.
    pub fn target(
        &mut self,
        caller: &Caller,
        (directory, address): (u64, u64),
        follow: bool,
        may_be_empty: bool,
    ) -> Option<TracedTarget> {
        let text = match address {
            0 => Vec::new(),
            address => caller.text(address)?,
        };
        if !text.is_empty() {
            let found = self.resolve(caller, directory, &text, follow)?;
            return match found.below {
                Some(path) => Some(TracedTarget::Path(path, found.real)),
                None => self.elsewhere(),
            };
        }
        if !may_be_empty {
            return None;
        }
        if directory as i32 != libc::AT_FDCWD {
            return self.opening(caller, directory).map(TracedTarget::Opening);
        }
        let real = self.base(caller, libc::AT_FDCWD)?;
        match self.resolver.below(&real) {
            Some(path) => Some(TracedTarget::Path(path, real)),
            None => self.elsewhere(),
        }
    }

    /// Handles a call on a path below the recorded directory.
    pub fn on_path(
        &mut self,
        caller: &Caller,
        name: (u64, u64),
        follow: bool,
        call: impl FnOnce(PathId) -> Syscall,
    ) -> Option<Then> {
        match self.target(caller, name, follow, false)? {
            TracedTarget::Path(path, _) => Some(Then::record(call(path))),
            TracedTarget::Opening(_) => None,
        }
    }

    /// Handles a call on the path of an open descriptor.
    pub fn on_opened_path(
        &mut self,
        caller: &Caller,
        descriptor: u64,
        call: impl FnOnce(PathId) -> Syscall,
    ) -> Option<Then> {
        self.opening(caller, descriptor)?;
        let real = caller.link(&format!("fd/{}", descriptor as i32))?;
        let path = self.resolver.below(&real)?;
        Some(Then::record(call(path)))
    }

    /// Records a call that has just returned. Skips calls that failed for reasons unrelated to the
    /// filesystem: a signal, an invalid address or descriptor, or an unknown call.
    pub fn push(
        &mut self,
        caller: &Caller,
        began: Nanos,
        call: Syscall,
        returned: i64,
        counts: bool,
    ) {
        const OTHER_REASONS: [i32; 4] = [libc::EINTR, libc::EFAULT, libc::EBADF, libc::ENOSYS];
        let is_close = matches!(call, Syscall::Close { .. });
        if !is_close && OTHER_REASONS.iter().any(|errno| returned == -i64::from(*errno)) {
            return;
        }
        let outcome = outcome(returned, counts);
        self.log.push(caller.who, began, call, outcome);
    }

    /// Processes the end of a descriptor's target, if its last descriptor was closed.
    pub fn released(&mut self, caller: &Caller, held: Option<HeldFile>) {
        match held {
            Some(HeldFile::Opening(opening)) => {
                let began = self.log.now();
                self.closed(caller, &opening, began, 0);
            }
            Some(HeldFile::End(end)) => {
                if let Some(channel) = end.sends {
                    self.orders.send(&mut self.log, caller.who, channel);
                }
            }
            Some(HeldFile::Listener(_)) | None => {}
        }
    }

    /// Records that an open file description was closed.
    pub fn closed(
        &mut self,
        caller: &Caller,
        opening: &RecordedOpening,
        began: Nanos,
        returned: i64,
    ) {
        self.end_listing(caller, opening);
        let handle = opening.handle;
        self.push(caller, began, Syscall::Close { handle }, returned, false);
        if opening.locks.get() {
            self.unlocked(caller, opening);
        }
    }

    /// Records the release of a lock: all previous operations precede those of the next holder.
    pub fn unlocked(&mut self, caller: &Caller, opening: &RecordedOpening) {
        let channel = self.orders.lock(opening.path);
        self.orders.send(&mut self.log, caller.who, channel);
        opening.locks.set(false);
    }

    /// Records a listing that has finished or was abandoned.
    pub fn end_listing(&mut self, caller: &Caller, opening: &RecordedOpening) {
        if let Some(listing) = opening.listing.take() {
            let call = Syscall::List { handle: opening.handle };
            let outcome = SyscallResult::Ok(listing.entries);
            let (began, took) = (listing.began, listing.took);
            self.log.push_timed(caller.who, began, took, call, outcome);
        }
    }
}
