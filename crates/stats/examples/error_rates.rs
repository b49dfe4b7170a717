//! Measures how often verdicts are wrong, and how often a difference of 20 % is found: `make
//! error-rates`.
//!
//! Arguments: the number of campaigns of twelve contenders to simulate for each line, and optionally
//! a substring that selects lines by name, and one table: `errors`, `bounds`, `found` or `budget`.
//! Campaigns with fewer contenders take less time, so more of them run. Exits with 1 if an error rate
//! exceeds its limit by more than chance, if the upper limit of the share of broken bounds exceeds
//! it, or if too few differences are found in three rounds.

use std::process::ExitCode;

use stats::fixture::costs::SimulationSpec;
use stats::fixture::error_rates::{ErrorRates, ErrorSum, differences_of_a_fifth, scenarios};
use stats::inference::FDR_LIMIT;

/// Minimum share of three-round campaigns that must find the difference if no cell stalls.
const LEAST_FOUND: f64 = 0.8;

/// Maximum number of rounds of a simulation with a budget.
const ROUNDS_OF_A_BUDGET: usize = 12;

/// Number of pairs of contenders in most scenarios, which decides the time of a campaign.
const PAIRS_OF_A_DOZEN: usize = 66;

/// Minimum number of campaigns for each line. If none of them has a broken bound, the upper limit of
/// the share is 5 %.
const LEAST_CAMPAIGNS: u32 = 60;

fn main() -> ExitCode {
    let dozens = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(80);
    let wanted = std::env::args().nth(2).unwrap_or_default();
    let table = std::env::args().nth(3).unwrap_or_default();
    let shows = |one: &str| table.is_empty() || table == one;
    let is_wanted = |line: &(&str, SimulationSpec)| line.0.contains(&wanted);
    let mut broken = Vec::new();
    let campaigns = |what: SimulationSpec| {
        let pairs = what.contenders * (what.contenders - 1) / 2;
        (dozens * PAIRS_OF_A_DOZEN as u32 / pairs as u32).max(LEAST_CAMPAIGNS)
    };
    println!("In %, ± half a 95 % interval; false: at most 5 %; bounds: their upper limit, too\n");
    println!(
        "{:<42}{:>10}{:>15}{:>13}{:>13}{:>13}{:>13}{:>8}{:>8}{:>8}",
        "",
        "campaigns",
        "false openings",
        "false marks",
        "false worst",
        "false equals",
        "equal uses",
        "marks",
        "equals",
        "short"
    );
    for (name, what) in scenarios().into_iter().filter(is_wanted).filter(|_| shows("errors")) {
        let rates = ErrorRates::count(what, campaigns(what));
        let share = |sum: ErrorSum| percent(sum, rates.campaigns);
        let mean = |sum: ErrorSum| sum.mean(rates.campaigns).0;
        println!(
            "{name:<42}{:>10}{:>15}{:>13}{:>13}{:>13}{:>13}{:>8.1}{:>8.1}{:>8.1}",
            rates.campaigns,
            share(rates.false_openings),
            share(rates.false_marks),
            share(rates.false_worst),
            share(rates.false_equals),
            share(rates.false_equal_uses),
            mean(rates.marks),
            mean(rates.equals),
            mean(rates.shortlist),
        );
        broken.extend(above(name, &rates));
    }
    println!(
        "\nThe contender with the least bound\n{:<42}{:>8}{:>15}{:>13}{:>13}{:>13}{:>8}",
        "", "rounds", "broken bounds", "upper limit", "within 5 %", "within 10 %", "bound"
    );
    for (name, what) in scenarios().into_iter().filter(is_wanted).filter(|_| shows("bounds")) {
        for rounds in [3, 4, 10] {
            let rates = ErrorRates::count(SimulationSpec { rounds, ..what }, campaigns(what));
            let share = |sum: ErrorSum| percent(sum, rates.campaigns);
            println!(
                "{name:<42}{rounds:>8}{:>15}{:>13.1}{:>13}{:>13}{:>8.1}",
                share(rates.broken_bounds),
                100.0 * rates.broken_bounds.upper(rates.campaigns),
                share(rates.near_best),
                share(rates.nearly_near),
                100.0 * rates.bound.mean(rates.campaigns).0,
            );
            broken.extend(above(&format!("{name}, {rounds} rounds"), &rates));
        }
    }
    println!(
        "\n{:<42}{:>13}{:>13}{:>13}{:>13}{:>8}",
        "", "rounds", "found by use", "by a row", "false openings", "short"
    );
    for (name, what) in
        differences_of_a_fifth().into_iter().filter(is_wanted).filter(|_| shows("found"))
    {
        for rounds in [3, 5, 7] {
            let rates = ErrorRates::count(SimulationSpec { rounds, ..what }, campaigns(what));
            let share = |sum: ErrorSum| percent(sum, rates.campaigns);
            println!(
                "{name:<42}{rounds:>13}{:>13}{:>13}{:>13}{:>8.1}",
                share(rates.found),
                share(rates.found_in_rows),
                share(rates.false_openings),
                rates.shortlist.mean(rates.campaigns).0,
            );
            let (found, half) = rates.found.mean(rates.campaigns);
            let too_few = found + half < LEAST_FOUND && what.stalls == 0.0;
            broken.extend(too_few.then(|| format!("{name}, {rounds} rounds: found too seldom")));
            broken.extend(above(name, &rates));
        }
    }
    println!(
        "\nWithin a budget, of up to {ROUNDS_OF_A_BUDGET} rounds\n{:<42}{:>15}{:>13}{:>13}{:>13}{:>15}{:>13}{:>8}{:>8}",
        "",
        "false openings",
        "false marks",
        "false equals",
        "equal uses",
        "broken bounds",
        "upper limit",
        "bound",
        "short"
    );
    // A contender without a value in its only round is not ranked, so no answer mentions it.
    let has_all = |line: &(&str, SimulationSpec)| line.1.missing == 0.0;
    for (name, what) in
        scenarios().into_iter().filter(is_wanted).filter(has_all).filter(|_| shows("budget"))
    {
        let rounds = ROUNDS_OF_A_BUDGET;
        let rates =
            ErrorRates::count_within_budget(SimulationSpec { rounds, ..what }, campaigns(what));
        let share = |sum: ErrorSum| percent(sum, rates.campaigns);
        println!(
            "{name:<42}{:>15}{:>13}{:>13}{:>13}{:>15}{:>13.1}{:>8.1}{:>8.1}",
            share(rates.false_openings),
            share(rates.false_marks),
            share(rates.false_equals),
            share(rates.false_equal_uses),
            share(rates.broken_bounds),
            100.0 * rates.broken_bounds.upper(rates.campaigns),
            100.0 * rates.bound.mean(rates.campaigns).0,
            rates.shortlist.mean(rates.campaigns).0,
        );
        let name = format!("{name}, within a budget");
        broken.extend(above(&name, &rates));
    }
    for line in &broken {
        println!("above its limit: {line}");
    }
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Returns a line for each error rate that is above its limit.
fn above(name: &str, rates: &ErrorRates) -> Vec<String> {
    let mut broken = rates.broken();
    if rates.broken_bounds.upper(rates.campaigns) > FDR_LIMIT {
        broken.push("upper limit of broken bounds");
    }
    broken.into_iter().map(|rate| format!("{name}: {rate}")).collect()
}

fn percent(sum: ErrorSum, campaigns: f64) -> String {
    let (mean, half) = sum.mean(campaigns);
    format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * half)
}
