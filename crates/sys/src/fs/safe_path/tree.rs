//! Removes a directory recursively, unless it contains a mount point.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::sys::stat::{Mode, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// Removes an entry of an open directory recursively; links are removed and never followed. If it
/// contains a mount point, all of it remains.
///
/// # Errors
/// Returns `EXDEV` if it contains a mount point, or another error if a part of it cannot be
/// removed.
pub fn remove(at: &File, name: &OsStr) -> io::Result<()> {
    require_one_mount(at, name)?;
    remove_all(at, name)
}

/// Checks that the entry contains no mount point, because a mount may contain files of another user
/// or other files of this filesystem.
fn require_one_mount(at: &File, name: &OsStr) -> io::Result<()> {
    let found = match on_this_mount(at, name, OFlag::O_PATH) {
        Err(Errno::ENOENT) => return Ok(()),
        found => found?,
    };
    if !found.metadata()?.is_dir() {
        return Ok(());
    }
    let directory = on_this_mount(at, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    for entry in entries(&directory)? {
        require_one_mount(&directory, &entry?.file_name())?;
    }
    Ok(())
}

fn remove_all(at: &File, name: &OsStr) -> io::Result<()> {
    match unlinkat(at, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => return Ok(()),
        // POSIX allows either error for a directory.
        Err(Errno::EISDIR | Errno::EPERM) => {}
        Err(error) => return Err(error.into()),
    }
    match on_this_mount(at, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY) {
        Err(Errno::ENOENT) => return Ok(()),
        // The entry is not a directory, and may not be removed.
        Err(Errno::ENOTDIR) => return Err(Errno::EPERM.into()),
        Err(error) => return Err(error.into()),
        Ok(directory) => {
            for entry in entries(&directory)? {
                remove_all(&directory, &entry?.file_name())?;
            }
        }
    }
    match unlinkat(at, name, UnlinkatFlags::RemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens an entry of a directory on the same mount. Returns `EXDEV` if it is a mount point.
fn on_this_mount(at: &File, name: &OsStr, flags: OFlag) -> nix::Result<File> {
    let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_NO_XDEV);
    match openat2(at, name, how) {
        Err(Errno::ENOSYS) => on_this_filesystem(at, name, flags),
        opened => opened.map(File::from),
    }
}

/// Opens an entry on the same filesystem, for Linux before 5.6. Cannot detect bind mounts of the
/// same filesystem.
fn on_this_filesystem(at: &File, name: &OsStr, flags: OFlag) -> nix::Result<File> {
    let found = fstatat(at, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    if found.st_dev != fstat(at)?.st_dev {
        return Err(Errno::EXDEV);
    }
    let opened: OwnedFd = openat(at, name, flags, Mode::empty())?;
    Ok(opened.into())
}

fn entries(directory: &File) -> io::Result<fs::ReadDir> {
    fs::read_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}
