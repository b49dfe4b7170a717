//! A campaign as a directory that hosts share. Each cell is a file, any program that starts
//! processes can run the cells, and each result is a file that is imported into the store.
//!
//! [`Batch`] is such a directory and maps entries to cells. A worker runs entries on its host
//! through [`campaign::run`] into a [`WorkerShare`], which stores each result as a file. [`ResultDirectory`] reads
//! these files and rejects damaged or foreign ones. [`CollectBackend`] is the backend through which
//! [`campaign::run`] imports the results into the store. [`slurm`] is a backend that starts the workers
//! with Slurm, and [`hosts`] one that starts them on individual hosts. Files are neither locked nor
//! changed: each one is created complete under a unique name, so that the directory may be located
//! on NFS.
//!
//! This crate does not run cells itself.

mod digest;
pub mod directory;
mod error;
#[cfg(test)]
mod fixture;
pub mod hosts;
pub mod slurm;

/// Size of the end of a worker's log that is searched for its last message.
const LAST_WORDS_SIZE: model::Bytes = model::Bytes::kib(64);

pub use digest::Digest;
pub use directory::collected::CollectBackend;
pub use directory::ranges::ranges;
pub use directory::results::{HostMismatch, RejectedFile, ResultDirectory, ResultState};
pub use directory::share::WorkerShare;
pub use directory::{
    Batch, BatchEntry, BatchPlan, CopyGuest, EntryRange, PlanInput, PlanProgram, RunKind,
};
pub use error::BatchError;
