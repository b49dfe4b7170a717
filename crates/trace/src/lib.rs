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

pub use format::{DecodeError, MAGIC, MOST_OPERATIONS, VERSION, envelope};
pub use import::{ImportError, ImportFormat, format_of, import};
pub use paths::{PathId, Paths};
pub use plan::{Lane, Plan, Step, Wait};
pub use summary::Summary;
pub use trace::{
    About, Call, Entry, EntryKind, Errno, HandleId, OpenFlags, Operation, Order, Outcome, Trace,
};
