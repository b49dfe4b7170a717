//! Extended attributes of files (xattr(7)).

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// Returns true if a file has this attribute. Follows links. Returns false if the file cannot be
/// examined.
pub fn has(path: &Path, name: &CStr) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: both names are strings that end with a zero and outlive the call; with a size of zero
    // the kernel writes no memory and returns the size of the attribute.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), ptr::null_mut(), 0) >= 0 }
}
