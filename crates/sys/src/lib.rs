//! Small safe wrappers over what Linux tells and does for a measuring program.
//!
//! The only crate in which `unsafe` may stand; each use says why it is sound. No policy lives here:
//! what to measure, mount or kill is decided by the callers.

pub mod aligned;
pub mod at;
pub mod attribute;
pub mod attributes;
pub mod block;
pub mod caches;
pub mod clock;
pub mod device_filter;
pub mod disk;
pub mod errno;
pub mod extents;
pub mod footprint;
pub mod kmsg;
pub mod loopdev;
pub mod machine;
pub mod mapping;
pub mod memory;
pub mod memory_file;
pub mod mounted_directory;
pub mod mounts;
pub mod namespace;
pub mod plain_file;
pub mod pressure;
pub mod process;
pub mod read_only_mount;
pub mod reflink;
pub mod sampler;
pub mod sandbox;
pub mod stripe;
pub mod tracing;
pub mod trusted;
pub mod uring;
pub mod usage;
