//! Provides resources for cells: image files, loop devices, directories and programs. Also checks
//! whether a device given by the user may be overwritten.
//!
//! Reports missing requirements and the commands that install them. Does not run cells or create
//! filesystems, and writes to a device only to measure its speed.

mod cell_mount_dir;
mod device;
mod device_meter;
mod error;
mod held_directory;
pub mod host;
mod image;
mod programs;
mod tool_version;

pub use cell_mount_dir::CellMountDir;
pub use device::{
    DeviceContent, DeviceRefusal, ExclusiveDevice, ReadOnlyDevice, ScanCoverage, scan, swap_files,
};
pub use device_meter::{DeviceMeter, MeterSchedule};
pub use error::ProvisionError;
pub use held_directory::PinnedDirectory;
pub use host::doctor::{
    Availability, MissingRequirement, check_availability, emulator, missing_programs,
};
pub use host::environment::{EnvironmentContext, collect, debian_release, describe_storage};
pub use host::host_settings::storage_settings as conditions_of_storage;
pub use host::layers::circumstances;
pub use host::machine::{GuestContents, HostInfo, ProgramLookup};
pub use image::loop_attachment::is_loop_attached;
pub use image::loop_device::LoopDevice;
pub use image::raid0::Raid0Array;
pub use image::space::{available, require_free_space};
pub use image::{CHUNK as IMAGE_CHUNK, Image, ImageFill};
pub use programs::find_program;
pub use tool_version::tool_version;
