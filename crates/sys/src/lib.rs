//! Small safe wrappers over what Linux tells and does for a measuring program.
//!
//! The only crate in which `unsafe` may stand; each use says why it is sound. No policy lives here:
//! what to measure, mount or kill is decided by the callers.

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
