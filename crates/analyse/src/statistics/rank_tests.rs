//! Ranks by hand, against enumeration, and by properties.

use proptest::prelude::*;

use super::*;
use crate::expected_cuts;

fn competitor(values: &[f64]) -> Competitor {
    Competitor {
        values: values.iter().map(|v| Some(*v)).collect(),
        estimate: Estimate::of(values),
        sound: true,
    }
}

fn ranked(all: &[&[f64]], direction: Direction) -> Vec<Option<Rank>> {
    let competitors: Vec<_> = all.iter().map(|values| competitor(values)).collect();
    rank(&competitors, direction)
}

fn ranks(places: &[Option<Rank>]) -> Vec<u32> {
    places.iter().map(|p| p.map_or(0, |p| p.rank)).collect()
}

fn marks(places: &[Option<Rank>]) -> Vec<Option<Mark>> {
    places.iter().map(|p| p.and_then(|p| p.mark)).collect()
}

const FAST: &[f64] = &[30.0, 31.0, 32.0];
const MIDDLE: &[f64] = &[20.0, 21.0, 22.0];
const SLOW: &[f64] = &[10.0, 11.0, 12.0];

#[test]
fn clear_differences_are_ranked_and_marked_by_direction() {
    let places = ranked(&[SLOW, FAST, MIDDLE], Direction::Higher);
    assert_eq!(ranks(&places), [3, 1, 2]);
    assert_eq!(marks(&places), [Some(Mark::Worst), Some(Mark::Best), None]);
    let places = ranked(&[SLOW, FAST, MIDDLE], Direction::Lower);
    assert_eq!(ranks(&places), [1, 3, 2]);
    assert_eq!(marks(&places), [Some(Mark::Best), Some(Mark::Worst), None]);
}

#[test]
fn ties_pass_on_along_a_chain() {
    let chain: [&[f64]; 4] = [
        &[10.0, 12.0, 14.0],
        &[13.0, 15.0, 17.0],
        &[16.0, 18.0, 20.0],
        &[30.0, 31.0, 32.0],
    ];
    let places = ranked(&chain, Direction::Lower);
    assert_eq!(ranks(&places), [1, 1, 1, 4]);
    assert_eq!(places[0].unwrap().tied_with, 2);
    assert_eq!(marks(&places), [None, None, None, Some(Mark::Worst)]);
}

#[test]
fn neutral_results_have_no_place() {
    assert_eq!(ranked(&[SLOW, FAST], Direction::Neutral), [None, None]);
}

#[test]
fn equal_values_tie_and_a_lone_contender_beats_nobody() {
    let places = ranked(&[&[5.0; 3], &[5.0; 3]], Direction::Higher);
    assert_eq!(ranks(&places), [1, 1]);
    assert_eq!(marks(&places), [None, None]);
    assert_eq!(marks(&ranked(&[FAST], Direction::Higher)), [None]);
    assert_eq!(
        marks(&ranked(&[FAST, &[]], Direction::Higher)),
        [None, None]
    );
}

#[test]
fn too_few_rounds_mark_nothing() {
    let one: Vec<[f64; 1]> = (0..20).map(|i| [f64::from(i)]).collect();
    let all: Vec<&[f64]> = one.iter().map(|v| &v[..]).collect();
    assert!(
        marks(&ranked(&all, Direction::Higher))
            .iter()
            .all(Option::is_none)
    );
    let two = ranked(&[&[1.0, 2.0], &[3.0, 4.0]], Direction::Higher);
    assert_eq!(ranks(&two), [1, 1], "so few rounds show no difference");
    assert_eq!(marks(&two), [None, None]);
}

#[test]
fn who_failed_in_a_round_is_never_marked() {
    let mut competitors: Vec<_> = [FAST, MIDDLE, SLOW].map(competitor).into();
    competitors[0].sound = false;
    let places = rank(&competitors, Direction::Higher);
    assert_eq!(ranks(&places), [1, 2, 3]);
    assert_eq!(marks(&places), [None, None, Some(Mark::Worst)]);
}

#[test]
fn the_limits_that_the_rule_names() {
    let equal = |contenders: usize, rounds: u32| expected_cuts(&vec![rounds; contenders]);
    assert!((equal(2, 3) - 0.1).abs() < 1e-12);
    assert!(equal(2, 3) <= FALSE_MARK_LIMIT);
    assert!(equal(12, 2) > FALSE_MARK_LIMIT && equal(13, 2) <= FALSE_MARK_LIMIT);
    assert!((3..40).all(|contenders| equal(contenders, 3) <= FALSE_MARK_LIMIT));
    assert!((2..40).all(|contenders| equal(contenders, 1) > 0.9));
}

/// What the tests can reach of their limit, by hand: 2/2⁶ for one pair of six rounds, 3 · 2/2⁷ for three.
#[test]
fn tests_and_separation_share_one_limit() {
    assert!((level(1, 6) - 0.03125).abs() < 1e-12);
    assert!((level(3, 7) - 0.046875).abs() < 1e-12);
    for pairs in [1, 3, 10, 45] {
        for rounds in rounds_needed(pairs)..40 {
            let level = level(pairs, rounds);
            assert!(
                level > 0.0 && level <= FALSE_DIFFERENCE_LIMIT,
                "{pairs} {rounds}"
            );
        }
    }
}

/// A round that stalled has more rounds against it, the more there are.
#[test]
fn a_round_that_stalled_does_not_undo_the_others() {
    let slow = [12.0, 12.1, 12.2, 12.3, 12.4, 12.5];
    let with = |stalled: f64| [10.0, 10.1, 10.2, 10.3, stalled, 10.4];
    let places = |stalled: f64, rounds: usize| {
        let quick = with(stalled);
        ranked(&[&slow[..rounds], &quick[..rounds]], Direction::Lower)
    };
    let four_inversions = places(12.35, 5);
    assert_eq!(
        ranks(&four_inversions),
        [2, 1],
        "4 of 25 are within the limit"
    );
    let marked = [Some(Mark::Worst), Some(Mark::Best)];
    assert_eq!(marks(&four_inversions), marked);
    assert_eq!(ranks(&places(13.0, 5)), [1, 1], "5 of 25 are not");
    assert_eq!(ranks(&places(13.0, 6)), [2, 1], "6 of 36 are");
}

#[test]
fn with_rounds_enough_the_tests_see_what_mingled_values_hide() {
    // The machine gets slower from round to round, and everybody with it: intervals overlap, but in
    // each round the order is the same.
    let drift =
        |base: f64| -> Vec<f64> { (0..8).map(|k| base * (1.0 + 0.1 * f64::from(k))).collect() };
    let (quick, middle, slow) = (drift(10.0), drift(11.0), drift(12.0));
    let places = ranked(&[&middle, &slow, &quick], Direction::Lower);
    assert_eq!(ranks(&places), [2, 3, 1]);
    assert_eq!(marks(&places), [None, Some(Mark::Worst), Some(Mark::Best)]);
    let few: Vec<&[f64]> = [&middle, &slow, &quick].map(|v| &v[..6]).to_vec();
    assert_eq!(
        ranks(&ranked(&few, Direction::Lower)),
        [1, 1, 1],
        "three pairs need seven rounds"
    );
}

#[test]
fn who_failed_is_ranked_by_the_interval_beside_tests() {
    let around = |base: f64| -> Vec<f64> { (0..8).map(|k| base + 0.1 * f64::from(k)).collect() };
    let mut competitors: Vec<_> = [10.0, 20.0, 30.0]
        .map(|base| competitor(&around(base)))
        .into();
    competitors[2].values.truncate(3);
    competitors[2].estimate = Estimate::of(&around(30.0)[..3]);
    competitors[2].sound = false;
    let places = rank(&competitors, Direction::Lower);
    assert_eq!(ranks(&places), [1, 2, 3]);
    assert_eq!(marks(&places), [Some(Mark::Best), None, None]);
}

proptest! {
    #[test]
    fn ranking_is_sound(
        all in prop::collection::vec(prop::collection::vec(0.0..100.0f64, 0..6), 1..10),
        higher in any::<bool>(),
    ) {
        let direction = if higher { Direction::Higher } else { Direction::Lower };
        let competitors: Vec<_> = all.iter().map(|v| competitor(v)).collect();
        let places = rank(&competitors, direction);
        let sorted = |who: usize| {
            let mut values = all[who].clone();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        for (i, a) in competitors.iter().enumerate() {
            prop_assert_eq!(a.estimate.is_some(), places[i].is_some());
            for (j, b) in competitors.iter().enumerate() {
                let (Some(a), Some(b)) = (a.estimate, b.estimate) else { continue };
                let (p, q) = (places[i].unwrap(), places[j].unwrap());
                if p.rank < q.rank {
                    prop_assert_ne!(better_first(a.median, b.median, direction), Ordering::Greater);
                    let found = inversions(&sorted(i), &sorted(j), direction);
                    let pairs = (all[i].len() * all[j].len()) as u64;
                    prop_assert!(4 * found <= pairs, "so few rounds allow less than a quarter");
                }
            }
        }
        let count = |mark| places.iter().filter(|p| p.is_some_and(|p| p.mark == Some(mark))).count();
        prop_assert!(count(Mark::Best) <= 1 && count(Mark::Worst) <= 1);
    }

    #[test]
    fn turning_the_direction_turns_the_marks(
        all in prop::collection::vec(prop::collection::vec(0.0..100.0f64, 1..5), 2..8),
    ) {
        let competitors: Vec<_> = all.iter().map(|v| competitor(v)).collect();
        let turn = |mark| match mark {
            Some(Mark::Best) => Some(Mark::Worst),
            Some(Mark::Worst) => Some(Mark::Best),
            None => None,
        };
        let up = marks(&rank(&competitors, Direction::Higher));
        let down: Vec<_> = marks(&rank(&competitors, Direction::Lower)).into_iter().map(turn).collect();
        prop_assert_eq!(up, down);
    }
}
