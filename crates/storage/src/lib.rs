//! Provides resources for cells: image files, loop devices, directories and programs. Also checks
//! whether a device given by the user may be overwritten.
//!
//! Reports missing requirements and the commands that install them. Does not run cells or create
//! filesystems, and writes to a device only to measure its speed.

mod cell_mount_dir;
mod device;
mod device_meter;
mod doctor;
pub mod environment;
mod error;
mod held_directory;
pub mod host_memory;
mod host_settings;
mod image;
mod loop_attachment;
mod loop_device;
mod loop_node;
mod machine;
mod programs;
mod raid0;
mod space;
pub mod sysfs;
mod tool_version;

pub use cell_mount_dir::CellMountDir;
pub use device::{
    DeviceContent, DeviceRefusal, ExclusiveDevice, ReadOnlyDevice, ScanCoverage, scan, swap_files,
};
pub use device_meter::{DeviceMeter, MeterSchedule};
pub use doctor::{
    Availability, MissingRequirement, check_availability, emulator, missing_programs,
};
pub use environment::{EnvironmentContext, collect, describe_storage};
pub use error::ProvisionError;
pub use held_directory::PinnedDirectory;
pub use host_memory::available_memory;
pub use host_settings::storage_settings as conditions_of_storage;
pub use image::{CHUNK as IMAGE_CHUNK, Image, ImageFill};
pub use loop_attachment::is_loop_attached;
pub use loop_device::LoopDevice;
pub use machine::{GuestContents, HostInfo, ProgramLookup};
pub use programs::find_program;
pub use raid0::Raid0Array;
pub use space::{available, require_free_space};
pub use tool_version::tool_version;
