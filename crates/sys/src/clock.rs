//! The clocks: a monotonic one for spans, the calendar for the record.

use std::time::{SystemTime, UNIX_EPOCH};

use model::Nanos;
use nix::time::{ClockId, clock_gettime};

/// Nanoseconds on a clock that never goes back (`CLOCK_MONOTONIC`).
#[inline]
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has a monotonic clock");
    Nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Time since a reading of [`now`].
#[inline]
pub fn since(start: Nanos) -> Nanos {
    Nanos(now().0 - start.0)
}

/// Nanoseconds since 1970.
pub fn calendar() -> Nanos {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .into()
}
