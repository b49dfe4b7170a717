//! Functions that drop the kernel's caches, so that the next read accesses the disk.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::unistd::{sync, syncfs};

/// Writes all data back and drops page cache, dentries and inodes. Needs root.
///
/// # Errors
/// Returns an error if `/proc/sys/vm/drop_caches` cannot be written.
pub fn drop_all() -> io::Result<()> {
    sync();
    fs::write("/proc/sys/vm/drop_caches", "3\n")
}

/// Writes the cached blocks of a device back and drops them, and those of the file of a loop device. Caches of a mounted
/// filesystem on it remain. Needs root.
///
/// # Errors
/// Returns an error if the device or its file cannot be opened or written back, or if the device is a partition or consists of
/// other devices, which may have caches.
pub fn drop_device_cache(device: &Path) -> io::Result<()> {
    let device = fs::File::open(device)?;
    flush_device(&device)?;
    drop_clean_pages(&device)?;
    let number = device.metadata()?.rdev();
    let (major, minor) = (libc::major(number), libc::minor(number));
    let entry = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    let is_partition = entry.join("partition").exists();
    if is_partition || fs::read_dir(entry.join("slaves"))?.next().is_some() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    match fs::read(entry.join("loop/backing_file")) {
        Ok(path) => {
            let file = fs::File::open(OsStr::from_bytes(path.trim_ascii_end()))?;
            flush_device(&file)?;
            drop_clean_pages(&file)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes a file back and asks the kernel to drop its cached pages. Does not need root, but the
/// kernel may keep pages.
///
/// # Errors
/// Returns an error if the file cannot be opened or written back.
pub fn drop_file_cache(file: &Path) -> io::Result<()> {
    let file = fs::File::open(file)?;
    file.sync_all()?;
    drop_clean_pages(&file)
}

/// Asks the kernel to drop the cached pages of a file that was only read, so nothing must be
/// written back.
///
/// # Errors
/// Returns an error if this kind of file has no cached pages.
pub fn drop_clean_pages(file: &fs::File) -> io::Result<()> {
    Ok(posix_fadvise(file.as_fd(), 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?)
}

/// Writes the cached data of a device or file to its disk, and waits for completion. Does not flush the
/// disk's write cache.
///
/// # Errors
/// Returns an error if data cannot be written.
pub fn flush_device(device: &fs::File) -> io::Result<()> {
    sync_range(device, 0, 0)
}

/// Writes the cached data of a part of a file, and waits for completion. A `length` of 0 means up
/// to the end.
///
/// # Errors
/// Returns an error if data cannot be written.
pub fn sync_range(file: impl AsFd, offset: u64, length: u64) -> io::Result<()> {
    let how = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let [offset, length] = [offset, length].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    let file = file.as_fd();
    // SAFETY: this call takes numbers and does not access memory of this process; the descriptor is
    // open for as long as `file` is borrowed.
    let returned = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, how) };
    match returned {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Writes back the filesystem that contains this path.
///
/// # Errors
/// Returns an error if the path cannot be opened, or if the filesystem reports an error (`syncfs`).
pub fn sync_filesystem(path: &Path) -> io::Result<()> {
    let directory = fs::File::open(path)?;
    Ok(syncfs(directory)?)
}
