//! This host: processors, memory, settings and what it can run.

pub(crate) mod doctor;
pub mod environment;
pub mod host_memory;
pub(crate) mod host_settings;
pub(crate) mod machine;
pub mod sysfs;
