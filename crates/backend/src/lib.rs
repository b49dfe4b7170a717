//! Runs cells on this host, over ssh or in guests, and caches their results.

pub mod cache;
pub mod cell;
mod guests;
mod host;
mod remote;
mod together;

pub mod kernel_log;
mod warn_once;

use model::CellResult;
use model::wire::{AbortReason, CellEvent, CellJob};

pub use cache::blob_store::{BlobStore, DirectoryStore};
pub use cache::cache_executor::{Cacheable, CachedExecutor};
pub use cache::cell_cache::{CacheError, CellCache};
pub use cache::cell_key::CellKey;
pub use cell::ending::{CellEnd, GuestEnd, StallKind};
pub use cell::host_snapshot::HostSnapshot;
pub use cell::memory::{MemoryCgroup, MemoryError};
pub use cell::result_builder::CellResultBuilder;
pub use guests::guest_cell::{
    DiskLocation, StandaloneGuestCell, UnsupportedInGuest, guest_volume, multi_device,
};
pub use guests::guest_executor::GuestExecutor;
pub use guests::snapshot::SnapshotPool;
pub use guests::snapshot_store::SnapshotStore;
pub use host::host_executor::HostExecutor;

/// Runs one cell.
pub trait Executor {
    /// Runs the job; `observe` receives each event immediately, for progress bars.
    ///
    /// A failure of the cell is a result, too.
    ///
    /// # Errors
    /// Returns an error only if the user interrupted the cell or the cell was withdrawn. In that
    /// case, too, all processes of the cell have ended.
    fn execute(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<CellResult, AbortReason>;
}

mod aged;
mod archives;
pub mod calibration;
pub mod compatibility;
mod error;
pub mod source;
mod stale_directories;

pub use aged::{AgedImage, AgedImageCache, MAX_AGED_BYTES};
pub use archives::{fetch_archives, required_by as required_archives};
pub use error::{
    EnvironmentError, MAX_MESSAGE_LENGTH, UsageError, UserInterrupt, error_chain, kind, not_utf8,
    shorten,
};
pub use guests::resources::{disk_size, parallel_cells, simulated_disk};
pub use host::campaign_dir::{
    CALIBRATION, CampaignDir, LockOwner, database_digest, is_campaign_name, unique_name,
};
pub use host::held::{
    AcquiredResources, acquire_device, check_work_dir, require_root, require_writable,
};
pub use host::local::{GuestResources, LocalBackend};
pub use remote::agent_backend::AgentBackend;
pub use remote::connection::{AgentTransport, LocalTransport, TogetherTransport};
pub use remote::inspect::{
    MachineInfo, find_stale, inspect_machine, measure, remove_stale, scan_source,
};
pub use remote::serve::serve;
pub use remote::ssh::{SshTransport, other_system};
pub use remote::user_prompt::{EraseRequest, UserPrompt};
pub use stale_directories::{
    find_stale as find_stale_directories, remove as remove_stale_directories,
};
pub use together::backend::TogetherBackend;
