//! Mounts, namespaces and restrictions of processes.

pub mod device_filter;
pub mod mount_id;
pub mod mounts;
pub mod namespace;
pub mod read_only_mount;
pub mod sandbox;
