//! Values of a phase over time: finished operations of each interval, and the work of the machine and
//! its device.

use serde::{Deserialize, Serialize};

use crate::result::measurement::quantile_of;
use crate::{Bytes, LatencyBucket, Nanos};

/// Number of windows in which a steady state must last.
const STEADY_WINDOWS: usize = 5;
/// Largest difference between the windows of a steady state, as a share of their mean.
const STEADY_RANGE: f64 = 0.2;
/// Largest change along the fitted line over the windows of a steady state, as a share of their mean.
const STEADY_SLOPE: f64 = 0.1;
/// Shortest window.
const SHORTEST_WINDOW: Nanos = Nanos::from_secs(1);
/// A longer phase has longer windows, so that it has this number.
const WINDOWS: u64 = 60;

/// Values of a phase over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// Length of an interval. The first begins with the timed part of the phase.
    pub interval: Nanos,
    /// Intervals in which operations finished, in order. Empty if the operations were not timed
    /// individually, as in another program.
    pub intervals: Vec<TimelineInterval>,
    /// Longest time without a finished operation; absent without intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
    /// The steady state; absent if the phase never reached one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// Samples of the machine and of the device, in order.
    pub samples: Vec<MachineSample>,
}

/// Operations that finished in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelineInterval {
    /// Index of the interval, from 0.
    pub index: u32,
    /// Finished operations.
    pub operations: u64,
    /// Bytes that they transferred.
    pub bytes: Bytes,
    /// Their latencies, ascending, in buckets of at most 1/4 of their value.
    pub latency: Vec<LatencyBucket>,
}

/// A time without a finished operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stall {
    /// Time since the start of the timed part.
    pub at: Nanos,
    /// Its length.
    pub length: Nanos,
}

/// State of the machine at one time, with the work of the device since the previous sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineSample {
    /// Time since the start of the timed part.
    pub at: Nanos,
    /// Data of the page cache that is not on a device yet, of the whole machine.
    pub dirty: Option<Bytes>,
    /// Work of the device; absent in the first sample, and without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceSample>,
}

/// Work of the device between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSample {
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
    /// Flush requests.
    pub flushes: u64,
}

/// End of the warm-up of a phase, and the values after it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteadyState {
    /// Time from the start of the timed part to the first steady window.
    pub from: Nanos,
    /// Operations per second from then on.
    pub rate: f64,
    /// Bytes per second from then on.
    pub throughput: f64,
}

impl Timeline {
    /// Returns the length of a window for the steady state, in intervals.
    fn window(&self, elapsed: Nanos) -> usize {
        let window = (elapsed.0 / WINDOWS).max(SHORTEST_WINDOW.0);
        window.div_ceil(self.interval.0.max(1)) as usize
    }

    /// Returns the number of whole intervals in the timed part of a phase.
    fn whole_intervals(&self, elapsed: Nanos) -> usize {
        elapsed.0.checked_div(self.interval.0).unwrap_or(0) as usize
    }

    /// Returns the start of the steady state and the values after it. Returns `None` if there is
    /// none, or if the phase is too short.
    ///
    /// The rule is that of the Solid State Storage Performance Test Specification of SNIA (steady
    /// state): five successive windows whose values differ by at most 20 % of their mean, and whose
    /// fitted line changes by at most 10 % of it. A window is 1/60 of the phase, or one second if
    /// that is longer. In addition, the mean of all later windows must be within 20 % of that of the
    /// five: a cache that takes the first writes is steady until it is full. Windows after the last
    /// operation do not count: they contain only the sync at the end.
    pub fn find_steady_state(&self, elapsed: Nanos) -> Option<SteadyState> {
        let length = self.window(elapsed);
        let mut windows = self.windows(elapsed, length);
        let used = self.intervals.last().map_or(0, |last| last.index as usize + 1);
        windows.truncate(used / length);
        let by_bytes = windows.iter().any(|(_, bytes)| *bytes > 0);
        let values = windows.iter().map(|(operations, bytes)| match by_bytes {
            true => *bytes as f64,
            false => *operations as f64,
        });
        let values: Vec<f64> = values.collect();
        let starts = 0..(values.len() + 1).saturating_sub(STEADY_WINDOWS);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let first = starts.into_iter().find(|first| {
            let five = &values[*first..first + STEADY_WINDOWS];
            let lasts = (mean(&values[*first..]) / mean(five) - 1.0).abs() <= STEADY_RANGE;
            is_steady(five) && lasts
        })?;
        let after = &windows[first..];
        let window = Nanos(self.interval.0.saturating_mul(length as u64));
        let seconds = window.as_secs_f64() * after.len() as f64;
        let sum = |of: fn(&(u64, u64)) -> u64| after.iter().map(|one| of(one) as f64).sum::<f64>();
        Some(SteadyState {
            from: Nanos(window.0.saturating_mul(first as u64)),
            rate: sum(|one| one.0) / seconds,
            throughput: sum(|one| one.1) / seconds,
        })
    }

    /// Returns the operations and bytes of each window of `length` intervals, without an incomplete
    /// window at the end.
    pub fn windows(&self, elapsed: Nanos, length: usize) -> Vec<(u64, u64)> {
        let length = length.max(1);
        let mut windows = vec![(0_u64, 0_u64); self.whole_intervals(elapsed) / length];
        for interval in &self.intervals {
            if let Some(window) = windows.get_mut(interval.index as usize / length) {
                window.0 = window.0.saturating_add(interval.operations);
                window.1 = window.1.saturating_add(interval.bytes.0);
            }
        }
        windows
    }
}

/// Returns true if the values are those of a steady state.
fn is_steady(values: &[f64]) -> bool {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let middle = (count - 1.0) / 2.0;
    let along = values.iter().enumerate().map(|(i, value)| (i as f64 - middle) * (value - mean));
    let squares = (0..values.len()).map(|i| (i as f64 - middle).powi(2)).sum::<f64>();
    let change = along.sum::<f64>() / squares * (count - 1.0);
    mean > 0.0 && high - low <= STEADY_RANGE * mean && change.abs() <= STEADY_SLOPE * mean
}

impl TimelineInterval {
    /// Returns the latency that a share of the operations did not exceed.
    pub fn quantile(&self, quantile: f64) -> Nanos {
        quantile_of(&self.latency, quantile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes per second, in intervals of 100 ms.
    fn timeline(seconds: &[u64]) -> (Timeline, Nanos) {
        let intervals = seconds.iter().enumerate().flat_map(|(second, bytes)| {
            (0..10).map(move |i| TimelineInterval {
                index: (second * 10 + i) as u32,
                operations: 1,
                bytes: Bytes(bytes / 10),
                latency: Vec::new(),
            })
        });
        let interval = Nanos(100_000_000);
        let timeline = Timeline { interval, intervals: intervals.collect(), ..Timeline::default() };
        (timeline, Nanos::from_secs(seconds.len() as u64))
    }

    #[test]
    fn the_steady_state_begins_after_the_cache_is_full() {
        let (timeline, elapsed) = timeline(&[900, 900, 500, 100, 100, 110, 100, 90, 100, 100, 100]);
        let steady = timeline.find_steady_state(elapsed).unwrap();
        assert_eq!((steady.from, steady.rate), (Nanos::from_secs(3), 10.0));
        assert_eq!(steady.throughput, 100.0);
    }

    #[test]
    fn a_cache_is_not_steady_and_the_sync_at_the_end_does_not_count() {
        let seconds: Vec<u64> = [vec![900; 6], vec![100; 20]].concat();
        let (mut timeline, elapsed) = timeline(&seconds);
        let steady = timeline.find_steady_state(elapsed).unwrap();
        assert_eq!((steady.from, steady.throughput), (Nanos::from_secs(6), 100.0));
        // Operations end after 8 s, and the sync takes 8 s more.
        timeline.intervals.truncate(80);
        for interval in &mut timeline.intervals {
            interval.bytes = Bytes(50);
        }
        let steady = timeline.find_steady_state(Nanos::from_secs(16)).unwrap();
        assert_eq!((steady.from, steady.throughput), (Nanos(0), 500.0));
    }

    #[test]
    fn a_slope_or_a_swing_is_never_steady() {
        let slope: Vec<u64> = (0..20).map(|i| 1000 - 40 * i).collect();
        let swing: Vec<u64> = (0..20).map(|i| 100 + i % 2 * 30).collect();
        for seconds in [slope, swing, vec![100; 4], vec![0; 10]] {
            let (timeline, elapsed) = timeline(&seconds);
            let steady = timeline.find_steady_state(elapsed);
            // Without bytes, operations count, and they are steady here.
            assert_eq!(steady.is_some(), seconds[0] == 0, "{seconds:?}");
        }
    }

    #[test]
    fn a_long_phase_has_sixty_windows_and_the_rest_is_left_out() {
        let (timeline, elapsed) = timeline(&vec![100; 605]);
        assert_eq!(timeline.window(elapsed), 101);
        assert_eq!(timeline.windows(elapsed, 101).len(), 59);
        assert_eq!(timeline.windows(elapsed, 101)[58], (101, 1010));
    }
}
