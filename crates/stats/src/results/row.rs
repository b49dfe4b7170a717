//! One row of the tables: a metric of a phase, with a result for each contender.

use std::collections::BTreeSet;

use model::{
    CacheState, CampaignResults, Direction, ExcludedPhase, Metric, Phase, PhaseResult, SyncAtEnd,
    Test, Unit,
};
use serde::Serialize;

use crate::results::facts::{PhaseIndex, PhaseRecord};
use crate::results::raw_device::{RawDeviceBounds, RawDeviceRange};
use crate::results::result::is_cumulative;
use crate::{MetricResult, RoundOutcome, RoundValue};

/// Whether the contenders of a row are ranked, and the reason if not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RankingState {
    /// They are.
    Ranked,
    /// The metric has no better direction.
    #[serde(rename = "neutral")]
    NoDirection,
    /// A time limit ended the phase early for some contenders, so their totals cover different
    /// work.
    #[serde(rename = "cut-short")]
    TimeLimited,
    /// Some contenders finished too soon to be timed. They are at least as good as the others, but
    /// the difference is unknown.
    TooFast,
    /// The results were measured in different cache states, not counting baselines.
    DifferentCaches,
}

/// A metric of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultRow {
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// Metric of the values.
    pub metric: Metric,
    /// The unit of every number in the row.
    pub unit: Unit,
    /// Direction of better values.
    pub direction: Direction,
    /// Whether it is the phase's primary metric.
    pub primary: bool,
    /// Whether the tables show it: the primary metric and, for random I/O, also the throughput.
    #[serde(default)]
    pub shown: bool,
    /// Sync or unmount included at the end of the timed part.
    pub ends: SyncAtEnd,
    /// The planned cache state.
    pub cache: CacheState,
    /// The actual cache states of the values.
    pub caches: Vec<CacheState>,
    /// Whether contenders are ranked.
    pub ranking: RankingState,
    /// Best value that the raw device could reach, in the row's unit, if known and relevant.
    #[serde(default)]
    pub raw_device: Option<f64>,
    /// Range of that value if its readings differ too much for one number. Shares are also ranges
    /// in this case.
    #[serde(default)]
    pub raw_device_range: Option<RawDeviceRange>,
    /// Reason why it does not count in the scores of groups, uses and the overall view, or `None`
    /// if it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// A result for each contender, in the campaign's order.
    pub results: Vec<MetricResult>,
}

/// Returns every row of a campaign, in the order of its suites. In each phase, the rows that tables
/// show are first.
pub(crate) fn rows(results: &CampaignResults, facts: &PhaseIndex<'_>) -> Vec<ResultRow> {
    let bounds = RawDeviceBounds {
        calibration: results.calibration.as_ref(),
        processors: results.environments.last().map_or(1, |e| e.cpus),
    };
    let mut rows = Vec::new();
    for suite in &results.campaign.suites {
        for test in &suite.tests {
            for phase in &test.phases {
                rows.extend(rows_of_phase(results, facts, test, phase, &bounds));
            }
        }
    }
    rows
}

/// Marks the rows of phases that do not count in scores.
pub(crate) fn exclude_phases(
    rows: &mut [ResultRow],
    results: &CampaignResults,
    withheld: &[ExcludedPhase],
) {
    let tests = results.campaign.suites.iter().flat_map(|s| &s.tests);
    for test in tests {
        for phase in &test.phases {
            let Some(found) = withheld.iter().find(|one| one.matches(test, phase)) else {
                continue;
            };
            let is_of = |row: &&mut ResultRow| {
                (&row.suite, &row.test, &row.phase) == (&test.suite, &test.name, &phase.name)
            };
            for row in rows.iter_mut().filter(is_of) {
                row.withheld = Some(found.reason.clone());
            }
        }
    }
}

fn rows_of_phase(
    results: &CampaignResults,
    facts: &PhaseIndex<'_>,
    test: &Test,
    phase: &Phase,
    bounds: &RawDeviceBounds<'_>,
) -> Vec<ResultRow> {
    let contenders: Vec<Measured<'_>> = results
        .campaign
        .contenders
        .iter()
        .map(|c| Measured {
            name: &c.name,
            is_baseline: c.filesystem.is_baseline(),
            rounds: facts.phase(&c.name, &test.name, &phase.name),
        })
        .collect();
    let seen: BTreeSet<Metric> = contenders
        .iter()
        .flat_map(|c| c.rounds.iter().flat_map(|r| &r.numbers))
        .map(|number| number.metric)
        .collect();
    // The primary metric has a row even if no contender has a value yet.
    let in_tables = |metric: &Metric| *metric == phase.op.primary_metric() || seen.contains(metric);
    let shown: Vec<Metric> = table_metrics(phase).filter(in_tables).collect();
    let others = seen.iter().filter(|metric| !shown.contains(metric));
    let metrics = shown.iter().chain(others).copied();
    let rows = metrics.map(|metric| row(test, phase, metric, &contenders, bounds));
    rows.collect()
}

/// Returns the metrics in tables. Compression has a value only for data that was chosen for it.
fn table_metrics(phase: &Phase) -> impl Iterator<Item = Metric> {
    phase.op.table_metrics().chain([Metric::Compression])
}

/// A contender with its results of a phase.
struct Measured<'a> {
    name: &'a str,
    is_baseline: bool,
    rounds: Vec<PhaseRecord<'a>>,
}

/// Minimum number of operations of a phase that its time limit cut. Fewer show how it begins, and
/// not its rate.
const MIN_OPERATIONS: u64 = 10;

impl Measured<'_> {
    /// Whether a time limit cut the phase when it had barely begun. Baselines are not ranked.
    fn has_barely_begun(&self) -> bool {
        let mut phases = self.rounds.iter().filter_map(|round| round.phase);
        let is_cut = |p: &PhaseResult| p.time_limited && p.operations < MIN_OPERATIONS;
        !self.is_baseline && phases.any(is_cut)
    }
}

fn row(
    test: &Test,
    phase: &Phase,
    metric: Metric,
    contenders: &[Measured<'_>],
    bounds: &RawDeviceBounds<'_>,
) -> ResultRow {
    let round = |fact: &PhaseRecord<'_>| round_value(fact, phase, metric, bounds);
    let mut results: Vec<MetricResult> = contenders
        .iter()
        .map(|c| MetricResult::new(c.name, c.rounds.iter().map(round).collect()))
        .collect();
    set_baselines_apart(&mut results, contenders);
    let caches = caches_of(&results);
    let ranking = match ranking(metric, &results) {
        RankingState::Ranked if contenders.iter().any(Measured::has_barely_begun) => {
            RankingState::TimeLimited
        }
        ranking => ranking,
    };
    ResultRow {
        suite: test.suite.clone(),
        test: test.name.clone(),
        phase: phase.name.clone(),
        metric,
        unit: metric.unit(),
        direction: direction(metric),
        primary: metric == phase.op.primary_metric(),
        shown: table_metrics(phase).any(|shown| shown == metric),
        ends: phase.sync_at_end,
        cache: phase.cache,
        caches,
        ranking,
        raw_device: bounds.raw_device(phase, metric),
        raw_device_range: bounds.raw_device_range(phase, metric),
        withheld: None,
        results,
    }
}

/// Returns the value of one round. A value that is not finite counts as not measured.
fn round_value(
    fact: &PhaseRecord<'_>,
    phase: &Phase,
    metric: Metric,
    bounds: &RawDeviceBounds<'_>,
) -> RoundValue {
    let value = fact
        .numbers
        .iter()
        .find(|number| number.metric == metric && number.value.is_finite())
        .map(|number| number.value);
    let outcome = match fact.outcome {
        RoundOutcome::Ok if value.is_none() => without_number(fact, phase, metric),
        outcome => outcome,
    };
    let measured = value.zip(fact.phase);
    RoundValue {
        round: fact.round,
        outcome,
        value,
        cache: fact.phase.map(|p| p.cache),
        time_limited: fact.phase.is_some_and(|p| p.time_limited),
        passes: measured
            .map_or(0, |(_, result)| u32::try_from(result.passes.len().max(1)).unwrap_or(u32::MAX)),
        raw_device_share: measured
            .and_then(|(value, result)| bounds.raw_device_share(phase, metric, value, result)),
        overhead_share: measured
            .and_then(|(_, result)| bounds.overhead_share(phase, metric, result)),
    }
}

/// Returns the outcome of a phase without a value. Other programs omit the value of a phase that
/// finished too soon for their clocks.
fn without_number(fact: &PhaseRecord<'_>, phase: &Phase, metric: Metric) -> RoundOutcome {
    let is_too_fast = fact.phase.is_some_and(|phase| phase.too_fast);
    match is_too_fast && metric == phase.op.primary_metric() {
        true => RoundOutcome::TooFast,
        false => RoundOutcome::NotMeasured,
    }
}

fn values<'a>(
    results: impl IntoIterator<Item = &'a MetricResult>,
) -> impl Iterator<Item = &'a RoundValue> {
    let rounds = results.into_iter().flat_map(|f| &f.rounds);
    rounds.filter(|r| r.value.is_some())
}

fn caches_of<'a>(results: impl IntoIterator<Item = &'a MetricResult>) -> Vec<CacheState> {
    let caches: BTreeSet<_> = values(results).filter_map(|r| r.cache).collect();
    caches.into_iter().collect()
}

/// Excludes baselines from the ranking. A baseline serves only for comparison. Its cache state,
/// which may differ if it is in memory, must not prevent the ranking of the others.
fn set_baselines_apart(results: &mut [MetricResult], contenders: &[Measured<'_>]) {
    let baselines = || contenders.iter().map(|c| c.is_baseline);
    let others = results.iter().zip(baselines());
    let common = caches_of(others.filter(|(_, baseline)| !baseline).map(|(result, _)| result));
    if common.is_empty() {
        return;
    }
    for (result, is_baseline) in results.iter_mut().zip(baselines()) {
        result.set_apart = is_baseline;
    }
}

/// Returns the better direction. By itself, space that a phase takes explains other results; between
/// contenders that store the same files, less is better.
const fn direction(metric: Metric) -> Direction {
    match metric {
        Metric::SpaceTaken => Direction::Lower,
        metric => metric.direction(),
    }
}

fn ranking(metric: Metric, results: &[MetricResult]) -> RankingState {
    let set_together = || results.iter().filter(|f| !f.set_apart);
    let outcomes = || set_together().flat_map(|f| &f.rounds).map(|r| r.outcome);
    if direction(metric) == Direction::Neutral {
        RankingState::NoDirection
    } else if caches_of(set_together()).len() > 1 {
        RankingState::DifferentCaches
    } else if outcomes().any(|outcome| outcome == RoundOutcome::TooFast) {
        RankingState::TooFast
    } else if is_cumulative(metric) && values(set_together()).any(|r| r.time_limited) {
        RankingState::TimeLimited
    } else {
        RankingState::Ranked
    }
}
