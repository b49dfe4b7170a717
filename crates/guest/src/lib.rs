//! Guests: throw-away machines whose kernel has the filesystems that this machine's has not, and which
//! may die.
//!
//! Makes a guest's kernel and its first filesystem (initramfs) out of Debian's packages, without root, and
//! says how QEMU is started. Runs no cell and watches over none; what the guest does inside is the
//! agent's.

mod archive;
mod build;
mod error;
mod kernel;
mod machine;
mod modules;
mod packages;
mod tools;

pub use build::{Contents, Guest, Recipe};
pub use error::GuestError;
pub use machine::{CHANNEL, Clock, DISK, MEMORY_DISK, MOUNTPOINT, Machine, MemoryDisk};
