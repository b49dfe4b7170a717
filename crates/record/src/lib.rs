//! Records the operations of a command below a directory as a trace.
//!
//! The command runs under ptrace(2), with a filter (seccomp(2)) that stops it only at relevant
//! system calls. The arguments of a call are read at its entry, the result at its return. Calls
//! that are certainly outside the directory continue without a second stop.

mod calls;
mod data;
mod descriptors;
mod files;
mod filter;
mod finish;
mod interruption;
mod log;
mod mappings;
mod names;
mod orders;
mod recorder;
mod resolve;
mod session;
mod then;
mod tidy;
mod tree;

pub use session::{Ending, RecordError, Recording, record};
