//! What a machine under test does for a campaign: it takes devices and directories, makes images, runs cells on its
//! kernel or in guests, measures what a device can do without a filesystem, and leaves everything as it was.

mod cache_lock;
pub mod calibration;
mod dialogue;
mod error;
pub mod fit;
#[cfg(test)]
mod fixture;
mod guests;
mod local;
mod remote;
mod serve;
pub mod source;
mod ssh;
mod storage;
mod work_place;

pub use dialogue::{Dialogue, Erased};
pub use error::{BadInput, Interruption, Refused, kind, whole};
pub use guests::{disk_size, side_by_side};
pub use local::{GuestMeans, Local};
pub use remote::{Here, Reach, Remote, look};
pub use serve::serve;
pub use ssh::Ssh;
pub use storage::{Held, Storage, require_root, take_device, writable};
pub use work_place::{CALIBRATION, WorkPlace, is_of_a_campaign, unique_name};
