//! Guests: throw-away machines whose kernels support the filesystems that this machine's kernel
//! lacks, and which may crash.
//!
//! Builds a guest's kernel and its initramfs from Debian packages, without root, and composes the
//! QEMU command line. Does not run or supervise cells; the agent does the work inside the guest.

mod archive;
mod build;
mod build_dir;
mod build_index;
mod cache;
mod disk_module;
mod dkms;
mod driver;
pub mod elf;
mod error;
mod files;
#[cfg(test)]
mod fixture;
mod get_or_build;
mod guest;
mod hash;
mod initramfs;
mod kernel;
mod kvm;
mod machine;
mod manifest;
mod memory_disk;
mod mirrors;
mod modules;
mod package_selection;
mod packages;
mod process_group;
mod process_runner;
mod program_tree;
mod rebuild;
mod recipe;
mod shared_memory;
mod source;
mod source_archives;
mod user_kernel;

pub use build::STRIPE_MODULE;
pub use cache::directory as cache_directory;
pub use error::GuestError;
pub use guest::{Guest, GuestCopy};
pub use initramfs::{ARCHIVES_DIR, InitramfsContents};
pub use kernel::payload;
pub use kvm::check_kvm;
pub use machine::{CHANNEL, ConsoleOutput, DISK, MOUNTPOINT, QEMU, QemuMachine, StartFrom, disks};
pub use memory_disk::MemoryDisk;
pub use mirrors::validate_mirror as check_mirror;
pub use model::Clock;
pub use packages::{is_release, require_debian_kernel};
pub use recipe::{DkmsPackage, Recipe, is_dkms};
pub use shared_memory::SharedMemoryFile;
pub use source_archives::{fetch_archives as bring_archives, path as path_of_archive};
pub use user_kernel::UserKernel;
