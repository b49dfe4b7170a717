//! Meters around operations: time, latency, fragmentation.

pub(crate) mod calibrate;
pub(crate) mod fragmentation;
pub(crate) mod interval_recorder;
pub(crate) mod latency;
pub(crate) mod meter;
pub(crate) mod thread_stats;
