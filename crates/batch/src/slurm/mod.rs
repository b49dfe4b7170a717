//! Slurm runs the cells: job arrays of workers, followed to their end.
//!
//! Which task runs which entries, and how many are submitted at once, is decided in `arrays`, which is pure; what Slurm says
//! is read in `queue`; `cluster` runs its commands. [`Slurm`] puts them together to a backend.
//!
//! Slurm itself starts a task again whose node died (`--requeue`). A task that has left the queue without its results is
//! lost, and `orchestrate` decides whether its cells run once more.

mod arrays;
mod backend;
mod cluster;
mod queue;

pub(crate) use arrays::cells_per_task;
pub use arrays::{Array, ClusterLimits};
pub use backend::SlurmBackend;
pub use cluster::{Cluster, SlurmError, SubmitOptions};
