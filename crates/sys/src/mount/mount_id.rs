//! Identity of a directory on a mount. While the directory is open, its path may start to refer to
//! something else.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use model::MountId;

/// Requests the unique mount ID, which is never reused until reboot. Linux before 6.8 ignores this
/// flag. Source: `include/uapi/linux/stat.h`.
const STATX_MNT_ID_UNIQUE: u32 = 0x4000;

/// Opens a directory. For as long as it is open, its filesystem can be unmounted only lazily.
///
/// # Errors
/// Returns an error if the path is not a directory, or if it cannot be read.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path)
}

/// Returns the location of an open directory.
///
/// # Errors
/// Returns the error of the kernel.
pub fn identity(directory: &File) -> io::Result<MountId> {
    let found = stat(directory, libc::STATX_INO | libc::STATX_MNT_ID | STATX_MNT_ID_UNIQUE)?;
    Ok(MountId {
        device: (found.stx_dev_major.into(), found.stx_dev_minor.into()),
        mount: found.stx_mnt_id,
        inode: found.stx_ino,
    })
}

/// Whether the filesystem compresses and encrypts new files of an open directory, as set for this
/// directory (`chattr +c`, fscrypt).
///
/// # Errors
/// Returns the error of the kernel.
pub fn transformations(directory: &File) -> io::Result<[bool; 2]> {
    let set = stat(directory, 0)?.stx_attributes;
    let is_set = |attribute: i32| set & u64::from(attribute.unsigned_abs()) != 0;
    Ok([is_set(libc::STATX_ATTR_COMPRESSED), is_set(libc::STATX_ATTR_ENCRYPTED)])
}

fn stat(directory: &File, mask: u32) -> io::Result<libc::statx> {
    let mut found = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path is an empty string that ends with a zero; the kernel writes one `struct statx` to a
    // place for one; the descriptor is open for as long as `directory` is borrowed.
    let returned = unsafe {
        libc::statx(
            directory.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            mask,
            found.as_mut_ptr(),
        )
    };
    if returned != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: every bit pattern is a value of this struct of numbers, and it was zero before.
    Ok(unsafe { found.assume_init() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_itself_and_no_other() {
        let place = tempfile::tempdir().unwrap();
        let here = identity(&open(place.path()).unwrap()).unwrap();
        assert_eq!(identity(&open(place.path()).unwrap()).unwrap(), here);
        let root = identity(&open(Path::new("/proc")).unwrap()).unwrap();
        assert_ne!((root.device, root.mount), (here.device, here.mount));
        assert!(open(Path::new("/dev/null")).is_err());
    }
}
