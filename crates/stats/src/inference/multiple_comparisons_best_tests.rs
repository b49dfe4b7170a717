//! Tests comparisons by hand and over simulated campaigns with known true values.

use super::*;
use crate::fixture::costs::{DOZEN, NoiseLevel, SimulationSpec, TrueEffect, simulate};
use crate::fixture::error_rates::ErrorRates;
use crate::inference::{CampaignCosts, MAX_ROUNDS, rerun_candidates};

const MARGIN: Margin = Margin(0.05);

/// Creates rows of the same contenders, each a separate test, from costs.
fn costs(rows: &[&[&[f64]]], exact: bool) -> CampaignCosts {
    let log = |cost: &f64| (*cost > 0.0).then(|| cost.ln());
    let of_contender = |rounds: &&[f64]| rounds.iter().map(log).collect();
    let row = |(test, row): (usize, &&[&[f64]])| LogCosts {
        test,
        is_size: false,
        logs: row.iter().map(of_contender).collect(),
    };
    CampaignCosts {
        contenders: rows[0].len(),
        rows: rows.iter().enumerate().map(row).collect(),
        exact,
        ends_by_results: false,
    }
}

fn rows_of(costs: &CampaignCosts) -> Vec<BestComparison> {
    PairwiseEstimates::from_costs(costs.clone()).rows(MARGIN)
}

fn uses_of(costs: &CampaignCosts, weights: &[Vec<f64>]) -> Vec<BestComparison> {
    PairwiseEstimates::from_costs(costs.clone()).uses(weights, MARGIN)
}

fn is_worse(verdict: Option<ComparisonVerdict>, share: f64) -> bool {
    matches!(verdict, Some(ComparisonVerdict::WorseByAtLeast(s)) if (s - share).abs() < 1e-9)
}

/// Runs a few of the campaigns that `make error-rates` counts.
#[test]
fn bounds_of_a_campaign_with_a_budget_are_wider() {
    let known = simulate(1, SimulationSpec { truth: TrueEffect::Spread, rounds: 4, ..DOZEN });
    let asked =
        Contrast { weights: &known.uses[0], takes_part: &[true; 12], margin: MARGIN, family: 1 };
    let bounds = |ends_by_results| {
        let costs = CampaignCosts { ends_by_results, ..known.costs.clone() };
        let bounds = PairwiseEstimates::from_costs(costs).at_most(asked);
        bounds.into_iter().map(|bound| bound.unwrap().most).collect::<Vec<f64>>()
    };
    let (fixed, open) = (bounds(false), bounds(true));
    assert!(fixed.iter().zip(&open).all(|(fixed, open)| fixed <= open));
    assert!(fixed.iter().sum::<f64>() < open.iter().sum::<f64>());
}

/// The true best may be one with which a contender shares no round.
#[test]
fn nothing_is_promised_without_a_comparison_with_each_of_the_others() {
    let mut known = simulate(1, SimulationSpec { contenders: 3, rounds: 3, ..DOZEN });
    let logs = &mut known.costs.rows[0].logs;
    logs[0][1..].fill(None);
    logs[1][0] = None;
    let asked =
        Contrast { weights: &known.uses[0], takes_part: &[true; 3], margin: MARGIN, family: 1 };
    let bounds = PairwiseEstimates::from_costs(known.costs.clone()).at_most(asked);
    let known: Vec<bool> = bounds.iter().map(Option::is_some).collect();
    assert_eq!(known, [false, false, true]);
}

#[test]
fn error_rates_are_within_their_limits() {
    let edge = SimulationSpec { truth: TrueEffect::AtTheMargin, ..DOZEN };
    let own_noise = SimulationSpec { deviation: NoiseLevel::Each, contenders: 4, ..edge };
    let stalls =
        SimulationSpec { stalls: 0.05, deviation: NoiseLevel::Alike(0.02), contenders: 6, ..edge };
    for what in [edge, own_noise, stalls] {
        let rates = ErrorRates::count(what, 60);
        assert_eq!(rates.broken(), [""; 0], "{what:?}: {rates:?}");
    }
}

/// As above, with cells chosen by their gain and without contenders far behind.
#[test]
fn promises_hold_within_a_budget() {
    let small = SimulationSpec { contenders: 4, rounds: 6, tests: 3, stalls: 0.05, ..DOZEN };
    let edge = SimulationSpec { truth: TrueEffect::AtTheMargin, ..small };
    let spread = SimulationSpec {
        truth: TrueEffect::Spread,
        deviation: NoiseLevel::ByContenderAndTest,
        ..small
    };
    let far = SimulationSpec { truth: TrueEffect::FarApart, deviation: NoiseLevel::Each, ..small };
    for what in [edge, spread, far] {
        let rates = ErrorRates::count_within_budget(what, 30);
        assert_eq!(rates.broken(), [""; 0], "{what:?}: {rates:?}");
    }
}

#[test]
fn gains_prefer_the_test_with_the_most_variance_and_end_at_the_margin() {
    let steady: &[&[f64]] = &[&[100.0, 101.0], &[102.0, 101.5], &[130.0, 131.0]];
    let noisy: &[&[f64]] = &[&[100.0, 130.0], &[140.0, 105.0], &[180.0, 130.0]];
    let asked =
        Contrast { weights: &[1.0, 1.0], takes_part: &[true; 3], margin: MARGIN, family: 1 };
    let gains = PairwiseEstimates::from_costs(costs(&[steady, noisy], false)).bound_gains(asked, 0);
    assert!(gains[&1] > gains[&0] && gains[&0] > 0.0, "{gains:?}");
    let unknown: &[&[f64]] = &[&[100.0], &[102.0], &[130.0]];
    let once = PairwiseEstimates::from_costs(costs(&[unknown, unknown], false));
    let equal = once.bound_gains(asked, 0);
    assert!(equal[&0] == equal[&1] && equal[&0] > 0.0, "the noise is unknown: {equal:?}");
    let constant: &[&[f64]] = &[&[100.0; 3], &[102.0; 3], &[130.0; 3]];
    let settled = PairwiseEstimates::from_costs(costs(&[constant, constant], false));
    assert!(settled.bound_gains(asked, 0).is_empty(), "its bound is 0");
    assert!(settled.bound_gains(asked, 2).is_empty(), "no noise, so its bound cannot shrink");
    let exact = PairwiseEstimates::from_costs(costs(&[unknown, unknown], true));
    assert!(exact.bound_gains(asked, 2).is_empty());
}

#[test]
fn a_contender_far_behind_runs_only_if_no_other_remains() {
    let shortlist = [(4, 1.0), (2, 1.3), (0, 7.0)];
    assert_eq!(rerun_candidates(&shortlist, |_| 1), [4, 2, 0], "a second look");
    assert_eq!(rerun_candidates(&shortlist, |_| 2), [4, 2], "and no third");
    assert_eq!(rerun_candidates(&[(4, 1.0), (0, 7.0)], |_| 2), [4, 0]);
    let hopeless = [(4, 1.0), (2, 1.3), (0, 70.0)];
    assert_eq!(rerun_candidates(&hopeless, |_| 1), [4, 2]);
}

/// The third contender costs about twelve times as much as the first. With one round, up to five
/// times may be a stall.
#[test]
fn a_single_round_may_have_stalled() {
    let three: &[&[f64]] =
        &[&[100.0, 101.0, 102.0], &[103.0, 104.0, 102.0], &[1200.0, 1210.0, 1190.0]];
    let one: &[&[f64]] = &[&[100.0, 101.0, 102.0], &[103.0, 104.0, 102.0], &[1200.0]];
    let least = [three, one].map(|row| {
        let estimates = PairwiseEstimates::from_costs(costs(&[row, row, row, row], false));
        let use_case = estimates.uses(&[vec![1.0; 4]], MARGIN).remove(0);
        let share = |verdict| match verdict {
            Some(ComparisonVerdict::WorseByAtLeast(share)) => share,
            other => panic!("{other:?}"),
        };
        [share(estimates.rows(MARGIN)[0].verdicts[2]), share(use_case.verdicts[2])]
    });
    let [[row, of_use], [row_once, use_once]] = least;
    assert!(row > 10.0 && (0.5..1.5).contains(&row_once), "{least:?}");
    // A quarter of the weight stalled.
    assert!(of_use > 10.0 && (5.0..8.0).contains(&use_once), "{least:?}");
}

#[test]
fn a_difference_of_a_fifth_is_found_in_three_rounds_of_a_dozen_contenders() {
    let what = SimulationSpec { truth: TrueEffect::SecondBy20, ..DOZEN };
    let rates = ErrorRates::count(what, 60);
    let (found, half) = rates.found.mean(rates.campaigns);
    assert!(found + half > 0.8, "{found} ± {half}");
    assert_eq!(rates.broken(), [""; 0], "{rates:?}");
}

#[test]
fn more_rounds_find_more() {
    let found = [3, 5, 7].map(|rounds| {
        let what = SimulationSpec {
            truth: TrueEffect::SecondBy20,
            stalls: 0.05,
            contenders: 6,
            rounds,
            ..DOZEN
        };
        let rates = ErrorRates::count(what, 40);
        rates.found.mean(rates.campaigns).0
    });
    assert!(found[0] < found[1] && found[1] <= found[2], "{found:?}");
}

#[test]
fn one_round_decides_only_without_noise() {
    let rows: &[&[&[f64]]] = &[&[&[100.0], &[103.0], &[130.0], &[100.0]]];
    let noisy = &rows_of(&costs(rows, false))[0];
    assert_eq!(noisy.shortlist, [0, 1, 2, 3]);
    let open = Some(ComparisonVerdict::Undecided { rounds: None });
    // Identical contenders are also undecided, because a verdict on one applies to the other.
    assert_eq!(noisy.verdicts, [open; 4]);

    let exact = &rows_of(&costs(rows, true))[0];
    assert_eq!(exact.first, Some(0));
    assert_eq!(exact.shortlist, [0, 1, 3]);
    assert_eq!(exact.verdicts[0], Some(ComparisonVerdict::EqualWithin(MARGIN)));
    assert_eq!(exact.verdicts[1], Some(ComparisonVerdict::EqualWithin(MARGIN)));
    assert!(is_worse(exact.verdicts[2], 0.3));
    assert_eq!(exact.verdicts[3], Some(ComparisonVerdict::Identical));
}

#[test]
fn without_noise_a_use_is_decided_by_its_weighted_cost() {
    let rows: &[&[&[f64]]] =
        &[&[&[100.0, 100.0], &[200.0, 210.0]], &[&[300.0, 300.0], &[100.0, 100.0]]];
    let standings = uses_of(&costs(rows, true), &[vec![1.0, 1.0], vec![3.0, 1.0]]);
    // The bounds are √(3/2.1) in the worse round of the first use case, and the fourth root of 2³/3
    // in the better round of the second.
    assert!(is_worse(standings[0].verdicts[0], (3.0f64 / 2.1).sqrt() - 1.0));
    assert!(is_worse(standings[1].verdicts[1], (8.0f64 / 3.0).powf(0.25) - 1.0));
    assert_eq!(standings[0].shortlist, [1]);
    assert!(matches!(standings[0].verdicts[1], Some(ComparisonVerdict::BetterByAtLeast(_))));
}

#[test]
fn values_that_never_vary_are_certain_in_any_clock() {
    let rows: &[&[&[f64]]] = &[&[&[100.0; 2], &[120.0; 2], &[102.0; 2], &[100.0; 2]]];
    let standing = &rows_of(&costs(rows, false))[0];
    assert!(is_worse(standing.verdicts[1], 0.2));
    assert_eq!(standing.verdicts[2], Some(ComparisonVerdict::EqualWithin(MARGIN)));
    assert_eq!(standing.verdicts[3], Some(ComparisonVerdict::Identical));
}

#[test]
fn a_contender_without_values_has_no_verdict() {
    let rows: &[&[&[f64]]] = &[&[&[100.0, 150.0], &[0.0, 0.0], &[120.0, 110.0]]];
    let costs = costs(rows, false);
    for standing in [&rows_of(&costs)[0], &uses_of(&costs, &[vec![1.0]])[0]] {
        assert_eq!(standing.verdicts[1], None);
        assert_eq!(standing.differences[1], None);
        assert_eq!(standing.shortlist, [0, 2]);
    }
}

#[test]
fn one_contender_and_no_row_are_no_fault() {
    let alone: &[&[&[f64]]] = &[&[&[100.0, 101.0]]];
    let alone = costs(alone, false);
    assert_eq!(rows_of(&alone)[0].first, None);
    assert_eq!(uses_of(&alone, &[vec![1.0], vec![0.0]])[1].first, None);
    let none =
        CampaignCosts { contenders: 3, rows: Vec::new(), exact: false, ends_by_results: false };
    assert!(rows_of(&none).is_empty());
    assert_eq!(uses_of(&none, &[Vec::new()])[0].verdicts, [None; 3]);
}

#[test]
fn no_bound_is_within_the_margin_and_no_more_rounds_are_named_than_the_most() {
    let what = SimulationSpec { truth: TrueEffect::Spread, missing: 0.05, ..DOZEN };
    for seed in 0..5 {
        let known = simulate(seed, what);
        let rows = rows_of(&known.costs);
        for standing in rows.iter().chain(&uses_of(&known.costs, &known.uses)) {
            for verdict in standing.verdicts.iter().flatten() {
                match verdict {
                    ComparisonVerdict::WorseByAtLeast(share) => {
                        assert!(*share > MARGIN.0 - 1e-6, "{share}");
                    }
                    ComparisonVerdict::Undecided { rounds: Some(n) } => {
                        assert!((4..=MAX_ROUNDS).contains(n), "{n}");
                    }
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn the_same_numbers_give_the_same_verdicts_and_order_does_not_matter() {
    let known = simulate(7, SimulationSpec { truth: TrueEffect::Spread, ..DOZEN });
    let mut turned = known.costs.clone();
    for row in &mut turned.rows {
        row.logs.reverse();
    }
    let once = uses_of(&known.costs, &known.uses);
    assert_eq!(once, uses_of(&known.costs, &known.uses));
    for (one, other) in once.iter().zip(uses_of(&turned, &known.uses)) {
        let back: Vec<usize> = other.shortlist.iter().rev().map(|c| 11 - c).collect();
        assert_eq!(one.shortlist, back);
    }
}

/// An unselected contender is not compared, and the first is the first of the selected ones.
#[test]
fn a_selection_is_ranked_by_itself() {
    let row: &[&[f64]] = &[&[1.0, 1.0], &[2.0, 2.0], &[4.0, 4.0]];
    let estimates = PairwiseEstimates::from_costs(costs(&[row, row], true));
    let selected = Selected { contenders: vec![false, true, true], rows: vec![true, false] };
    let [standings, gains] = estimates.rows_among(&selected, MARGIN);
    assert_eq!(standings[0].first, Some(1));
    assert_eq!(standings[0].verdicts[0], None);
    assert!(is_worse(standings[0].verdicts[2], 1.0));
    assert_eq!(gains[0].shortlist, [2], "the worst of the row");
    assert_eq!(standings[1].first, None, "a row that does not count");
}

#[test]
fn a_size_is_known_after_one_round() {
    let size: &[&[f64]] = &[&[1.0], &[1.02]];
    let time: &[&[f64]] = &[&[1.0, 1.3, 0.8], &[1.1, 0.9, 1.4]];
    let mut costs = costs(&[size, time, time, time], false);
    let most = |costs: &CampaignCosts| {
        let estimates = PairwiseEstimates::from_costs(costs.clone());
        let bounds = estimates.at_most(Contrast {
            weights: &[1.0, 0.0, 0.0, 0.0],
            takes_part: &[true, true],
            margin: MARGIN,
            family: 1,
        });
        bounds[1].unwrap().most
    };
    assert!(most(&costs) > 0.1, "a time may be due to chance");
    costs.rows[0].is_size = true;
    assert!((most(&costs) - 1.02_f64.ln()).abs() < 1e-9);
}

/// Free space that differs by a block between rounds does not have the noise of times.
#[test]
fn no_size_may_be_the_best_for_want_of_rounds() {
    let once: &[&[f64]] = &[&[1.0], &[1.02], &[2.4]];
    let thrice: &[&[f64]] = &[&[1.0, 1.0001, 1.0], &[1.02, 1.02, 1.02], &[2.4, 2.4, 2.4001]];
    let twice: &[&[f64]] = &[&[1.0, 1.006], &[1.02, 1.022], &[2.4, 2.41]];
    let time: &[&[f64]] = &[&[1.0, 1.3, 0.8], &[1.1, 0.9, 1.4], &[1.2, 0.7, 1.0]];
    let mut costs = costs(&[once, thrice, twice, time, time], false);
    for row in &mut costs.rows[..3] {
        row.is_size = true;
    }
    for standing in &rows_of(&costs)[..3] {
        let verdicts = &standing.verdicts;
        assert!(matches!(verdicts[2], Some(ComparisonVerdict::WorseByAtLeast(s)) if s > 1.3));
        assert!(matches!(verdicts[1], Some(ComparisonVerdict::EqualWithin(_))), "{verdicts:?}");
    }
}

/// Two contenders with √2 times the noise of one have a known bound by the t distribution: the
/// difference is 10 %, with a standard error of 2 % at four rounds.
#[test]
fn a_bound_is_the_difference_and_the_error_that_is_rarely_exceeded() {
    let logs = |mean: f64| [-1.0, 1.0, -1.0, 1.0].map(|sign: f64| (mean + 0.02 * sign).exp());
    let (one, other) = (logs(0.0), [0.1f64.exp(); 4]);
    let row: &[&[f64]] = &[&one, &other];
    for exact in [true, false] {
        let estimates = PairwiseEstimates::from_costs(costs(&[row], exact));
        let bounds = estimates.at_most(Contrast {
            weights: &[1.0],
            takes_part: &[true, true],
            margin: MARGIN,
            family: 1,
        });
        let [first, second] = [0, 1].map(|one| bounds[one].unwrap());
        assert_eq!(first, ExcessBound::exact(0.0), "no other costs less");
        match exact {
            true => assert!((second.most - 0.12).abs() < 1e-9, "the worst round: {second:?}"),
            false => {
                assert!((0.11..0.2).contains(&second.most), "{second:?}");
                let forecast = 0.1 + (second.most - 0.1) / FORECAST_ROUNDS.sqrt();
                assert!((second.forecast - forecast).abs() < 1e-9, "{second:?}");
            }
        }
    }
}

#[test]
fn one_round_with_noise_gives_no_bound() {
    let row: &[&[f64]] = &[&[1.0], &[2.0]];
    let estimates = PairwiseEstimates::from_costs(costs(&[row], false));
    let asked = Contrast { weights: &[1.0], takes_part: &[true, true], margin: MARGIN, family: 1 };
    assert_eq!(estimates.at_most(asked), [None, None]);
}

/// Only pairs whose bound cannot be the largest are excluded.
#[test]
fn a_bound_is_the_largest_of_all_pairs() {
    for (seed, rounds) in [(1, 2), (2, 2), (3, 4)] {
        let what = SimulationSpec { truth: TrueEffect::SecondBy20, contenders: 6, rounds, ..DOZEN };
        let known = simulate(seed, what);
        let estimates = PairwiseEstimates::from_costs(known.costs.clone());
        let takes_part = [true; 6];
        for weights in &known.uses {
            let asked = Contrast { weights, takes_part: &takes_part, margin: MARGIN, family: 1 };
            let used = asked.used();
            for (one, bound) in estimates.at_most(asked).into_iter().enumerate() {
                let ends = (0..6).filter(|other| *other != one).map(|other| {
                    let sum = estimates.sum(&used, one, other).unwrap();
                    sum.value + sum.reach(FDR_LIMIT / 5.2).unwrap()
                });
                let most = ends.fold(0.0, f64::max);
                assert_eq!(bound.unwrap().most, most, "{seed} {one}");
            }
        }
    }
}
