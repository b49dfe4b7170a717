//! How often the statistics are wrong, counted: campaigns in which nothing differs, and some in which
//! something does. Seeds are fixed, so the counts are the same everywhere; `cargo test -p analyse
//! error_rates -- --nocapture` prints them.

use model::CampaignResults;

use crate::checks::drift::FALSE_DRIFT_LIMIT;
use crate::fixture::{Simulated, simulated};
use crate::{Analysis, FALSE_DIFFERENCE_LIMIT, FALSE_MARK_LIMIT, Row, analyse};

/// Campaigns of each kind.
const CAMPAIGNS: u64 = 50;
/// Two tests of five phases.
const EQUAL: Simulated = Simulated {
    contenders: 2,
    tests: 2,
    rounds: 3,
    slower: 0.0,
    drift: 0.05,
};

/// How many rows, and in how many of them something is said to differ.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    rows: u32,
    /// Some pair is called different by the tests.
    significant: u32,
    /// Not everybody has the first rank.
    ordered: u32,
    /// Somebody is marked.
    marked: u32,
}

impl Count {
    fn add(&mut self, row: &Row) {
        let places = || row.results.iter().filter_map(|f| f.place);
        self.rows += 1;
        self.significant += u32::from(
            row.comparisons()
                .iter()
                .any(|c| c.significance.is_difference()),
        );
        self.ordered += u32::from(places().any(|p| p.rank > 1));
        self.marked += u32::from(places().any(|p| p.mark.is_some()));
    }

    /// Whether so many could be chance, were each as likely as the limit: no more than three standard
    /// deviations of the binomial distribution above.
    fn is_within(self, count: u32, limit: f64) -> bool {
        let rows = f64::from(self.rows);
        f64::from(count) <= rows * limit + 3.0 * (rows * limit * (1.0 - limit)).sqrt()
    }
}

fn campaigns(what: Simulated) -> impl Iterator<Item = (CampaignResults, Analysis)> {
    (0..CAMPAIGNS).map(move |seed| {
        let results = simulated(seed, what);
        let analysis = analyse(&results);
        (results, analysis)
    })
}

fn count(what: Simulated) -> Count {
    let mut count = Count::default();
    for (_, analysis) in campaigns(what) {
        analysis
            .rows
            .iter()
            .filter(|row| row.primary)
            .for_each(|row| count.add(row));
    }
    count
}

#[test]
fn where_nothing_differs_no_more_is_significant_than_the_limits_say() {
    for contenders in [2, 5, 13] {
        for rounds in [2, 3, 5, 6, 8, 12, 20] {
            let what = Simulated {
                contenders,
                rounds,
                ..EQUAL
            };
            let found = count(what);
            println!(
                "A/A: {contenders} contenders, {rounds} rounds, {} rows: called different {}, ordered {}, marked {}",
                found.rows, found.significant, found.ordered, found.marked
            );
            assert_eq!(u64::from(found.rows), CAMPAIGNS * 10);
            assert!(
                found.is_within(found.significant, FALSE_DIFFERENCE_LIMIT),
                "{found:?}"
            );
            assert!(
                found.is_within(found.ordered, FALSE_MARK_LIMIT),
                "{found:?}"
            );
            assert!(found.marked <= found.ordered);
        }
    }
}

/// Where the same contender is entered twice, the campaign itself says so.
#[test]
fn fifty_campaigns_of_a_contender_entered_twice_show_their_noise_floor() {
    let (mut compared, mut testable, mut apart, mut ordered) = (0, 0, 0, 0);
    let mut largest = 0.0f64;
    for (_, analysis) in campaigns(Simulated { rounds: 8, ..EQUAL }) {
        let [floor] = &analysis.noise[..] else {
            panic!("one pair is the same");
        };
        compared += floor.compared;
        testable += floor.testable;
        apart += floor.significant.len() as u32;
        ordered += floor.ranked_apart.len() as u32;
        largest = largest.max(floor.largest);
    }
    println!(
        "noise floor, 8 rounds: {apart} of {testable} testable results called different, {ordered} of {compared} \
         ranked apart; medians differ by at most {:.1} %",
        100.0 * largest
    );
    assert_eq!((compared, testable), (500, 500));
    let all = Count {
        rows: compared,
        ..Count::default()
    };
    assert!(all.is_within(apart, FALSE_DIFFERENCE_LIMIT));
    assert!(all.is_within(ordered, FALSE_MARK_LIMIT));
}

#[test]
fn a_difference_of_a_fifth_is_found_with_rounds_enough() {
    let mut found = Vec::new();
    for rounds in [3, 5, 6, 8, 12] {
        let what = Simulated {
            rounds,
            slower: 0.2,
            ..EQUAL
        };
        let count = count(what);
        println!(
            "20 % slower, {rounds} rounds, {} rows: called different {}, marked {}",
            count.rows, count.significant, count.marked
        );
        found.push(f64::from(count.significant) / f64::from(count.rows));
    }
    assert_eq!(
        found[..2],
        [0.0, 0.0],
        "five rounds are too few for any test at 5 %"
    );
    assert!(found[3] > 0.7, "eight rounds find most: {found:?}");
    assert!(found[4] > 0.9, "twelve find nearly all: {found:?}");
}

/// Marks must not get fewer with more rounds, wherever a rule takes over from another.
///
/// Chance comes in whole orders: with three rounds of two contenders it takes all of the 10 % that it may
/// have, with four 5.7 %, since the next order would be beyond. Such a step is allowed for.
#[test]
fn more_rounds_never_mark_fewer_of_the_same_differences() {
    const STEP: u32 = 15;
    for (contenders, slower) in [(2, 0.1), (2, 0.2), (2, 0.4), (3, 0.2), (5, 0.1), (5, 0.2)] {
        let marked = [3, 4, 5, 6, 7, 8, 9, 10, 12].map(|rounds| {
            let what = Simulated {
                contenders,
                rounds,
                slower,
                tests: 1,
                ..EQUAL
            };
            count(what).marked
        });
        println!(
            "{:.0} % slower, {contenders} contenders, 3 … 10 and 12 rounds: marked {marked:?} of 250",
            100.0 * slower
        );
        for pair in marked.windows(2) {
            assert!(
                pair[1] + STEP >= pair[0],
                "{contenders} {slower}: {marked:?}"
            );
        }
        let twice_as_many = [(0, 3), (1, 5), (2, 7), (3, 8)];
        for (few, many) in twice_as_many {
            assert!(
                marked[many] >= marked[few],
                "{contenders} {slower}: {marked:?}"
            );
        }
    }
}

#[test]
fn drift_is_found_where_there_is_one_and_seldom_elsewhere() {
    let named = |drift: f64, contenders: u32| {
        let what = Simulated {
            rounds: 10,
            tests: 4,
            drift,
            contenders,
            ..EQUAL
        };
        let drifts = campaigns(what).map(|(_, analysis)| analysis.drifts);
        let named = drifts.map(|d| (d[0].is_named(), d[1..].iter().any(crate::Drift::is_named)));
        named.fold((0, 0), |(all, any), (a, b)| {
            (all + u32::from(a), any + u32::from(b))
        })
    };
    let (false_all, false_any) = named(0.0, 3);
    let (true_all, true_any) = named(0.15, 3);
    println!(
        "drift, 50 campaigns of 10 rounds: named without any {false_all} (together) and {false_any} (some \
         contender); with 15 % {true_all} and {true_any}"
    );
    let campaigns = Count {
        rows: 50,
        ..Count::default()
    };
    assert!(campaigns.is_within(false_all, FALSE_DRIFT_LIMIT));
    assert!(campaigns.is_within(false_any, FALSE_DRIFT_LIMIT));
    assert!(true_all >= 40, "{true_all}");
}

/// Intervals of the median cover what the median would be with a great many rounds.
#[test]
fn intervals_cover_the_truth_as_often_as_they_state() {
    let many = Simulated {
        rounds: 400,
        drift: 0.0,
        tests: 1,
        ..EQUAL
    };
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
                for interval in row
                    .results
                    .iter()
                    .filter_map(|f| Some(f.estimate?.interval))
                {
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
        // Two contenders share the rounds' noise, so there are half as many independent ones.
        let error = (stated * (1.0 - stated) / f64::from(all / 2)).sqrt();
        assert!(share > stated - 3.0 * error - 0.01, "{share} {stated}");
    }
}

#[test]
fn outliers_are_named_where_a_cell_stalled() {
    let (mut named, mut stalled, mut both, mut all) = (0u32, 0u32, 0u32, 0u32);
    let what = Simulated {
        rounds: 10,
        drift: 0.0,
        ..EQUAL
    };
    for (_, analysis) in campaigns(what) {
        for result in analysis
            .rows
            .iter()
            .filter(|r| r.primary)
            .flat_map(|r| &r.results)
        {
            let outliers = result.outliers();
            let median = result.estimate.expect("there are rounds").median;
            for round in &result.rounds {
                let value = round.value.expect("every round is ok");
                // Half as slow again, and no more than the noise beside.
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
