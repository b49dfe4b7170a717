//! An axis with round numbers, from 0 to beyond the largest value.

/// An axis and its ticks, in the numbers shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// Where it begins: 0, or below the smallest value where that is negative.
    pub low: f64,
    /// Where it ends: above every value.
    pub high: f64,
    /// Ascending, from `low` to `high`.
    pub ticks: Vec<f64>,
}

/// The most steps an axis is divided into.
const MOST_STEPS: f64 = 4.0;

impl Axis {
    /// An axis that holds 0 and all values: steps of 1, 2, 2.5 or 5 times a power of ten.
    pub fn for_values(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = values
            .into_iter()
            .fold((0.0f64, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        if low == high {
            return Self {
                low: 0.0,
                high: 1.0,
                ticks: vec![0.0, 1.0],
            };
        }
        let step = step_at_least((high - low) / MOST_STEPS);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let count = (last - first) as usize;
        Self {
            low: first * step,
            high: last * step,
            ticks: (0..=count).map(|i| (first + i as f64) * step).collect(),
        }
    }

    /// Where a value lies: 0 at the beginning, 1 at the end.
    pub fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

fn step_at_least(wanted: f64) -> f64 {
    let power = 10f64.powf(wanted.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= wanted * (1.0 - 1e-12))
        .unwrap_or(10.0 * power)
}

/// A tick's number, without digits that say nothing.
pub(crate) fn tick_label(value: f64) -> String {
    let text = format!("{:.6}", value);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn round_numbers() {
        let labels = |values: &[f64]| -> Vec<String> {
            let axis = Axis::for_values(values.iter().copied());
            axis.ticks.into_iter().map(tick_label).collect()
        };
        assert_eq!(labels(&[97.3, 12.0]), ["0", "25", "50", "75", "100"]);
        assert_eq!(labels(&[0.31]), ["0", "0.1", "0.2", "0.3", "0.4"]);
        assert_eq!(labels(&[7.0, -3.0]), ["-5", "-2.5", "0", "2.5", "5", "7.5"]);
        assert_eq!(labels(&[]), ["0", "1"]);
        assert_eq!(labels(&[0.0]), ["0", "1"]);
    }

    proptest! {
        #[test]
        fn an_axis_holds_all_values_and_zero(values in prop::collection::vec(-1e6..1e6f64, 1..20)) {
            let axis = Axis::for_values(values.iter().copied());
            prop_assert!(axis.ticks.len() >= 2 && axis.ticks.len() <= 7);
            prop_assert!(axis.ticks.iter().any(|t| t.abs() < 1e-9));
            for value in values {
                let share = axis.share(value);
                prop_assert!((-1e-9..=1.0 + 1e-9).contains(&share));
            }
        }
    }
}
