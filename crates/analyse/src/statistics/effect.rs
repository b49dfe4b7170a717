//! How two series of values differ: their ratio with an interval, an effect size and a p value.
//!
//! Values are compared as ratios, that is by their logarithms: what is twice as fast is so in every
//! unit and whichever is first. Rounds of one campaign are paired, since all contenders of a round
//! get the same work in the same stretch of time ([`Effect::paired`]); two campaigns are not
//! ([`Effect::unpaired`]).

use serde::{Deserialize, Serialize};

use crate::Interval;
use crate::statistics::signed_rank::SignedRank;
use crate::statistics::{rank_sum, signed_rank};

/// How a first series of values differs from a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Values of the first series that were used; of paired ones, pairs.
    pub first: u32,
    /// Values of the second series that were used; of paired ones, pairs.
    pub second: u32,
    /// The first as a multiple of the second: the Hodges–Lehmann estimate, which is the median of
    /// all means of two log ratios (paired) or of all log ratios (unpaired).
    pub ratio: f64,
    /// An interval for the ratio, with the confidence that it reaches: below 95 % with few values.
    pub interval: Interval,
    /// Cliff's delta: how much more often a value of the first is above one of the second than below
    /// it, −1 … 1.
    pub delta: f64,
    /// The two-sided p value of the exact test, not corrected for other comparisons.
    pub p: f64,
    /// The smallest p value that so many values can give at all.
    pub smallest_p: f64,
}

impl Effect {
    /// Of pairs (Wilcoxon's signed-rank test); `None` without pairs, or where a value is not
    /// positive and has no ratio.
    pub fn paired(pairs: &[(f64, f64)]) -> Option<Self> {
        Self::paired_by(&SignedRank::of(pairs.len()), pairs)
    }

    /// Of as many pairs as the test is for.
    pub(crate) fn paired_by(test: &SignedRank, pairs: &[(f64, f64)]) -> Option<Self> {
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let logs = logarithms(&first)?.into_iter().zip(logarithms(&second)?);
        let differences: Vec<f64> = logs.map(|(a, b)| a - b).collect();
        let (shift, interval) = test.shift(&differences)?;
        let count = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        Some(Self {
            first: count,
            second: count,
            ratio: shift.exp(),
            interval: exponential(interval),
            delta: delta(&first, &second),
            p: test.test(&differences).p,
            smallest_p: signed_rank::smallest_p(count),
        })
    }

    /// Of two series that are not paired (the rank-sum test of Wilcoxon, Mann and Whitney); `None`
    /// where one is empty, or a value is not positive and has no ratio.
    pub fn unpaired(first: &[f64], second: &[f64]) -> Option<Self> {
        let (a, b) = (logarithms(first)?, logarithms(second)?);
        let (shift, interval) = rank_sum::shift(&a, &b)?;
        let count = |values: &[f64]| u32::try_from(values.len()).unwrap_or(u32::MAX);
        Some(Self {
            first: count(first),
            second: count(second),
            ratio: shift.exp(),
            interval: exponential(interval),
            delta: delta(first, second),
            p: rank_sum::p_value(&a, &b),
            smallest_p: rank_sum::smallest_p(count(first), count(second)),
        })
    }
}

fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let positive = |v: &f64| (*v > 0.0 && v.is_finite()).then(|| v.ln());
    values.iter().map(positive).collect()
}

fn exponential(interval: Interval) -> Interval {
    Interval {
        low: interval.low.exp(),
        high: interval.high.exp(),
        confidence: interval.confidence,
    }
}

/// Cliff's delta. Source: N. Cliff, Psychological Bulletin 114 (1993).
fn delta(first: &[f64], second: &[f64]) -> f64 {
    let sign = |a: f64, b: f64| f64::from(i8::from(a > b) - i8::from(a < b));
    let pairs = first
        .iter()
        .flat_map(|a| second.iter().map(|b| sign(*a, *b)));
    let count = (first.len() * second.len()).max(1);
    pairs.sum::<f64>() / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_ratio_by_hand() {
        let effect = Effect::paired(&[(2.0, 1.0), (6.0, 3.0), (8.0, 4.0)]).unwrap();
        assert!((effect.ratio - 2.0).abs() < 1e-12);
        assert!((effect.interval.low - 2.0).abs() < 1e-12);
        assert_eq!(effect.interval.confidence, 0.75);
        assert_eq!((effect.p, effect.smallest_p), (0.25, 0.25));
        // Of the nine pairings 6 and 8 win three each, and 2 wins one and loses two.
        assert!((effect.delta - 5.0 / 9.0).abs() < 1e-12);
        let effect = Effect::unpaired(&[2.0, 4.0], &[1.0, 1.0, 2.0]).unwrap();
        assert!((effect.ratio - 2.0).abs() < 1e-12, "1, 2, 2, 2, 4, 4");
        assert_eq!((effect.first, effect.second), (2, 3));
    }

    #[test]
    fn what_has_no_logarithm_has_no_ratio() {
        for value in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert_eq!(Effect::paired(&[(value, 1.0)]), None);
            assert_eq!(Effect::unpaired(&[1.0], &[value]), None);
        }
        assert_eq!(Effect::paired(&[]), None);
        assert_eq!(Effect::unpaired(&[], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn neither_unit_nor_order_matters(
            pairs in prop::collection::vec((1.0..1e3f64, 1.0..1e3f64), 1..12),
            unit in 1e-6..1e6f64,
        ) {
            let effect = Effect::paired(&pairs).unwrap();
            let scaled: Vec<_> = pairs.iter().map(|(a, b)| (a * unit, b * unit)).collect();
            let turned: Vec<_> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            let (scaled, turned) =
                (Effect::paired(&scaled).unwrap(), Effect::paired(&turned).unwrap());
            prop_assert!((effect.ratio / scaled.ratio - 1.0).abs() < 1e-9);
            prop_assert!((effect.ratio * turned.ratio - 1.0).abs() < 1e-9);
            prop_assert!((effect.interval.low * turned.interval.high - 1.0).abs() < 1e-9);
            prop_assert!((effect.delta + turned.delta).abs() < 1e-12);
            prop_assert!((effect.p - turned.p).abs() < 1e-12);
        }
    }
}
