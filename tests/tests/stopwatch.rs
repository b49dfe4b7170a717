//! Time limits that fsarena promises to its users, checked on a machine that other programs may
//! keep busy.

use std::time::{Duration, Instant};

use model::{Nanos, Pressure};
use sys::block::pressure;

/// Factor by which a busy machine may exceed a promised time.
const BUSY_FACTOR: u32 = 20;

/// Measures the time of a reaction, and the part of it in which some task had to wait for a
/// processor, a disk or memory.
pub struct Stopwatch {
    start: Instant,
    pressure: Option<Pressure>,
}

impl Stopwatch {
    /// Starts the measurement.
    pub fn start() -> Self {
        Self { start: Instant::now(), pressure: pressure::read() }
    }

    /// Checks that the time since the start is within the promise. Time in which some task had to
    /// wait does not count, up to 20 times the promise.
    #[track_caller]
    pub fn assert_within(&self, promise: Duration, reaction: &str) {
        let took = self.start.elapsed();
        let waits = self.waits().unwrap_or(took).min(took);
        assert!(
            took - waits < promise && took < promise * BUSY_FACTOR,
            "{reaction} took {took:?}; some task had to wait during {waits:?} of that"
        );
    }

    /// Returns the time in which some task had to wait, or `None` if the kernel does not report it.
    fn waits(&self) -> Option<Duration> {
        let (before, after) = (self.pressure?, pressure::read()?);
        let all = |pressure: Pressure| pressure.cpu.0 + pressure.io.0 + pressure.memory.0;
        Some(Nanos(all(after) - all(before)).to_duration())
    }
}
