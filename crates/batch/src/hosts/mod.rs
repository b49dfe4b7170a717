//! Hosts run the cells, each reached by a command of its own: no scheduler and no directory that they share.
//!
//! Which host runs which entries is decided in `board`, which is pure; [`Hosts`] starts the workers and takes what they send.
//! How a host is reached, [`Host`] says.

mod backend;
mod scheduler;

pub use backend::{HostPool, HostsError, ReadyHost, WorkerHost};
