//! Discards the free blocks of a filesystem (`FITRIM`, as fstrim(8) does).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// `struct fstrim_range` of linux/fs.h.
#[repr(C)]
struct FstrimRange {
    start: u64,
    len: u64,
    minlen: u64,
}

mod raw {
    nix::ioctl_readwrite!(fitrim, b'X', 121, super::FstrimRange);
}

/// Discards all free blocks of the filesystem that contains this path, and returns their bytes, as the filesystem counts
/// them.
///
/// # Errors
/// Returns the error of the kernel: `EOPNOTSUPP` if the device cannot trim, `ENOTTY` if the filesystem cannot.
pub fn trim(path: &Path) -> io::Result<u64> {
    let directory = File::open(path)?;
    let mut range = FstrimRange { start: 0, len: u64::MAX, minlen: 0 };
    // SAFETY: the kernel reads and writes the structure that the pointer refers to, whose layout is that of linux/fs.h.
    unsafe { raw::fitrim(directory.as_raw_fd(), &raw mut range) }?;
    Ok(range.len)
}
