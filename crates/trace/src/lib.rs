//! Traces: what a program did below a directory, operation by operation, so that the same can be done again on any
//! filesystem.
//!
//! Nothing here touches a file or a process: the recorder makes a [`Trace`], the engine replays one.

mod anonymise;
mod format;
mod import;
mod paths;
mod plan;
mod summary;
mod trace;

pub use format::{DecodeError, MAGIC, MAX_OPERATIONS, VERSION, envelope};
pub use import::{ImportError, ImportFormat, detect_format, import};
pub use paths::{PathId, PathInterner};
pub use plan::{Dependency, ReplayPlan, ReplayThread, Step};
pub use summary::TraceSummary;
pub use trace::{
    EntryKind, Errno, HandleId, OpenFlags, SyncEvent, Syscall, SyscallResult, Trace, TraceHeader,
    TraceRecord, TreeEntry,
};
