//! Guests: throw-away machines whose kernels support the filesystems that this machine's kernel
//! lacks, and which may crash.
//!
//! Builds a guest's kernel and its initramfs from Debian packages, without root, and composes the
//! QEMU command line. Does not run or supervise cells; the agent does the work inside the guest.

mod boot;
pub mod build;
mod cache;
mod error;
mod files;
#[cfg(test)]
mod fixture;
mod guest;
mod hash;
mod process_group;
mod process_runner;
mod source_archives;

pub use boot::initramfs::{ARCHIVES_DIR, InitramfsContents};
pub use boot::kvm::check_kvm;
pub use boot::machine::{
    CHANNEL, ConsoleOutput, DISK, MOUNTPOINT, QEMU, QemuMachine, StartFrom, disks,
};
pub use boot::memory_disk::MemoryDisk;
pub use boot::shared_memory::SharedMemoryFile;
pub use build::STRIPE_MODULE;
pub use build::kernel::payload;
pub use build::mirrors::validate_mirror;
pub use build::packages::{is_release, require_debian_kernel};
pub use build::recipe::{DkmsPackage, NewerRelease, Recipe, is_dkms};
pub use build::user_kernel::UserKernel;
pub use cache::directory as cache_directory;
pub use error::GuestError;
pub use guest::{Guest, GuestCopy};
pub use model::Clock;
pub use source_archives::{fetch_archives, path as archive_path};
