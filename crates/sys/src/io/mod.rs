//! io_uring, page cache and clocks.

pub mod caches;
pub mod clock;
pub mod uring;
