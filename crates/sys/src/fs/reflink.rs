//! Files that share their space (ioctl_ficlone(2)).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Makes a file share all space of another, replacing its content.
///
/// # Errors
/// Returns the error of the kernel: `EOPNOTSUPP` if the filesystem does not support it, `EXDEV` if
/// the files are on different filesystems.
pub fn ficlone(from: &File, to: &File) -> io::Result<()> {
    // SAFETY: the argument is a descriptor by value, which `from` keeps open through the call; no memory is passed.
    let outcome = unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONE as _, from.as_raw_fd()) };
    match outcome {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
