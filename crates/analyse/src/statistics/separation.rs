//! How far the values of two contenders may mingle while the two still count as apart.
//!
//! Take the pairs of one value of either contender. In an *inversion* the one whose median is worse has
//! the better value, or an equal one; contenders that do not mingle have none. Two contenders are apart
//! where no more than a certain share of their pairs are inversions, the [`Tolerance`]. It is as large as
//! chance allows: suppose the contenders of a row do not differ at all, so that every order of all their
//! values is equally likely. A cut behind some of them needs that no one before it and no one behind it
//! mingle more than so; then all values before it and all values behind it, taken together, mingle no more
//! either. The chance of that is the distribution of Mann's and Whitney's U, of which the sum over all ways
//! to choose who stands before the cut is a bound on the number of false cuts that are to be expected.
//!
//! The bound follows from the numbers of values alone. It is sharp for two contenders, where this is the
//! rank-sum test, and where nothing may mingle; for many contenders it is larger than the truth. What
//! rounds have in common (a slow stretch of the night) makes cuts rarer, never more frequent.

use std::cell::RefCell;
use std::collections::BTreeMap;

use model::Direction;

/// Steps of arithmetic beyond which a distribution is bounded by a normal one instead of being computed.
const EXACT_STEPS: u64 = 4_000_000;

/// The share of pairs that may be inversions, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tolerance {
    inversions: u64,
    of: u64,
}

/// What was found for counts in ascending order and the bits of a limit.
type Known = BTreeMap<(Vec<u32>, u64), Option<Tolerance>>;

impl Tolerance {
    /// The largest under which contenders with so many values each, that do not differ, are cut no more
    /// often than the limit says; `None` where they are even where nothing may mingle.
    pub fn within(counts: &[u32], limit: f64) -> Option<Self> {
        thread_local! {
            // Nearly all rows of a campaign have the same counts.
            static KNOWN: RefCell<Known> = const { RefCell::new(Known::new()) };
        }
        let mut counts = counts.to_vec();
        counts.sort_unstable();
        let key = (counts, limit.to_bits());
        if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).copied()) {
            return known;
        }
        let found = Self::search(&key.0, limit);
        KNOWN.with_borrow_mut(|known| known.insert(key, found));
        found
    }

    fn search(counts: &[u32], limit: f64) -> Option<Self> {
        let most = counts.last().map_or(0, |count| u64::from(*count));
        let of = (most * most).max(1);
        let is_rare = |inversions: &u64| {
            let inversions = *inversions;
            expected(counts, Self { inversions, of }) <= limit
        };
        // The more may mingle, the more cuts there are: the last rare one is found by halving.
        let (mut rare, mut frequent) = (Some(0).filter(is_rare)?, of);
        while frequent - rare > 1 {
            let middle = rare.midpoint(frequent);
            match is_rare(&middle) {
                true => rare = middle,
                false => frequent = middle,
            }
        }
        Some(Self {
            inversions: rare,
            of,
        })
    }

    /// Whether so many inversions among so many pairs are no more than this.
    pub fn admits(self, inversions: u64, pairs: u64) -> bool {
        inversions <= self.most(pairs)
    }

    /// The most inversions among so many pairs.
    fn most(self, pairs: u64) -> u64 {
        pairs * self.inversions / self.of
    }
}

/// Pairs of a value of the first and one of the second in which the first is not the better one; both in
/// rising order.
pub(crate) fn inversions(first: &[f64], second: &[f64], direction: Direction) -> u64 {
    let (values, others) = match direction {
        Direction::Higher => (second, first),
        Direction::Lower | Direction::Neutral => (first, second),
    };
    let (mut not_above, mut count) = (0, 0);
    for value in values {
        while others.get(not_above).is_some_and(|other| other <= value) {
            not_above += 1;
        }
        count += not_above as u64;
    }
    count
}

/// Cuts to be expected in the order of contenders that do not differ and have so many values each, where a
/// cut needs that all values before it are better than all behind it: the sum over all ways to choose some
/// of the contenders, but not all, of the chance that their values lie above all others.
pub fn expected_cuts(counts: &[u32]) -> f64 {
    let nothing = Tolerance {
        inversions: 0,
        of: 1,
    };
    expected(counts, nothing)
}

/// A bound on the cuts to be expected under a tolerance.
fn expected(counts: &[u32], tolerance: Tolerance) -> f64 {
    let total: u32 = counts.iter().sum();
    // Ways to choose contenders whose values number so many.
    let mut ways = vec![0.0; total as usize + 1];
    ways[0] = 1.0;
    for &count in counts {
        for sum in (count..=total).rev() {
            ways[sum as usize] += ways[(sum - count) as usize];
        }
    }
    let mut cuts = 0.0;
    // Those chosen above and those not chosen below are the same cut seen from either end, and as likely.
    for chosen in (1..=total / 2).filter(|chosen| ways[*chosen as usize] > 0.0) {
        let either_end = if 2 * chosen == total { 1.0 } else { 2.0 };
        let others = total - chosen;
        let most = tolerance.most(u64::from(chosen) * u64::from(others));
        cuts += either_end * ways[chosen as usize] * chance_of_at_most(most, chosen, others);
    }
    cuts
}

/// The chance of no more than so many inversions between two series of these lengths, the first no longer
/// than the second, where every order of their values is equally likely.
///
/// The number of orders with u inversions is the coefficient of qᵘ in the Gaussian binomial coefficient,
/// the product over i of (1 − qⁿ⁺ⁱ) / (1 − qⁱ) (H. B. Mann and D. R. Whitney, Ann. Math. Stat. 18, 1947).
fn chance_of_at_most(most: u64, first: u32, second: u32) -> f64 {
    if u64::from(first) * most > EXACT_STEPS {
        return normal_bound(most, first, second);
    }
    let most = most as usize;
    // After step i, the chance of each number for series of i and `second` values.
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    for i in 1..=first as usize {
        let longer = second as usize + i;
        for u in (longer..=most).rev() {
            chances[u] -= chances[u - longer];
        }
        for u in i..=most {
            chances[u] += chances[u - i];
        }
        let share = i as f64 / longer as f64;
        chances.iter_mut().for_each(|chance| *chance *= share);
    }
    chances.iter().sum::<f64>().min(1.0)
}

/// The same for long series: the tail of U is thinner than that of the normal distribution, and that is
/// below exp(−z²/2) / (z √2π).
fn normal_bound(most: u64, first: u32, second: u32) -> f64 {
    let (m, n) = (f64::from(first), f64::from(second));
    let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
    let z = (m * n / 2.0 - most as f64 - 0.5) / deviation;
    if z < 1.0 {
        return 1.0;
    }
    (-z * z / 2.0).exp() / (z * std::f64::consts::TAU.sqrt())
}

#[cfg(test)]
#[path = "separation_tests.rs"]
mod tests;
