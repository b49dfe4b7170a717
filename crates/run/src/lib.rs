//! Runs one cell with an executor, watches it, and converts its events to a result.
//!
//! The orchestrator trusts only events: no event in time is `hung`, a closed channel is `crashed`.
//! Other crates select the cells and store the results.

mod agent;
mod blob_store;
mod cache_executor;
pub mod call_trace;
mod cell_cache;
mod cell_claim;
mod cell_devices;
mod cell_key;
pub mod console;
mod ending;
pub mod events;
#[cfg(test)]
mod fixture;
mod guest_cell;
mod guest_executor;
mod host_executor;
mod host_snapshot;
pub mod hung_tasks;
pub mod kernel_crash;
pub mod kernel_log;
pub mod memory;
mod monitor;
mod result_builder;
mod secret;
mod snapshot;
mod warn_once;
mod watched_time;

use model::CellResult;
use wire::{AbortReason, CellEvent, CellJob};

pub use blob_store::{BlobStore, DirectoryStore};
pub use cache_executor::{Cacheable, CachedExecutor};
pub use cell_cache::{CacheError, CellCache};
pub use cell_key::CellKey;
pub use ending::{CellEnd, GuestEnd, StallKind};
pub use guest_cell::{
    DiskLocation, StandaloneGuestCell, UnsupportedInGuest, guest_volume, multi_device,
};
pub use guest_executor::GuestExecutor;
pub use host_executor::HostExecutor;
pub use host_snapshot::HostSnapshot;
pub use memory::{MemoryCgroup, MemoryError};
pub use result_builder::CellResultBuilder;
pub use secret::SECRET;
pub use snapshot::SnapshotPool;

/// Runs one cell.
pub trait Executor {
    /// Does the job; `observe` sees each event as it comes, for progress bars.
    ///
    /// Whatever happens to the cell is a result.
    ///
    /// # Errors
    /// Only when the user interrupted it or it was withdrawn; everything the cell had started has ended then, too.
    fn execute(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<CellResult, AbortReason>;
}
