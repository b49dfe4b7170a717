//! What a machine under test does for a campaign: it takes devices and directories, makes images, runs cells on its
//! kernel or in guests, measures what a device can do without a filesystem, and leaves everything as it was.

mod aged;
mod archives;
mod cache_lock;
pub mod calibration;
mod cell_storage;
mod connection;
mod dialogue;
mod error;
pub mod fit;
#[cfg(test)]
mod fixture;
mod guests;
mod held;
mod images;
mod leftovers;
mod local;
mod measure;
mod questions;
mod remote;
mod serve;
#[cfg(test)]
mod shared_cache_tests;
pub mod source;
mod ssh;
mod storage;
mod work_place;

pub use aged::{Kept, KeptImage, MOST as MOST_AGED};
pub use archives::{bring as bring_archives, of_suites as archives_of_suites};
pub use connection::{Here, Reach};
pub use dialogue::{Dialogue, Erased};
pub use error::{BadInput, Interruption, Refused, kind, not_utf8, whole};
pub use guests::{disk_size, side_by_side, simulated_disk};
pub use held::{Held, inspect_place, require_root, take_device, writable};
pub use leftovers::{find as find_left_here, remove as remove_left_here};
pub use local::{GuestMeans, Local};
pub use questions::{Look, find_left, look, measure, remove_left, survey};
pub use remote::Remote;
pub use serve::serve;
pub use ssh::Ssh;
pub use work_place::{CALIBRATION, Holder, WorkPlace, is_of_a_campaign, unique_name};
