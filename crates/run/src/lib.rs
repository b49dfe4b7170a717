//! Hands one cell to an executor, watches over it, and turns what it says into a result.
//!
//! The orchestrator trusts nothing but events: no event in time is `hung`, a closed channel is
//! `crashed`. Which cells run, and where results go, is decided elsewhere.

mod agent;
mod cached;
mod cell_cache;
mod cell_devices;
mod cell_key;
mod claim;
mod collector;
pub mod console;
pub mod death;
mod ending;
pub mod events;
#[cfg(test)]
mod fixture;
mod guest_cell;
mod host;
mod in_guest;
pub mod kernel_log;
pub mod memory;
mod monitor;
mod secret;
mod shelf;
mod snapshot;
pub mod stuck;
mod surroundings;
pub mod trace;
mod trouble;
mod watched_time;

use model::CellResult;
use wire::{Event, Job, Stopped};

pub use cached::{CachedExecutor, Repeatable};
pub use cell_cache::{CellCache, Unusable};
pub use cell_key::CellKey;
pub use collector::Collector;
pub use ending::{Ending, GuestEnd, Stall};
pub use guest_cell::{Disk, GuestCell, NotInGuest, span, volume_in_guest};
pub use host::HostExecutor;
pub use in_guest::GuestExecutor;
pub use memory::{MemoryError, MemoryLimit};
pub use secret::SECRET;
pub use shelf::{DirectoryShelf, Shelf};
pub use snapshot::Snapshots;
pub use surroundings::Surroundings;

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
        job: &Job,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<CellResult, Stopped>;
}
