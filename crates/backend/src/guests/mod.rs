//! Runs cells in QEMU guests.

pub(crate) mod guest_cell;
pub(crate) mod guest_executor;
pub(crate) mod monitor;
pub(crate) mod resources;
pub(crate) mod snapshot;
pub(crate) mod snapshot_store;
