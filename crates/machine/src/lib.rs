//! The machine under test. Claims devices and directories, creates images, runs cells on its own
//! kernel or in guests, measures the raw device, and restores the initial state.

mod aged;
mod archives;
mod cache_lock;
pub mod calibration;
mod campaign_dir;
mod cell_storage;
pub mod compatibility;
mod connection;
mod error;
#[cfg(test)]
mod fixture;
mod guests;
mod held;
mod images;
mod inspect;
mod local;
mod measure;
mod remote;
mod serve;
#[cfg(test)]
mod shared_cache_tests;
pub mod source;
mod ssh;
mod stale_directories;
mod storage;
mod user_prompt;

pub use aged::{AgedImage, AgedImageCache, MOST as MOST_AGED};
pub use archives::{fetch_archives as bring_archives, required_by as archives_of_suites};
pub use campaign_dir::{CALIBRATION, CampaignDir, LockOwner, is_campaign_name, unique_name};
pub use connection::{AgentTransport, LocalTransport};
pub use error::{EnvironmentError, UsageError, UserInterrupt, error_chain, kind, not_utf8};
pub use guests::{disk_size, parallel_cells, simulated_disk};
pub use held::{AcquiredResources, acquire_device, check_work_dir, require_root, require_writable};
pub use inspect::{MachineInfo, find_stale, inspect_machine, measure, remove_stale, scan_source};
pub use local::{GuestResources, LocalBackend};
pub use remote::AgentBackend;
pub use serve::serve;
pub use ssh::SshTransport;
pub use stale_directories::{find_stale as find_left_here, remove as remove_left_here};
pub use user_prompt::{EraseRequest, UserPrompt};
