//! Runs cells on individual hosts, each reached by a separate command, without a scheduler or a
//! shared directory.
//!
//! `scheduler` decides which host runs which entries and is pure. [`HostPool`] starts the workers and
//! receives their results. [`WorkerHost`] defines how a host is reached.

mod backend;
mod scheduler;

pub use backend::{HostPool, HostsError, ReadyHost, WorkerHost};
