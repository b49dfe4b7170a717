//! Estimates over several rounds: median, interval and coefficient of variation.

use serde::Serialize;

use super::interval::{Interval, median, median_interval};

/// Coefficient of variation, in percent, above which a result is flagged as unsteady.
pub const UNSTEADY_ABOVE: f64 = 10.0;

/// Estimate from the values of several rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RobustEstimate {
    /// Number of rounds with a value.
    pub rounds: u32,
    /// Median of the values, in the metric's unit.
    pub median: f64,
    /// An interval for the median.
    pub interval: Interval,
    /// Coefficient of variation in percent: the standard deviation (n − 1) as a share of the mean.
    /// `None` with one round or a mean of 0.
    pub variation: Option<f64>,
}

impl RobustEstimate {
    /// Computes the estimate from the values. Returns `None` without values.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        Some(Self {
            rounds: u32::try_from(values.len()).unwrap_or(u32::MAX),
            median: median(values)?,
            interval: median_interval(values)?,
            variation: variation(values),
        })
    }

    /// Whether the rounds vary so much that the median is unreliable.
    pub fn is_unstable(&self) -> bool {
        self.variation.is_some_and(|v| v > UNSTEADY_ABOVE)
    }
}

/// Returns the coefficient of variation in percent. Two passes avoid a loss of digits by
/// cancellation.
fn variation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if mean == 0.0 {
        return None;
    }
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some(100.0 * (squares / (count - 1.0)).sqrt() / mean.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn variation_of_a_small_sample_by_hand() {
        // Mean 100, deviations −10, 0, 10: s = 10, so 10 %.
        let estimate = RobustEstimate::from_values(&[90.0, 100.0, 110.0]).unwrap();
        assert!((estimate.variation.unwrap() - 10.0).abs() < 1e-12);
        assert!(!estimate.is_unstable(), "10 % is not above 10 %");
        assert!(RobustEstimate::from_values(&[89.0, 100.0, 111.0]).unwrap().is_unstable());
    }

    #[test]
    fn one_round_and_a_zero_mean_have_no_variation() {
        assert_eq!(RobustEstimate::from_values(&[5.0]).unwrap().variation, None);
        assert_eq!(RobustEstimate::from_values(&[0.0, 0.0]).unwrap().variation, None);
        assert_eq!(RobustEstimate::from_values(&[-1.0, 1.0]).unwrap().variation, None);
    }

    proptest! {
        #[test]
        fn variation_does_not_depend_on_the_unit(
            values in prop::collection::vec(1.0..1e3f64, 2..12),
            factor in 1e-6..1e6f64,
        ) {
            let scaled: Vec<f64> = values.iter().map(|v| v * factor).collect();
            let (a, b) = (variation(&values).unwrap(), variation(&scaled).unwrap());
            prop_assert!((a - b).abs() <= 1e-9 * a.max(1.0));
        }
    }
}
