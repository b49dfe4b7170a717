//! Other activity of a machine while a cell ran.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// Other activity of this machine during a cell, and processor time that its host took away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostNoise {
    /// Number of processors of the machine.
    pub processors: u32,
    /// Duration of the observation.
    pub elapsed: Nanos,
    /// User time of processes that do not belong to the cell, summed over all processors;
    /// resolution 10 ms.
    #[serde(rename = "others")]
    pub other_cpu_time: Nanos,
    /// Time in which the host of a virtual machine gave its processors to other guests.
    pub stolen: Nanos,
    /// Time in which some task waited, of the cell or not; absent if the kernel does not report it.
    pub pressure: Option<Pressure>,
}

/// Time in which at least one task waited for a scarce resource. Source:
/// Documentation/accounting/psi.rst, the totals of `some`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pressure {
    /// For a processor.
    pub cpu: Nanos,
    /// For a device.
    pub io: Nanos,
    /// For memory.
    pub memory: Nanos,
}

impl HostNoise {
    /// Maximum share of the processors used by other processes, in percent.
    pub const OTHER_CPU_LIMIT_PERCENT: f64 = 10.0;
    /// Maximum share of the processors taken by the host, in percent.
    pub const STEAL_LIMIT_PERCENT: f64 = 5.0;
    /// Minimum time that counts; shorter times are within the error of the 10 ms resolution.
    const COUNTABLE: Nanos = Nanos(100_000_000);

    /// Returns the share of other processes, in percent of all processors.
    pub fn other_processes_percent(&self) -> f64 {
        self.share(self.other_cpu_time)
    }

    /// Returns the stolen share, in percent of all processors.
    pub fn steal_percent(&self) -> f64 {
        self.share(self.stolen)
    }

    /// Returns true if the disturbance makes the cell's times less reliable.
    pub fn is_significant(&self) -> bool {
        let above = |time: Nanos, limit| time >= Self::COUNTABLE && self.share(time) > limit;
        above(self.other_cpu_time, Self::OTHER_CPU_LIMIT_PERCENT)
            || above(self.stolen, Self::STEAL_LIMIT_PERCENT)
    }

    fn share(&self, time: Nanos) -> f64 {
        let all = self.elapsed.0 as f64 * f64::from(self.processors.max(1));
        if all > 0.0 { 100.0 * time.0 as f64 / all } else { 0.0 }
    }
}

impl fmt::Display for HostNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (others, stolen) = (self.other_processes_percent(), self.steal_percent());
        write!(f, "other processes {others:.0} % of the processors, stolen {stolen:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disturbance(others: u64, stolen: u64) -> HostNoise {
        const MILLISECOND: u64 = 1_000_000;
        HostNoise {
            processors: 2,
            elapsed: Nanos::from_secs(1),
            other_cpu_time: Nanos(others * MILLISECOND),
            stolen: Nanos(stolen * MILLISECOND),
            pressure: None,
        }
    }

    #[test]
    fn a_tenth_of_the_processors_for_others_or_a_twentieth_for_the_host_is_much() {
        assert!(!disturbance(200, 0).is_significant() && disturbance(210, 0).is_significant());
        assert!(!disturbance(0, 100).is_significant() && disturbance(0, 110).is_significant());
        assert_eq!(
            disturbance(500, 20).to_string(),
            "other processes 25 % of the processors, stolen 1 %"
        );
    }

    #[test]
    fn few_ticks_in_a_short_cell_are_ignored() {
        let mut short = disturbance(60, 60);
        short.elapsed = Nanos(50_000_000);
        assert!(!short.is_significant());
        assert!(!HostNoise::default().is_significant());
    }
}
