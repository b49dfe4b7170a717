//! The first version of a list that is worse, as a guard found it: by which result it was looked for, what of the list was
//! run, and where other results became worse, as far as was seen.

use model::{CampaignResults, Clock, CpuProfile, Metric, Nanos, PhaseResult, Status, StoredCell};
use serde::Serialize;

use crate::campaigns::bisection::Seen;
use crate::campaigns::difference::{Analysed, Change, Differences, NewFailure};
use crate::{Contested, Explanation, Margin, Verdict, explain};

/// By what a version is called worse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// The metric that is worse; nothing where the phase fails.
    pub metric: Option<Metric>,
}

impl Target {
    /// What is worst: a phase that fails, else the result that costs most more; nothing where nothing is worse.
    pub fn worst(found: &Differences) -> Option<Self> {
        let costs = |a: &&Change, b: &&Change| a.compared.ratio.total_cmp(&b.compared.ratio);
        let failed = found.new_failures.first().map(Self::of_failure);
        failed.or_else(|| found.regressions().max_by(costs).map(Self::of_change))
    }

    fn of_failure(failure: &NewFailure) -> Self {
        Self {
            test: failure.test.clone(),
            phase: failure.phase.clone(),
            metric: None,
        }
    }

    fn of_change(change: &Change) -> Self {
        Self {
            test: change.test.clone(),
            phase: change.phase.clone(),
            metric: Some(change.metric),
        }
    }

    /// This result among those of a comparison.
    pub fn change<'a>(&self, found: &'a Differences) -> Option<&'a Change> {
        let mut changes = found.changes.iter();
        changes.find(|change| Self::of_change(change) == *self)
    }

    /// What a comparison with the first version says of another.
    pub fn seen(&self, found: &Differences) -> Seen {
        let is_ours =
            |failure: &&NewFailure| failure.test == self.test && failure.phase == self.phase;
        let fails = found.new_failures.iter().any(|failure| is_ours(&failure));
        let mut changes = found.changes.iter();
        let is_ok = changes.any(|change| change.test == self.test && change.phase == self.phase);
        match (self.metric, self.change(found)) {
            (None, _) if fails => Seen::Worse,
            (None, _) if is_ok => Seen::NotWorse,
            (Some(_), Some(change)) if change.is_regression() => Seen::Worse,
            (Some(_), Some(_)) => Seen::NotWorse,
            _ => Seen::Skipped,
        }
    }
}

/// A version of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// What it is called.
    pub name: String,
    /// The campaign that ran it.
    pub campaign: Option<i64>,
    /// What was seen by the result that was looked for.
    pub seen: Seen,
    /// Why it was skipped, in one line.
    pub why: Option<String>,
    /// Beside the first; nothing of the first itself, and where it was not run.
    pub beside_first: Option<Differences>,
}

/// A result that is worse in the last version and was not looked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Other {
    /// The result.
    pub result: Target,
    /// What it costs in the last version, as a multiple of what it costs in the first.
    pub ratio: f64,
    /// The number of the last version before the first worse one that was run, and of that one, from 0 on.
    pub between: [usize; 2],
    /// A version that was run behind the first worse one and is not worse.
    pub better_again: Option<usize>,
}

/// What a guard found in a list of versions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FirstWorse {
    /// All versions, in order.
    pub versions: Vec<Tried>,
    /// What costs so much more at least is worse.
    pub margin: Margin,
    /// By what it was looked for; nothing where the last version is not worse.
    pub target: Option<Target>,
    /// The numbers of the last version that is not worse and of the first worse one, from 0 on. Versions between them
    /// were skipped. Where nothing is worse, the first and the last.
    pub between: [usize; 2],
    /// What differs between these two.
    pub step: Differences,
    /// Where the difference of the result comes from.
    pub explanation: Option<Explanation>,
    /// Other results that are worse in the last version, the worst first.
    pub others: Vec<Other>,
    /// A version that was run and in which the result is better than in the first by more than the margin.
    pub better: Option<usize>,
}

impl FirstWorse {
    /// Puts together what was found between two versions of the list, in numbers.
    pub fn new(
        versions: Vec<Tried>,
        target: Option<Target>,
        between: [usize; 2],
        step: Differences,
        explanation: Option<Explanation>,
    ) -> Self {
        let last = versions.last().and_then(|last| last.beside_first.as_ref());
        let others = last.map(|last| others(&versions, last, target.as_ref()));
        let is_better = |tried: &Tried| {
            let found = target.as_ref()?.change(tried.beside_first.as_ref()?)?;
            matches!(found.compared.verdict, Verdict::BetterByAtLeast(_)).then_some(())
        };
        Self {
            margin: step.margin,
            others: others.unwrap_or_default(),
            better: versions.iter().position(|tried| is_better(tried).is_some()),
            versions,
            target,
            between,
            step,
            explanation,
        }
    }

    /// How many versions were run, skipped ones among them.
    pub fn runs(&self) -> usize {
        let versions = self.versions.iter();
        versions
            .filter(|version| version.seen != Seen::NotRun)
            .count()
    }
}

/// Where other results became worse, by the versions that were run.
fn others(versions: &[Tried], last: &Differences, target: Option<&Target>) -> Vec<Other> {
    let other = |change: &Change| {
        let result = Target::of_change(change);
        let seen = |(at, tried): (usize, &Tried)| match &tried.beside_first {
            None if at == 0 => Some((at, Seen::NotWorse)),
            None => None,
            Some(found) => Some((at, result.seen(found))),
        };
        let seen: Vec<(usize, Seen)> = versions.iter().enumerate().filter_map(seen).collect();
        let is = |wanted: Seen| move |(_, seen): &&(usize, Seen)| *seen == wanted;
        let (first, _) = *seen.iter().find(is(Seen::Worse))?;
        let good = || seen.iter().filter(is(Seen::NotWorse)).map(|(at, _)| *at);
        Some(Other {
            ratio: change.compared.ratio,
            between: [good().rfind(|at| *at < first).unwrap_or(0), first],
            better_again: good().find(|at| *at > first),
            result,
        })
    };
    let mut others: Vec<Other> = last.regressions().filter_map(other).collect();
    others.retain(|other| Some(&other.result) != target);
    others.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    others
}

/// Where the difference of a result between two versions comes from: in virtual time, where the phase is timed. Each is a
/// campaign with the name of its contender; `names` are those of the versions. Without profiles of the processor it is
/// what the disks say.
pub fn explain_step(
    target: &Target,
    sides: [(Analysed<'_>, &str); 2],
    names: [&str; 2],
    profiles: [&CpuProfile; 2],
) -> Option<Explanation> {
    target.metric?;
    let is_virtual =
        |(side, _): &(Analysed<'_>, &str)| side.results.campaign.clock == Clock::Virtual;
    if !sides.iter().all(is_virtual) {
        return None;
    }
    let results = [0, 1].map(|side| phase_of(sides[side].0.results, sides[side].1, target));
    let results = [results[0]?, results[1]?];
    let contested = |side: usize| Contested {
        name: names[side],
        result: results[side],
        profile: profiles[side],
        forced: 0,
    };
    let result = format!("{}/{}", target.test, target.phase);
    Some(explain(&result, [contested(0), contested(1)]))
}

/// Whether most of what a step costs more is the processor's: then its functions tell more than the disk.
pub fn is_of_the_processor(explanation: &Explanation) -> bool {
    let more = |[before, after]: [Nanos; 2]| after.0.saturating_sub(before.0);
    2 * more(explanation.processor) > more(explanation.elapsed)
}

/// The cell of a result in the first round.
pub fn cell_of<'a>(
    results: &'a CampaignResults,
    contender: &str,
    target: &Target,
) -> Option<&'a StoredCell> {
    let cells = results.cells.iter();
    let cells = cells.filter(|c| c.cell.contender == contender && c.cell.test == target.test);
    cells.min_by_key(|c| c.cell.round)
}

/// The phase there, where it is ok and the disk is simulated.
fn phase_of<'a>(
    results: &'a CampaignResults,
    contender: &str,
    target: &Target,
) -> Option<&'a PhaseResult> {
    let first = cell_of(results, contender, target)?.result.as_ref()?;
    let mut phases = first.phases.iter();
    phases.find(|p| p.phase == target.phase && p.status == Status::Ok && p.disk.is_some())
}
