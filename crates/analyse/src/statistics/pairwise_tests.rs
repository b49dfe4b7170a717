//! Comparisons beside full enumeration, and what they say with few rounds.

use super::*;
use proptest::prelude::*;

fn series(values: &[f64]) -> Option<Vec<Option<f64>>> {
    Some(values.iter().map(|v| Some(*v)).collect())
}

fn compare(all: &[Option<Vec<Option<f64>>>], direction: Direction) -> Vec<Comparison> {
    compare_all(
        &all.iter().map(|v| v.as_deref()).collect::<Vec<_>>(),
        direction,
    )
}

#[test]
fn holm_by_hand() {
    assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
    assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
    assert_eq!(holm(&[]), [0.0; 0]);
}

#[test]
fn three_rounds_say_how_many_are_needed() {
    let all = [series(&[1.0, 1.1, 1.2]), series(&[10.0, 11.0, 12.0])];
    let found = compare(&all, Direction::Higher);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].significance,
        Significance::TooFewRounds { needed: 6 }
    );
    assert!((found[0].effect.unwrap().ratio - 0.1).abs() < 1e-12);
    assert_eq!(found[0].effect.unwrap().delta, -1.0);
    assert_eq!(rounds_needed(1), 6);
    assert_eq!(rounds_needed(3), 7);
    assert_eq!(rounds_needed(45), 11);
}

#[test]
fn enough_rounds_tell_apart_and_say_who_is_better() {
    let quick: Vec<f64> = (0..7).map(|i| 10.0 + f64::from(i) / 10.0).collect();
    let slow: Vec<f64> = quick.iter().map(|v| v / 2.0).collect();
    let all = [series(&quick), series(&slow), series(&quick), None];
    let found = compare(&all, Direction::Higher);
    let verdicts: Vec<Significance> = found.iter().map(|c| c.significance).collect();
    let (better, worse) = (Significance::Better, Significance::Worse);
    let (same, none) = (Significance::NotSignificant, Significance::NotComparable);
    assert_eq!(verdicts, [better, same, none, worse, none, none]);
    let found = compare(&all, Direction::Lower);
    assert_eq!(found[0].significance, Significance::Worse);
    let found = compare(&all, Direction::Neutral);
    assert_eq!(found[0].significance, Significance::Differs);
}

#[test]
fn values_that_make_no_ratio_are_not_compared() {
    let all = [series(&[0.0; 8]), series(&[1.0; 8])];
    let found = compare(&all, Direction::Higher);
    assert_eq!(found[0].significance, Significance::NotComparable);
}

proptest! {
    #[test]
    fn ranking_sees_the_verdicts_that_are_shown(
        all in prop::collection::vec(prop::collection::vec(1.0..9.0f64, 7), 2..4),
        higher in any::<bool>(),
    ) {
        let direction = if higher { Direction::Higher } else { Direction::Lower };
        let all: Vec<_> = all.iter().enumerate()
            .map(|(i, v)| series(&v.iter().map(|v| v + 3.0 * i as f64).collect::<Vec<_>>()))
            .collect();
        let series: Vec<_> = all.iter().map(|v| v.as_deref()).collect();
        let pairs = Pairs::of(&series, direction, FALSE_DIFFERENCE_LIMIT);
        for found in compare(&all, direction) {
            prop_assert_eq!(pairs.is_better(found.a, found.b), found.significance == Significance::Better);
            prop_assert_eq!(pairs.is_better(found.b, found.a), found.significance == Significance::Worse);
        }
    }

    #[test]
    fn holm_is_between_no_correction_and_bonferroni(
        p in prop::collection::vec(0.0..1.0f64, 1..20),
    ) {
        for (raw, corrected) in p.iter().zip(holm(&p)) {
            prop_assert!(*raw <= corrected && corrected <= (raw * p.len() as f64).min(1.0));
        }
    }
}
