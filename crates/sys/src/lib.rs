//! Small safe wrappers over Linux interfaces for a measuring program.
//!
//! The only crate that may contain `unsafe`; each use explains why it is sound. It contains no
//! policy: the callers decide what to measure, mount or kill.

pub mod block;
pub mod errno;
pub mod fs;
pub mod interruption;
pub mod io;
pub mod kmsg;
pub mod machine;
pub mod memory;
pub mod mount;
#[cfg(test)]
mod own_process;
pub mod process;
pub mod secret_key;
