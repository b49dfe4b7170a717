//! Renders a calibration as text.

use model::Calibration;
use report::{CalibrationLine, overhead_lines, raw_device_lines};

use crate::output::text::{line, table};

/// Renders a calibration as text.
pub fn text(calibration: &Calibration) -> String {
    let row = |line: CalibrationLine| [line.quantity, line.median, line.range];
    let mut rows: Vec<_> = overhead_lines(calibration).into_iter().map(row).collect();
    let device = raw_device_lines(calibration);
    rows.extend(device.into_iter().map(row));
    let device = line(&calibration.device);
    let device = match calibration.raw_device {
        Some(_) => format!("device: {device}\n"),
        None => format!("raw device: {device}\n"),
    };
    table(["calibration", "median", "least…most"], &rows) + &device
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{HarnessOverhead, Nanos, RawDevicePerformance, RepeatedValue};

    /// Creates a calibration of a device whose queued writes were not measured.
    fn calibration() -> Calibration {
        let spread = |median: f64| RepeatedValue {
            median,
            min: 0.95 * median,
            max: 1.25 * median,
            repetitions: 5,
        };
        Calibration {
            disturbance: None,
            taken: Nanos::from_secs(1_760_000_000),
            elapsed: Nanos(1_900_000_000),
            overhead: HarnessOverhead {
                operation: spread(48.0),
                clock: spread(22.0),
                histogram: spread(1.4),
                marking: spread(180e9),
                verification: spread(7.1e9),
            },
            raw_device: Some(RawDevicePerformance {
                sequential_read: Some(spread(1.9e9)),
                sequential_write: Some(spread(1.1e9)),
                random_read: Some(spread(9_200.0)),
                random_write: Some(spread(7_400.0)),
                queued_read: Some(spread(61_000.0)),
                queued_write: None,
            }),
            device: "image of 256 MiB: ext4 on vda, on a loop device, direct I/O, no discards"
                .into(),
        }
    }

    #[test]
    fn a_calibration_shows_every_result_with_its_range() {
        insta::assert_snapshot!(text(&calibration()));
    }

    #[test]
    fn shows_the_reason_if_the_raw_device_was_not_measured() {
        let calibration = Calibration {
            disturbance: None,
            raw_device: None,
            device: "could not\nbe measured".into(),
            ..calibration()
        };
        let text = text(&calibration);
        assert!(text.ends_with("raw device: could not be measured\n"), "{text}");
        assert!(!text.contains("sequential"));
    }
}
