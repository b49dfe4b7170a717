//! Totals over the steps of a test: one for each attempt, or `invalid` if a step has no time.
//!
//! A step is a phase that takes time, or several phases that the suite groups under one name. If a
//! phase was repeated until it could be timed, one pass counts. A contender with a failed step has
//! no total, because a sum over its successful steps would be smaller than the sum of a contender
//! that completed all of them.
//!
//! If the suite names a baseline, which does the same work without a disk, the filesystem's share
//! of a step is its time minus the baseline's time in the same round.

use std::collections::BTreeMap;

use model::{CampaignResults, CellResult, Metric, Op, Phase, PhaseResult, Status, Suite, Test};
use serde::Serialize;

use crate::{RobustEstimate, RoundOutcome, median};

/// Minimum number of steps. With fewer, a total shows no more than the rows of the test.
const MIN_STEPS: usize = 3;

/// The totals of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Total {
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// Names of the added steps, in order.
    pub steps: Vec<String>,
    /// Index, in the campaign's order, of the contender that does the same work without a disk.
    #[serde(default)]
    pub baseline: Option<usize>,
    /// A total for each contender, in the campaign's order.
    pub contenders: Vec<ContenderTotal>,
}

/// The total of a contender.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContenderTotal {
    /// Name of the contender.
    pub contender: String,
    /// Every attempt, in the order of the rounds. If a cell ran again, its first run precedes its
    /// second.
    pub attempts: Vec<Attempt>,
    /// `ok`; `invalid` if a step of any counted attempt has no time; `not-run` if one has yet to
    /// run.
    pub outcome: RoundOutcome,
    /// Estimate over the counted attempts, in seconds, or `None` if the outcome is not `ok`.
    pub estimate: Option<RobustEstimate>,
    /// Part of the estimate above the baseline, in seconds.
    #[serde(default)]
    #[serde(rename = "above")]
    pub over_baseline: Option<RobustEstimate>,
    /// Time of each step, in order.
    #[serde(default)]
    pub steps: Vec<StepTime>,
}

/// The time of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepTime {
    /// Estimate over the counted attempts that have a time, in seconds.
    pub estimate: Option<RobustEstimate>,
    /// Part of the estimate above the baseline in the same round, in seconds.
    #[serde(rename = "above")]
    pub over_baseline: Option<RobustEstimate>,
    /// Processor time of the step, with that of the filesystem's own processes, as a share of its
    /// time, over all processors: 1 is one processor that is always busy. The median over the
    /// attempts.
    pub processor: Option<f64>,
    /// Whether a time limit ended a phase of the step in any attempt, so that the time is a lower
    /// bound.
    #[serde(default, rename = "cut_short")]
    pub time_limited: bool,
}

/// One pass through all steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attempt {
    /// The round, from 1.
    pub round: u32,
    /// Whether the attempt counts. If a cell ran again because the machine was disturbed, its first
    /// run does not count.
    pub counts: bool,
    /// `ok`, `invalid` or `not-run`.
    pub outcome: RoundOutcome,
    /// The sum of all steps, if and only if the outcome is `ok`.
    pub seconds: Option<f64>,
    /// The first step without a time, if the total is invalid.
    #[serde(default)]
    pub broken: Option<FailedStep>,
    /// Whether a time limit ended a step before all its operations completed, so that the total is
    /// a lower bound.
    #[serde(rename = "cut_short")]
    pub time_limited: bool,
}

/// A step without a time, which makes the total invalid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedStep {
    /// Name of the phase.
    pub step: String,
    /// Outcome of the step.
    pub outcome: RoundOutcome,
}

impl ContenderTotal {
    /// Returns true if a counted attempt is only a lower bound.
    pub fn is_lower_bound(&self) -> bool {
        self.attempts.iter().any(|a| a.counts && a.time_limited)
    }
}

/// Returns the totals of a campaign, in the order of its suites. Points of sweeps have no totals.
pub(crate) fn totals(results: &CampaignResults) -> Vec<Total> {
    let cells = cells(results);
    let tests = results.campaign.suites.iter().flat_map(|s| &s.tests);
    tests
        .filter(|test| test.sweep.is_none())
        .filter_map(|test| total(results, &cells, test))
        .collect()
}

/// Every planned cell, by contender, test and round, with its result.
type Cells<'a> = BTreeMap<(&'a str, &'a str, u32), Option<&'a CellResult>>;

fn cells(results: &CampaignResults) -> Cells<'_> {
    let planned = results.cells.iter().map(|stored| {
        let cell = &stored.cell;
        let key = (cell.contender.as_str(), cell.test.as_str(), cell.round);
        (key, stored.result.as_ref())
    });
    planned.collect()
}

fn total(results: &CampaignResults, cells: &Cells<'_>, test: &Test) -> Option<Total> {
    let phases = test.phases.iter();
    let phases: Vec<&Phase> =
        phases.filter(|phase| takes_time(&phase.op) && !phase.is_preparation()).collect();
    let mut suites = results.campaign.suites.iter();
    let baseline = baseline(results, suites.find(|s| s.name == test.suite)?);
    let mut steps: Vec<String> = phases.iter().map(|p| p.step().to_owned()).collect();
    steps.dedup();
    if steps.len() < MIN_STEPS && baseline.is_none() {
        return None;
    }
    let contenders = || results.campaign.contenders.iter().map(|c| c.name.as_str());
    let reference = baseline.and_then(|place| contenders().nth(place));
    let cell = |contender: &str, round: u32| {
        let key = (contender, test.name.as_str(), round);
        cells.get(&key).copied().flatten()
    };
    let of = |name: &str| {
        let rounds = planned_rounds(results, cells, name, test);
        let of_round = rounds.iter().map(|r| (*r, cell(name, *r)));
        let attempts = of_round.flat_map(|(round, cell)| attempts(round, cell, &phases));
        let other = reference.filter(|reference| *reference != name);
        let pairs =
            rounds.iter().map(|r| (cell(name, *r), other.and_then(|other| cell(other, *r))));
        let pairs: Vec<_> = pairs.collect();
        let times = steps.iter().map(|step| {
            let of_step = phases.iter().copied().filter(|p| p.step() == step);
            step_time(&of_step.collect::<Vec<_>>(), &pairs)
        });
        total_of(name, attempts.collect(), times.collect())
    };
    let mut contenders: Vec<ContenderTotal> = contenders().map(of).collect();
    add_above(&mut contenders, baseline);
    Some(Total { suite: test.suite.clone(), test: test.name.clone(), contenders, steps, baseline })
}

/// Returns the rounds of a contender in a test; with a budget, only planned ones.
fn planned_rounds(
    results: &CampaignResults,
    cells: &Cells<'_>,
    contender: &str,
    test: &Test,
) -> Vec<u32> {
    // Without a budget, each round contains every cell.
    let has_all = results.campaign.budget.is_none();
    let is_planned =
        |round: &u32| has_all || cells.contains_key(&(contender, test.name.as_str(), *round));
    (1..=results.campaign.rounds).filter(is_planned).collect()
}

/// Returns the contender that is the suite's baseline, if it is in the campaign.
fn baseline(results: &CampaignResults, suite: &Suite) -> Option<usize> {
    let wanted = suite.baseline.as_ref()?;
    let mut contenders = results.campaign.contenders.iter();
    contenders.position(|c| c.filesystem.name == *wanted)
}

/// Returns the time of a step over its rounds, each with the cell of the contender and the cell of
/// the baseline.
fn step_time(phases: &[&Phase], rounds: &[(Option<&CellResult>, Option<&CellResult>)]) -> StepTime {
    let time = |cell: Option<&CellResult>| {
        let cell = cell?;
        let of = |phase: &&Phase| seconds(cell.phases.iter().find(|p| p.phase == phase.name)?);
        phases.iter().map(of).sum::<Option<f64>>()
    };
    let processor = |cell: Option<&CellResult>| {
        let cell = cell?;
        let is_of = |p: &&PhaseResult| phases.iter().any(|phase| phase.name == p.phase);
        let ran = || cell.phases.iter().filter(is_of);
        // A stored file may contain any number, so a sum of integers could overflow.
        let wall: f64 = ran().map(|p| p.elapsed.0 as f64).sum();
        let used = ran().map(|PhaseResult { cpu, .. }| {
            [cpu.user, cpu.system, cpu.driver].map(|time| time.0 as f64).iter().sum::<f64>()
        });
        (wall > 0.0).then(|| used.sum::<f64>() / wall)
    };
    let is_limited = |cell: &CellResult| {
        let mut ran = cell.phases.iter();
        ran.any(|p| p.time_limited && phases.iter().any(|phase| phase.name == p.phase))
    };
    let times: Vec<f64> = rounds.iter().filter_map(|(own, _)| time(*own)).collect();
    let above = rounds.iter().filter_map(|(own, reference)| Some(time(*own)? - time(*reference)?));
    let shares: Vec<f64> = rounds.iter().filter_map(|(own, _)| processor(*own)).collect();
    StepTime {
        estimate: RobustEstimate::from_values(&times),
        over_baseline: RobustEstimate::from_values(&above.collect::<Vec<_>>()),
        processor: median(&shares),
        time_limited: rounds.iter().filter_map(|(own, _)| *own).any(is_limited),
    }
}

/// Adds the part of each total that is above that of the baseline, round by round.
fn add_above(contenders: &mut [ContenderTotal], baseline: Option<usize>) {
    let Some(baseline) = baseline else { return };
    let counted = |of: &ContenderTotal| -> BTreeMap<u32, f64> {
        let counted = of.attempts.iter().filter(|attempt| attempt.counts);
        counted.filter_map(|a| Some((a.round, a.seconds?))).collect()
    };
    let reference = counted(&contenders[baseline]);
    let others = contenders.iter_mut().enumerate();
    for (_, total) in others.filter(|(place, total)| *place != baseline && total.estimate.is_some())
    {
        let above = counted(total).into_iter();
        let above = above.filter_map(|(round, time)| Some(time - reference.get(&round)?));
        total.over_baseline = RobustEstimate::from_values(&above.collect::<Vec<_>>());
    }
}

/// Whether a phase takes time. Probes, free space and roles (which run within the time of their
/// mix) do not. Among the results of other programs, only elapsed times that are not totals do.
fn takes_time(op: &Op) -> bool {
    match op {
        Op::RoleResult(_) => false,
        Op::External(op) => op.metric == Metric::Elapsed && !op.total,
        op => {
            !matches!(op.primary_metric(), Metric::Supported | Metric::Capacity | Metric::Survived)
        }
    }
}

fn attempts(round: u32, cell: Option<&CellResult>, steps: &[&Phase]) -> Vec<Attempt> {
    let Some(cell) = cell else {
        return vec![Attempt {
            round,
            counts: true,
            outcome: RoundOutcome::NotRun,
            seconds: None,
            broken: None,
            time_limited: false,
        }];
    };
    let first = cell.first.as_deref();
    let first = first.map(|first| attempt(round, first, false, steps));
    let second = attempt(round, cell, true, steps);
    first.into_iter().chain([second]).collect()
}

fn attempt(round: u32, cell: &CellResult, counts: bool, steps: &[&Phase]) -> Attempt {
    let mut attempt = Attempt {
        round,
        counts,
        outcome: RoundOutcome::Ok,
        seconds: Some(0.0),
        broken: None,
        time_limited: false,
    };
    for step in steps {
        let phase = cell.phases.iter().find(|p| p.phase == step.name);
        let Some(seconds) = phase.and_then(seconds) else {
            attempt.outcome = RoundOutcome::Invalid;
            attempt.seconds = None;
            attempt.broken = Some(FailedStep {
                step: step.name.clone(),
                outcome: phase.map_or(RoundOutcome::Skipped, what_became_of),
            });
            break;
        };
        attempt.seconds = attempt.seconds.map(|sum| sum + seconds);
        attempt.time_limited |= phase.is_some_and(|p| p.time_limited);
    }
    attempt
}

/// Returns the time of a step, in seconds; with several passes, the time of one.
fn seconds(phase: &PhaseResult) -> Option<f64> {
    let numbers = phase.measurements();
    let elapsed = numbers.iter().find(|n| n.metric == Metric::Elapsed)?;
    elapsed.value.is_finite().then_some(elapsed.value)
}

fn what_became_of(phase: &PhaseResult) -> RoundOutcome {
    match phase.status {
        Status::Ok => RoundOutcome::NotMeasured,
        status => status.into(),
    }
}

fn total_of(contender: &str, attempts: Vec<Attempt>, steps: Vec<StepTime>) -> ContenderTotal {
    let counted = || attempts.iter().filter(|attempt| attempt.counts);
    let has = |outcome| counted().any(|attempt| attempt.outcome == outcome);
    let outcome = match () {
        () if has(RoundOutcome::Invalid) => RoundOutcome::Invalid,
        () if has(RoundOutcome::NotRun) => RoundOutcome::NotRun,
        () => RoundOutcome::Ok,
    };
    let seconds: Vec<f64> = counted().filter_map(|attempt| attempt.seconds).collect();
    ContenderTotal {
        contender: contender.to_owned(),
        estimate: RobustEstimate::from_values(&seconds).filter(|_| outcome == RoundOutcome::Ok),
        outcome,
        attempts,
        over_baseline: None,
        steps,
    }
}

#[cfg(test)]
#[path = "total_tests.rs"]
mod tests;
