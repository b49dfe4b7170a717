//! Properties of this host: processors, memory, settings and supported filesystems.

pub(crate) mod doctor;
pub mod environment;
pub mod host_memory;
pub(crate) mod host_settings;
pub(crate) mod layers;
pub(crate) mod machine;
pub mod sysfs;
