//! The first worse version of a list, found by a guard: the result that was searched by, the
//! versions that were run, and the steps at which other results became worse, if seen.

use model::{CampaignResults, CellRecord, Clock, CpuProfile, Metric, Nanos, PhaseResult, Status};
use serde::Serialize;

use crate::comparisons::bisection::VersionState;
use crate::comparisons::difference::{
    AnalysedCampaign, CampaignComparison, NewFailure, ResultChange,
};
use crate::{ComparisonVerdict, ExplainedSide, Explanation, Margin, explain};

/// The result by which a version is called worse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RegressionCriterion {
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// The metric that is worse, or `None` if the phase fails.
    pub metric: Option<Metric>,
}

impl RegressionCriterion {
    /// Returns the worst change: a phase that fails, or else the largest regression. Returns `None`
    /// if no result is worse.
    pub fn worst(found: &CampaignComparison) -> Option<Self> {
        let costs =
            |a: &&ResultChange, b: &&ResultChange| a.compared.ratio.total_cmp(&b.compared.ratio);
        let failed = found.new_failures.first().map(Self::of_failure);
        failed.or_else(|| found.regressions().max_by(costs).map(Self::of_change))
    }

    fn of_failure(failure: &NewFailure) -> Self {
        Self { test: failure.test.clone(), phase: failure.phase.clone(), metric: None }
    }

    fn of_change(change: &ResultChange) -> Self {
        Self { test: change.test.clone(), phase: change.phase.clone(), metric: Some(change.metric) }
    }

    /// Returns the change of this result in a comparison.
    pub fn change<'a>(&self, found: &'a CampaignComparison) -> Option<&'a ResultChange> {
        let mut changes = found.changes.iter();
        changes.find(|change| Self::of_change(change) == *self)
    }

    /// Judges a version by its comparison with the first version.
    pub fn seen(&self, found: &CampaignComparison) -> VersionState {
        let is_ours =
            |failure: &&NewFailure| failure.test == self.test && failure.phase == self.phase;
        let fails = found.new_failures.iter().any(|failure| is_ours(&failure));
        let mut changes = found.changes.iter();
        let is_ok = changes.any(|change| change.test == self.test && change.phase == self.phase);
        match (self.metric, self.change(found)) {
            (None, _) if fails => VersionState::Worse,
            (None, _) if is_ok => VersionState::NotWorse,
            (Some(_), Some(change)) if change.is_regression() => VersionState::Worse,
            (Some(_), Some(_)) => VersionState::NotWorse,
            _ => VersionState::Skipped,
        }
    }
}

/// A version in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestedVersion {
    /// Name of the version.
    pub name: String,
    /// The campaign that ran it.
    pub campaign: Option<i64>,
    /// Verdict on the version by the target result.
    pub seen: VersionState,
    /// One-line reason why the version was skipped.
    #[serde(rename = "why")]
    pub skip_reason: Option<String>,
    /// Comparison with the first version. `None` for the first version and for versions that were
    /// not run.
    pub beside_first: Option<CampaignComparison>,
}

/// A result that is worse in the last version and was not the target of the search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherRegression {
    /// The result.
    pub result: RegressionCriterion,
    /// Cost in the last version as a multiple of the cost in the first.
    pub ratio: f64,
    /// Indexes (from 0) of the last version run before the first worse one, and of the first worse
    /// one.
    #[serde(rename = "between")]
    pub version_bounds: [usize; 2],
    /// A later version that was run and is not worse.
    pub better_again: Option<usize>,
}

/// Result of a guard over a list of versions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegressionSearch {
    /// All versions, in order.
    pub versions: Vec<TestedVersion>,
    /// A version that costs more by at least this margin is worse.
    pub margin: Margin,
    /// Result that was searched by, or `None` if the last version is not worse.
    pub target: Option<RegressionCriterion>,
    /// Indexes (from 0) of the last version that is not worse and of the first worse one. Versions
    /// in between were skipped. The first and the last version if none is worse.
    #[serde(rename = "between")]
    pub version_bounds: [usize; 2],
    /// Differences between these two.
    pub step: CampaignComparison,
    /// Explanation of the difference of the result.
    pub explanation: Option<Explanation>,
    /// Other results that are worse in the last version, the worst first.
    #[serde(rename = "others")]
    pub other_regressions: Vec<OtherRegression>,
    /// A version that ran and in which the result is better than in the first by more than the
    /// margin.
    pub better: Option<usize>,
}

impl RegressionSearch {
    /// Combines the findings between two versions of the list, given by index.
    pub fn new(
        versions: Vec<TestedVersion>,
        target: Option<RegressionCriterion>,
        between: [usize; 2],
        step: CampaignComparison,
        explanation: Option<Explanation>,
    ) -> Self {
        let last = versions.last().and_then(|last| last.beside_first.as_ref());
        let others = last.map(|last| others(&versions, last, target.as_ref()));
        let is_better = |tried: &TestedVersion| {
            let found = target.as_ref()?.change(tried.beside_first.as_ref()?)?;
            matches!(found.compared.verdict, ComparisonVerdict::BetterByAtLeast(_)).then_some(())
        };
        Self {
            margin: step.margin,
            other_regressions: others.unwrap_or_default(),
            better: versions.iter().position(|tried| is_better(tried).is_some()),
            versions,
            target,
            version_bounds: between,
            step,
            explanation,
        }
    }

    /// Returns the number of versions that were run, including skipped ones.
    pub fn runs(&self) -> usize {
        let versions = self.versions.iter();
        versions.filter(|version| version.seen != VersionState::NotRun).count()
    }
}

/// Returns the versions in which other results became worse, using only versions that ran.
fn others(
    versions: &[TestedVersion],
    last: &CampaignComparison,
    target: Option<&RegressionCriterion>,
) -> Vec<OtherRegression> {
    let other = |change: &ResultChange| {
        let result = RegressionCriterion::of_change(change);
        let seen = |(at, tried): (usize, &TestedVersion)| match &tried.beside_first {
            None if at == 0 => Some((at, VersionState::NotWorse)),
            None => None,
            Some(found) => Some((at, result.seen(found))),
        };
        let seen: Vec<(usize, VersionState)> =
            versions.iter().enumerate().filter_map(seen).collect();
        let is = |wanted: VersionState| move |(_, seen): &&(usize, VersionState)| *seen == wanted;
        let (first, _) = *seen.iter().find(is(VersionState::Worse))?;
        let good = || seen.iter().filter(is(VersionState::NotWorse)).map(|(at, _)| *at);
        Some(OtherRegression {
            ratio: change.compared.ratio,
            version_bounds: [good().rfind(|at| *at < first).unwrap_or(0), first],
            better_again: good().find(|at| *at > first),
            result,
        })
    };
    let mut others: Vec<OtherRegression> = last.regressions().filter_map(other).collect();
    others.retain(|other| Some(&other.result) != target);
    others.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    others
}

/// Explains the difference of a result between two versions. Returns `None` if the target is a
/// failing phase, or if a campaign did not run in virtual time.
///
/// Each side is a campaign with the name of its contender; `names` are the names of the versions.
/// Without processor profiles the explanation uses only the disk's times and counts.
pub fn explain_step(
    target: &RegressionCriterion,
    sides: [(AnalysedCampaign<'_>, &str); 2],
    names: [&str; 2],
    profiles: [&CpuProfile; 2],
) -> Option<Explanation> {
    target.metric?;
    let is_virtual =
        |(side, _): &(AnalysedCampaign<'_>, &str)| side.results.campaign.clock == Clock::Virtual;
    if !sides.iter().all(is_virtual) {
        return None;
    }
    let results = [0, 1].map(|side| phase_of(sides[side].0.results, sides[side].1, target));
    let results = [results[0]?, results[1]?];
    let contested = |side: usize| ExplainedSide {
        name: names[side],
        result: results[side],
        profile: profiles[side],
        forced: 0,
    };
    let result = format!("{}/{}", target.test, target.phase);
    Some(explain(&result, [contested(0), contested(1)]))
}

/// Whether processor time causes most of the additional cost of a step. If so, functions of the
/// kernel explain more than disk activity.
pub fn is_cpu_bound(explanation: &Explanation) -> bool {
    let more = |[before, after]: [Nanos; 2]| after.0.saturating_sub(before.0);
    2 * more(explanation.processor) > more(explanation.elapsed)
}

/// Returns the cell of a result in the first round.
pub fn first_cell<'a>(
    results: &'a CampaignResults,
    contender: &str,
    target: &RegressionCriterion,
) -> Option<&'a CellRecord> {
    let cells = results.cells.iter();
    let cells = cells.filter(|c| c.cell.contender == contender && c.cell.test == target.test);
    cells.min_by_key(|c| c.cell.round)
}

/// Returns the phase if it is ok and the disk is simulated.
fn phase_of<'a>(
    results: &'a CampaignResults,
    contender: &str,
    target: &RegressionCriterion,
) -> Option<&'a PhaseResult> {
    let first = first_cell(results, contender, target)?.result.as_ref()?;
    let mut phases = first.phases.iter();
    phases.find(|p| p.phase == target.phase && p.status == Status::Ok && p.disk.is_some())
}
