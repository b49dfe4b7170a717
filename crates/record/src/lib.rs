//! Records what a command does below a directory, as a trace.
//!
//! The command runs under ptrace(2), with a filter (seccomp(2)) that stops it at the system calls that matter alone.
//! What a call asks for is read when it begins, what came of it when it has returned; calls that surely lie elsewhere
//! go on without a second stop.

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
