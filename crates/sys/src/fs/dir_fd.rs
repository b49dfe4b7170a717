//! Calls on paths below an open directory, for loops with millions of them. Paths are passed to the
//! kernel without a search for their end. Files are opened and closed without the C library, whose
//! calls check each time for thread cancellation (pthreads(7), "Cancellation points"), which
//! fsarena does not use.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

/// A zero-terminated path. The kernel reads up to the first zero.
#[derive(Clone, Copy, Debug)]
pub struct CStrPath<'a>(&'a [u8]);

impl<'a> CStrPath<'a> {
    /// Creates a path from these bytes.
    ///
    /// # Panics
    /// Panics if the last byte is not zero.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        assert!(matches!(bytes.last(), Some(0)), "a zero ends the path");
        Self(bytes)
    }

    #[inline]
    const fn start(self) -> *const libc::c_char {
        self.0.as_ptr().cast()
    }
}

/// Opens a file. A created file has this mode, subject to the umask.
///
/// # Errors
/// Returns the errors of openat(2).
#[inline]
pub fn open(
    directory: &OwnedFd,
    path: CStrPath<'_>,
    flags: OFlag,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let (directory, path) = (directory.as_raw_fd(), path.start());
    // SAFETY: the kernel reads the path up to its terminating zero, and writes no memory.
    let opened =
        unsafe { libc::syscall(libc::SYS_openat, directory, path, flags.bits(), mode.bits()) };
    let number = Errno::result(opened)? as i32;
    // SAFETY: the kernel has just opened this descriptor, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Closes a file.
///
/// # Errors
/// Returns the errors of close(2), which include write errors that the filesystem deferred. The
/// file is closed even so.
#[inline]
pub fn close(file: OwnedFd) -> Result<(), Errno> {
    // SAFETY: the descriptor was owned by `file`, which gave up its ownership.
    Errno::result(unsafe { libc::syscall(libc::SYS_close, file.into_raw_fd()) }).map(drop)
}

/// Reads the attributes of a file, without following a symbolic link.
///
/// # Errors
/// Returns the errors of fstatat(2).
#[inline]
pub fn stat(directory: &OwnedFd, path: CStrPath<'_>) -> Result<(), Errno> {
    let mut attributes = MaybeUninit::<libc::stat>::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    let (directory, path) = (directory.as_raw_fd(), path.start());
    // SAFETY: the kernel reads the path up to its terminating zero, and writes only these
    // attributes.
    Errno::result(unsafe { libc::fstatat(directory, path, attributes.as_mut_ptr(), flags) })
        .map(drop)
}

/// Removes a file, or an empty directory if `is_directory` is true.
///
/// # Errors
/// Returns the errors of unlinkat(2).
#[inline]
pub fn remove(directory: &OwnedFd, path: CStrPath<'_>, is_directory: bool) -> Result<(), Errno> {
    let flags = if is_directory { libc::AT_REMOVEDIR } else { 0 };
    let (directory, path) = (directory.as_raw_fd(), path.start());
    // SAFETY: the kernel reads the path up to its terminating zero, and writes no memory.
    Errno::result(unsafe { libc::unlinkat(directory, path, flags) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    #[test]
    fn a_file_is_made_seen_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let top = OwnedFd::from(File::open(place.path()).unwrap());
        let path = CStrPath::new(b"name\0");
        assert_eq!(stat(&top, path), Err(Errno::ENOENT));
        let new = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let made = open(&top, path, new, Mode::S_IRUSR).unwrap();
        close(made).unwrap();
        stat(&top, path).unwrap();
        assert_eq!(open(&top, path, new, Mode::S_IRUSR).err(), Some(Errno::EEXIST));
        assert_eq!(remove(&top, path, true), Err(Errno::ENOTDIR));
        remove(&top, path, false).unwrap();
        fs::create_dir(place.path().join("name")).unwrap();
        remove(&top, path, true).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    #[should_panic(expected = "a zero ends the path")]
    fn rejects_a_path_without_a_terminating_zero() {
        CStrPath::new(b"name");
    }
}
