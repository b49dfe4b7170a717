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

use std::cmp::Ordering;

use model::SeededRng;

use crate::Interval;
use crate::statistics::interval::{WANTED_CONFIDENCE, median};
use crate::statistics::ranks::doubled_ranks;

/// Pairs up to which the distribution is computed whole.
pub const EXACT_PAIRS: usize = 100;
/// Patterns that are drawn beyond.
pub(crate) const DRAWS: u64 = 9_999;
/// From which they are drawn.
pub(crate) const SEED: u64 = 0x0066_7361_7265_6e61;

/// The test for a number of pairs, with what does not depend on their values.
pub(crate) struct SignedRank {
    pairs: usize,
    /// The p value of each distance of twice the statistic (in doubled ranks) from the sum of all
    /// ranks, where no two differences are of one size and none is zero.
    untied: Vec<f64>,
    /// Which Walsh average, from either end, is the end of the interval.
    rank: usize,
    /// The confidence that it reaches.
    confidence: f64,
}

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tested {
    /// The two-sided p value; 1 where there are no pairs.
    pub p: f64,
    /// Whether the first of the pairs are the greater ones.
    pub first: Ordering,
}

impl SignedRank {
    /// The test for so many pairs.
    pub fn of(pairs: usize) -> Self {
        if pairs > EXACT_PAIRS {
            return Self {
                pairs,
                untied: Vec::new(),
                rank: by_approximation(pairs),
                confidence: WANTED_CONFIDENCE,
            };
        }
        let ranks: Vec<u64> = (1..=pairs as u64).map(|rank| 2 * rank).collect();
        let chances = subset_sums(&ranks);
        let (rank, confidence) = narrowest(chances.iter().step_by(2));
        Self {
            pairs,
            untied: tails(&chances, ranks.iter().sum()),
            rank,
            confidence,
        }
    }

    /// The largest p value up to this one that can come about, where no two differences are of one size;
    /// beyond the exact distribution any can.
    pub fn largest_p_within(&self, limit: f64) -> f64 {
        if self.pairs > EXACT_PAIRS {
            return limit;
        }
        let reached = self.untied.iter().copied().filter(|p| *p <= limit);
        reached.fold(0.0, f64::max)
    }

    /// Tests differences, of which there are as many as the test is for.
    pub fn test(&self, differences: &[f64]) -> Tested {
        let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
        let ranks = doubled_ranks(&sizes);
        let signed = differences.iter().zip(ranks);
        let signed: Vec<(bool, u64)> = signed
            .filter(|(difference, _)| **difference != 0.0)
            .map(|(difference, rank)| (*difference > 0.0, rank))
            .collect();
        let total: u64 = signed.iter().map(|(_, rank)| rank).sum();
        let positive = signed.iter().filter(|(sign, _)| *sign);
        let twice = 2 * positive.map(|(_, rank)| rank).sum::<u64>();
        Tested {
            p: self.p_value(&signed, twice.abs_diff(total), total),
            first: twice.cmp(&total),
        }
    }

    fn p_value(&self, signed: &[(bool, u64)], off: u64, total: u64) -> f64 {
        if self.pairs > EXACT_PAIRS {
            return drawn(signed, off, total);
        }
        let mut ranks: Vec<u64> = signed.iter().map(|(_, rank)| *rank).collect();
        ranks.sort_unstable();
        let untied = (1..=self.pairs as u64).map(|rank| 2 * rank);
        if untied.eq(ranks.iter().copied()) {
            return self.untied[off as usize];
        }
        tails(&subset_sums(&ranks), total)[off as usize]
    }

    /// The shift of the differences (the median of their Walsh averages) with its interval; `None`
    /// where there are none.
    ///
    /// The interval is the narrowest that reaches the wanted confidence; where none does, it is the
    /// widest, from the smallest to the largest difference, and the confidence stated is what that
    /// reaches.
    pub fn shift(&self, differences: &[f64]) -> Option<(f64, Interval)> {
        let mut walsh = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
        for (index, a) in differences.iter().enumerate() {
            walsh.extend(differences[index..].iter().map(|b| a / 2.0 + b / 2.0));
        }
        walsh.sort_unstable_by(f64::total_cmp);
        let middle = median(&walsh)?;
        let interval = Interval {
            low: walsh[self.rank - 1],
            high: walsh[walsh.len() - self.rank],
            confidence: self.confidence,
        };
        Some((middle, interval))
    }
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

/// For each distance of twice a sum from the sum of all ranks, the chance to be as far off or farther.
fn tails(chances: &[f64], total: u64) -> Vec<f64> {
    let mut tails = vec![0.0; total as usize + 1];
    for (sum, chance) in (0u64..).zip(chances) {
        tails[(2 * sum).abs_diff(total) as usize] += chance;
    }
    for off in (1..tails.len()).rev() {
        tails[off - 1] += tails[off];
    }
    tails.iter_mut().for_each(|tail| *tail = tail.min(1.0));
    tails
}

/// The p value by drawing signs.
fn drawn(signed: &[(bool, u64)], observed: u64, total: u64) -> f64 {
    let mut rng = SeededRng::for_purpose(SEED, "signed rank");
    let mut draw = || {
        let taken = signed.iter().filter(|_| rng.next_u64() >> 63 == 1);
        taken.map(|(_, rank)| rank).sum::<u64>()
    };
    let beyond = (0..DRAWS).filter(|_| (2 * draw()).abs_diff(total) >= observed);
    (beyond.count() as f64 + 1.0) / (DRAWS as f64 + 1.0)
}

/// The largest rank whose interval reaches the wanted confidence, else 1, with the confidence; from the
/// chance of each value of the statistic, from 0.
pub(crate) fn narrowest<'a>(chances: impl Iterator<Item = &'a f64>) -> (usize, f64) {
    let mut below = 0.0;
    let mut best = (1, 0.0);
    for (index, chance) in chances.enumerate() {
        below += chance;
        let confidence = (1.0 - 2.0 * below).max(0.0);
        if index > 0 && confidence < WANTED_CONFIDENCE {
            break;
        }
        best = (index + 1, confidence);
    }
    best
}

/// The same rank by the normal approximation, whose error is far below a per mille for so many pairs.
fn by_approximation(pairs: usize) -> usize {
    let count = pairs as f64;
    let mean = count * (count + 1.0) / 4.0;
    let deviation = (count * (count + 1.0) * (2.0 * count + 1.0) / 24.0).sqrt();
    (mean - 1.96 * deviation).floor().max(1.0) as usize
}

#[cfg(test)]
#[path = "signed_rank_tests.rs"]
mod tests;
