//! A trace in memory.

use model::Nanos;
use serde::{Deserialize, Serialize};

use crate::paths::{PathId, PathInterner};

/// Flag with which `renameat2` exchanges both names.
pub(crate) const RENAME_EXCHANGE: u8 = 2;
/// Mode bits of `fallocate`: the size stays, and the range becomes a hole.
pub(crate) const FALLOCATE_KEEP_SIZE: u8 = 1;
pub(crate) const FALLOCATE_PUNCH_HOLE: u8 = 2;

/// Recorded operations of a program below a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Origin of the trace.
    pub header: TraceHeader,
    /// Paths to which the other fields refer.
    pub paths: PathInterner,
    /// Entries below the directory before the first operation, which the replay starts with.
    /// Directories precede their contents.
    pub before: Vec<TreeEntry>,
    /// Operations, in the order of their start.
    pub operations: Vec<TraceRecord>,
    /// Entries after the last operation, which the replay must end with.
    pub after: Vec<TreeEntry>,
}

/// Origin of a trace, and its limitations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHeader {
    /// Recorded command or imported file.
    pub command: Vec<String>,
    /// Name and version of the recorder: `fsarena 0.1.0`, `strace`, `fio iolog 2`.
    pub recorder: String,
    /// Name and version of the operating system during the recording, as reported by `uname`; empty
    /// if unknown.
    pub system: String,
    /// True if names were replaced.
    pub anonymised: bool,
    /// Number of operations outside the directory, which are omitted.
    pub elsewhere: u64,
    /// Information that could not be recorded or is not in the trace, one sentence each.
    #[serde(rename = "unseen")]
    pub limitations: Vec<String>,
}

/// A name in the directory, before the first or after the last operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Where.
    pub path: PathId,
    /// Kind of the entry.
    pub kind: TracedKind,
    /// Permissions: the lowest twelve bits of `st_mode`.
    pub mode: u16,
}

/// Kind of a directory entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TracedKind {
    /// A file.
    File {
        /// Its size.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link with this target.
    Symlink(Vec<u8>),
    /// A hard link to a file that precedes it.
    Link(PathId),
    /// A named pipe or a socket; the replay creates a named pipe.
    Pipe,
}

/// A call that touched the directory, or an ordering event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Process number, counted from 0 in order of appearance.
    pub process: u32,
    /// Thread number, counted from 0 over all processes.
    pub thread: u32,
    /// Start time, relative to the start of the recording.
    pub began: Nanos,
    /// Duration during the recording.
    pub duration: Nanos,
    /// The call.
    pub call: Syscall,
    /// Result of the call.
    pub outcome: SyscallResult,
}

/// Number of an open file or directory, counted from 0 over the whole trace. Duplicated descriptors
/// share the number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandleId(pub u32);

/// An error number of Linux on x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub u16);

/// Result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyscallResult {
    /// The call succeeded and returned this value: bytes, entries, or 0.
    Ok(u64),
    /// The call failed, and must fail again in the replay.
    Err(Errno),
}

/// Flags of `open` that matter to a filesystem, with their values in Linux on x86-64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags(pub u32);

impl OpenFlags {
    /// Access mode: reading (0), writing (1) or both (2).
    pub const ACCESS: u32 = 0o3;
    /// Create the file if it does not exist.
    pub const CREATE: u32 = 0o100;
    /// Fail if the file exists.
    pub const EXCLUSIVE: u32 = 0o200;
    /// Empty it.
    pub const TRUNCATE: u32 = 0o1000;
    /// Append all writes to the end of the file (`O_APPEND`).
    pub const APPEND: u32 = 0o2000;
    /// Wait for the data on each write (`O_DSYNC`).
    pub const DATA_SYNC: u32 = 0o10000;
    /// Bypass the page cache (`O_DIRECT`).
    pub const DIRECT: u32 = 0o40000;
    /// Only a directory.
    pub const DIRECTORY: u32 = 0o200_000;
    /// Do not follow a symbolic link (`O_NOFOLLOW`).
    pub const NO_FOLLOW: u32 = 0o400_000;
    /// Wait for data and attributes on each write (`O_SYNC`, with `DATA_SYNC`).
    pub const SYNC: u32 = 0o4_000_000;
    /// Only refer to the file by name (`O_PATH`).
    pub const PATH: u32 = 0o10_000_000;
    /// Create an unnamed file in this directory (`O_TMPFILE`, with `O_DIRECTORY`).
    pub const TEMPORARY: u32 = 0o20_000_000;

    /// Flags that are kept in a trace.
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

    /// Returns true if all given flags are set.
    pub const fn has(self, flags: u32) -> bool {
        self.0 & flags == flags
    }

    /// Returns true if the flags allow writing.
    pub const fn writes(self) -> bool {
        self.0 & Self::ACCESS != 0
    }
}

/// A call with its arguments. Data have lengths and offsets, but no contents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the documentation of each call covers its fields")]
pub enum Syscall {
    /// `open`, `openat`, `creat`. If the call succeeded, `handle` refers to the file from then on.
    Open { path: PathId, flags: OpenFlags, mode: u16, handle: Option<HandleId> },
    /// `close` of the last descriptor of an open file.
    Close { handle: HandleId },
    /// `read`, `pread`, `readv`, the reading side of `sendfile`: requested length and offset.
    Read { handle: HandleId, offset: u64, length: u64 },
    /// `write`, `pwrite`, `writev`.
    Write { handle: HandleId, offset: u64, length: u64 },
    /// Pages read through a mapping. The outcome is the number of bytes touched in the range.
    MappedRead { handle: HandleId, offset: u64, length: u64 },
    /// Pages written through a shared mapping. The outcome is the number of bytes touched in the
    /// range.
    MappedWrite { handle: HandleId, offset: u64, length: u64 },
    /// `msync` of a shared mapping.
    MappedSync { handle: HandleId, offset: u64, length: u64 },
    /// `fsync`, or `fdatasync` if `data_only` is set.
    Sync { handle: HandleId, data_only: bool },
    /// `sync` and `syncfs`.
    SyncAll,
    /// `sync_file_range`.
    SyncRange { handle: HandleId, offset: u64, length: u64 },
    /// `getdents` up to the end of the directory, in one or several calls. The outcome is the
    /// number of entries.
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
    /// `link`.
    Link { from: PathId, to: PathId },
    /// `linkat` of an open file (`AT_EMPTY_PATH`, `/proc/self/fd`).
    LinkHandle { handle: HandleId, to: PathId },
    /// `symlink` with this target.
    Symlink { text: Vec<u8>, path: PathId },
    /// `truncate`.
    Truncate { path: PathId, size: u64 },
    /// `ftruncate`.
    TruncateHandle { handle: HandleId, size: u64 },
    /// `fallocate`, with the `mode` bits of Linux.
    Allocate { handle: HandleId, mode: u8, offset: u64, length: u64 },
    /// `copy_file_range` and the `FICLONE` calls. The outcome is the number of copied bytes.
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
    /// `chown`, `lchown`. The replay sets the user that runs it as the owner.
    ChangeOwner { path: PathId, follow: bool },
    /// `fchown`.
    ChangeOwnerHandle { handle: HandleId },
    /// `utimensat` and similar calls.
    SetTimes { path: PathId, follow: bool },
    /// `futimens`.
    SetTimesHandle { handle: HandleId },
    /// `setxattr`: name of the attribute and length of its value.
    SetAttribute { path: PathId, name: Vec<u8>, length: u32 },
    /// `getxattr`, which programs call far more often than `setxattr`.
    GetAttribute { path: PathId, name: Vec<u8> },
    /// `listxattr`.
    ListAttributes { path: PathId },
    /// `removexattr`.
    RemoveAttribute { path: PathId, name: Vec<u8> },
    /// `fadvise`, with the advice numbers of Linux.
    Advise { handle: HandleId, offset: u64, length: u64, advice: u8 },
    /// `flock` and record locks that were granted. The order between processes is in
    /// [`Syscall::Order`].
    Lock { handle: HandleId },
    /// Not a call of a filesystem, but an event that orders threads.
    Order(SyncEvent),
}

/// An event by which the program itself orders its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncEvent {
    /// The thread has started another, whose operations all come after this event.
    Spawn {
        /// Its number.
        thread: u32,
    },
    /// The thread has waited for the end of another thread. All operations of that thread precede
    /// this event.
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
    /// The thread has received the message.
    Receive {
        /// Its number.
        message: u32,
    },
}

impl Syscall {
    /// Returns the common name of the system call.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Close { .. } => "close",
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::MappedRead { .. } => "mapped read",
            Self::MappedWrite { .. } => "mapped write",
            Self::MappedSync { .. } => "msync",
            Self::Sync { data_only: true, .. } => "fdatasync",
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

    /// Returns the paths that the call refers to. If it has two, the first is the source.
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

    /// Returns the handles that the call uses.
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
