//! Values of two series that are not paired: the rank-sum test of Wilcoxon, Mann and Whitney, exact
//! with ties, and the shift with its interval.
//!
//! The null hypothesis is that every way to deal the values out to the two series is equally likely.
//! The statistic is the sum of the first series' ranks among all values, equal ones sharing the mean of
//! theirs. Its distribution over all C(m + n, m) ways is computed value by value, so that it is exact
//! up to [`EXACT_VALUES`] values; beyond, ways are drawn from a fixed seed and counted with one added to
//! both sides. The interval of the shift belongs to the test: its ends are differences of two values
//! (J. L. Hodges and E. L. Lehmann, Ann. Math. Stat. 34, 1963).

use model::SeededRng;

use crate::Interval;
use crate::statistics::interval::{WANTED_CONFIDENCE, median};
use crate::statistics::ranks::doubled_ranks;
use crate::statistics::signed_rank::{self, DRAWS, SEED};

/// Values of both series together up to which the distribution is computed whole.
pub const EXACT_VALUES: usize = 60;

/// The two-sided p value; 1 where a series is empty.
pub(crate) fn p_value(first: &[f64], second: &[f64]) -> f64 {
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let mut ranks = doubled_ranks(&all);
    let (size, count) = (first.len() as u64, all.len() as u64);
    // Twice the expected sum of doubled ranks is size · (count + 1) · 2.
    let centre = 2 * size * (count + 1);
    let off = |sum: u64| (2 * sum).abs_diff(centre);
    let observed = off(ranks[..first.len()].iter().sum());
    if all.len() <= EXACT_VALUES {
        let chances = (0u64..).zip(sums_of_subsets(&ranks, first.len()));
        let beyond = chances.filter(|(sum, _)| off(*sum) >= observed);
        return beyond.map(|(_, chance)| chance).sum::<f64>().min(1.0);
    }
    let mut rng = SeededRng::for_purpose(SEED, "rank sum");
    let beyond = (0..DRAWS).filter(|_| {
        rng.shuffle(&mut ranks);
        off(ranks[..first.len()].iter().sum()) >= observed
    });
    (beyond.count() as f64 + 1.0) / (DRAWS as f64 + 1.0)
}

/// The smallest p value that series of these sizes can give: that of series that do not mingle.
pub(crate) fn smallest_p(first: u32, second: u32) -> f64 {
    (2.0 / choose(first + second, first)).min(1.0)
}

/// The binomial coefficient; infinite where it is too large for a float.
pub(crate) fn choose(n: u32, k: u32) -> f64 {
    (0..k.min(n - k)).fold(1.0, |product, i| {
        product * f64::from(n - i) / f64::from(i + 1)
    })
}

/// The chance of each sum of a subset of so many ranks, where every such subset is equally likely.
fn sums_of_subsets(ranks: &[u64], size: usize) -> Vec<f64> {
    let most: u64 = ranks.iter().sum();
    // Ways, as shares of all ways to choose: [number chosen][sum].
    let mut ways = vec![vec![0.0; most as usize + 1]; size + 1];
    ways[0][0] = 1.0;
    for (index, &rank) in ranks.iter().enumerate() {
        let rank = rank as usize;
        for chosen in (1..=size.min(index + 1)).rev() {
            for sum in rank..=most as usize {
                let more = ways[chosen - 1][sum - rank];
                if more > 0.0 {
                    ways[chosen][sum] += more;
                }
            }
        }
    }
    let all = choose(ranks.len() as u32, size as u32);
    let chosen = ways.swap_remove(size);
    chosen.into_iter().map(|count| count / all).collect()
}

/// How far the first series lies above the second, with its interval; `None` where one is empty.
pub(crate) fn shift(first: &[f64], second: &[f64]) -> Option<(f64, Interval)> {
    let mut differences: Vec<f64> = first
        .iter()
        .flat_map(|a| second.iter().map(move |b| a - b))
        .collect();
    differences.sort_by(f64::total_cmp);
    let middle = median(&differences)?;
    let (rank, confidence) = narrowest(first.len(), second.len());
    let interval = Interval {
        low: differences[rank - 1],
        high: differences[differences.len() - rank],
        confidence,
    };
    Some((middle, interval))
}

/// The largest rank of a difference whose interval reaches the wanted confidence, else 1.
fn narrowest(first: usize, second: usize) -> (usize, f64) {
    if first + second > EXACT_VALUES {
        return by_approximation(first, second);
    }
    let ranks: Vec<u64> = (1..=(first + second) as u64).collect();
    let least = first * (first + 1) / 2;
    signed_rank::narrowest(sums_of_subsets(&ranks, first)[least..].iter())
}

/// The same by the normal approximation.
fn by_approximation(first: usize, second: usize) -> (usize, f64) {
    let (m, n) = (first as f64, second as f64);
    let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
    let rank = (m * n / 2.0 - 1.96 * deviation).floor().max(1.0);
    (rank as usize, WANTED_CONFIDENCE)
}

#[cfg(test)]
#[path = "rank_sum_tests.rs"]
mod tests;
