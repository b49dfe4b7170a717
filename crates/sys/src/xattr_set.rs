//! Extended attributes, set without allocating: names and values are handed to the kernel as they are.

use std::ffi::CStr;
use std::io;

/// Sets an extended attribute of the file that a path leads to, following links.
///
/// # Errors
/// What `setxattr` says: ENOTSUP where the filesystem has none.
pub fn set(path: &CStr, name: &CStr, value: &[u8]) -> io::Result<()> {
    // SAFETY: both strings end with a zero and outlive the call, as does the value, of which the
    // kernel reads `value.len()` bytes and writes none.
    let returned = unsafe {
        libc::setxattr(
            path.as_ptr(),
            name.as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            0,
        )
    };
    if returned == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_has_no_attributes() {
        let error = set(c"/nowhere/at-all", c"user.fsarena", b"value").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
