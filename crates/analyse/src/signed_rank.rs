//! Paired values: Wilcoxon's signed-rank test, exact with ties and zeros, and the shift with its interval.
//!
//! The null hypothesis is that in each pair either order is equally likely, so that each of the 2ⁿ
//! patterns of signs is. The statistic is the sum of the ranks of the absolute differences that are
//! positive; equal ones share the mean of their ranks, and zeros take their ranks and add nothing
//! (J. W. Pratt, JASA 54, 1959). Its distribution over all 2ⁿ patterns is computed by adding one pair
//! at a time, not by trying them, so that it is exact up to [`EXACT_PAIRS`] pairs; beyond, patterns are
//! drawn from a fixed seed and counted with one added to both sides, which keeps the test valid
//! (B. Phipson and G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 9, 2010).
//!
//! The interval of the shift belongs to the test (J. L. Hodges and E. L. Lehmann, Ann. Math. Stat. 34,
//! 1963): its ends are Walsh averages, means of two differences or of one with itself.

use model::SeededRng;

use crate::Interval;
use crate::interval::{WANTED_CONFIDENCE, median};
use crate::ranks::doubled_ranks;

/// Pairs up to which the distribution is computed whole.
pub const EXACT_PAIRS: usize = 100;
/// Patterns that are drawn beyond.
pub(crate) const DRAWS: u64 = 9_999;
/// From which they are drawn.
pub(crate) const SEED: u64 = 0x0066_7361_7265_6e61;

/// The two-sided p value of the differences; 1 where there are none.
pub(crate) fn p_value(differences: &[f64]) -> f64 {
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let ranks = doubled_ranks(&sizes);
    let signed = differences.iter().zip(ranks);
    let signed: Vec<(bool, u64)> = signed
        .filter(|(difference, _)| **difference != 0.0)
        .map(|(difference, rank)| (*difference > 0.0, rank))
        .collect();
    let total: u64 = signed.iter().map(|(_, rank)| rank).sum();
    let sum = |positive: &mut dyn FnMut(bool) -> bool| -> u64 {
        let taken = signed.iter().filter(|(sign, _)| positive(*sign));
        taken.map(|(_, rank)| rank).sum()
    };
    let observed = (2 * sum(&mut |sign| sign)).abs_diff(total);
    if differences.len() <= EXACT_PAIRS {
        let ranks: Vec<u64> = signed.iter().map(|(_, rank)| *rank).collect();
        let chances = (0u64..).zip(subset_sums(&ranks));
        let beyond = chances.filter(|(sum, _)| (2 * sum).abs_diff(total) >= observed);
        return beyond.map(|(_, chance)| chance).sum::<f64>().min(1.0);
    }
    let mut rng = SeededRng::for_purpose(SEED, "signed rank");
    let beyond = (0..DRAWS)
        .filter(|_| (2 * sum(&mut |_| rng.next_u64() >> 63 == 1)).abs_diff(total) >= observed)
        .count();
    (beyond as f64 + 1.0) / (DRAWS as f64 + 1.0)
}

/// The smallest p value that so many pairs can give: that of differences of one sign.
pub(crate) fn smallest_p(pairs: u32) -> f64 {
    0.5f64
        .powi(i32::try_from(pairs).unwrap_or(i32::MAX) - 1)
        .min(1.0)
}

/// The chance of each sum of a subset, where every subset is equally likely.
fn subset_sums(ranks: &[u64]) -> Vec<f64> {
    let total: u64 = ranks.iter().sum();
    let mut chances = vec![0.0; total as usize + 1];
    chances[0] = 1.0;
    let mut reach = 0;
    for &rank in ranks {
        let rank = rank as usize;
        reach += rank;
        for sum in (0..=reach).rev() {
            let with = if sum >= rank {
                chances[sum - rank]
            } else {
                0.0
            };
            chances[sum] = (with + chances[sum]) / 2.0;
        }
    }
    chances
}

/// The shift of the differences (the median of their Walsh averages) with its interval; `None` where
/// there are none.
///
/// The interval is the narrowest that reaches the wanted confidence; where none does, it is the widest,
/// from the smallest to the largest difference, and the confidence stated is what that reaches.
pub(crate) fn shift(differences: &[f64]) -> Option<(f64, Interval)> {
    let mut walsh = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (index, a) in differences.iter().enumerate() {
        walsh.extend(differences[index..].iter().map(|b| a / 2.0 + b / 2.0));
    }
    walsh.sort_by(f64::total_cmp);
    let middle = median(&walsh)?;
    let (rank, confidence) = narrowest(differences.len());
    let interval = Interval {
        low: walsh[rank - 1],
        high: walsh[walsh.len() - rank],
        confidence,
    };
    Some((middle, interval))
}

/// The largest rank of a Walsh average whose interval reaches the wanted confidence, else 1.
fn narrowest(pairs: usize) -> (usize, f64) {
    if pairs > EXACT_PAIRS {
        return by_approximation(pairs);
    }
    let ranks: Vec<u64> = (1..=pairs as u64).collect();
    let mut below = 0.0;
    let mut best = (1, 0.0);
    for (index, chance) in subset_sums(&ranks).into_iter().enumerate() {
        below += chance;
        let confidence = (1.0 - 2.0 * below).max(0.0);
        if index > 0 && confidence < WANTED_CONFIDENCE {
            break;
        }
        best = (index + 1, confidence);
    }
    best
}

/// The same by the normal approximation, whose error is far below a per mille for so many pairs.
fn by_approximation(pairs: usize) -> (usize, f64) {
    let count = pairs as f64;
    let mean = count * (count + 1.0) / 4.0;
    let deviation = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
    let rank = (mean - 1.96 * deviation).floor().max(1.0);
    (rank as usize, WANTED_CONFIDENCE)
}

#[cfg(test)]
#[path = "signed_rank_tests.rs"]
mod tests;
