//! Inversions and their chances, against enumeration.

use proptest::prelude::*;

use super::*;

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

/// The values of each contender.
fn dealt_to(owners: &[usize], contenders: usize) -> Vec<Vec<f64>> {
    let mut values = vec![Vec::new(); contenders];
    for (value, owner) in owners.iter().enumerate() {
        values[*owner].push(value as f64);
    }
    values
}

/// Ways to choose some of the contenders, but not all, whom nobody of the others mingles with more than
/// the tolerance says.
fn cuts(values: &[Vec<f64>], tolerance: Tolerance) -> u32 {
    let apart = |a: &[f64], b: &[f64]| {
        let pairs = (a.len() * b.len()) as u64;
        tolerance.admits(inversions(a, b, Direction::Lower), pairs)
    };
    let all = (1u32 << values.len()) - 1;
    let is_cut = |chosen: &u32| {
        let is_chosen = |who: usize| chosen >> who & 1 == 1;
        let mut before = (0..values.len()).filter(|who| is_chosen(*who));
        before.all(|a| {
            let mut behind = (0..values.len()).filter(|who| !is_chosen(*who));
            behind.all(|b| apart(&values[a], &values[b]))
        })
    };
    (1..all).filter(is_cut).count() as u32
}

/// Cuts on average over all deals.
fn counted(counts: &[u32], tolerance: Tolerance) -> f64 {
    let (mut all, mut seen) = (0u32, 0u32);
    deals(&mut counts.to_vec(), &mut Vec::new(), &mut |owners| {
        all += 1;
        seen += cuts(&dealt_to(owners, counts.len()), tolerance);
    });
    f64::from(seen) / f64::from(all)
}

#[test]
fn cuts_are_as_many_as_enumeration_gives_where_nothing_may_mingle() {
    let nothing = Tolerance {
        inversions: 0,
        of: 1,
    };
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
        let (formula, seen) = (expected_cuts(counts), counted(counts, nothing));
        assert!(
            (formula - seen).abs() < 1e-12,
            "{counts:?}: {formula} {seen}"
        );
    }
}

#[test]
fn cuts_are_no_more_than_the_bound_where_values_may_mingle() {
    for (counts, of) in [
        (&[4, 4][..], 16),
        (&[5, 5], 25),
        (&[5, 3], 25),
        (&[3, 3, 3], 9),
        (&[2, 3, 4], 16),
        (&[2, 2, 2, 2], 4),
    ] {
        for inversions in 0..of / 2 {
            let tolerance = Tolerance { inversions, of };
            let (bound, seen) = (expected(counts, tolerance), counted(counts, tolerance));
            assert!(
                seen <= bound + 1e-12,
                "{counts:?} {tolerance:?}: {seen} {bound}"
            );
            if counts.len() == 2 {
                assert!((seen - bound).abs() < 1e-12, "it is sharp for two");
            }
        }
    }
}

/// Two contenders, at one in ten: the critical values of the two-sided rank-sum test, as in any table.
#[test]
fn two_contenders_have_the_critical_values_of_the_rank_sum_test() {
    let most = |rounds: u32| {
        let found = Tolerance::within(&[rounds, rounds], 0.10)?;
        Some(found.most(u64::from(rounds * rounds)))
    };
    let found: Vec<_> = (1..=10).map(most).collect();
    let table = [
        None,
        None,
        Some(0),
        Some(1),
        Some(4),
        Some(7),
        Some(11),
        Some(15),
        Some(21),
        Some(27),
    ];
    assert_eq!(found, table);
}

#[test]
fn more_rounds_never_tolerate_a_smaller_share() {
    for contenders in [2usize, 3, 5, 9, 20] {
        let mut before = 0.0;
        for rounds in 2..=16 {
            let found = Tolerance::within(&vec![rounds; contenders], 0.10);
            let share = found.map_or(0.0, |t| t.inversions as f64 / t.of as f64);
            // Whole numbers of inversions make the share uneven by one of them.
            let step = 1.0 / f64::from(rounds * rounds);
            assert!(
                share + step > before,
                "{contenders} {rounds}: {share} {before}"
            );
            before = share.max(before);
        }
        assert!(before > 0.1, "{contenders}: {before}");
    }
}

#[test]
fn long_series_are_bounded_and_nothing_overflows() {
    assert_eq!(expected_cuts(&[]), 0.0);
    assert_eq!(expected_cuts(&[4]), 0.0);
    assert!(expected_cuts(&[2000, 2000]) < 1e-300);
    for (most, first, second) in [(100, 20, 30), (900, 60, 60), (4_000, 100, 120)] {
        let exact = chance_of_at_most(most, first, second);
        let bound = normal_bound(most, first, second);
        assert!(exact <= bound && bound < 40.0 * exact, "{exact} {bound}");
    }
    let found = Tolerance::within(&[1000, 1000], 0.10).unwrap();
    assert!((0.4..0.5).contains(&(found.inversions as f64 / found.of as f64)));
}

proptest! {
    #[test]
    fn inversions_are_those_that_are_counted_one_by_one(
        mut a in prop::collection::vec(0u8..20, 0..12),
        mut b in prop::collection::vec(0u8..20, 0..12),
    ) {
        a.sort_unstable();
        b.sort_unstable();
        let float = |values: &[u8]| values.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
        let not_lower = a.iter().flat_map(|x| b.iter().map(move |y| u64::from(x >= y))).sum::<u64>();
        let not_higher = a.iter().flat_map(|x| b.iter().map(move |y| u64::from(x <= y))).sum::<u64>();
        prop_assert_eq!(inversions(&float(&a), &float(&b), Direction::Lower), not_lower);
        prop_assert_eq!(inversions(&float(&a), &float(&b), Direction::Higher), not_higher);
    }
}
