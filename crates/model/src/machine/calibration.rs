//! Calibration: the overhead of fsarena and the speed of the raw device without a filesystem.
//! Together they bound every result.

use serde::{Deserialize, Serialize};

use crate::{Bytes, HostNoise, Nanos};

/// A value that was measured several times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatedValue {
    /// The median: the middle value, or the mean of the two middle values.
    pub median: f64,
    /// The smallest.
    #[serde(rename = "least")]
    pub min: f64,
    /// The largest.
    #[serde(rename = "most")]
    pub max: f64,
    /// Number of repetitions.
    pub repetitions: u32,
}

impl RepeatedValue {
    /// Returns the spread of values, or `None` if there are none or one is not finite.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        if values.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let upper = sorted.len() / 2;
        let lower = (sorted.len() - 1) / 2;
        Some(Self {
            median: f64::midpoint(sorted[lower], sorted[upper]),
            min: least,
            max: most,
            repetitions: u32::try_from(sorted.len()).unwrap_or(u32::MAX),
        })
    }
}

/// The harness overhead: cost of fsarena itself on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HarnessOverhead {
    /// Nanoseconds per operation without the system call: the request is chosen, no data is read,
    /// and the operation is timed and counted.
    pub operation: RepeatedValue,
    /// Part of `operation`: nanoseconds for one reading of the clock.
    pub clock: RepeatedValue,
    /// Part of `operation`: nanoseconds to record one latency in the histogram.
    pub histogram: RepeatedValue,
    /// Bytes per second that one processor can mark with their position before writing.
    pub marking: RepeatedValue,
    /// Bytes per second that one processor verifies.
    pub verification: RepeatedValue,
}

/// Performance of the raw device without a filesystem, bypassing the page cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawDevicePerformance {
    /// Sequential reads, in bytes per second, with requests of
    /// [`RawDevicePerformance::SEQUENTIAL_BLOCK`].
    pub sequential_read: Option<RepeatedValue>,
    /// Sequential writes, in bytes per second. The device is flushed at the end.
    pub sequential_write: Option<RepeatedValue>,
    /// Reads at random offsets, in operations per second, with requests of
    /// [`RawDevicePerformance::RANDOM_BLOCK`], one at a time.
    pub random_read: Option<RepeatedValue>,
    /// Writes at random offsets, in operations per second, one at a time. The device is flushed at
    /// the end.
    pub random_write: Option<RepeatedValue>,
    /// Reads at random offsets, in operations per second, with [`RawDevicePerformance::DEPTH`]
    /// requests at a time.
    pub queued_read: Option<RepeatedValue>,
    /// Writes at random offsets, in operations per second, with [`RawDevicePerformance::DEPTH`]
    /// requests at a time. The device is flushed at the end.
    pub queued_write: Option<RepeatedValue>,
}

impl RawDevicePerformance {
    /// Bytes of a sequential request.
    pub const SEQUENTIAL_BLOCK: Bytes = Bytes(1 << 20);
    /// Bytes of a random request.
    pub const RANDOM_BLOCK: Bytes = Bytes(4 << 10);
    /// Number of concurrent requests in the queued results.
    pub const DEPTH: u32 = 32;
}

/// Calibration before the first cell: harness overhead and raw device performance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    /// Time of the calibration, in nanoseconds since 1970.
    pub taken: Nanos,
    /// Duration of the calibration.
    pub elapsed: Nanos,
    /// The harness overhead.
    #[serde(alias = "instrument")]
    pub overhead: HarnessOverhead,
    /// The device; `None` if no device can be measured.
    #[serde(alias = "ceiling")]
    pub raw_device: Option<RawDevicePerformance>,
    /// Description of the raw device, or the reason why it was not measured, as readable text.
    pub device: String,
    /// Activity of other processes during the calibration. Absent if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<HostNoise>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_middle_ones() {
        let spread = RepeatedValue::from_values(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((spread.min, spread.median, spread.max, spread.repetitions), (1.0, 2.0, 3.0, 3));
        assert_eq!(RepeatedValue::from_values(&[4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
    }

    #[test]
    fn no_values_or_infinite_values_have_no_spread() {
        assert_eq!(RepeatedValue::from_values(&[]), None);
        assert_eq!(RepeatedValue::from_values(&[1.0, f64::INFINITY]), None);
    }

    proptest! {
        #[test]
        fn median_is_between_least_and_most(values in prop::collection::vec(0.0..1e12f64, 1..20)) {
            let spread = RepeatedValue::from_values(&values).unwrap();
            prop_assert!(spread.min <= spread.median && spread.median <= spread.max);
            prop_assert!(values.contains(&spread.min) && values.contains(&spread.max));
        }
    }

    #[test]
    fn a_calibration_of_an_older_database_is_read() {
        let spread = RepeatedValue::from_values(&[1.0]).unwrap();
        let calibration = Calibration {
            disturbance: None,
            taken: Nanos(1),
            elapsed: Nanos(2),
            overhead: HarnessOverhead {
                operation: spread,
                clock: spread,
                histogram: spread,
                marking: spread,
                verification: spread,
            },
            raw_device: Some(RawDevicePerformance::default()),
            device: "a disk".into(),
        };
        let mut older = serde_json::to_value(&calibration).unwrap();
        let fields = older.as_object_mut().unwrap();
        for (now, then) in [("overhead", "instrument"), ("raw_device", "ceiling")] {
            let value = fields.remove(now).expect(now);
            fields.insert(then.into(), value);
        }
        assert_eq!(serde_json::from_value::<Calibration>(older).unwrap(), calibration);
    }
}
