//! Boot of a guest: QEMU command line, initramfs, modules, disks in memory.

pub(crate) mod archive;
pub(crate) mod initramfs;
pub(crate) mod kvm;
pub(crate) mod machine;
pub(crate) mod memory_disk;
pub(crate) mod modules;
pub(crate) mod shared_memory;
