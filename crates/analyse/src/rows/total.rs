//! Totals over the steps of a test: one for each attempt, and `invalid` where a step has no time.
//!
//! A step is a phase that takes time; of one that was repeated until it could be timed, one pass counts. A sum
//! over the steps that went well would be smaller than that of a contender that did them all, so there is none.

use std::collections::BTreeMap;

use model::{CampaignResults, CellResult, Metric, Op, PhaseResult, Status, Test};
use serde::{Deserialize, Serialize};

use crate::{Estimate, RoundOutcome};

/// A test of fewer steps is no sequence of which a total says more than its rows.
const LEAST_STEPS: usize = 3;

/// The totals of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Total {
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// The phases that are added up, in their order.
    pub steps: Vec<String>,
    /// A total for each contender, in the campaign's order.
    pub contenders: Vec<ContenderTotal>,
}

/// The total of a contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContenderTotal {
    /// Name of the contender.
    pub contender: String,
    /// Every attempt, in the order of the rounds; the first run of a cell that ran again stands before its second.
    pub attempts: Vec<Attempt>,
    /// `ok`; `invalid` where a step of any counted attempt has no time; `not-run` where one has yet to run.
    pub outcome: RoundOutcome,
    /// What the counted attempts come to, in seconds; absent where the outcome is not `ok`.
    pub estimate: Option<Estimate>,
}

/// One pass through all steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attempt {
    /// The round, from 1.
    pub round: u32,
    /// Whether it counts. The first run of a cell that ran again, since the machine was disturbed, does not.
    pub counts: bool,
    /// `ok`, `invalid` or `not-run`.
    pub outcome: RoundOutcome,
    /// The sum of all steps; present exactly where the outcome is `ok`.
    pub seconds: Option<f64>,
    /// The first step that has no time, where the total is invalid.
    #[serde(default)]
    pub broken: Option<BrokenStep>,
    /// Whether a time limit ended a step before all its operations were done, so that the total is a lower bound.
    pub cut_short: bool,
}

/// A step over which there is no total.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BrokenStep {
    /// Name of the phase.
    pub step: String,
    /// What became of it.
    pub outcome: RoundOutcome,
}

impl ContenderTotal {
    /// Whether a counted attempt is no more than a lower bound.
    pub fn is_lower_bound(&self) -> bool {
        self.attempts.iter().any(|a| a.counts && a.cut_short)
    }
}

/// The totals of a campaign, in the order of its suites; points of sweeps have none.
pub(crate) fn totals(results: &CampaignResults) -> Vec<Total> {
    let cells = cells(results);
    let tests = results.campaign.suites.iter().flat_map(|s| &s.tests);
    tests
        .filter(|test| test.sweep.is_none())
        .filter_map(|test| total(results, &cells, test))
        .collect()
}

type Cells<'a> = BTreeMap<(&'a str, &'a str, u32), &'a CellResult>;

fn cells(results: &CampaignResults) -> Cells<'_> {
    let ran = results.cells.iter().filter_map(|stored| {
        let cell = &stored.cell;
        let key = (cell.contender.as_str(), cell.test.as_str(), cell.round);
        Some((key, stored.result.as_ref()?))
    });
    ran.collect()
}

fn total(results: &CampaignResults, cells: &Cells<'_>, test: &Test) -> Option<Total> {
    let steps: Vec<String> = test
        .phases
        .iter()
        .filter(|phase| takes_time(&phase.op))
        .map(|phase| phase.name.clone())
        .collect();
    if steps.len() < LEAST_STEPS {
        return None;
    }
    let budget = results.campaign.budget;
    let is_planned = |contender: &str, round: u32| {
        let mut planned = results.cells.iter().map(|stored| &stored.cell);
        // Without one each round has everything.
        budget.is_none()
            || planned
                .any(|c| (c.contender.as_str(), &c.test, c.round) == (contender, &test.name, round))
    };
    let contenders = results.campaign.contenders.iter().map(|contender| {
        let rounds =
            (1..=results.campaign.rounds).filter(|round| is_planned(&contender.name, *round));
        let attempts = rounds.flat_map(|round| {
            let key = (contender.name.as_str(), test.name.as_str(), round);
            attempts(round, cells.get(&key).copied(), &steps)
        });
        total_of(&contender.name, attempts.collect())
    });
    Some(Total {
        suite: test.suite.clone(),
        test: test.name.clone(),
        contenders: contenders.collect(),
        steps,
    })
}

/// Probes answer yes or no, the space left to files is no time, and the time of a role is that of its mix.
fn takes_time(op: &Op) -> bool {
    let is_time = !matches!(op.primary_metric(), Metric::Supported | Metric::Capacity);
    is_time && !matches!(op, Op::MixRole(_))
}

fn attempts(round: u32, cell: Option<&CellResult>, steps: &[String]) -> Vec<Attempt> {
    let Some(cell) = cell else {
        return vec![Attempt {
            round,
            counts: true,
            outcome: RoundOutcome::NotRun,
            seconds: None,
            broken: None,
            cut_short: false,
        }];
    };
    let first = cell.first.as_deref();
    let first = first.map(|first| attempt(round, first, false, steps));
    let second = attempt(round, cell, true, steps);
    first.into_iter().chain([second]).collect()
}

fn attempt(round: u32, cell: &CellResult, counts: bool, steps: &[String]) -> Attempt {
    let mut attempt = Attempt {
        round,
        counts,
        outcome: RoundOutcome::Ok,
        seconds: Some(0.0),
        broken: None,
        cut_short: false,
    };
    for step in steps {
        let phase = cell.phases.iter().find(|p| p.phase == *step);
        let Some(seconds) = phase.and_then(seconds) else {
            attempt.outcome = RoundOutcome::Invalid;
            attempt.seconds = None;
            attempt.broken = Some(BrokenStep {
                step: step.clone(),
                outcome: phase.map_or(RoundOutcome::Skipped, what_became_of),
            });
            break;
        };
        attempt.seconds = attempt.seconds.map(|sum| sum + seconds);
        attempt.cut_short |= phase.is_some_and(|p| p.cut_short);
    }
    attempt
}

/// How long a step took, of several passes one.
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

fn total_of(contender: &str, attempts: Vec<Attempt>) -> ContenderTotal {
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
        estimate: Estimate::of(&seconds).filter(|_| outcome == RoundOutcome::Ok),
        outcome,
        attempts,
    }
}

#[cfg(test)]
#[path = "total_tests.rs"]
mod tests;
