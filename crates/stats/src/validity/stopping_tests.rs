//! Tests the decisions of the stopping rule.

use super::*;
use crate::{analyse, fixture};

fn until(width: f64, max_rounds: u32) -> StoppingRule {
    StoppingRule { width, share: 1.0, max_rounds, max_time: None }
}

fn stop(results: &mut CampaignResults, until: StoppingRule) -> StopDecision {
    results.campaign.stopping_rule = Some(until);
    analyse(results).stop.expect("there is a rule")
}

#[test]
fn three_rounds_are_never_enough_for_an_interval() {
    let mut results = fixture::plain();
    assert_eq!(analyse(&results).stop, None);
    let found = stop(&mut results, until(0.5, 10));
    assert_eq!(found.reason, StopReason::IntervalsWide);
    assert_eq!((found.counted, found.rounds, found.wide.len()), (6, 3, 6));
    assert!(found.wide.iter().all(|result| result.width.is_none()));
    assert_eq!(stop(&mut results, until(0.5, 3)).reason, StopReason::MaxRounds);
    results.cells[0].result = None;
    assert_eq!(stop(&mut results, until(0.5, 10)).reason, StopReason::Running);
}

/// Rounds 1 … 7 of `write` take 97 … 103 % of the middle round. The interval extends from the first
/// to the last, about 3 % to either side.
#[test]
fn narrow_is_the_farther_end_within_the_width() {
    let mut results = fixture::rising(7, 0.01);
    assert_eq!(stop(&mut results, until(0.04, 10)).reason, StopReason::IntervalsNarrow);
    let found = stop(&mut results, until(0.02, 10));
    assert_eq!(found.reason, StopReason::IntervalsWide);
    assert_eq!(found.wide.len(), 3, "the reads are all alike");
    let widest = found.wide[0].width.expect("seven rounds suffice");
    assert!((widest - 0.031).abs() < 0.001, "{widest}");
    let half = StoppingRule { share: 0.5, ..until(0.02, 10) };
    assert_eq!(stop(&mut results, half).reason, StopReason::IntervalsNarrow);
}

/// The rule counts the elapsed time of cells, so a pause does not change its result.
#[test]
fn no_round_starts_after_the_time_limit() {
    let mut results = fixture::plain();
    for stored in &mut results.cells {
        stored.result.as_mut().expect("it is whole").elapsed = model::Nanos(10);
    }
    let taken = model::Nanos(10 * results.cells.len() as u64);
    let mut with = |max_time| {
        let rule = StoppingRule { max_time: Some(max_time), ..until(0.5, 10) };
        stop(&mut results, rule).reason
    };
    assert_eq!(with(taken), StopReason::MaxTime);
    assert_eq!(with(model::Nanos(taken.0 + 1)), StopReason::IntervalsWide);
}

#[test]
fn failed_results_do_not_delay_the_stop() {
    let mut results = fixture::hostile();
    let found = stop(&mut results, until(0.5, 10));
    let analysis = analyse(&results);
    let failed = |result: &WideInterval| {
        analysis.rows[result.row].results[result.contender].has_failed_rounds()
    };
    assert!(!found.wide.iter().any(failed));
}

#[test]
fn a_result_that_is_always_zero_is_narrow() {
    let zeros = RobustEstimate::from_values(&[0.0; 6]).expect("there are values");
    assert_eq!(relative_width(&zeros), Some(0.0));
    let few = RobustEstimate::from_values(&[1.0; 5]).expect("there are values");
    assert_eq!(relative_width(&few), None);
}
