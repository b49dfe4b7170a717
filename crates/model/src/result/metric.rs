//! Metrics: meaning, unit and direction of each number of a phase.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes per second.
    BytesPerSecond,
    /// Operations per second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// Hundredths.
    Percent,
    /// Bytes.
    Bytes,
    /// A plain number.
    Count,
    /// A ratio of two quantities of the same kind.
    Ratio,
}

/// Better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither direction is better: the metric explains others.
    Neutral,
}

/// Defines one metric per line, in the order of the reports. Each line contains the name in results
/// and on the command line, the unit of the values, and the better direction.
macro_rules! metrics {
    ($($(#[$doc:meta])* $metric:ident = $name:literal, $unit:ident, $direction:ident;)*) => {
        /// Meaning of a number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Metric {
            $($(#[$doc])* #[serde(rename = $name)] $metric,)*
        }

        impl Metric {
            /// Every metric, in the order of the reports.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$metric),*];

            /// Returns the name in results and on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$metric => $name,)*
                }
            }

            /// Returns the unit of its values.
            pub const fn unit(self) -> Unit {
                match self {
                    $(Self::$metric => Unit::$unit,)*
                }
            }

            /// Returns the better direction.
            pub const fn direction(self) -> Direction {
                match self {
                    $(Self::$metric => Direction::$direction,)*
                }
            }
        }
    };
}

metrics! {
    /// Bytes per second between program and filesystem.
    Throughput = "throughput", BytesPerSecond, Higher;
    /// Operations per second.
    Rate = "rate", PerSecond, Higher;
    /// Seconds from start to end.
    Elapsed = "elapsed", Seconds, Lower;
    /// Share of the device that files may fill.
    Capacity = "capacity", Percent, Higher;
    /// Share of the power cuts without a loss, of the disk faults without wrong data that no call
    /// reported, or of the synced files of a full filesystem.
    Survived = "survived", Percent, Higher;
    /// 1 if a feature works, 0 if not.
    Supported = "supported", Count, Higher;
    /// Processor time of the agent and its programs as a share of elapsed time.
    Cpu = "cpu", Percent, Neutral;
    /// Processor time of the filesystem's own processes as a share of elapsed time.
    CpuDriver = "cpu-driver", Percent, Neutral;
    /// Busy time of the whole machine as a share of elapsed time; above 100 % on several processors.
    CpuMachine = "cpu-machine", Percent, Neutral;
    /// Processor time of the agent, its programs and the filesystem's own processes for each operation.
    CpuPerOperation = "cpu-per-operation", Seconds, Lower;
    /// Page faults served without I/O.
    MinorFaults = "minor-faults", Count, Neutral;
    /// Page faults served by I/O.
    MajorFaults = "major-faults", Count, Neutral;
    /// Median latency of an operation.
    LatencyP50 = "latency-p50", Seconds, Lower;
    /// 90th percentile of the latency.
    LatencyP90 = "latency-p90", Seconds, Lower;
    /// 95th percentile of the latency.
    LatencyP95 = "latency-p95", Seconds, Lower;
    /// 99th percentile of the latency.
    LatencyP99 = "latency-p99", Seconds, Lower;
    /// 99.9th percentile of the latency.
    LatencyP999 = "latency-p999", Seconds, Lower;
    /// 99.99th percentile of the latency.
    LatencyP9999 = "latency-p9999", Seconds, Lower;
    /// Worst latency of an operation.
    LatencyMax = "latency-max", Seconds, Lower;
    /// Mean latency of the operations that were timed individually.
    LatencyMean = "latency-mean", Seconds, Lower;
    /// Share of the operations that took longer than 2 s, as tiobench prints it.
    LatencyAbove2s = "latency-above-2s", Percent, Lower;
    /// Share of the operations that took longer than 10 s, as tiobench prints it.
    LatencyAbove10s = "latency-above-10s", Percent, Lower;
    /// Longest time without a finished operation, in a phase of at least 10 s.
    Stall = "stall", Seconds, Lower;
    /// Time from the start of a phase of at least 10 s to its steady state.
    TimeToSteady = "time-to-steady", Seconds, Neutral;
    /// Bytes per second in the steady state.
    SteadyThroughput = "steady-throughput", BytesPerSecond, Higher;
    /// Operations per second in the steady state.
    SteadyRate = "steady-rate", PerSecond, Higher;
    /// Time until the first of several hosts has finished a phase.
    FirstFinish = "first-finish", Seconds, Neutral;
    /// Bytes per second of all hosts until the first has finished, as IOR's stonewall counts.
    StonewallThroughput = "stonewall-throughput", BytesPerSecond, Higher;
    /// Operations per second of all hosts until the first has finished.
    StonewallRate = "stonewall-rate", PerSecond, Higher;
    /// Median time of a sync (`fsync`, `fdatasync`) within the operations of a mix.
    SyncP50 = "sync-p50", Seconds, Lower;
    /// 95th percentile of the sync time within the operations of a mix.
    SyncP95 = "sync-p95", Seconds, Lower;
    /// 99th percentile of the sync time within the operations of a mix.
    SyncP99 = "sync-p99", Seconds, Lower;
    /// Longest sync within the operations of a mix.
    SyncMax = "sync-max", Seconds, Lower;
    /// Mean latency of opening a file for requests.
    OpenMean = "open-mean", Seconds, Lower;
    /// Worst latency of opening a file for requests.
    OpenMax = "open-max", Seconds, Lower;
    /// Mean latency of closing a file after requests.
    CloseMean = "close-mean", Seconds, Lower;
    /// Worst latency of closing a file after requests.
    CloseMax = "close-max", Seconds, Lower;
    /// Bytes read from the device.
    DeviceRead = "device-read", Bytes, Neutral;
    /// Bytes written to the device.
    DeviceWritten = "device-written", Bytes, Neutral;
    /// Flush requests to the device.
    DeviceFlushes = "device-flushes", Count, Neutral;
    /// Bytes written to the device per byte written by the program.
    WriteAmplification = "write-amplification", Ratio, Lower;
    /// Increase of the used space on the filesystem, in bytes.
    SpaceTaken = "space-taken", Bytes, Neutral;
    /// Bytes written per byte of space taken, for new files with content that compresses.
    Compression = "compression", Ratio, Higher;
    /// Bytes in the kernel's object caches for the filesystem at the end.
    MemoryKernel = "memory-kernel", Bytes, Neutral;
    /// Bytes of private memory of the filesystem's own processes at the end.
    MemoryDriver = "memory-driver", Bytes, Neutral;
    /// Average number of extents per file, for the files that exist after the phase.
    ExtentsPerFile = "extents-per-file", Ratio, Neutral;
    /// Share of the blocks of these files, without the first block of each, that directly follow
    /// the previous block.
    LayoutScore = "layout-score", Percent, Neutral;
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|metric| metric.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is no metric: one of {names}")
        })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Direction {
    /// Returns the name in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Neutral => "neutral",
        }
    }
}

impl Unit {
    /// Returns the name in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "1/s",
            Self::Count => "count",
            Self::Ratio => "ratio",
            unit => unit.symbol(),
        }
    }

    /// Returns the unit symbol after a number.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::BytesPerSecond => "B/s",
            Self::PerSecond => "/s",
            Self::Seconds => "s",
            Self::Percent => "%",
            Self::Bytes => "B",
            Self::Count | Self::Ratio => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_name_that_reads_back() {
        for metric in Metric::ALL {
            let json = serde_json::to_string(&metric).unwrap();
            assert_eq!(json, format!("\"{metric}\""));
        }
    }
}
