//! Runs the cells with Slurm, as job arrays of workers.
//!
//! `arrays` decides which task runs which entries and how many are submitted at a time; it is pure.
//! `queue` parses the output of Slurm and `cluster` runs its commands. [`SlurmBackend`] combines them into
//! a backend.
//!
//! Slurm restarts a task when its node fails (`--requeue`). A task that has left the queue without
//! results is lost, and [`campaign::run`] decides whether its cells run again.

mod arrays;
mod backend;
mod cluster;
mod queue;

pub(crate) use arrays::cells_per_task;
pub use arrays::{Array, ClusterLimits};
pub use backend::SlurmBackend;
pub use cluster::{Cluster, SlurmError, SubmitOptions};
