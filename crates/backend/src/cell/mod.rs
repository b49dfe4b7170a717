//! Watches one cell and converts its events to a result.

pub(crate) mod agent;
pub(crate) mod cell_devices;
pub(crate) mod cell_storage;
pub(crate) mod ending;
pub mod events;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod host_snapshot;
pub mod memory;
pub(crate) mod result_builder;
pub(crate) mod watched_time;
