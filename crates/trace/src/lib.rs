//! Traces: the operations of a program below a directory, for replay on any filesystem.
//!
//! This crate touches no files and no processes: the recorder creates a [`Trace`], the engine
//! replays it.

mod anonymise;
mod file_steps;
mod format;
mod import;
mod paths;
mod plan;
mod summary;
mod trace;

pub use file_steps::{FileStepsError, TraceSteps, file_steps};
pub use format::{DecodeError, EncodeError, MAGIC, MAX_OPERATIONS, VERSION, envelope};
pub use import::{
    ImportFormat, InheritedFile, RecordingStart, STRACE_CALLS, Standing, StraceImporter,
    Surroundings, TraceImportError, detect_format, import,
};
pub use paths::{PathId, PathInterner};
pub use plan::{Dependency, ReplayPlan, ReplayStep, ReplayThread};
pub use summary::TraceSummary;
pub use trace::{
    Errno, HandleId, OpenFlags, SyncEvent, Syscall, SyscallResult, Trace, TraceHeader, TraceRecord,
    TracedKind, TreeEntry,
};
