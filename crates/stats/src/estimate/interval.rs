//! The median and a distribution-free interval for it.
//!
//! For `n` independent rounds with values x₍₁₎ ≤ … ≤ x₍ₙ₎, the interval [x₍ᵣ₎, x₍ₙ₊₁₋ᵣ₎] covers the
//! median of their distribution with probability 1 − 2·P(B ≤ r − 1), B binomial with n trials of ½:
//! exactly for continuous distributions, at least that often for others. Source: H. A. David and H.
//! N. Nagaraja, Order Statistics, 3rd ed. (2003), §7.1.
//!
//! The narrowest such interval that reaches [`WANTED_CONFIDENCE`] is used. If none does, the
//! interval is minimum to maximum, with its actual confidence: 0 % with one round, 50 % with two,
//! 75 % with three, 93.75 % with five; from six rounds on it is 95 % or more.

use serde::Serialize;

/// Desired confidence of an interval.
pub const WANTED_CONFIDENCE: f64 = 0.95;

/// An interval for the median of a result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end, in the unit of the result.
    pub low: f64,
    /// Upper end, in the unit of the result.
    pub high: f64,
    /// Probability with which such an interval covers the median, 0 … 1.
    pub confidence: f64,
}

/// Returns the middle of the values, or the mean of the two in the middle. Returns `None` without
/// values.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = sorted[middle - 1];
    // Not (lower + upper) / 2, which can overflow.
    Some(lower + (upper - lower) / 2.0)
}

/// Returns the interval for the median that the module describes. Returns `None` without values.
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let sorted = sorted(values);
    let count = sorted.len();
    if count == 0 {
        return None;
    }
    let (rank, confidence) = narrowest(count);
    Some(Interval { low: sorted[rank - 1], high: sorted[count - rank], confidence })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the largest rank r whose interval reaches the desired confidence, else 1, with the
/// confidence.
fn narrowest(count: usize) -> (usize, f64) {
    let mut best = (1, 0.0);
    let mut below = 0.0;
    // Number of combinations with this number of successes, as a logarithm to avoid overflow.
    let mut ways = 0.0;
    for rank in 1..=count.div_ceil(2) {
        below += f64::exp(ways - count as f64 * std::f64::consts::LN_2);
        let confidence = (1.0 - 2.0 * below).max(0.0);
        if rank > 1 && confidence < WANTED_CONFIDENCE {
            break;
        }
        best = (rank, confidence);
        ways += f64::ln((count - rank + 1) as f64 / rank as f64);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes the coverage by enumeration. Each value falls below or above the median with the
    /// same chance, so every pattern of below and above is equally likely. The interval covers the
    /// median if ranks r and n+1−r are on different sides.
    fn coverage_by_enumeration(count: usize, rank: usize) -> f64 {
        let covering = (0u32..1 << count)
            .filter(|pattern| {
                let below = pattern.count_ones() as usize;
                below >= rank && count - below >= rank
            })
            .count();
        covering as f64 / f64::from(1u32 << count)
    }

    #[test]
    fn confidence_agrees_with_enumeration() {
        for count in 1..=16 {
            let (rank, confidence) = narrowest(count);
            let counted = coverage_by_enumeration(count, rank);
            assert!((confidence - counted).abs() < 1e-12, "{count}: {confidence} {counted}");
            let narrower = coverage_by_enumeration(count, rank + 1);
            assert!(narrower < WANTED_CONFIDENCE, "{count}: a narrower one does");
        }
    }

    #[test]
    fn confidence_reached_with_few_rounds() {
        let reached: Vec<f64> = (1..=6).map(|n| narrowest(n).1).collect();
        assert_eq!(reached.len(), 6);
        for (got, want) in reached.iter().zip([0.0, 0.5, 0.75, 0.875, 0.9375, 0.96875]) {
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
        assert!((6..400).all(|n| narrowest(n).1 >= WANTED_CONFIDENCE));
    }

    #[test]
    fn nine_rounds_leave_the_outermost_values_out() {
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        let interval = median_interval(&values).unwrap();
        assert_eq!((interval.low, interval.high), (2.0, 8.0));
    }

    #[test]
    fn a_great_many_rounds_neither_overflow_nor_vanish() {
        let (rank, confidence) = narrowest(20_000);
        assert!((WANTED_CONFIDENCE..0.96).contains(&confidence));
        // Normal approximation: n/2 − 1.96·√n/2.
        assert!((rank as f64 - (10_000.0 - 138.6)).abs() < 3.0, "{rank}");
    }

    #[test]
    fn no_values_have_no_median() {
        assert_eq!(median(&[]), None);
        assert_eq!(median_interval(&[]), None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_median(values in prop::collection::vec(-1e12..1e12f64, 1..40)) {
            let interval = median_interval(&values).unwrap();
            let median = median(&values).unwrap();
            prop_assert!(interval.low <= median && median <= interval.high);
            prop_assert!(values.contains(&interval.low) && values.contains(&interval.high));
        }

        #[test]
        fn order_of_rounds_does_not_matter(values in prop::collection::vec(-1e3..1e3f64, 1..20)) {
            let mut turned = values.clone();
            turned.reverse();
            prop_assert_eq!(median_interval(&values), median_interval(&turned));
            prop_assert_eq!(median(&values), median(&turned));
        }

        #[test]
        fn half_of_the_values_are_on_either_side(values in prop::collection::vec(-1e3..1e3f64, 1..20)) {
            let median = median(&values).unwrap();
            let below = values.iter().filter(|v| **v < median).count();
            let above = values.iter().filter(|v| **v > median).count();
            prop_assert!(2 * below <= values.len() && 2 * above <= values.len());
        }
    }
}
