//! Runs cells on individual hosts, each reached by a separate command, without a scheduler or a
//! shared directory.
//!
//! `board` decides which host runs which entries and is pure. [`Hosts`] starts the workers and
//! receives their results. [`Host`] defines how a host is reached.

mod backend;
mod scheduler;

pub use backend::{HostPool, HostsError, ReadyHost, WorkerHost};
