//! Clocks: a monotonic one for durations, and the calendar for records.

use std::time::{SystemTime, UNIX_EPOCH};

use model::Nanos;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep, clock_settime};

/// Last part of a wait, which is spent spinning, because a sleep would be late half of the time.
const SPIN_BEFORE_DEADLINE: Nanos = Nanos(8_000);

/// Returns nanoseconds of the monotonic clock (`CLOCK_MONOTONIC`).
#[inline]
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has a monotonic clock");
    Nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Returns the time of the clock that also runs while the machine is suspended (`CLOCK_BOOTTIME`).
pub fn boottime() -> Nanos {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("every Linux since 2.6.39 has it");
    Nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Sets the calendar (`CLOCK_REALTIME`) to this time since 1970 if it is earlier.
///
/// # Errors
/// Returns an error without the privilege.
pub fn set_after(least: Nanos) -> std::io::Result<()> {
    let time = clock_gettime(ClockId::CLOCK_REALTIME)?;
    if time.num_nanoseconds() < least.0 as i64 {
        clock_settime(ClockId::CLOCK_REALTIME, TimeSpec::nanoseconds(least.0 as i64))?;
    }
    Ok(())
}

/// Returns the time since a reading of [`now`].
#[inline]
pub fn since(start: Nanos) -> Nanos {
    Nanos(now().0 - start.0)
}

/// Waits until a time of the clock of [`now`], and returns a reading at or after it. Sleeps until a
/// few microseconds before, because a spinning thread occupies a processor.
pub fn wait_until(at: Nanos) -> Nanos {
    let mut reading = now();
    if reading.0 + SPIN_BEFORE_DEADLINE.0 < at.0 {
        let wake =
            TimeSpec::nanoseconds((at.0 - SPIN_BEFORE_DEADLINE.0).min(i64::MAX as u64) as i64);
        // A signal ends the sleep early; the loop below then spins longer, and the result is still
        // correct.
        let _ =
            clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &wake);
        reading = now();
    }
    while reading < at {
        std::hint::spin_loop();
        reading = now();
    }
    reading
}

/// Makes this thread's timers expire on time rather than up to 50 µs late, which the kernel allows
/// by default (`PR_SET_TIMERSLACK`).
pub fn set_timer_slack() {
    // If the kernel does not support this, waits are less precise, which the latency shows.
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// Nanoseconds since 1970.
pub fn realtime() -> Nanos {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_never_end_too_early() {
        set_timer_slack();
        for gap in [0, 1_000, 200_000] {
            let at = Nanos(now().0 + gap);
            assert!(wait_until(at) >= at);
        }
        let past = Nanos(now().0 - 1);
        assert!(wait_until(past) > past);
    }
}
