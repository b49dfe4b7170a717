//! What cells need before they can run: image files, loop devices, directories, programs; and
//! whether a device that a user names may be overwritten.
//!
//! Says what is missing and what brings it. Runs no cell and makes no filesystem; writes to a device only
//! to find out how fast it is.

mod attachment;
mod conditions;
mod device;
mod device_meter;
mod doctor;
pub mod environment;
mod error;
mod held_directory;
pub mod host_memory;
mod image;
mod loop_device;
mod loop_number;
mod machine;
mod programs;
mod space;
mod stripe;
pub mod sysfs;
mod tool_version;
mod workspace;

pub use attachment::is_attached;
pub use conditions::of_storage as conditions_of_storage;
pub use device::{Content, HeldDevice, Refusal, Sight, SourceDevice, look, swap_files};
pub use device_meter::{DeviceMeter, Pace};
pub use doctor::{Availability, Need, emulator, missing_programs, verdict};
pub use environment::{EnvironmentParts, collect, describe_storage};
pub use error::ProvisionError;
pub use held_directory::HeldDirectory;
pub use host_memory::available_memory;
pub use image::{Blank, CHUNK as IMAGE_CHUNK, Image};
pub use loop_device::LoopDevice;
pub use machine::{FoundPrograms, GuestContents, Machine};
pub use programs::find_program;
pub use space::{available, require};
pub use stripe::Stripe;
pub use tool_version::tool_version;
pub use workspace::Workspace;
