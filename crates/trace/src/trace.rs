//! A trace in memory.

use model::Nanos;
use serde::{Deserialize, Serialize};

use crate::paths::{PathId, PathInterner};

/// What a program did below a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Where it comes from.
    pub header: TraceHeader,
    /// The paths that the rest refers to.
    pub paths: PathInterner,
    /// What lay below the directory before: what replaying begins with. Directories come before what is in them.
    pub before: Vec<TreeEntry>,
    /// What was done, in the order in which it began.
    pub operations: Vec<TraceRecord>,
    /// What lay there behind the last operation: what replaying must end with.
    pub after: Vec<TreeEntry>,
}

/// Where a trace comes from, and what it does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHeader {
    /// The command that was recorded, or the file that was imported.
    pub command: Vec<String>,
    /// What recorded it, with its version: `fsarena 0.1.0`, `strace`, `fio iolog 2`.
    pub recorder: String,
    /// System and version on which it was recorded, as `uname` says it; empty where that is unknown.
    pub system: String,
    /// Whether names are others than those that were recorded.
    pub anonymised: bool,
    /// Operations outside the directory, which the trace leaves out.
    pub elsewhere: u64,
    /// What could not be seen or is not in the trace, a sentence each.
    #[serde(rename = "unseen")]
    pub limitations: Vec<String>,
}

/// A name in the directory, before or behind the operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Where.
    pub path: PathId,
    /// What it is.
    pub kind: EntryKind,
    /// Permissions: the lowest twelve bits of `st_mode`.
    pub mode: u16,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file of so many bytes.
    File {
        /// Its size.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link to this text.
    Symlink(Vec<u8>),
    /// Another name of a file that comes before it.
    Link(PathId),
    /// A named pipe or a socket, which replaying makes as a pipe.
    Pipe,
}

/// One call of the program that touched the directory, or said something of the order of things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Number of the process, counted from 0 in the order in which they appeared.
    pub process: u32,
    /// Number of the thread, counted from 0 over all processes.
    pub thread: u32,
    /// When it began, from the beginning of the recording.
    pub began: Nanos,
    /// How long it took then.
    pub duration: Nanos,
    /// What was asked for.
    pub call: Syscall,
    /// What came of it.
    pub outcome: SyscallResult,
}

/// An opening of a file or directory, numbered from 0 over the whole trace. A copy of a descriptor is the same opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandleId(pub u32);

/// A number of an error, as Linux has them on x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub u16);

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyscallResult {
    /// It succeeded and returned this: bytes, entries, or 0.
    Ok(u64),
    /// It failed, and does so again when it is replayed.
    Err(Errno),
}

/// How a file was opened: those flags of `open` that matter to a filesystem, as Linux numbers them on x86-64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags(pub u32);

impl OpenFlags {
    /// The part that says whether it is opened for reading (0), writing (1) or both (2).
    pub const ACCESS: u32 = 0o3;
    /// Make it where it is not there.
    pub const CREATE: u32 = 0o100;
    /// Fail where it is there.
    pub const EXCLUSIVE: u32 = 0o200;
    /// Empty it.
    pub const TRUNCATE: u32 = 0o1000;
    /// Write at the end.
    pub const APPEND: u32 = 0o2000;
    /// Each write waits for its data (`O_DSYNC`).
    pub const DATA_SYNC: u32 = 0o10000;
    /// Past the page cache.
    pub const DIRECT: u32 = 0o40000;
    /// Only a directory.
    pub const DIRECTORY: u32 = 0o200_000;
    /// Not through a symbolic link.
    pub const NO_FOLLOW: u32 = 0o400_000;
    /// Each write waits for data and attributes (`O_SYNC`, with `DATA_SYNC`).
    pub const SYNC: u32 = 0o4_000_000;
    /// Only to name the file (`O_PATH`).
    pub const PATH: u32 = 0o10_000_000;
    /// A file without a name in this directory.
    pub const TEMPORARY: u32 = 0o20_000_000;

    /// The flags that a trace keeps.
    pub const KEPT: u32 = Self::ACCESS
        | Self::CREATE
        | Self::EXCLUSIVE
        | Self::TRUNCATE
        | Self::APPEND
        | Self::DATA_SYNC
        | Self::DIRECT
        | Self::DIRECTORY
        | Self::NO_FOLLOW
        | Self::SYNC
        | Self::PATH
        | Self::TEMPORARY;

    /// Whether all of these are set.
    pub const fn has(self, flags: u32) -> bool {
        self.0 & flags == flags
    }

    /// Whether it may write.
    pub const fn writes(self) -> bool {
        self.0 & Self::ACCESS != 0
    }
}

/// What was asked for. Data has lengths and places, and no content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each call says what its parts are")]
pub enum Syscall {
    /// `open`, `openat`, `creat`; what succeeded is `handle` from then on.
    Open {
        path: PathId,
        flags: OpenFlags,
        mode: u16,
        handle: Option<HandleId>,
    },
    /// `close` of the last descriptor of an opening.
    Close { handle: HandleId },
    /// `read`, `pread`, `readv`, the reading side of `sendfile`: so many bytes asked for, at this place.
    Read {
        handle: HandleId,
        offset: u64,
        length: u64,
    },
    /// `write`, `pwrite`, `writev`.
    Write {
        handle: HandleId,
        offset: u64,
        length: u64,
    },
    /// Pages of a mapping that were read; how many bytes of the range were touched is in the outcome.
    MappedRead {
        handle: HandleId,
        offset: u64,
        length: u64,
    },
    /// Pages of a shared mapping that were written, likewise.
    MappedWrite {
        handle: HandleId,
        offset: u64,
        length: u64,
    },
    /// `msync` of a shared mapping.
    MappedSync {
        handle: HandleId,
        offset: u64,
        length: u64,
    },
    /// `fsync`; `fdatasync` where only data is asked for.
    Sync { handle: HandleId, data_only: bool },
    /// `sync` and `syncfs`.
    SyncAll,
    /// `sync_file_range`.
    SyncRange {
        handle: HandleId,
        offset: u64,
        length: u64,
    },
    /// `getdents` to the end of the directory, in one or several calls; the outcome is the number of entries.
    List { handle: HandleId },
    /// `stat`, `lstat`, `statx` of a path.
    Stat { path: PathId, follow: bool },
    /// `fstat`.
    StatHandle { handle: HandleId },
    /// `access`, `faccessat`.
    Access { path: PathId, mode: u8 },
    /// `statfs`, `fstatfs`.
    StatFilesystem,
    /// `readlink`.
    ReadLink { path: PathId },
    /// `mkdir`.
    MakeDirectory { path: PathId, mode: u16 },
    /// `mknod` of a pipe or a socket, `bind`.
    MakePipe { path: PathId, mode: u16 },
    /// `rmdir`.
    RemoveDirectory { path: PathId },
    /// `unlink`.
    Unlink { path: PathId },
    /// `rename`, `renameat2` with its flags.
    Rename { from: PathId, to: PathId, flags: u8 },
    /// `link`; `handle` instead of a path where a file without a name gets one.
    Link { from: PathId, to: PathId },
    /// `linkat` of an opening (`AT_EMPTY_PATH`, `/proc/self/fd`).
    LinkHandle { handle: HandleId, to: PathId },
    /// `symlink` of this text.
    Symlink { text: Vec<u8>, path: PathId },
    /// `truncate`.
    Truncate { path: PathId, size: u64 },
    /// `ftruncate`.
    TruncateHandle { handle: HandleId, size: u64 },
    /// `fallocate`, its `mode` as Linux numbers it.
    Allocate {
        handle: HandleId,
        mode: u8,
        offset: u64,
        length: u64,
    },
    /// `copy_file_range` and the `FICLONE` calls, which the outcome tells by the bytes.
    CopyRange {
        from: HandleId,
        to: HandleId,
        from_offset: u64,
        to_offset: u64,
        length: u64,
        clone: bool,
    },
    /// `chmod`, `fchmodat`.
    ChangeMode { path: PathId, mode: u16 },
    /// `fchmod`.
    ChangeModeHandle { handle: HandleId, mode: u16 },
    /// `chown`, `lchown`: replayed to the owner that replays.
    ChangeOwner { path: PathId, follow: bool },
    /// `fchown`.
    ChangeOwnerHandle { handle: HandleId },
    /// `utimensat` and its like.
    SetTimes { path: PathId, follow: bool },
    /// `futimens`.
    SetTimesHandle { handle: HandleId },
    /// `setxattr`: the attribute's name, and how long its value is.
    SetAttribute {
        path: PathId,
        name: Vec<u8>,
        length: u32,
    },
    /// `getxattr`, which is asked for far more than attributes are set; `follow` as in `stat`.
    GetAttribute { path: PathId, name: Vec<u8> },
    /// `listxattr`.
    ListAttributes { path: PathId },
    /// `removexattr`.
    RemoveAttribute { path: PathId, name: Vec<u8> },
    /// `fadvise` (its advice as Linux numbers it).
    Advise {
        handle: HandleId,
        offset: u64,
        length: u64,
        advice: u8,
    },
    /// `flock` and record locks, as far as they were given: the order between processes is in [`Call::Order`].
    Lock { handle: HandleId },
    /// No call of a filesystem's: what the thread had to wait for.
    Order(SyncEvent),
}

/// Order between threads which the program itself makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncEvent {
    /// The thread has begun another: that one's first operation comes behind this.
    Spawn {
        /// Its number.
        thread: u32,
    },
    /// The thread has learnt that another has ended: all operations of that one come before this.
    Join {
        /// Its number.
        thread: u32,
    },
    /// The thread has written to a pipe or a socket, woken a waiter, or released a lock. `message` is counted from 0
    /// over the whole trace.
    Send {
        /// Its number.
        message: u32,
    },
    /// The thread has received that.
    Receive {
        /// Its number.
        message: u32,
    },
}

impl Syscall {
    /// The system call that it stands for, as people know it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Close { .. } => "close",
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::MappedRead { .. } => "mapped read",
            Self::MappedWrite { .. } => "mapped write",
            Self::MappedSync { .. } => "msync",
            Self::Sync {
                data_only: true, ..
            } => "fdatasync",
            Self::Sync { .. } => "fsync",
            Self::SyncAll => "sync",
            Self::SyncRange { .. } => "sync_file_range",
            Self::List { .. } => "getdents",
            Self::Stat { .. } => "stat",
            Self::StatHandle { .. } => "fstat",
            Self::Access { .. } => "access",
            Self::StatFilesystem => "statfs",
            Self::ReadLink { .. } => "readlink",
            Self::MakeDirectory { .. } => "mkdir",
            Self::MakePipe { .. } => "mknod",
            Self::RemoveDirectory { .. } => "rmdir",
            Self::Unlink { .. } => "unlink",
            Self::Rename { .. } => "rename",
            Self::Link { .. } | Self::LinkHandle { .. } => "link",
            Self::Symlink { .. } => "symlink",
            Self::Truncate { .. } => "truncate",
            Self::TruncateHandle { .. } => "ftruncate",
            Self::Allocate { .. } => "fallocate",
            Self::CopyRange { clone: true, .. } => "clone",
            Self::CopyRange { .. } => "copy_file_range",
            Self::ChangeMode { .. } => "chmod",
            Self::ChangeModeHandle { .. } => "fchmod",
            Self::ChangeOwner { .. } => "chown",
            Self::ChangeOwnerHandle { .. } => "fchown",
            Self::SetTimes { .. } => "utimensat",
            Self::SetTimesHandle { .. } => "futimens",
            Self::SetAttribute { .. } => "setxattr",
            Self::GetAttribute { .. } => "getxattr",
            Self::ListAttributes { .. } => "listxattr",
            Self::RemoveAttribute { .. } => "removexattr",
            Self::Advise { .. } => "fadvise",
            Self::Lock { .. } => "flock",
            Self::Order(_) => "order",
        }
    }

    /// The paths that it names, the second of those that name two behind the first.
    pub const fn paths(&self) -> [Option<PathId>; 2] {
        match *self {
            Self::Open { path, .. }
            | Self::Stat { path, .. }
            | Self::Access { path, .. }
            | Self::ReadLink { path }
            | Self::MakeDirectory { path, .. }
            | Self::MakePipe { path, .. }
            | Self::RemoveDirectory { path }
            | Self::Unlink { path }
            | Self::Symlink { path, .. }
            | Self::Truncate { path, .. }
            | Self::ChangeMode { path, .. }
            | Self::ChangeOwner { path, .. }
            | Self::SetTimes { path, .. }
            | Self::SetAttribute { path, .. }
            | Self::GetAttribute { path, .. }
            | Self::ListAttributes { path }
            | Self::RemoveAttribute { path, .. }
            | Self::LinkHandle { to: path, .. } => [Some(path), None],
            Self::Rename { from, to, .. } | Self::Link { from, to } => [Some(from), Some(to)],
            _ => [None, None],
        }
    }

    /// The openings that it works on.
    pub const fn handles(&self) -> [Option<HandleId>; 2] {
        match *self {
            Self::Close { handle }
            | Self::Read { handle, .. }
            | Self::Write { handle, .. }
            | Self::MappedRead { handle, .. }
            | Self::MappedWrite { handle, .. }
            | Self::MappedSync { handle, .. }
            | Self::Sync { handle, .. }
            | Self::SyncRange { handle, .. }
            | Self::List { handle }
            | Self::StatHandle { handle }
            | Self::LinkHandle { handle, .. }
            | Self::TruncateHandle { handle, .. }
            | Self::Allocate { handle, .. }
            | Self::ChangeModeHandle { handle, .. }
            | Self::ChangeOwnerHandle { handle }
            | Self::SetTimesHandle { handle }
            | Self::Advise { handle, .. }
            | Self::Lock { handle } => [Some(handle), None],
            Self::CopyRange { from, to, .. } => [Some(from), Some(to)],
            _ => [None, None],
        }
    }
}
