//! Outliers among the values of a result.

use crate::estimate::interval::median;

/// Minimum number of rounds for calling a value an outlier.
pub const OUTLIERS_FROM: usize = 6;
/// Minimum distance of an outlier from the median, in robust standard deviations.
pub const OUTLIER_BEYOND: f64 = 5.0;
/// Minimum distance of an outlier from the median, as a share of the median, even if all other
/// values are equal.
const MIN_OUTLIER: f64 = 0.02;
/// The median absolute deviation of a normal distribution of standard deviation 1.
const MAD_OF_NORMAL: f64 = 0.674_489_75;

/// Returns the indexes of the values that differ from the median by more than [`OUTLIER_BEYOND`]
/// robust standard deviations. Empty with fewer than [`OUTLIERS_FROM`] values.
///
/// The deviation is the median absolute deviation, scaled to a normal distribution (F. R. Hampel,
/// JASA 69, 1974): a few extreme values cannot mask themselves by increasing it.
pub(crate) fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(middle) = median(values).filter(|_| values.len() >= OUTLIERS_FROM) else {
        return Vec::new();
    };
    let off: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    let deviation = median(&off).unwrap_or(0.0) / MAD_OF_NORMAL;
    let least = MIN_OUTLIER * middle.abs();
    let beyond = |off: &f64| *off > OUTLIER_BEYOND * deviation && *off > least;
    let places = off.iter().enumerate().filter(|(_, off)| beyond(off));
    places.map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_wild_value_is_named_and_two_do_not_hide_each_other() {
        assert_eq!(outliers(&[10.0, 10.1, 9.9, 10.05, 9.95, 14.0]), [5]);
        assert_eq!(outliers(&[10.0, 10.1, 9.9, 14.0, 10.05, 9.95, 15.0, 10.02]), [3, 6]);
        assert_eq!(outliers(&[10.0, 10.1, 9.9, 10.05, 14.0]), [0usize; 0], "too few");
    }

    #[test]
    fn small_deviations_are_no_outliers_even_among_equal_values() {
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.01]), [0usize; 0]);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.03]), [5]);
    }

    proptest! {
        #[test]
        fn never_more_than_half(values in prop::collection::vec(0.0..1e6f64, 0..30)) {
            prop_assert!(2 * outliers(&values).len() <= values.len());
        }
    }
}
