//! Ranks by hand, against enumeration, and by properties.

use proptest::prelude::*;

use super::*;

fn competitor(values: &[f64]) -> Competitor {
    Competitor {
        values: values.iter().map(|v| Some(*v)).collect(),
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
    assert_eq!(ranks(&two), [1, 1], "so few rounds tell nobody apart");
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

/// Over all deals: the cuts on average, as the formula means them (all values beyond all others) and as
/// the intervals see them; and the share of deals with any cut.
fn counted_cuts(counts: &[u32]) -> (f64, f64, f64) {
    let (mut all, mut meant, mut seen, mut any) = (0u32, 0u32, 0u32, 0u32);
    deals(&mut counts.to_vec(), &mut Vec::new(), &mut |owners| {
        all += 1;
        // Behind a value, everybody so far has all his values so far.
        let complete = |end: usize| {
            let so_far = |who: usize| owners[..end].iter().filter(|o| **o == who).count();
            (0..counts.len()).all(|who| [0, counts[who] as usize].contains(&so_far(who)))
        };
        meant += (1..owners.len()).filter(|end| complete(*end)).count() as u32;
        let competitors: Vec<_> = (0..counts.len())
            .map(|who| {
                let values: Vec<f64> = (0..owners.len())
                    .filter(|i| owners[*i] == who)
                    .map(|i| i as f64 + 1.0)
                    .collect();
                competitor(&values)
            })
            .collect();
        let cuts = cuts_between_intervals(&competitors);
        seen += cuts;
        any += u32::from(cuts > 0);
    });
    let share = |count: u32| f64::from(count) / f64::from(all);
    (share(meant), share(seen), share(any))
}

/// Places in the order of the medians at which all intervals before end before all behind begin.
fn cuts_between_intervals(competitors: &[Competitor]) -> u32 {
    let mut intervals: Vec<_> = competitors.iter().map(|c| c.estimate.unwrap()).collect();
    intervals.sort_by(|a, b| a.median.total_cmp(&b.median));
    let cut = |at: &usize| {
        let (before, behind) = intervals.split_at(*at);
        let mut pairs = before
            .iter()
            .flat_map(|a| behind.iter().map(move |b| (a, b)));
        pairs.all(|(a, b)| a.interval.high < b.interval.low)
    };
    (1..intervals.len()).filter(cut).count() as u32
}

#[test]
fn false_cuts_are_as_many_as_enumeration_gives() {
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
        let (meant, seen, any) = counted_cuts(counts);
        let formula = expected_cuts(counts);
        assert!(
            (formula - meant).abs() < 1e-12,
            "{counts:?}: {formula} {meant}"
        );
        assert!(
            (formula - seen).abs() < 1e-12,
            "{counts:?}: intervals are ranges"
        );
        assert!(any <= seen);
    }
}

#[test]
fn from_nine_rounds_on_intervals_are_narrower_but_false_cuts_stay_rare() {
    let (meant, seen, _) = counted_cuts(&[9, 9]);
    assert!(meant < seen && seen < FALSE_MARK_LIMIT / 10.0, "{seen}");
}

#[test]
fn the_limits_that_the_rule_names() {
    let equal = |contenders: usize, rounds: u32| expected_cuts(&vec![rounds; contenders]);
    assert!((equal(2, 3) - 0.1).abs() < 1e-12);
    assert!(equal(2, 3) <= FALSE_MARK_LIMIT);
    assert!(equal(12, 2) > FALSE_MARK_LIMIT && equal(13, 2) <= FALSE_MARK_LIMIT);
    assert!((3..40).all(|contenders| equal(contenders, 3) <= FALSE_MARK_LIMIT));
    assert!((2..40).all(|contenders| equal(contenders, 1) > 0.9));
    assert!((expected_cuts(&[3, 3]) - 0.1).abs() < 1e-12);
    assert_eq!(expected_cuts(&[]), 0.0);
    assert_eq!(expected_cuts(&[4]), 0.0);
    assert!(expected_cuts(&[2000, 2000]) < 1e-300);
}

#[test]
fn with_rounds_enough_the_tests_decide_and_not_the_intervals() {
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
