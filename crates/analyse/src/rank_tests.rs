//! Ranks by hand, against enumeration, and by properties.

use proptest::prelude::*;

use super::*;

fn competitor(values: &[f64]) -> Competitor {
    Competitor {
        estimate: Estimate::of(values),
        sound: true,
    }
}

fn ranked(all: &[&[f64]], direction: Direction) -> Vec<Option<Place>> {
    let competitors: Vec<_> = all.iter().map(|values| competitor(values)).collect();
    rank(&competitors, direction)
}

fn ranks(places: &[Option<Place>]) -> Vec<u32> {
    places.iter().map(|p| p.map_or(0, |p| p.rank)).collect()
}

fn marks(places: &[Option<Place>]) -> Vec<Option<Mark>> {
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
fn neutral_figures_have_no_place() {
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
    assert_eq!(ranks(&two), [2, 1]);
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

/// Every way to deal the values 0 … N−1 to contenders with so many each, as the owner of each value.
fn deals(counts: &mut [u32], dealt: &mut Vec<usize>, visit: &mut impl FnMut(&[usize])) {
    if counts.iter().all(|c| *c == 0) {
        return visit(dealt);
    }
    for owner in 0..counts.len() {
        if counts[owner] > 0 {
            counts[owner] -= 1;
            dealt.push(owner);
            deals(counts, dealt, visit);
            dealt.pop();
            counts[owner] += 1;
        }
    }
}

/// Shares of all deals in which one contender's interval lies above all others': as the formula
/// means it (all values) and as the intervals see it.
fn counted_chances(counts: &[u32]) -> (f64, f64) {
    let (mut all, mut separated, mut lone) = (0u32, 0u32, 0u32);
    deals(&mut counts.to_vec(), &mut Vec::new(), &mut |owners| {
        all += 1;
        let top = owners[owners.len() - 1];
        let run = owners.iter().rev().take_while(|o| **o == top).count();
        separated += u32::from(run == counts[top] as usize);
        let competitors: Vec<_> = (0..counts.len())
            .map(|who| {
                let values: Vec<f64> = (0..owners.len())
                    .filter(|i| owners[*i] == who)
                    .map(|i| i as f64)
                    .collect();
                competitor(&values)
            })
            .collect();
        let groups = tie_groups(&competitors, Direction::Higher);
        lone += u32::from(groups[0].len() == 1);
    });
    let share = |count: u32| f64::from(count) / f64::from(all);
    (share(separated), share(lone))
}

#[test]
fn chance_of_a_false_mark_is_what_enumeration_gives() {
    for counts in [
        &[1, 1][..],
        &[2, 2],
        &[3, 3],
        &[3, 1],
        &[2, 2, 2],
        &[3, 3, 3],
        &[1, 2, 3],
        &[5, 5],
    ] {
        let (separated, lone) = counted_chances(counts);
        let formula = chance_of_false_mark(counts, 0);
        assert!((formula - separated).abs() < 1e-12, "{counts:?}");
        assert!(
            (formula - lone).abs() < 1e-12,
            "{counts:?}: intervals are ranges"
        );
    }
}

#[test]
fn from_nine_rounds_on_intervals_are_narrower_but_false_marks_stay_rare() {
    let (separated, lone) = counted_chances(&[9, 9]);
    assert!(separated < lone && lone < FALSE_MARK_LIMIT / 10.0, "{lone}");
}

#[test]
fn the_limits_that_the_rule_names() {
    assert!((chance_of_false_mark(&[3, 3], 0) - 0.1).abs() < 1e-12);
    assert!(chance_of_false_mark(&[3, 3], 0) <= FALSE_MARK_LIMIT);
    assert!((chance_of_false_mark(&[2; 9], 0) - 9.0 / 153.0).abs() < 1e-12);
    assert!((chance_of_false_mark(&[1; 30], 0) - 1.0).abs() < 1e-12);
    assert!((chance_of_false_mark(&[3], 3) - 0.05).abs() < 1e-12);
    assert_eq!(chance_of_false_mark(&[2000, 2000], 0), 0.0);
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
        for (i, a) in competitors.iter().enumerate() {
            prop_assert_eq!(a.estimate.is_some(), places[i].is_some());
            for (j, b) in competitors.iter().enumerate() {
                let (Some(a), Some(b)) = (a.estimate, b.estimate) else { continue };
                let (p, q) = (places[i].unwrap(), places[j].unwrap());
                if i != j && a.interval.overlaps(&b.interval) {
                    prop_assert_eq!(p.rank, q.rank);
                    prop_assert!(p.mark.is_none());
                }
                if p.rank < q.rank {
                    prop_assert_ne!(better_first(a.median, b.median, direction), Ordering::Greater);
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
