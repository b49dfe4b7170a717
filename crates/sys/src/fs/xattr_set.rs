//! Sets extended attributes without allocation, by passing names and values to the kernel
//! unchanged.

use std::ffi::CStr;
use std::io;

/// Sets an extended attribute of the file at a path, following links.
///
/// # Errors
/// Returns the errors of `setxattr`: ENOTSUP if the filesystem has no extended attributes.
pub fn set(path: &CStr, name: &CStr, value: &[u8]) -> io::Result<()> {
    // SAFETY: both strings end with a zero and outlive the call, as does the value; the kernel
    // reads `value.len()` bytes of the value and writes none.
    let returned = unsafe {
        libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0)
    };
    if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_has_no_attributes() {
        let error = set(c"/nowhere/at-all", c"user.fsarena", b"value").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
