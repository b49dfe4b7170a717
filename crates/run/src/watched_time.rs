//! Time that a watcher may hold against what it watches: only what passed while the watcher itself was running.
//!
//! A machine that is suspended, or a watcher that is stopped, hears nothing for a while, and nobody is to blame.

use model::Nanos;
use sys::clock;

/// What may lie between two looks at the clock on a very busy machine; what is longer is no wait.
const MAX_WATCHED_TIME: Nanos = Nanos(1_000_000_000);
/// Shorter absences are the business of a busy machine.
const MIN_REPORTED_SUSPENSION: Nanos = Nanos::from_secs(2);

/// Time that passes in looks at the clocks.
#[derive(Debug)]
pub struct AwakeTime {
    last: Reading,
    /// How long this process did not run.
    stopped: Nanos,
    /// How long the machine was suspended.
    suspended: Nanos,
}

/// Both clocks at one moment: the first stands still while the machine is suspended.
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

    /// What passed since the last look, as far as this process was there.
    pub fn advance(&mut self) -> Nanos {
        self.advance_to(Reading::now())
    }

    /// What a reader of the times should know.
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
        (!told.is_empty()).then(|| format!("{told} while it ran: its times may hold some of that"))
    }

    const fn from(reading: Reading) -> Self {
        Self {
            last: reading,
            stopped: Nanos(0),
            suspended: Nanos(0),
        }
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
        Self {
            running: clock::now(),
            all: clock::boottime(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;
    const TICK: u64 = 20_000_000;

    fn at(running: u64, all: u64) -> Reading {
        Reading {
            running: Nanos(running),
            all: Nanos(all),
        }
    }

    #[test]
    fn ordinary_ticks_count_in_full() {
        let mut time = AwakeTime::from(at(0, 7));
        let counted: u64 = (1..=100)
            .map(|n| time.advance_to(at(n * TICK, 7 + n * TICK)).0)
            .sum();
        assert_eq!((counted, time.warning()), (100 * TICK, None));
    }

    #[test]
    fn a_suspended_machine_waits_for_nobody() {
        let mut time = AwakeTime::from(at(0, 0));
        assert_eq!(time.advance_to(at(TICK, TICK + 60 * MINUTE)), Nanos(TICK));
        let remark = time.warning().unwrap();
        assert!(
            remark.starts_with("the machine was suspended for 60.0 min"),
            "{remark}"
        );
    }

    #[test]
    fn a_stopped_watcher_waits_for_nobody() {
        let mut time = AwakeTime::from(at(0, 0));
        assert_eq!(
            time.advance_to(at(10 * MINUTE, 10 * MINUTE)),
            MAX_WATCHED_TIME
        );
        assert!(time.warning().unwrap().contains("fsarena was stopped"));
    }
}
