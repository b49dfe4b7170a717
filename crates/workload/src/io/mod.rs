//! I/O engines, one module each, with a common trait, so that callers do not depend on the engine.
//!
//! `io_uring`, which has several requests in flight, has a separate loop; the others are driven one
//! request at a time by [`turns`]. Requests, data and counting are the same for all.

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
    /// Reads exactly `into.len()` bytes.
    ///
    /// # Errors
    /// Returns an error if the read fails or the file ends too early.
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
