//! Compares results with the speed of the raw device, that is, without a filesystem, and computes
//! the share of the time that fsarena itself took.
//!
//! A result has a share of the raw device's speed only if the phase moved its data between memory
//! and device during the timed part: reads that began without a cache, writes that ended with the
//! data on the device. Data served from the page cache shows nothing about the device.

use model::{
    AccessPattern, CacheState, Calibration, HarnessOverhead, Io, IoEngine, Metric, Op, Phase,
    PhaseResult, RawDevicePerformance, RepeatedValue, SyncAtEnd,
};
use serde::Serialize;

/// Share of a result, in percent, above which the harness overhead is flagged.
pub const OVERHEAD_ABOVE: f64 = 5.0;

/// Difference between readings of the raw device, in percent of the smallest, above which a range
/// is reported.
pub const STEADY_BELOW: f64 = 10.0;

/// Range of the raw device's speed, if readings differ too much for one number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawDeviceRange {
    /// Speed derived from the smallest readings.
    #[serde(rename = "least")]
    pub min: f64,
    /// Speed derived from the largest readings.
    #[serde(rename = "most")]
    pub max: f64,
}

/// The upper and lower bounds of results, if known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawDeviceBounds<'a> {
    /// Calibration before the first cell.
    pub calibration: Option<&'a Calibration>,
    /// Number of processors that the threads of a phase share; at least one.
    pub processors: u32,
}

impl RawDeviceBounds<'_> {
    /// Returns the best value that the raw device could reach in this phase, in the unit of the
    /// metric, or `None` if it is unknown or if the phase does not measure the device.
    pub fn raw_device(&self, phase: &Phase, metric: Metric) -> Option<f64> {
        let raw_device = self.calibration?.raw_device.as_ref()?;
        let (metric_of_device, value) = raw_device_of(&phase.op, phase.cache, raw_device)?;
        (metric_of_device == metric && value > 0.0).then_some(value)
    }

    /// Returns the range of the raw device's speed if its readings differ by more than
    /// [`STEADY_BELOW`].
    pub fn raw_device_range(&self, phase: &Phase, metric: Metric) -> Option<RawDeviceRange> {
        let raw_device = self.calibration?.raw_device.as_ref()?;
        let of = |pick: fn(&RepeatedValue) -> f64| {
            let (metric_of_device, value) =
                raw_device_of(&phase.op, phase.cache, &reading(raw_device, pick))?;
            (metric_of_device == metric && value > 0.0).then_some(value)
        };
        let (least, most) = (of(|s| s.min)?, of(|s| s.max)?);
        (most > least * (1.0 + STEADY_BELOW / 100.0))
            .then_some(RawDeviceRange { min: least, max: most })
    }

    /// Returns a value as a share of the raw device, in percent, if the phase used the device.
    pub fn raw_device_share(
        &self,
        phase: &Phase,
        metric: Metric,
        value: f64,
        result: &PhaseResult,
    ) -> Option<f64> {
        let raw_device = self.raw_device(phase, metric)?;
        touched_the_device(&phase.op, result).then_some(100.0 * value / raw_device)
    }

    /// Returns the share of a phase's time that is overhead of fsarena, in percent. Returns `None`
    /// for metrics that do not include that time.
    pub fn overhead_share(
        &self,
        phase: &Phase,
        metric: Metric,
        result: &PhaseResult,
    ) -> Option<f64> {
        let timed = matches!(metric, Metric::Throughput | Metric::Rate | Metric::Elapsed);
        if !timed || result.elapsed.0 == 0 {
            return None;
        }
        let nanoseconds = overhead_time(&self.calibration?.overhead, result);
        let side_by_side = phase.op.info().threads().min(self.processors).max(1);
        Some(100.0 * nanoseconds / f64::from(side_by_side) / result.elapsed.0 as f64)
    }
}

/// Returns the processor time of fsarena itself in a phase, in nanoseconds.
fn overhead_time(cost: &HarnessOverhead, result: &PhaseResult) -> f64 {
    let seconds_for = |bytes: u64, rate: &RepeatedValue| {
        if rate.median > 0.0 { bytes as f64 / rate.median } else { 0.0 }
    };
    cost.operation.median * result.operations as f64
        + 1e9 * seconds_for(result.bytes_written.0, &cost.marking)
        + 1e9 * seconds_for(result.verified.0, &cost.verification)
}

/// Returns the raw device with one value of each reading, selected by `pick`, as the median.
fn reading(
    raw_device: &RawDevicePerformance,
    pick: fn(&RepeatedValue) -> f64,
) -> RawDevicePerformance {
    let one = |spread: Option<RepeatedValue>| {
        spread.map(|spread| RepeatedValue { median: pick(&spread), ..spread })
    };
    RawDevicePerformance {
        sequential_read: one(raw_device.sequential_read),
        sequential_write: one(raw_device.sequential_write),
        random_read: one(raw_device.random_read),
        random_write: one(raw_device.random_write),
        queued_read: one(raw_device.queued_read),
        queued_write: one(raw_device.queued_write),
    }
}

/// Returns the metric by which an operation is compared with the device, and the maximum that the
/// device could reach.
fn raw_device_of(
    op: &Op,
    cache: CacheState,
    raw_device: &RawDevicePerformance,
) -> Option<(Metric, f64)> {
    let sequential_read = || Some(raw_device.sequential_read?.median);
    let sequential_write = || Some(raw_device.sequential_write?.median);
    let value = match op {
        Op::WriteStream(_) | Op::CopyFileIn(_) => sequential_write()?,
        Op::ReadStream(_) => sequential_read()?,
        Op::Io(io) if io.engine == IoEngine::Null => return None,
        Op::Io(io) if io.access.is_random() => {
            return Some((Metric::Rate, random(io, cache, raw_device)?));
        }
        Op::Io(io) => match (io.access.reads(), io.access.writes()) {
            // Each byte counts once, although the device both reads and writes it.
            (true, true) => one_after_the_other(1.0, sequential_read()?, 1.0, sequential_write()?),
            (true, false) => sequential_read()?,
            _ => sequential_write()?,
        },
        _ => return None,
    };
    Some((Metric::Throughput, value))
}

/// Returns the maximum requests per second of a phase with random offsets. Each request costs as
/// much as a small one, plus the transfer of its additional bytes at the sequential rate.
fn random(io: &Io, cache: CacheState, raw_device: &RawDevicePerformance) -> Option<f64> {
    let several = u64::from(io.threads) * u64::from(io.depth) > 1;
    // Unless writes bypass the page cache, the kernel writes back many blocks at a time.
    let read = rate(
        several,
        raw_device.queued_read,
        raw_device.random_read,
        raw_device.sequential_read,
        io,
    );
    let write = rate(
        several || cache != CacheState::Direct,
        raw_device.queued_write,
        raw_device.random_write,
        raw_device.sequential_write,
        io,
    );
    match io.access {
        AccessPattern::RandomMix { read_share } => {
            Some(one_after_the_other(read_share, read?, 1.0 - read_share, write?))
        }
        AccessPattern::Seek { write_share } if write_share > 0.0 => {
            Some(one_after_the_other(1.0, read?, write_share, write?))
        }
        access if access.writes() && !access.reads() => write,
        _ => read,
    }
}

fn rate(
    queued: bool,
    many: Option<RepeatedValue>,
    one: Option<RepeatedValue>,
    sequential: Option<RepeatedValue>,
    io: &Io,
) -> Option<f64> {
    let small = if queued { many.or(one) } else { one }?.median;
    let longer = io.block.0.saturating_sub(RawDevicePerformance::RANDOM_BLOCK.0) as f64;
    match sequential {
        Some(sequential) if longer > 0.0 => {
            Some(one_after_the_other(1.0, small, longer, sequential.median))
        }
        _ => Some(small),
    }
}

/// Returns the rate of requests that use two resources, one after the other: `some` units of the
/// first and `more` of the second.
fn one_after_the_other(some: f64, first_rate: f64, more: f64, second_rate: f64) -> f64 {
    1.0 / (some / first_rate + more / second_rate)
}

/// Returns true if, according to the device's counters, the data was transferred between memory and
/// device while the clock ran.
fn touched_the_device(op: &Op, result: &PhaseResult) -> bool {
    let (reads, writes) = match op {
        Op::Io(io) => (io.access.reads(), writes(io.access)),
        Op::WriteStream(_) | Op::CopyFileIn(_) => (false, true),
        Op::ReadStream(_) => (true, false),
        _ => return false,
    };
    // A block that is rewritten repeatedly stays in memory until the end.
    let same_block = matches!(op, Op::Io(io) if io.access == AccessPattern::RecordRewrite);
    let direct = result.cache == CacheState::Direct;
    let Some(device) = result.device else {
        return false;
    };
    let uncached = direct || matches!(result.cache, CacheState::Cold | CacheState::FadviseDontNeed);
    let on_device = direct || (result.ends != SyncAtEnd::Call && !same_block);
    (!reads || (uncached && device.read_bytes.0 > 0))
        && (!writes || (on_device && device.write_bytes.0 > 0))
}

/// Whether an access writes at all, even if its share of writes may be zero.
fn writes(access: AccessPattern) -> bool {
    match access {
        AccessPattern::Seek { write_share } => write_share > 0.0,
        AccessPattern::RandomMix { read_share } => read_share < 1.0,
        access => access.writes(),
    }
}

#[cfg(test)]
#[path = "raw_device_tests.rs"]
mod tests;
