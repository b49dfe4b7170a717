//! The signed-rank test beside full enumeration, and its properties.

use super::*;
use proptest::prelude::*;

fn p_value(differences: &[f64]) -> f64 {
    SignedRank::of(differences.len()).test(differences).p
}

fn shift(differences: &[f64]) -> Option<(f64, Interval)> {
    SignedRank::of(differences.len()).shift(differences)
}

/// Which Walsh average is the end of the interval, and what that reaches.
fn end(pairs: usize) -> (usize, f64) {
    let test = SignedRank::of(pairs);
    (test.rank, test.confidence)
}

/// The p value by trying every pattern of signs.
fn by_enumeration(differences: &[f64]) -> f64 {
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let ranks: Vec<i64> = doubled_ranks(&sizes).iter().map(|r| *r as i64).collect();
    let statistic = |signs: &dyn Fn(usize) -> f64| -> i64 {
        let signed = (0..ranks.len()).map(|i| match signs(i) {
            sign if sign > 0.0 => ranks[i],
            sign if sign < 0.0 => -ranks[i],
            _ => 0,
        });
        signed.sum::<i64>().abs()
    };
    let observed = statistic(&|i| differences[i]);
    let flipped = |pattern: u32, i: usize| match pattern >> i & 1 {
        1 => -differences[i],
        _ => differences[i],
    };
    let patterns = 1u32 << differences.len();
    let beyond = (0..patterns).filter(|p| statistic(&|i| flipped(*p, i)) >= observed);
    beyond.count() as f64 / f64::from(patterns)
}

#[test]
fn known_values() {
    // All of one sign: 2 of 2⁵ patterns.
    assert_eq!(p_value(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.0625);
    // Rank sum 1 of 15 against: 0 and 1 at either end, 4 of 32 patterns.
    assert_eq!(p_value(&[-1.0, 2.0, 3.0, 4.0, 5.0]), 0.125);
    assert_eq!(p_value(&[]), 1.0);
    assert_eq!(p_value(&[0.0, 0.0]), 1.0);
    assert_eq!(shift(&[]), None);
    assert_eq!(smallest_p(5), 0.0625);
    assert_eq!(smallest_p(0), 1.0);
}

#[test]
fn the_test_says_which_side_is_the_greater() {
    let first = |differences: &[f64]| SignedRank::of(differences.len()).test(differences).first;
    assert_eq!(first(&[1.0, 2.0, -0.5]), Ordering::Greater);
    assert_eq!(first(&[-1.0, -2.0, 0.5]), Ordering::Less);
    assert_eq!(first(&[1.0, -1.0]), Ordering::Equal);
}

#[test]
fn the_interval_of_five_and_eight_pairs_is_that_of_the_tables() {
    // Critical values of the signed-rank test: n = 5 none at 5 %; n = 8, two-sided 5 %: 3.
    let (rank, confidence) = end(5);
    assert_eq!((rank, confidence), (1, 0.9375));
    let (rank, confidence) = end(8);
    assert_eq!(rank, 4);
    assert!(
        (confidence - (1.0 - 2.0 * 5.0 / 256.0)).abs() < 1e-12,
        "{confidence}"
    );
}

#[test]
fn beyond_the_exact_range_the_approximation_goes_on() {
    let (exact, _) = end(EXACT_PAIRS);
    let beyond = by_approximation(EXACT_PAIRS);
    assert!(exact.abs_diff(beyond) <= 3, "{exact} {beyond}");
    let one_sided: Vec<f64> = (1..=150).map(f64::from).collect();
    assert_eq!(p_value(&one_sided), 1.0 / (DRAWS as f64 + 1.0));
    let balanced: Vec<f64> = (1..=150)
        .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    assert!(p_value(&balanced) > 0.5);
}

proptest! {
    #[test]
    fn p_is_what_enumeration_gives(differences in prop::collection::vec(-4i8..=4, 0..11)) {
        let differences: Vec<f64> = differences.into_iter().map(f64::from).collect();
        let (fast, slow) = (p_value(&differences), by_enumeration(&differences));
        prop_assert!((fast - slow).abs() < 1e-12, "{} {}", fast, slow);
    }

    #[test]
    fn p_does_not_depend_on_who_is_first(differences in prop::collection::vec(-9.0..9.0f64, 1..20)) {
        let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
        prop_assert!((p_value(&differences) - p_value(&turned)).abs() < 1e-12);
        let (a, b) = (shift(&differences).unwrap(), shift(&turned).unwrap());
        prop_assert!((a.0 + b.0).abs() < 1e-9 && (a.1.low + b.1.high).abs() < 1e-9);
    }

    #[test]
    fn the_interval_leaves_out_zero_where_the_test_rejects(
        differences in prop::collection::vec(-3.0..9.0f64, 6..20),
    ) {
        let (middle, interval) = shift(&differences).unwrap();
        prop_assert!(interval.low <= middle && middle <= interval.high);
        prop_assert!(interval.confidence >= WANTED_CONFIDENCE);
        let outside = interval.low > 0.0 || interval.high < 0.0;
        prop_assert_eq!(outside, p_value(&differences) <= 1.0 - interval.confidence + 1e-12);
    }
}
