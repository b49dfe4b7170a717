//! Progress, events and samples of a running cell.

pub(crate) mod cpu_profile;
pub(crate) mod event_writer;
pub(crate) mod heartbeat;
pub(crate) mod kernel_memory;
pub(crate) mod kernel_symbols;
pub(crate) mod machine_samples;
