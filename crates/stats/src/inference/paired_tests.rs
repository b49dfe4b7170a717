//! Tests comparisons by hand and over simulated pairs with known true values.

use super::*;
use crate::fixture::costs::{DOZEN, NoiseLevel, SimulationSpec, TrueEffect, beside};

const MARGIN: Margin = Margin(0.05);

/// Returns the mean share, over campaigns, of false verdicts among "different" and among "equal".
fn false_shares(what: SimulationSpec, pairing: BlockDesign) -> [f64; 2] {
    let campaigns = 200;
    let mut shares = [0.0; 2];
    for seed in 0..campaigns {
        let (results, truth) = beside(seed, what);
        let mut claims = [[0.0; 2]; 2];
        for (verdict, truth) in compare_pairs(&results, pairing, MARGIN).iter().zip(truth) {
            let (kind, is_false) = match verdict.map(|compared| compared.verdict) {
                Some(ComparisonVerdict::WorseByAtLeast(s)) => (0, truth < s.ln_1p() - 1e-9),
                Some(ComparisonVerdict::BetterByAtLeast(s)) => (0, -truth < s.ln_1p() - 1e-9),
                Some(ComparisonVerdict::EqualWithin(margin)) => (1, truth.abs() > margin.log()),
                _ => continue,
            };
            claims[kind][0] += 1.0;
            claims[kind][1] += f64::from(is_false);
        }
        for (share, [made, wrong]) in shares.iter_mut().zip(claims) {
            *share += wrong / f64::max(made, 1.0) / campaigns as f64;
        }
    }
    shares
}

#[test]
fn of_two_campaigns_no_more_is_falsely_called_different_or_equal_than_stated() {
    for pairing in [BlockDesign::Unpaired, BlockDesign::PairedByRound] {
        for truth in [TrueEffect::Equal, TrueEffect::AtTheMargin, TrueEffect::Spread] {
            for deviation in [NoiseLevel::Alike(0.02), NoiseLevel::Each] {
                let what = SimulationSpec { truth, deviation, ..DOZEN };
                // With this number of campaigns, half of a 95 % interval around 5 % is 3 %.
                let [different, equal] = false_shares(what, pairing);
                assert!(
                    different < 0.08 && equal < 0.08,
                    "{pairing:?} {what:?}: {different} {equal}"
                );
            }
        }
    }
}

fn result(row: usize, before: &[f64], after: &[f64]) -> PairedResult {
    let logs = |side: &[f64]| side.iter().map(|cost| Some(cost.ln())).collect();
    PairedResult { row, test: row, contender: 0, before: logs(before), after: logs(after) }
}

#[test]
fn one_round_of_equal_seed_suffices_in_virtual_time() {
    let results = [
        result(0, &[100.0], &[100.0]),
        result(1, &[100.0], &[104.0]),
        result(2, &[100.0], &[110.0]),
        result(3, &[120.0], &[100.0]),
    ];
    let of = |compared: &Option<ComparisonResult>| compared.map(|compared| compared.verdict);
    let verdicts: Vec<_> =
        compare_pairs(&results, BlockDesign::Deterministic, MARGIN).iter().map(of).collect();
    assert_eq!(verdicts[0], Some(ComparisonVerdict::Identical));
    assert_eq!(verdicts[1], Some(ComparisonVerdict::EqualWithin(MARGIN)));
    assert!(
        matches!(verdicts[2], Some(ComparisonVerdict::WorseByAtLeast(s)) if (s - 0.1).abs() < 1e-9)
    );
    assert!(
        matches!(verdicts[3], Some(ComparisonVerdict::BetterByAtLeast(s)) if (s - 0.2).abs() < 1e-9)
    );
    // The mean of all four is within the margin.
    let all = overall(&results, BlockDesign::Deterministic, MARGIN);
    assert_eq!(of(&all[0].1), Some(ComparisonVerdict::EqualWithin(MARGIN)));
    let open = Some(ComparisonVerdict::Undecided { rounds: None });
    let noisy = compare_pairs(&results[2..], BlockDesign::PairedByRound, MARGIN);
    assert_eq!(noisy.iter().map(of).collect::<Vec<_>>(), [open, open]);
}

#[test]
fn finds_an_overall_regression_that_no_single_row_shows() {
    let before = [100.0, 112.0, 93.0];
    let results: Vec<PairedResult> = (0..12)
        .map(|row| {
            let turn = |round: usize| before[(round + row) % 3];
            let after = [0, 1, 2].map(|round| 1.3 * turn(round + 1 + row % 2));
            result(row, &[turn(0), turn(1), turn(2)], &after)
        })
        .collect();
    let all = overall(&results, BlockDesign::Unpaired, MARGIN);
    assert!(
        matches!(all[0].1.unwrap().verdict, ComparisonVerdict::WorseByAtLeast(s) if s > 0.1),
        "{all:?}"
    );
}
