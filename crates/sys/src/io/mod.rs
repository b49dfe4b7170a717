//! io_uring, page cache, clocks and bounded input.

pub mod bounded;
pub mod caches;
pub mod clock;
pub mod uring;
