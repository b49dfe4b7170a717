//! Evaluates a use case with the results of a campaign: the qualifying contenders, the scores of
//! each contender in each category that counts, and the contenders that may be the best.
//!
//! A contender qualifies if it has the required class and every required feature, and did not fail
//! in any test that counts. A result counts only if all qualifying contenders have it, because a
//! mean over different results would compare nothing.
//!
//! Costs are compared as in [`crate::Overall`], over these results, with the categories weighted.
//! Categories without results are ignored.
//!
//! A test of the weighted cost finds the contenders that may be the best
//! ([`crate::inference::PairwiseEstimates::weighed`]).

use std::collections::BTreeMap;

use model::{
    Feature, OperatingSystem, PosixClass, RecoveryMechanism, RequiredReaders, UseCase,
    WorkloadCategory,
};
use serde::Serialize;

use crate::inference::Margin;
use crate::outcomes::failures::CHECK_STEP;
use crate::outcomes::survival::PowerCutRecord;
use crate::results::costs::RankedCosts;
use crate::scores::conclusion::conclude;
use crate::scores::overall::row_weights;
use crate::{
    CellFailure, Conclusion, ContenderFeatures, FeatureSupport, Overall, Rank, ResultRow,
    RoundOutcome, RowWeight, UnflushedSync,
};

/// Reason why a contender does not qualify.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ExclusionReason {
    /// The contender is a baseline, which stores nothing permanently.
    Baseline,
    /// No operating system that the use case requires can read the filesystem.
    #[serde(rename = "readers")]
    MissingReader {
        /// Operating systems that can read the filesystem.
        read_by: Vec<OperatingSystem>,
        /// Consequence of having none of those.
        why: String,
    },
    /// The contender lacks a feature that the use case requires.
    #[serde(rename = "feature")]
    MissingFeature {
        /// The feature.
        feature: Feature,
        /// Probe result.
        found: String,
        /// Consequence of lacking the feature.
        why: String,
    },
    /// The contender needs a repair after a crash, and the use case must do without.
    #[serde(rename = "crash-recovery")]
    NoCrashRecovery {
        /// Consequence of needing a repair.
        why: String,
    },
    /// The filesystem takes no snapshots, and the use case requires them.
    NoSnapshots {
        /// Consequence of having none.
        why: String,
    },
    /// Power cuts lost synced files, and the use case must not lose any.
    #[serde(rename = "power-cuts")]
    LostInPowerCuts {
        /// The cuts and an example.
        record: PowerCutRecord,
        /// Consequence of a loss.
        why: String,
    },
    /// The contender failed in a result that counts.
    Failure {
        /// Name of the test.
        test: String,
        /// Name of the phase.
        phase: String,
        /// Outcome of the result.
        outcome: RoundOutcome,
        /// Reason of the first failed round in one line; empty if none was recorded.
        reason: String,
        /// Number of rounds with this outcome.
        rounds: u32,
        /// Number of planned rounds.
        of: u32,
    },
    /// Synced writes never flushed the disk's cache, although those of other contenders did, so
    /// durable writes are not durable.
    NotDurable {
        /// Number of synced operations of the contender.
        operations: u64,
    },
    /// The contender has no result that counts.
    NoResults,
}

/// A contender that is considered for a use case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Name of the contender.
    pub contender: String,
    /// Every reason to exclude it; empty if it qualifies.
    pub ruled_out: Vec<ExclusionReason>,
    /// Required features that no cell tried.
    pub not_probed: Vec<Feature>,
}

impl Candidate {
    /// Whether a reason excludes the candidate that further tests would not remove.
    pub(crate) fn is_excluded_without_tests(&self) -> bool {
        self.ruled_out.iter().any(|reason| *reason != ExclusionReason::NoResults)
    }
}

/// A need of a use case, and which contenders meet it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UseNeed {
    /// The need.
    pub need: NeedKind,
    /// Consequence if it is not met.
    pub why: String,
    /// Whether each contender meets it, in the campaign's order. `None` if no cell tried it and the
    /// catalog has no such fact.
    pub met: Vec<Option<bool>>,
}

/// Kind of a need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NeedKind {
    /// It is consistent after a crash without a repair.
    CrashRecovery,
    /// Files that a sync made durable survive power cuts.
    PowerCuts,
    /// It takes snapshots.
    Snapshots,
    /// At least one of these systems reads it.
    Readers(Vec<OperatingSystem>),
    /// It has a feature.
    Feature(Feature),
}

/// A category that counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeightedCategory {
    /// The group.
    pub group: WorkloadCategory,
    /// Weight relative to the other groups.
    pub weight: f64,
    /// Reason for the weight.
    #[serde(rename = "why")]
    pub rationale: String,
    /// The results that count; empty if the group was not tested.
    pub results: Vec<RowWeight>,
    /// Suites that have tests of the category, suites of a default run first.
    #[serde(default)]
    pub tested_by: Vec<String>,
    /// Estimated cost of each contender as a multiple of the lowest, in the campaign's order. `None`
    /// if it does not qualify, and for a single contender.
    pub ratios: Vec<Option<f64>>,
}

/// A result that does not count because some qualifying contenders do not have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExcludedResult {
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// Names of the contenders that do not have it, with the name of the outcome.
    pub lacking: Vec<(String, String)>,
}

/// Scores of a campaign for a use case.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UseCaseScores {
    /// Name of the use case.
    pub name: String,
    /// One-line title.
    pub title: String,
    /// How common the use case is: 1 is the most common. Absent if it has no rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
    /// Typical workload of such a machine, and the aspects that were omitted.
    pub rationale: String,
    /// Source of the weights.
    pub source: String,
    /// Needs of the use case.
    #[serde(default)]
    pub needs: Vec<UseNeed>,
    /// Every contender, in the campaign's order.
    pub candidates: Vec<Candidate>,
    /// Every category with a weight in the use case, in order.
    pub groups: Vec<WeightedCategory>,
    /// Results of these categories that do not count.
    #[serde(rename = "left_out")]
    pub excluded_results: Vec<ExcludedResult>,
    /// Margin of relevance for the use.
    pub margin: Margin,
    /// The share of the weight that was tested, 0 … 1.
    pub tested: f64,
    /// Place of each contender, in the campaign's order, or `None` if it does not qualify.
    pub places: Vec<Option<Rank>>,
    /// Conclusion about the best contender.
    pub conclusion: Conclusion,
}

impl UseCaseScores {
    /// Evaluates a use with the results of a campaign.
    pub(crate) fn compute(one: &UseCase, asked: &UseScoreInput<'_>) -> Self {
        let (rows, overall) = (asked.rows, asked.overall);
        let counting = counting(one, rows, overall);
        let mut candidates: Vec<Candidate> =
            asked.features.iter().map(|features| candidate(one, features)).collect();
        for (index, candidate) in candidates.iter_mut().enumerate() {
            let failures = failures(index, &counting, asked);
            candidate.ruled_out.extend(failures);
        }
        let both = candidates.iter().zip(asked.takes_part);
        let comes: Vec<bool> = both.map(|(c, part)| *part && c.ruled_out.is_empty()).collect();
        let mut left_out = Vec::new();
        let groups = one.weights.iter().map(|weight| WeightedCategory {
            group: weight.group,
            weight: weight.weight,
            rationale: weight.rationale.clone(),
            tested_by: asked.suites.get(&weight.group).cloned().unwrap_or_default(),
            ..of_group(weight.group, &comes, asked, &mut left_out)
        });
        let groups: Vec<WeightedCategory> = groups.collect();
        let tested = groups.iter().filter(|group| !group.results.is_empty());
        let weights = tested.clone().flat_map(|group| row_weights(&group.results, group.weight));
        let margin = one.relevant.map_or(asked.margin, Margin);
        let weights: Vec<(usize, f64)> = weights.collect();
        let places = asked.costs.weighted(&weights, &comes, margin, asked.uses);
        let whole: f64 = groups.iter().map(|group| group.weight).sum();
        Self {
            // The sum of an empty sequence is −0 (IEEE 754).
            tested: (tested.map(|group| group.weight).sum::<f64>() / whole).max(0.0),
            conclusion: among(&comes, conclude(&places, |contender| comes[contender]))
                .prefer(margin, |contender| recovers(&asked.features[contender])),
            places,
            margin,
            groups,
            name: one.name.clone(),
            title: one.title.clone(),
            order: one.order,
            rationale: one.rationale.clone(),
            source: one.source.clone(),
            needs: needs(one, asked.features),
            candidates,
            excluded_results: left_out,
        }
    }
}

/// Removes contenders that do not qualify from a conclusion. They are listed with the reasons
/// elsewhere.
fn among(comes: &[bool], mut conclusion: Conclusion) -> Conclusion {
    conclusion.unranked.retain(|contender| comes[*contender]);
    conclusion
}

/// Whether a contender is consistent after a crash without a repair.
fn recovers(features: &ContenderFeatures) -> bool {
    features.crash_recovery.is_some_and(|by| by != RecoveryMechanism::None)
}

/// Inputs of the answer for a use.
pub(crate) struct UseScoreInput<'a> {
    /// The rows of the campaign.
    pub rows: &'a [ResultRow],
    /// Costs of the rows.
    pub costs: &'a RankedCosts,
    /// The scores by category.
    pub overall: &'a Overall,
    /// Whether each contender is selected.
    pub takes_part: &'a [bool],
    /// Features of each contender.
    pub features: &'a [ContenderFeatures],
    /// Cells that are not ok.
    pub failures: &'a [CellFailure],
    /// Contenders whose synced writes never reached the medium.
    pub unflushed: &'a [UnflushedSync],
    /// Default margin of relevance.
    pub margin: Margin,
    /// Number of use cases that are evaluated together.
    pub uses: usize,
    /// Suites that have tests of each category.
    pub suites: &'a SuitesByGroup,
}

/// Suites that have tests of each category, suites of a default run first.
pub type SuitesByGroup = BTreeMap<WorkloadCategory, Vec<String>>;

/// Returns the rows of the categories of a use case.
fn counting<'a>(one: &UseCase, rows: &'a [ResultRow], overall: &Overall) -> Vec<&'a ResultRow> {
    let groups = overall.groups.iter();
    groups
        .filter(|group| one.weight(group.group) > 0.0)
        .flat_map(|group| &group.shares)
        .map(|share| &rows[share.row])
        .collect()
}

fn candidate(one: &UseCase, features: &ContenderFeatures) -> Candidate {
    let mut ruled_out = Vec::new();
    let mut not_probed = Vec::new();
    if features.class == PosixClass::Baseline {
        ruled_out.push(ExclusionReason::Baseline);
    }
    ruled_out.extend(one.readers.as_ref().and_then(|r| unread(r, features)));
    if let Some(why) = &one.crash_recovery
        && features.crash_recovery == Some(RecoveryMechanism::None)
        && features.class != PosixClass::Baseline
    {
        ruled_out.push(ExclusionReason::NoCrashRecovery { why: why.clone() });
    }
    if let (Some(why), Some(record)) = (&one.crash_recovery, &features.power_cuts)
        && record.lost > 0
    {
        let (record, why) = (record.clone(), why.clone());
        ruled_out.push(ExclusionReason::LostInPowerCuts { record, why });
    }
    if let (Some(why), Some(false)) = (&one.snapshots, features.has_snapshots) {
        ruled_out.push(ExclusionReason::NoSnapshots { why: why.clone() });
    }
    for need in &one.needs {
        let state = features.features.iter().find(|s| s.feature == need.feature);
        match state.map(|s| &s.found) {
            Some(FeatureSupport::Yes | FeatureSupport::UpTo(_)) => {}
            Some(FeatureSupport::No(found) | FeatureSupport::Varies(found)) => {
                ruled_out.push(ExclusionReason::MissingFeature {
                    feature: need.feature,
                    found: found.clone(),
                    why: need.rationale.clone(),
                });
            }
            Some(FeatureSupport::NotProbed) | None => not_probed.push(need.feature),
        }
    }
    Candidate { contender: features.contender.clone(), ruled_out, not_probed }
}

/// Returns the needs of a use case.
fn needs(one: &UseCase, contenders: &[ContenderFeatures]) -> Vec<UseNeed> {
    let need = |need, why: &str, is_met: &dyn Fn(&ContenderFeatures) -> Option<bool>| UseNeed {
        need,
        why: why.to_owned(),
        met: contenders.iter().map(is_met).collect(),
    };
    let recovery = one.crash_recovery.iter();
    let recovery = recovery.map(|why| {
        need(NeedKind::CrashRecovery, why, &|of| of.crash_recovery.map(|_| recovers(of)))
    });
    let cuts = one.crash_recovery.iter().map(|why| {
        need(NeedKind::PowerCuts, why, &|of| of.power_cuts.as_ref().map(|cuts| cuts.lost == 0))
    });
    let readers = one.readers.iter().map(|readers| {
        let kind = NeedKind::Readers(readers.one_of.clone());
        need(kind, &readers.rationale, &|of| {
            (!of.facts.read_by.is_empty()).then(|| unread(readers, of).is_none())
        })
    });
    let features = one.needs.iter().map(|wanted| {
        need(NeedKind::Feature(wanted.feature), &wanted.rationale, &|of| match &of
            .features
            .iter()
            .find(|state| state.feature == wanted.feature)?
            .found
        {
            FeatureSupport::Yes | FeatureSupport::UpTo(_) => Some(true),
            FeatureSupport::No(_) | FeatureSupport::Varies(_) => Some(false),
            FeatureSupport::NotProbed => None,
        })
    });
    let snapshots = one.snapshots.iter();
    let snapshots = snapshots.map(|why| need(NeedKind::Snapshots, why, &|of| of.has_snapshots));
    recovery.chain(cuts).chain(snapshots).chain(readers).chain(features).collect()
}

/// Returns a reason if none of the required systems can read the filesystem. An unknown list of
/// readers does not rule it out.
fn unread(readers: &RequiredReaders, features: &ContenderFeatures) -> Option<ExclusionReason> {
    let read_by = features.facts.read_by.iter().map(|reader| reader.system);
    let read_by: Vec<OperatingSystem> = read_by.collect();
    let none = !read_by.is_empty() && !read_by.iter().any(|by| readers.one_of.contains(by));
    none.then(|| ExclusionReason::MissingReader { read_by, why: readers.rationale.clone() })
}

/// Returns the failures of results that count, or of the tests that contain them, including failed
/// checks. If none failed, reports whether there are any results.
fn failures(
    contender: usize,
    counting: &[&ResultRow],
    asked: &UseScoreInput<'_>,
) -> Vec<ExclusionReason> {
    let mut found = Vec::new();
    for row in counting {
        let result = &row.results[contender];
        if let Some((outcome, rounds)) =
            result.outcome_counts().into_iter().find(|(o, _)| is_against(*o))
        {
            found.push(ExclusionReason::Failure {
                test: row.test.clone(),
                phase: row.phase.clone(),
                outcome,
                reason: recorded_reason(row, contender, asked.failures),
                rounds,
                of: result.planned_rounds(),
            });
        }
    }
    found.extend(failed_around(contender, counting, asked, &found));
    found.sort_by_key(severity);
    found.extend(not_durable(contender, counting, asked));
    let has_one = counting.iter().any(|row| {
        let result = &row.results[contender];
        result.is_comparable() || result.set_apart && result.estimate.is_some()
    });
    if found.is_empty() && !has_one {
        found.push(ExclusionReason::NoResults);
    }
    found
}

/// Returns the reason of the first failed round of a result; empty if none was recorded.
fn recorded_reason(row: &ResultRow, contender: usize, cells: &[CellFailure]) -> String {
    let name = &row.results[contender].contender;
    let of_result = cells
        .iter()
        .filter(|cell| cell.contender == *name && cell.suite == row.suite && cell.test == row.test);
    let mut phases = of_result.flat_map(|cell| &cell.phases);
    let own = phases.find(|phase| phase.phase == row.phase && phase.reason.is_some());
    own.and_then(|phase| phase.reason.clone()).unwrap_or_default()
}

/// Returns a reason to exclude a contender if its synced writes are not durable and results of
/// durable writes count.
fn not_durable(
    contender: usize,
    counting: &[&ResultRow],
    asked: &UseScoreInput<'_>,
) -> Option<ExclusionReason> {
    let name = &asked.features.get(contender)?.contender;
    let counts = counting.iter().any(|row| row.results[contender].set_apart);
    let found = asked.unflushed.iter().find(|f| f.contender == *name)?;
    let operations = found.operations;
    counts.then_some(ExclusionReason::NotDurable { operations })
}

/// Returns the place of a failure among others, the worst first: damage, then dead drivers.
fn severity(reason: &ExclusionReason) -> u8 {
    match reason {
        ExclusionReason::Failure { phase, .. } if phase == CHECK_STEP => 0,
        ExclusionReason::Failure { outcome: RoundOutcome::Crashed, .. } => 1,
        ExclusionReason::Failure { outcome: RoundOutcome::Failed, .. } => 2,
        _ => 3,
    }
}

fn is_against(outcome: RoundOutcome) -> bool {
    outcome.is_failure() && outcome != RoundOutcome::Unsupported
}

/// Returns failures outside of phases that count: failed cells of counting tests, and damage found
/// by the filesystem check in any test. Damage counts for every use case.
fn failed_around(
    contender: usize,
    counting: &[&ResultRow],
    asked: &UseScoreInput<'_>,
    known: &[ExclusionReason],
) -> Vec<ExclusionReason> {
    let cells = asked.failures;
    let mut found: Vec<ExclusionReason> = Vec::new();
    for cell in cells {
        let is_of = |row: &ResultRow| {
            row.suite == cell.suite
                && row.test == cell.test
                && row.results[contender].contender == cell.contender
        };
        let row = asked.rows.iter().find(|row| is_of(row));
        let counts = counting.iter().any(|row| is_of(row));
        let outcome = RoundOutcome::from(cell.status);
        let is_known = |known: &[ExclusionReason]| {
            known.iter().any(
                |reason| matches!(reason, ExclusionReason::Failure { test, .. } if *test == cell.test),
            )
        };
        // Failures of phases are counted with the results of these phases.
        let is_around = counts && cell.phases.is_empty() || cell.is_damage();
        let is_around = is_around && is_against(outcome);
        let Some(row) = row.filter(|_| is_around) else {
            continue;
        };
        if is_known(known) || is_known(&found) {
            continue;
        }
        let same = cells.iter().filter(|other| {
            (&other.contender, &other.suite, &other.test, other.status)
                == (&cell.contender, &cell.suite, &cell.test, cell.status)
        });
        found.push(ExclusionReason::Failure {
            test: cell.test.clone(),
            phase: cell.step.clone(),
            outcome,
            reason: cell.reason.clone(),
            rounds: u32::try_from(same.count()).unwrap_or(u32::MAX),
            of: row.results[contender].planned_rounds(),
        });
    }
    found
}

/// Returns a category with the results that all qualifying contenders have.
fn of_group(
    group: WorkloadCategory,
    comes: &[bool],
    asked: &UseScoreInput<'_>,
    left_out: &mut Vec<ExcludedResult>,
) -> WeightedCategory {
    let shares = asked.overall.groups.iter().find(|g| g.group == group);
    let mut results = Vec::new();
    for share in shares.map_or(&[][..], |g| &g.shares) {
        let row = &asked.rows[share.row];
        let lacking = lacking(row, comes);
        if lacking.is_empty() {
            results.push(*share);
        } else {
            left_out.push(ExcludedResult {
                test: row.test.clone(),
                phase: row.phase.clone(),
                lacking,
            });
        }
    }
    WeightedCategory {
        group,
        weight: 0.0,
        rationale: String::new(),
        tested_by: Vec::new(),
        ratios: asked.costs.ratios(&row_weights(&results, 1.0), comes),
        results,
    }
}

fn lacking(row: &ResultRow, comes: &[bool]) -> Vec<(String, String)> {
    let results = row.results.iter().zip(comes);
    results
        .filter(|(result, comes)| **comes && !result.is_comparable())
        .map(|(result, _)| {
            let words: Vec<&str> = result.outcome_counts().iter().map(|(o, _)| o.name()).collect();
            (result.contender.clone(), words.join("/"))
        })
        .collect()
}

#[cfg(test)]
#[path = "use_scores_tests.rs"]
mod tests;
