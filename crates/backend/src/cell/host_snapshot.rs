//! Measures other activity of the machine while a cell runs here.

use std::thread;

use model::{HostNoise, Nanos, Pressure};
use sys::block::pressure;
use sys::io::clock;
use sys::process::usage::{self, CpuTotals};

/// State of the host at one moment.
pub struct HostSnapshot {
    at: Nanos,
    processors: CpuTotals,
    own: Nanos,
    pressure: Option<Pressure>,
}

impl HostSnapshot {
    /// Takes a snapshot: before a cell starts, and again after its processes have ended.
    pub fn take() -> Self {
        Self {
            at: clock::now(),
            processors: usage::processors(),
            own: usage::self_user_time(),
            pressure: pressure::read(),
        }
    }

    /// Returns the activity between two snapshots.
    ///
    /// Activity of others is measured by their user time only. The kernel works for a cell, for
    /// example in write-back, in its own threads, which have no user time.
    pub fn noise_until(&self, after: &Self) -> HostNoise {
        let less = |after: Nanos, before: Nanos| Nanos(after.0.saturating_sub(before.0));
        let user = less(after.processors.user, self.processors.user);
        let pressure = self.pressure.zip(after.pressure);
        HostNoise {
            processors: thread::available_parallelism()
                .map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
            elapsed: less(after.at, self.at),
            other_cpu_time: less(user, less(after.own, self.own)),
            stolen: less(after.processors.stolen, self.processors.stolen),
            pressure: pressure.map(|(before, after)| Pressure {
                cpu: less(after.cpu, before.cpu),
                io: less(after.io, before.io),
                memory: less(after.memory, before.memory),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, user: u64, own: u64, stolen: u64) -> HostSnapshot {
        HostSnapshot {
            at: Nanos::from_secs(seconds),
            processors: CpuTotals {
                user: Nanos::from_secs(user),
                stolen: Nanos::from_secs(stolen),
                ..CpuTotals::default()
            },
            own: Nanos::from_secs(own),
            pressure: None,
        }
    }

    #[test]
    fn time_of_others_excludes_the_cell_and_stolen_time() {
        let found = at(100, 50, 5, 1).noise_until(&at(110, 57, 8, 3));
        assert_eq!(found.elapsed, Nanos::from_secs(10));
        assert_eq!(
            (found.other_cpu_time, found.stolen),
            (Nanos::from_secs(4), Nanos::from_secs(2))
        );
        // Times in clock ticks may be less than the exact time of the cell itself.
        assert_eq!(at(0, 0, 0, 0).noise_until(&at(1, 1, 2, 0)).other_cpu_time, Nanos(0));
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let before = HostSnapshot::take();
        let found = before.noise_until(&HostSnapshot::take());
        assert!(found.processors > 0);
    }
}
