//! A campaign as a directory that hosts share: each cell is a file, any program that starts processes has cells run, and
//! each result is a file that is taken into the store.
//!
//! [`Batch`] is such a directory: what is planned, which entry is which cell. A worker runs entries on its host through
//! `orchestrate` into a [`Share`], which keeps each result as a file; [`Results`] reads these files and believes none that
//! is damaged or not the campaign's; [`Collected`] is the backend through which `orchestrate` takes them into the store.
//! [`slurm`] is the same backend with Slurm to start the workers, and [`hosts`] with hosts that are reached one by one. No file is locked and none is changed: each comes into
//! being whole, under a name that nothing else has, so that the directory may lie on NFS.
//!
//! Runs no cell itself.

mod collected;
mod digest;
mod directory;
mod error;
#[cfg(test)]
mod fixture;
pub mod hosts;
mod ranges;
pub mod result_diff;
mod result_file;
mod results;
mod share;
pub mod slurm;

pub use collected::CollectBackend;
pub use digest::Digest;
pub use directory::{
    Batch, BatchEntry, BatchPlan, CopyGuest, EntryRange, PlanInput, Program, RunKind,
};
pub use error::BatchError;
pub use ranges::ranges;
pub use results::{HostMismatch, RejectedFile, ResultDirectory, ResultState};
pub use share::WorkerShare;
