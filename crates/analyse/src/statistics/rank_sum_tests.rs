//! The rank-sum test beside full enumeration, and its properties.

use super::*;
use proptest::prelude::*;

/// The p value by trying every way to deal the values out.
fn by_enumeration(first: &[f64], second: &[f64]) -> f64 {
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let ranks = doubled_ranks(&all);
    let count = all.len();
    let centre = (first.len() * (count + 1)) as i64;
    let off = |pattern: u32| {
        let taken = (0..count).filter(|i| pattern >> i & 1 == 1);
        (taken.map(|i| ranks[i] as i64).sum::<i64>() - centre).abs()
    };
    let observed = off((1 << first.len()) - 1);
    let ways = (0u32..1 << count).filter(|p| p.count_ones() as usize == first.len());
    let (beyond, all) = ways.fold((0u32, 0u32), |(beyond, all), pattern| {
        (beyond + u32::from(off(pattern) >= observed), all + 1)
    });
    f64::from(beyond) / f64::from(all)
}

#[test]
fn known_values() {
    assert!((p_value(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]) - 0.1).abs() < 1e-12);
    assert!((smallest_p(3, 3) - 0.1).abs() < 1e-12);
    assert!((smallest_p(5, 5) - 2.0 / 252.0).abs() < 1e-12);
    assert_eq!(p_value(&[], &[1.0]), 1.0);
    assert_eq!(p_value(&[2.0, 2.0], &[2.0, 2.0]), 1.0);
    assert_eq!(smallest_p(0, 4), 1.0);
}

#[test]
fn the_interval_is_that_of_the_tables() {
    // Mann–Whitney, two-sided 5 %: m = n = 5 has the critical value 2, m = n = 3 none.
    assert_eq!(narrowest(5, 5).0, 3);
    let (rank, confidence) = narrowest(3, 3);
    assert_eq!(rank, 1);
    assert!((confidence - 0.9).abs() < 1e-12);
}

#[test]
fn beyond_the_exact_range_the_approximation_goes_on() {
    let half = EXACT_VALUES / 2;
    assert!(
        narrowest(half, half)
            .0
            .abs_diff(by_approximation(half, half).0)
            <= 3
    );
    let low: Vec<f64> = (0..40).map(f64::from).collect();
    let high: Vec<f64> = (40..80).map(f64::from).collect();
    assert_eq!(p_value(&low, &high), 1.0 / (DRAWS as f64 + 1.0));
    assert!(p_value(&low, &low) > 0.9);
}

proptest! {
    #[test]
    fn p_is_what_enumeration_gives(
        first in prop::collection::vec(0u8..5, 1..6),
        second in prop::collection::vec(0u8..5, 1..6),
    ) {
        let floats = |values: Vec<u8>| -> Vec<f64> { values.into_iter().map(f64::from).collect() };
        let (first, second) = (floats(first), floats(second));
        let (fast, slow) = (p_value(&first, &second), by_enumeration(&first, &second));
        prop_assert!((fast - slow).abs() < 1e-12, "{} {}", fast, slow);
        prop_assert!((fast - p_value(&second, &first)).abs() < 1e-12);
    }

    #[test]
    fn the_interval_leaves_out_zero_where_the_test_rejects(
        first in prop::collection::vec(0.0..9.0f64, 4..9),
        second in prop::collection::vec(3.0..12.0f64, 4..9),
    ) {
        let (middle, interval) = shift(&first, &second).unwrap();
        prop_assert!(interval.low <= middle && middle <= interval.high);
        let outside = interval.low > 0.0 || interval.high < 0.0;
        prop_assert_eq!(outside, p_value(&first, &second) <= 1.0 - interval.confidence + 1e-12);
    }
}
