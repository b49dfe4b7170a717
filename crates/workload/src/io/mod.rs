//! The ways from the program to a file, one module each, behind one trait: whoever makes requests does
//! not know which it is.
//!
//! `io_uring`, which has several requests in flight at once, has a loop of its own; the others are
//! driven one request at a time by [`turns`]. Requests, data and counting are the same for all.

pub mod direct;
pub mod mmap;
pub mod null;
pub mod sync;
pub mod sync_loop;
pub mod target;
pub mod threads;
pub mod uring;

use crate::error::OpError;

/// A way to a file that answers each request before the next one.
pub trait SyncIo {
    /// Reads exactly so many bytes.
    ///
    /// # Errors
    /// When the filesystem refuses, or the file ends before.
    fn read(&mut self, into: &mut [u8], offset: u64) -> Result<(), OpError>;

    /// Writes all bytes.
    ///
    /// # Errors
    /// When the filesystem refuses.
    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), OpError>;

    /// Brings what was written to the device.
    ///
    /// # Errors
    /// When the filesystem cannot.
    fn sync(&mut self) -> Result<(), OpError>;
}
