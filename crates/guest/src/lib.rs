//! Guests: throw-away machines whose kernel has the filesystems that this machine's lacks, and which
//! may die.
//!
//! Makes a guest's kernel and its first filesystem (initramfs) out of Debian's packages, without root, and
//! says how QEMU is started. Runs no cell and watches over none; what the guest does inside is the
//! agent's.

mod add_on;
mod answer;
mod archive;
mod build;
mod cache;
mod card;
mod digest;
mod driver;
pub mod elf;
mod error;
mod files;
mod first_filesystem;
#[cfg(test)]
mod fixture;
mod group;
mod guest;
mod kernel;
mod kvm;
mod machine;
mod manifest;
mod memory_disk;
mod mirrors;
mod modules;
mod obtain;
mod order;
mod own;
mod own_driver;
mod packages;
mod programs;
mod rebuild;
mod recipe;
mod source;
mod source_archives;
mod tools;
mod workshop;

pub use build::STRIPE_MODULE;
pub use cache::directory as cache_directory;
pub use card::Card;
pub use error::GuestError;
pub use first_filesystem::{ARCHIVES, Contents};
pub use guest::{Carried, Guest};
pub use kernel::payload;
pub use kvm::prove_kvm;
pub use machine::{Begin, CHANNEL, DISK, MOUNTPOINT, Machine, QEMU, Says, disks};
pub use memory_disk::MemoryDisk;
pub use mirrors::check as check_mirror;
pub use model::Clock;
pub use own::Own;
pub use packages::{is_release, require_debian_kernel};
pub use recipe::{AddOn, Recipe, comes_as_source};
pub use source_archives::{bring as bring_archives, path as path_of_archive};
