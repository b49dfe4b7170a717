//! Calls on paths below an open directory, for loops that make millions of them. Paths are handed to the kernel as they
//! are, without a search for their end; and files are opened and closed without the library of C, whose calls ask each
//! time whether this thread was cancelled (pthreads(7), "Cancellation points"), which nobody does here.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

/// A path that ends with a zero; the kernel reads to the first one.
#[derive(Clone, Copy, Debug)]
pub struct CStrPath<'a>(&'a [u8]);

impl<'a> CStrPath<'a> {
    /// The path in these bytes.
    ///
    /// # Panics
    /// When the last of them is no zero.
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

/// Opens a file; one that is made has this mode, but for the umask.
///
/// # Errors
/// Those of openat(2).
#[inline]
pub fn open(
    directory: &OwnedFd,
    path: CStrPath<'_>,
    flags: OFlag,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let (directory, path) = (directory.as_raw_fd(), path.start());
    // SAFETY: the kernel reads the path to a zero that is there, and writes nothing.
    let opened =
        unsafe { libc::syscall(libc::SYS_openat, directory, path, flags.bits(), mode.bits()) };
    let number = Errno::result(opened)? as i32;
    // SAFETY: the kernel has just opened it for us, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Closes a file.
///
/// # Errors
/// Those of close(2): what the filesystem has kept back until now. The file is closed all the same.
#[inline]
pub fn close(file: OwnedFd) -> Result<(), Errno> {
    // SAFETY: it was ours, and is so no more.
    Errno::result(unsafe { libc::syscall(libc::SYS_close, file.into_raw_fd()) }).map(drop)
}

/// Asks for the attributes of a file, those of a link itself where it is one.
///
/// # Errors
/// Those of fstatat(2).
#[inline]
pub fn stat(directory: &OwnedFd, path: CStrPath<'_>) -> Result<(), Errno> {
    let mut attributes = MaybeUninit::<libc::stat>::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    let (directory, path) = (directory.as_raw_fd(), path.start());
    // SAFETY: the kernel reads the path to a zero that is there, and writes no more than these attributes.
    Errno::result(unsafe { libc::fstatat(directory, path, attributes.as_mut_ptr(), flags) })
        .map(drop)
}

/// Removes a file, or an empty directory where that is said.
///
/// # Errors
/// Those of unlinkat(2).
#[inline]
pub fn remove(directory: &OwnedFd, path: CStrPath<'_>, is_directory: bool) -> Result<(), Errno> {
    let flags = if is_directory { libc::AT_REMOVEDIR } else { 0 };
    let (directory, path) = (directory.as_raw_fd(), path.start());
    // SAFETY: the kernel reads the path to a zero that is there, and writes nothing.
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
        assert_eq!(
            open(&top, path, new, Mode::S_IRUSR).err(),
            Some(Errno::EEXIST)
        );
        assert_eq!(remove(&top, path, true), Err(Errno::ENOTDIR));
        remove(&top, path, false).unwrap();
        fs::create_dir(place.path().join("name")).unwrap();
        remove(&top, path, true).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    #[should_panic(expected = "a zero ends the path")]
    fn a_path_without_an_end_is_none() {
        CStrPath::new(b"name");
    }
}
