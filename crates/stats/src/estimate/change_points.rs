//! Finds the points at which a series changes its level: the maximally selected rank statistic,
//! with a permutation test.
//!
//! For each place t of a series of n values, the standardised difference between the ranks before
//! and after it is |S − t·(n + 1)/2| / √(t·(n − t)), where S is the sum of the first t ranks and
//! equal values share their mean rank. The largest difference is the statistic, and its place is
//! the change (T. Hothorn and B. Lausen, Comput. Stat. Data Anal. 43, 2003; without the division it
//! is A. N. Pettitt's, Appl. Stat. 28, 1979). The null hypothesis is that the level does not
//! change, so that every order of the values is equally likely. Up to [`EXACT_LENGTH`] values all
//! orders are tried; for longer series, orders are drawn from a fixed seed and counted with one
//! added to both sides.
//!
//! If the probability is at most [`ALPHA`], both sides are searched again. A series without a
//! change therefore has one in at most [`ALPHA`] of all cases. Fewer than eight values never have
//! one: no order of them is rare enough.

use model::SeededRng;
use serde::Serialize;

use crate::estimate::ranks::doubled_ranks;

/// Maximum probability of reporting a change that does not exist.
pub const ALPHA: f64 = 0.05;
/// Maximum number of values for which all orders are tried; eight values have 40 320.
pub(crate) const EXACT_LENGTH: usize = 8;
/// Number of random orders for longer series.
const DRAWS: u32 = 9_999;
/// Seed of the random orders.
const SEED: u64 = 0x6368_616e_6765_7321;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChangePoint {
    /// Index of the first value after the change.
    pub at: usize,
    /// Probability that chance alone causes a difference of this size.
    pub p: f64,
}

/// Returns the changes of a series in order.
pub fn change_points(values: &[f64]) -> Vec<ChangePoint> {
    let mut found = Vec::new();
    search(values, 0, &mut found);
    found.sort_by_key(|change| change.at);
    found
}

fn search(values: &[f64], offset: usize, found: &mut Vec<ChangePoint>) {
    let ranks = doubled_ranks(values);
    let Some((at, statistic)) = largest(&ranks) else {
        return;
    };
    let p = p_value(ranks, statistic);
    if p > ALPHA {
        return;
    }
    found.push(ChangePoint { at: offset + at, p });
    search(&values[..at], offset, found);
    search(&values[at..], offset + at, found);
}

/// Returns the place of the largest statistic, and its square, or `None` if all values are equal.
fn largest(ranks: &[u64]) -> Option<(usize, f64)> {
    let count = ranks.len() as i64;
    let mut sum = 0i64;
    let mut best: Option<(usize, f64)> = None;
    for (index, rank) in ranks.iter().enumerate().take(ranks.len().saturating_sub(1)) {
        let at = index as i64 + 1;
        // Ranks are doubled, so their mean is n + 1.
        sum += *rank as i64 - (count + 1);
        let statistic = (sum * sum) as f64 / (at * (count - at)) as f64;
        if statistic > best.map_or(0.0, |(_, s)| s) {
            best = Some((index + 1, statistic));
        }
    }
    best
}

fn p_value(mut ranks: Vec<u64>, observed: f64) -> f64 {
    // Equal sums at another place may differ in the last digit.
    let reaches = |ranks: &[u64]| largest(ranks).is_some_and(|(_, s)| s >= observed * (1.0 - 1e-9));
    if ranks.len() <= EXACT_LENGTH {
        let (mut all, mut beyond) = (0u32, 0u32);
        let length = ranks.len();
        each_order(&mut ranks, length, &mut |order| {
            all += 1;
            beyond += u32::from(reaches(order));
        });
        return f64::from(beyond) / f64::from(all);
    }
    let mut rng = SeededRng::substream(SEED, "change points");
    let mut beyond = 0;
    for _ in 0..DRAWS {
        rng.shuffle(&mut ranks);
        beyond += u32::from(reaches(&ranks));
    }
    f64::from(beyond + 1) / f64::from(DRAWS + 1)
}

/// Calls `visit` with every order of the items (B. R. Heap, Comput. J. 6, 1963).
fn each_order(items: &mut [u64], length: usize, visit: &mut impl FnMut(&[u64])) {
    if length <= 1 {
        visit(items);
        return;
    }
    for index in 0..length {
        each_order(items, length - 1, visit);
        let other = if length.is_multiple_of(2) { index } else { 0 };
        items.swap(other, length - 1);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_order_is_visited_once() {
        let mut seen = BTreeSet::new();
        each_order(&mut [1, 2, 3, 4, 5], 5, &mut |order| {
            assert!(seen.insert(order.to_vec()), "{order:?} twice");
        });
        assert_eq!(seen.len(), 120);
    }

    #[test]
    fn a_step_of_eight_values_by_hand() {
        let values = [1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0, 14.0];
        let found = change_points(&values);
        // Only the orders that keep the two groups of four apart reach the statistic: 2 · 4! · 4!
        // of 8!.
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].at, 4);
        assert!((found[0].p - 2.0 * 576.0 / 40_320.0).abs() < 1e-12, "{}", found[0].p);
    }

    #[test]
    fn seven_values_never_have_a_change() {
        for at in 1..7 {
            let values: Vec<f64> =
                (0..7).map(|i| f64::from(i + 100 * i32::from(i >= at))).collect();
            assert_eq!(change_points(&values), []);
        }
    }

    #[test]
    fn two_steps_are_found_at_their_places() {
        let mut rng = SeededRng::new(4);
        let level = |index: usize| [100.0, 120.0, 90.0][index / 12];
        let values: Vec<f64> = (0..36).map(|i| level(i) + rng.next_f64()).collect();
        let places: Vec<usize> = change_points(&values).iter().map(|c| c.at).collect();
        assert_eq!(places, [12, 24]);
    }

    #[test]
    fn empty_and_constant_series_have_no_change() {
        assert_eq!(change_points(&[]), []);
        assert_eq!(change_points(&[1.0]), []);
        assert_eq!(change_points(&[5.0; 40]), []);
    }

    #[test]
    fn false_changes_are_no_more_frequent_than_stated() {
        for length in [8, 20] {
            let with_change = (0..200)
                .filter(|seed| {
                    let mut rng = SeededRng::new(*seed);
                    let values: Vec<f64> = (0..length).map(|_| rng.next_f64()).collect();
                    !change_points(&values).is_empty()
                })
                .count();
            // At a rate of 5 %, more than 20 of 200 have a probability below 0.1 %.
            assert!(with_change <= 20, "{with_change} of 200 with {length} values");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn units_and_direction_do_not_matter(
            values in prop::collection::vec(1.0..1e6f64, 0..12),
            factor in 1e-3..1e3f64,
        ) {
            let places = |values: &[f64]| -> Vec<usize> {
                change_points(values).iter().map(|c| c.at).collect()
            };
            let scaled: Vec<f64> = values.iter().map(|v| v * factor).collect();
            let turned: Vec<f64> = values.iter().map(|v| 1.0 / v).collect();
            prop_assert_eq!(places(&values), places(&scaled));
            prop_assert_eq!(places(&values), places(&turned));
        }
    }
}
