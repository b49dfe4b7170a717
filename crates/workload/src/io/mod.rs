//! I/O engines, one module each, with a common trait, so that callers do not depend on the engine.
//!
//! `io_uring`, which has several requests in flight, has a separate loop; the others are driven one
//! request at a time by [`sync_loop`]. Requests, data and counting are the same for all.

pub mod direct;
pub mod flag;
pub mod mmap;
pub mod null;
pub mod sync;
pub mod sync_loop;
pub mod target;
pub mod threads;
pub mod uring;

use crate::error::OpError;

/// I/O on a file that finishes each request before the next one starts.
pub trait SyncIo {
    /// Reads exactly `into.len()` bytes.
    ///
    /// # Errors
    /// Returns an error if the read fails or the file ends too early.
    fn read(&mut self, into: &mut [u8], offset: u64) -> Result<(), OpError>;

    /// Writes all bytes.
    ///
    /// # Errors
    /// Returns an error if the write fails.
    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), OpError>;

    /// Writes cached data to the device.
    ///
    /// # Errors
    /// Returns an error if the sync fails.
    fn sync(&mut self) -> Result<(), OpError>;
}
