//! Buffer for the path of the next call.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sys::fs::dir_fd::CStrPath;

/// A reusable buffer for paths below a fixed directory, without an allocation per path.
#[derive(Clone, Debug)]
pub struct PathBuffer {
    bytes: Vec<u8>,
    base: usize,
}

impl PathBuffer {
    /// Creates a buffer for paths below a directory.
    pub fn new(top: &Path) -> Self {
        let mut bytes = Vec::with_capacity(top.as_os_str().len() + 512);
        bytes.extend_from_slice(top.as_os_str().as_bytes());
        bytes.push(b'/');
        let base = bytes.len();
        bytes.push(0);
        Self { bytes, base }
    }

    /// Removes everything after the directory.
    pub fn reset(&mut self) {
        self.bytes.truncate(self.base);
    }

    /// Ends the path with a NUL byte.
    pub fn end(&mut self) {
        self.bytes.push(0);
    }

    /// Returns the bytes of the path, so that names can be appended.
    pub const fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns the path relative to the directory, for calls that run millions of times.
    #[inline]
    pub fn as_relative(&self) -> CStrPath<'_> {
        CStrPath::new(&self.bytes[self.base..])
    }

    /// Returns the path relative to the directory.
    pub fn relative(&self) -> &CStr {
        c_string(&self.bytes[self.base..])
    }

    /// Returns the whole path, which begins with the path of the directory.
    pub fn absolute(&self) -> &CStr {
        c_string(&self.bytes)
    }

    /// Returns the path for messages.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.bytes[..self.bytes.len() - 1]))
    }
}

fn c_string(bytes: &[u8]) -> &CStr {
    CStr::from_bytes_with_nul(bytes).expect("names hold no zero, and one ends the path")
}
