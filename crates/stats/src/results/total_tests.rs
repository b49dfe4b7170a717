//! Tests of totals over steps: a failed step never makes a total smaller, and every attempt is
//! listed.

use model::{
    Bytes, CacheState, CampaignResults, DriverKind, Iteration, ListTree, Nanos, Op, Status,
    SyncAtEnd,
};

use super::*;
use crate::{analyse, fixture};

const STEPS: [(&str, u64); 3] = [("list", 1), ("find", 2), ("remove", 4)];

/// Creates a campaign with two contenders and two rounds. One test has three steps of 1, 2 and 4 s,
/// another has two steps. `frail` crashes in `remove` of the first round.
fn campaign() -> CampaignResults {
    let op = |name: &str| Op::ListTree(ListTree { tree: name.into() });
    let steps = |names: &[(&str, u64)]| {
        let phase = |(name, _): &(&str, u64)| {
            fixture::phase(name, op(name), CacheState::Warm, SyncAtEnd::Call)
        };
        names.iter().map(phase).collect::<Vec<_>>()
    };
    let contenders = ["sound", "frail"];
    let contenders = contenders.map(|n| fixture::contender(n, DriverKind::Kernel));
    let tests = vec![
        fixture::test("tree", "Three steps", steps(&STEPS)),
        fixture::test("short", "Two steps", steps(&STEPS[..2])),
    ];
    fixture::campaign("totals", contenders.into(), tests, 2, |cell, test| {
        let dies = cell.contender == "frail" && cell.round == 1;
        let phases = test.phases.iter().zip(STEPS).map(|(phase, (name, seconds))| {
            if dies && name == "remove" {
                return fixture::failed(phase, Status::Crashed, None);
            }
            fixture::phase_result(phase, Nanos::from_secs(seconds), 1, Bytes(0))
        });
        Some(fixture::cell_result(phases.collect()))
    })
}

#[test]
fn a_failed_step_invalidates_the_total_and_attempts_are_listed() {
    let totals = analyse(&campaign()).totals;
    assert_eq!(totals.len(), 1, "two steps are no sequence");
    let total = &totals[0];
    assert_eq!((total.test.as_str(), total.steps.len()), ("tree", 3));
    let sound = &total.contenders[0];
    assert_eq!(sound.outcome, RoundOutcome::Ok);
    assert_eq!(sound.estimate.unwrap().median, 7.0);
    let frail = &total.contenders[1];
    assert_eq!((frail.outcome, frail.estimate), (RoundOutcome::Invalid, None));
    let seconds: Vec<Option<f64>> = frail.attempts.iter().map(|a| a.seconds).collect();
    assert_eq!(seconds, [None, Some(7.0)]);
    let broken = FailedStep { step: "remove".into(), outcome: RoundOutcome::Crashed };
    assert_eq!(frail.attempts[0].broken, Some(broken));
}

#[test]
fn an_unsupported_step_invalidates_the_total() {
    let mut results = campaign();
    let result = results.cells[0].result.as_mut().unwrap();
    result.phases[1].status = Status::Unsupported;
    let sound = &analyse(&results).totals[0].contenders[0];
    assert_eq!((sound.outcome, sound.estimate), (RoundOutcome::Invalid, None));
    let broken = sound.attempts[0].broken.as_ref().unwrap();
    assert_eq!((broken.step.as_str(), broken.outcome), ("find", RoundOutcome::Unsupported));
}

#[test]
fn a_cell_that_ran_again_has_both_its_attempts_and_the_second_counts() {
    let mut results = campaign();
    let result = results.cells[0].result.as_mut().unwrap();
    let mut first = result.clone();
    first.phases[0].elapsed = Nanos::from_secs(100);
    result.first = Some(Box::new(first));
    let sound = &analyse(&results).totals[0].contenders[0];
    let attempts: Vec<_> = sound.attempts.iter().map(|a| (a.round, a.counts, a.seconds)).collect();
    assert_eq!(attempts, [(1, false, Some(106.0)), (1, true, Some(7.0)), (2, true, Some(7.0))]);
    assert_eq!(sound.estimate.unwrap().median, 7.0);
}

#[test]
fn an_unrun_cell_has_no_total_and_a_cut_one_is_a_lower_bound() {
    let mut results = campaign();
    results.cells[0].result.as_mut().unwrap().phases[0].time_limited = true;
    let totals = |results: &CampaignResults| analyse(results).totals.remove(0);
    assert!(totals(&results).contenders[0].is_lower_bound());
    results.cells[0].result = None;
    let sound = &totals(&results).contenders[0];
    assert_eq!((sound.outcome, sound.estimate), (RoundOutcome::NotRun, None));
}

#[test]
fn of_a_step_that_was_repeated_one_pass_counts() {
    let mut results = campaign();
    let step = &mut results.cells[0].result.as_mut().unwrap().phases[0];
    let pass = Iteration { elapsed: Nanos::from_secs(1), operations: 1, bytes: Bytes(0) };
    step.passes = vec![pass; 5];
    step.elapsed = Nanos::from_secs(5);
    let totals = analyse(&results).totals;
    assert_eq!(totals[0].contenders[0].attempts[0].seconds, Some(7.0));
}
