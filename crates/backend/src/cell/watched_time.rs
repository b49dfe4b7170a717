//! Time that counts for a watcher's timeouts: only time during which the watcher itself ran.
//!
//! A suspended machine or a stopped watcher receives no events for a while, which is not a fault of
//! the watched process.

use model::Nanos;
use sys::io::clock;

/// Longest plausible gap between two readings on a very busy machine. The time above it does not
/// count as a wait.
const MAX_WATCHED_TIME: Nanos = Nanos(1_000_000_000);
/// Minimum duration of a reported suspension. Shorter gaps are normal on a busy machine.
const MIN_REPORTED_SUSPENSION: Nanos = Nanos::from_secs(2);

/// A clock of the time during which this process ran. Also measures stops of the process and
/// suspensions of the machine.
#[derive(Debug)]
pub struct AwakeTime {
    last: Reading,
    /// Time during which this process did not run.
    stopped: Nanos,
    /// Time during which the machine was suspended.
    suspended: Nanos,
}

/// Both clocks at one moment. `running` stops while the machine is suspended.
#[derive(Clone, Copy, Debug)]
struct Reading {
    running: Nanos,
    all: Nanos,
}

impl AwakeTime {
    /// Begins now.
    pub fn start() -> Self {
        Self::from(Reading::now())
    }

    /// Returns the time since the last reading during which this process ran.
    pub fn advance(&mut self) -> Nanos {
        self.advance_to(Reading::now())
    }

    /// Returns a remark for readers of the times, if any.
    pub fn warning(&self) -> Option<String> {
        let absences = [
            (self.suspended, "the machine was suspended for"),
            (self.stopped, "fsarena was stopped, or not run at all, for"),
        ];
        let told: Vec<String> = absences
            .into_iter()
            .filter(|(time, _)| *time >= MIN_REPORTED_SUSPENSION)
            .map(|(time, what)| format!("{what} {time}"))
            .collect();
        let told = told.join(", ");
        (!told.is_empty())
            .then(|| format!("{told} during the run; the times may include part of this pause"))
    }

    const fn from(reading: Reading) -> Self {
        Self { last: reading, stopped: Nanos(0), suspended: Nanos(0) }
    }

    fn advance_to(&mut self, now: Reading) -> Nanos {
        let passed = now.running.0.saturating_sub(self.last.running.0);
        let all = now.all.0.saturating_sub(self.last.all.0);
        self.last = now;
        self.suspended.0 += all.saturating_sub(passed);
        self.stopped.0 += passed.saturating_sub(MAX_WATCHED_TIME.0);
        Nanos(passed.min(MAX_WATCHED_TIME.0))
    }
}

impl Reading {
    fn now() -> Self {
        Self { running: clock::now(), all: clock::boottime() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;
    const TICK: u64 = 20_000_000;

    fn at(running: u64, all: u64) -> Reading {
        Reading { running: Nanos(running), all: Nanos(all) }
    }

    #[test]
    fn ordinary_ticks_count_in_full() {
        let mut time = AwakeTime::from(at(0, 7));
        let counted: u64 = (1..=100).map(|n| time.advance_to(at(n * TICK, 7 + n * TICK)).0).sum();
        assert_eq!((counted, time.warning()), (100 * TICK, None));
    }

    #[test]
    fn suspension_of_the_machine_does_not_count_as_waiting() {
        let mut time = AwakeTime::from(at(0, 0));
        assert_eq!(time.advance_to(at(TICK, TICK + 60 * MINUTE)), Nanos(TICK));
        let remark = time.warning().unwrap();
        assert!(remark.starts_with("the machine was suspended for 60.0 min"), "{remark}");
    }

    #[test]
    fn time_of_a_stopped_watcher_does_not_count_as_waiting() {
        let mut time = AwakeTime::from(at(0, 0));
        assert_eq!(time.advance_to(at(10 * MINUTE, 10 * MINUTE)), MAX_WATCHED_TIME);
        assert!(time.warning().unwrap().contains("fsarena was stopped"));
    }
}
