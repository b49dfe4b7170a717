//! Small safe wrappers over Linux interfaces for a measuring program.
//!
//! The only crate that may contain `unsafe`; each use explains why it is sound. It contains no
//! policy: the callers decide what to measure, mount or kill.

pub mod aligned;
pub mod block;
pub mod block_claim;
pub mod caches;
pub mod clock;
pub mod device_filter;
pub mod dir_fd;
pub mod errno;
pub mod extents;
pub mod kernel_memory;
pub mod kmsg;
pub mod loopdev;
pub mod machine;
pub mod mapping;
pub mod memfd;
pub mod memory;
pub mod mount_id;
pub mod mounts;
pub mod namespace;
#[cfg(test)]
mod own_process;
pub mod plain_file;
pub mod pressure;
pub mod process;
pub mod ptrace;
pub mod raid0;
pub mod read_only_mount;
pub mod reflink;
pub mod safe_path;
pub mod sampler;
pub mod sandbox;
pub mod uring;
pub mod usage;
pub mod xattr;
pub mod xattr_set;
