//! How two series of values differ: their ratio with an interval, an effect size and a p value.
//!
//! Values are compared as ratios, that is by their logarithms: what is twice as fast is so in every
//! unit and whichever is first. Rounds of one campaign are paired, since all contenders of a round
//! get the same work in the same stretch of time ([`Effect::paired`]); two campaigns are not
//! ([`Effect::unpaired`]).

use serde::{Deserialize, Serialize};

use crate::{Interval, rank_sum, signed_rank};

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
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let logs = logarithms(&first)?.into_iter().zip(logarithms(&second)?);
        let differences: Vec<f64> = logs.map(|(a, b)| a - b).collect();
        let (shift, interval) = signed_rank::shift(&differences)?;
        let count = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        Some(Self {
            first: count,
            second: count,
            ratio: shift.exp(),
            interval: exponential(interval),
            delta: delta(&first, &second),
            p: signed_rank::p_value(&differences),
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
