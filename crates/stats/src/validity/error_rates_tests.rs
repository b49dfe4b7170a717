//! Measures the error rates of the statistics: simulates campaigns without differences, and some
//! with differences. Seeds are fixed, so the counts are the same everywhere; `cargo test -p analyse
//! error_rates -- --nocapture` prints them.

use model::CampaignResults;

use crate::fixture::{Simulated, simulated};
use crate::inference::FDR_LIMIT;
use crate::validity::drift::FALSE_DRIFT_LIMIT;
use crate::{Analysis, analyse};

/// Number of campaigns of each kind.
const CAMPAIGNS: u64 = 50;
/// Two equal contenders in two tests of five phases.
const EQUAL: Simulated = Simulated { contenders: 2, tests: 2, rounds: 3, slower: 0.0, drift: 0.05 };

/// Whether this count is compatible with an error rate of `limit`: no more than three standard
/// deviations of the binomial distribution above.
fn is_within(count: u32, of: u32, limit: f64) -> bool {
    let of = f64::from(of);
    f64::from(count) <= of * limit + 3.0 * (of * limit * (1.0 - limit)).sqrt()
}

fn campaigns(what: Simulated) -> impl Iterator<Item = (CampaignResults, Analysis)> {
    (0..CAMPAIGNS).map(move |seed| {
        let results = simulated(seed, what);
        let analysis = analyse(&results);
        (results, analysis)
    })
}

/// A contender that is entered twice yields a noise floor.
#[test]
fn fifty_campaigns_of_a_contender_entered_twice_show_their_noise_floor() {
    let (mut compared, mut different) = (0, 0);
    let mut largest = 0.0f64;
    for (_, analysis) in campaigns(Simulated { rounds: 8, ..EQUAL }) {
        let [floor] = &analysis.noise[..] else {
            panic!("one pair is the same");
        };
        compared += floor.compared;
        different += u32::from(!floor.called_different.is_empty());
        largest = largest.max(floor.largest);
    }
    println!(
        "noise floor, 8 rounds: something called different in {different} of {CAMPAIGNS} campaigns; medians differ by at \
         most {:.1} %",
        100.0 * largest
    );
    assert_eq!(compared, 500);
    assert!(is_within(different, CAMPAIGNS as u32, FDR_LIMIT));
}

#[test]
fn drift_is_found_and_false_drift_is_rare() {
    let named = |drift: f64, contenders: u32| {
        let what = Simulated { rounds: 10, tests: 4, drift, contenders, ..EQUAL };
        let drifts = campaigns(what).map(|(_, analysis)| analysis.drifts);
        let named = drifts.map(|d| (d[0].is_named(), d[1..].iter().any(crate::Drift::is_named)));
        named.fold((0, 0), |(all, any), (a, b)| (all + u32::from(a), any + u32::from(b)))
    };
    let (false_all, false_any) = named(0.0, 3);
    let (true_all, true_any) = named(0.15, 3);
    println!(
        "drift, 50 campaigns of 10 rounds: named without any {false_all} (together) and {false_any} (some \
         contender); with 15 % {true_all} and {true_any}"
    );
    assert!(is_within(false_all, 50, FALSE_DRIFT_LIMIT));
    assert!(is_within(false_any, 50, FALSE_DRIFT_LIMIT));
    assert!(true_all >= 40, "{true_all}");
}

/// Intervals of the median cover the median of a large number of rounds.
#[test]
fn intervals_cover_the_truth_at_the_stated_rate() {
    let many = Simulated { rounds: 400, drift: 0.0, tests: 1, ..EQUAL };
    let truth: Vec<f64> = analyse(&simulated(1_000, many))
        .rows
        .into_iter()
        .filter(|row| row.primary)
        .map(|row| row.results[0].estimate.expect("there are rounds").median)
        .collect();
    for rounds in [3, 6, 10, 15] {
        let few = Simulated { rounds, ..many };
        let (mut covered, mut all, mut stated) = (0u32, 0u32, 0.0);
        for (_, analysis) in campaigns(few) {
            let rows = analysis.rows.iter().filter(|row| row.primary);
            for (row, truth) in rows.zip(&truth) {
                for interval in row.results.iter().filter_map(|f| Some(f.estimate?.interval)) {
                    all += 1;
                    stated = interval.confidence;
                    covered += u32::from(interval.low <= *truth && *truth <= interval.high);
                }
            }
        }
        let share = f64::from(covered) / f64::from(all);
        println!(
            "intervals, {rounds} rounds: {:.1} % stated, {:.1} % of {all} cover",
            100.0 * stated,
            100.0 * share
        );
        // Two contenders share the noise of the rounds, so only half of the intervals are
        // independent.
        let error = (stated * (1.0 - stated) / f64::from(all / 2)).sqrt();
        assert!(share > stated - 3.0 * error - 0.01, "{share} {stated}");
    }
}

#[test]
fn stalled_cells_are_named_as_outliers() {
    let (mut named, mut stalled, mut both, mut all) = (0u32, 0u32, 0u32, 0u32);
    let what = Simulated { rounds: 10, drift: 0.0, ..EQUAL };
    for (_, analysis) in campaigns(what) {
        for result in analysis.rows.iter().filter(|r| r.primary).flat_map(|r| &r.results) {
            let outliers = result.outliers();
            let median = result.estimate.expect("there are rounds").median;
            for round in &result.rounds {
                let value = round.value.expect("every round is ok");
                // A stall takes half as long again; the remaining difference is noise.
                let stall = value < 0.78 * median;
                let is_named = outliers.contains(&round.round);
                all += 1;
                stalled += u32::from(stall);
                named += u32::from(is_named);
                both += u32::from(stall && is_named);
            }
        }
    }
    println!("outliers: {stalled} of {all} rounds stalled, {named} named, {both} both");
    assert!(named - both < all / 50, "few others are named");
    assert!(both > stalled / 4, "{both} of {stalled}");
}
