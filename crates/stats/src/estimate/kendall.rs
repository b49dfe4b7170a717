//! Trends: Kendall's test of values against their order, exact with ties.
//!
//! The statistic is the number of rising pairs minus the number of falling pairs. Under the null
//! hypothesis every order of the values is equally likely. The values are arrangements of a
//! multiset, and mᵢ is the count of each value. The number of falling pairs is distributed as the
//! coefficients of the Gaussian multinomial `[n]! / ([m₁]! [m₂]! …)` (P. A. MacMahon, 1916).
//!
//! The p value is exact up to [`EXACT_VALUES`] values. For more values, orders are drawn from a
//! fixed seed, and one is added to both counts.

use model::SeededRng;

use crate::estimate::interval::median;

/// Maximum number of values for which the exact distribution is computed.
const EXACT_VALUES: usize = 60;
/// Number of random orders for more values.
const DRAWS: u64 = 9_999;
/// Seed of the random orders.
const SEED: u64 = 0x0066_7361_7265_6e61;

/// Returns the two-sided p value of a trend; 1 if all values are tied.
pub(crate) fn p_value(values: &[f64]) -> f64 {
    let sizes = sizes_of_ties(values);
    let pairs = |count: usize| (count * count.saturating_sub(1) / 2) as u64;
    let unequal = pairs(values.len()) - sizes.iter().map(|size| pairs(*size)).sum::<u64>();
    let off = |falling: u64| (2 * falling).abs_diff(unequal);
    let observed = off(falling(values));
    if values.len() <= EXACT_VALUES {
        let chances = (0u64..).zip(falling_pairs(&sizes));
        let beyond = chances.filter(|(falling, _)| off(*falling) >= observed);
        return beyond.map(|(_, chance)| chance).sum::<f64>().min(1.0);
    }
    let mut rng = SeededRng::substream(SEED, "kendall");
    let mut shuffled = values.to_vec();
    let beyond = (0..DRAWS).filter(|_| {
        rng.shuffle(&mut shuffled);
        off(falling(&shuffled)) >= observed
    });
    (beyond.count() as f64 + 1.0) / (DRAWS as f64 + 1.0)
}

/// Returns the median slope between any two values, per position in the order (H. Theil 1950, P. K.
/// Sen 1968).
pub(crate) fn slope(values: &[f64]) -> Option<f64> {
    let rise = |(i, j): (usize, usize)| (values[j] - values[i]) / (j - i) as f64;
    let pairs = (0..values.len()).flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)));
    median(&pairs.map(rise).collect::<Vec<_>>())
}

/// Returns the number of occurrences of each value.
fn sizes_of_ties(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).collect()
}

/// Counts the pairs with a smaller later value by merge sort.
fn falling(values: &[f64]) -> u64 {
    fn sort(values: &mut [f64], spare: &mut Vec<f64>) -> u64 {
        if values.len() < 2 {
            return 0;
        }
        let (left, right) = values.split_at_mut(values.len() / 2);
        let mut falling = sort(left, spare) + sort(right, spare);
        spare.clear();
        let (mut i, mut j) = (0, 0);
        while i < left.len() && j < right.len() {
            if right[j] < left[i] {
                falling += (left.len() - i) as u64;
                spare.push(right[j]);
                j += 1;
            } else {
                spare.push(left[i]);
                i += 1;
            }
        }
        spare.extend_from_slice(&left[i..]);
        spare.extend_from_slice(&right[j..]);
        values.copy_from_slice(spare);
        falling
    }
    sort(&mut values.to_vec(), &mut Vec::with_capacity(values.len()))
}

/// Returns the probability of each number of falling pairs among all arrangements with ties of
/// these sizes.
fn falling_pairs(sizes: &[usize]) -> Vec<f64> {
    let mut chances = vec![1.0];
    let mut placed = 0;
    for &size in sizes {
        chances = product(&chances, &gaussian(placed + size, size));
        placed += size;
    }
    chances
}

fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            product[i + j] += x * y;
        }
    }
    product
}

/// Returns the Gaussian binomial coefficient as probabilities of each number of falling pairs with
/// `few` equal values among `all`, by G(n, k) = k/n · G(n − 1, k − 1) + (n − k)/n · qᵏ G(n − 1, k).
fn gaussian(all: usize, few: usize) -> Vec<f64> {
    // Rows for k = 0 … few, each of length k (n − k) + 1.
    let mut rows: Vec<Vec<f64>> = vec![Vec::new(); few + 1];
    rows[0] = vec![1.0];
    for n in 1..=all {
        for k in (1..=few.min(n)).rev() {
            let mut row = vec![0.0; k * (n - k) + 1];
            let share = k as f64 / n as f64;
            for (at, chance) in rows[k - 1].iter().enumerate() {
                row[at] += share * chance;
            }
            if k < n {
                for (at, chance) in rows[k].iter().enumerate() {
                    row[at + k] += (1.0 - share) * chance;
                }
            }
            rows[k] = row;
        }
    }
    rows.swap_remove(few)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rising_less_falling(values: &[f64]) -> i64 {
        let mut sum = 0;
        for (i, a) in values.iter().enumerate() {
            for b in &values[i + 1..] {
                sum += i64::from(b > a) - i64::from(b < a);
            }
        }
        sum
    }

    /// Visits every order of the values; equal values are distinguished by their index.
    fn orders(values: &mut Vec<f64>, from: usize, visit: &mut impl FnMut(&[f64])) {
        if from == values.len() {
            return visit(values);
        }
        for other in from..values.len() {
            values.swap(from, other);
            orders(values, from + 1, visit);
            values.swap(from, other);
        }
    }

    #[test]
    fn known_values() {
        // All pairs rise in 2 of n! orders.
        assert!((p_value(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 2.0 / 120.0).abs() < 1e-12);
        // At most one of fifteen pairs falls in 1 + 5 of 720 orders.
        let one_swap = [2.0, 1.0, 3.0, 4.0, 5.0, 6.0];
        assert!((p_value(&one_swap) - 2.0 * 6.0 / 720.0).abs() < 1e-12);
        assert_eq!(p_value(&[]), 1.0);
        assert_eq!(p_value(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(slope(&[1.0, 3.0, 5.0, 7.0]), Some(2.0));
        assert_eq!(slope(&[1.0]), None);
    }

    #[test]
    fn beyond_the_exact_range_orders_are_drawn() {
        let rising: Vec<f64> = (0..80).map(f64::from).collect();
        assert_eq!(p_value(&rising), 1.0 / (DRAWS as f64 + 1.0));
        let balanced: Vec<f64> = (0..80).map(|i| f64::from((i * 37) % 80)).collect();
        assert!(p_value(&balanced) > 0.1);
    }

    proptest! {
        #[test]
        fn p_agrees_with_enumeration(values in prop::collection::vec(0u8..5, 0..8)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let observed = rising_less_falling(&values).abs();
            let (mut beyond, mut all) = (0u32, 0u32);
            orders(&mut values.clone(), 0, &mut |order| {
                all += 1;
                beyond += u32::from(rising_less_falling(order).abs() >= observed);
            });
            let counted = f64::from(beyond) / f64::from(all);
            prop_assert!((p_value(&values) - counted).abs() < 1e-9, "{} {}", p_value(&values), counted);
        }

        #[test]
        fn turning_the_order_turns_the_trend(values in prop::collection::vec(-9.0..9.0f64, 2..40)) {
            let turned: Vec<f64> = values.iter().rev().copied().collect();
            prop_assert!((p_value(&values) - p_value(&turned)).abs() < 1e-9);
            prop_assert!((slope(&values).unwrap() + slope(&turned).unwrap()).abs() < 1e-9);
        }
    }
}
