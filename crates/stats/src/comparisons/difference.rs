//! Compares two campaigns, or two contenders of one: changes, their size and their significance.
//!
//! Campaigns are compared contender by contender, matched by name, and result by result. Rounds of
//! two campaigns are unrelated, except those of equal seeds in virtual time; rounds of two
//! contenders of one campaign are paired. All compared results are one family
//! ([`crate::inference::compare_pairs`]): at most one in twenty of the results called better or worse is
//! not.
//!
//! Results are compared only if the work, the cache state, the end of the phase, the clock and the
//! backend are the same. A test that fails only after is a change that needs no statistical test.

use std::collections::BTreeMap;

use model::{
    CampaignResults, Clock, Contender, Direction, Metric, Phase, ResultSelector, Test, Unit,
    WorkloadCategory,
};
use serde::Serialize;

use crate::comparisons::blocked_by_host::HostBlock;
use crate::comparisons::setting_diff::{self, IncomparableCampaigns, SettingChange};
use crate::inference::{BlockDesign, ComparisonResult, PairedResult, compare_pairs, overall};
use crate::results::paired::{
    ComparisonKey, RowPair, caches, design_within_campaign, is_sound, logs, paired_costs,
};
use crate::{
    Analysis, ComparisonVerdict, Margin, MetricResult, ResultRow, RobustEstimate, RoundOutcome,
};

/// Filter for the results to compare.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareFilter {
    /// Contenders by name, or empty for all that both campaigns have.
    pub contenders: Vec<String>,
    /// Results by pattern, or empty for all.
    pub results: Vec<ResultSelector>,
    /// Whether every metric with a direction is compared, and not only the metric that ranks a
    /// phase.
    pub every_metric: bool,
    /// Margin of relevance.
    pub margin: Margin,
}

impl CompareFilter {
    fn wants(&self, row: &ResultRow, test: &Test) -> bool {
        if row.direction == Direction::Neutral || row.metric == Metric::Supported {
            return false;
        }
        let by_default = row.primary || self.every_metric;
        let sweep = test.sweep.as_ref().map(|point| point.sweep.as_str());
        let named = |pattern: &ResultSelector| {
            let metric = match pattern.metric() {
                Some(_) => pattern.matches_metric(row.metric, row.primary),
                None => by_default,
            };
            metric && pattern.matches_phase(&row.test, sweep, &row.phase)
        };
        match self.results.is_empty() {
            true => by_default,
            false => self.results.iter().any(named),
        }
    }
}

/// One result before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultChange {
    /// Name of the contender. If two contenders are compared, name of the second.
    pub contender: String,
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// Metric of the values.
    pub metric: Metric,
    /// Their unit.
    pub unit: Unit,
    /// Direction of better values.
    pub direction: Direction,
    /// Before.
    pub before: RobustEstimate,
    /// After.
    pub after: RobustEstimate,
    /// The geometric means before and after, over rounds or sessions. The cost ratio is computed
    /// from these means.
    pub means: [f64; 2],
    /// Cost after, relative to before.
    pub compared: ComparisonResult,
}

impl ResultChange {
    /// Returns true if the result is worse by more than the margin.
    pub fn is_regression(&self) -> bool {
        matches!(self.compared.verdict, ComparisonVerdict::WorseByAtLeast(_))
    }
}

/// A phase that was ok in every round before, but not after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewFailure {
    /// Name of the contender.
    pub contender: String,
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// Outcome after.
    pub outcome: RoundOutcome,
    /// Number of rounds with this outcome.
    pub rounds: u32,
    /// Number of planned rounds.
    #[serde(rename = "of")]
    pub planned_rounds: u32,
    /// Reason in one line; empty if unknown.
    #[serde(default)]
    #[serde(rename = "why")]
    pub reason: String,
}

/// Change of a contender over all its results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverallChange {
    /// Name of the contender.
    pub contender: String,
    /// Number of results in the mean: those of primary metrics.
    pub results: u32,
    /// Cost after relative to before, as the geometric mean over these results, or `None` if no
    /// round is complete.
    pub cost: Option<ComparisonResult>,
}

/// A test whose results are not compared, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IncomparableTest {
    /// Name of the test.
    pub test: String,
    /// The difference between the two phases.
    pub phase: String,
    /// What differs.
    #[serde(rename = "why")]
    pub reason: String,
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CampaignComparison {
    /// Whether rounds are paired, because two contenders of one campaign are compared.
    pub paired: bool,
    /// The numbers of the campaigns of each side, if sessions rather than their rounds are
    /// compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<[Vec<i64>; 2]>,
    /// The two contenders, if they are of one campaign or ran on the same hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<[String; 2]>,
    /// The hosts whose means are compared, if two contenders ran on each host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostBlock>,
    /// Number of disturbed cells and number of all cells, for each side.
    pub disturbed: [[u32; 2]; 2],
    /// Differences in the settings.
    pub settings: Vec<SettingChange>,
    /// Contenders that are in only one of the campaigns.
    pub only_in_one: Vec<String>,
    /// Phases that do not have the same work or were not measured in the same way.
    pub not_the_same: Vec<IncomparableTest>,
    /// Every result that was compared.
    pub changes: Vec<ResultChange>,
    /// Tests that fail after and did not before.
    pub new_failures: Vec<NewFailure>,
    /// Tests that failed only after.
    pub overall: Vec<OverallChange>,
    /// Margin of relevance: a regression costs more than this share more.
    pub margin: Margin,
    /// Whether another program measured the results, so that they cannot be run again here.
    #[serde(skip)]
    pub elsewhere: bool,
}

impl CampaignComparison {
    /// Returns the contenders that are worse over all their results by more than the margin.
    pub fn worse_overall(&self) -> impl Iterator<Item = (&OverallChange, f64)> {
        self.overall.iter().filter_map(|overall| match overall.cost?.verdict {
            ComparisonVerdict::WorseByAtLeast(share) => Some((overall, share)),
            _ => None,
        })
    }

    /// Returns the results that are worse by more than the margin.
    pub fn regressions(&self) -> impl Iterator<Item = &ResultChange> {
        self.changes.iter().filter(|change| change.is_regression())
    }

    /// Whether every compared result is undecided: the rounds show neither a difference nor its
    /// absence.
    pub fn decides_nothing(&self) -> bool {
        let is_open = |change: &ResultChange| {
            matches!(change.compared.verdict, ComparisonVerdict::Undecided { .. })
        };
        !self.changes.is_empty() && self.changes.iter().all(is_open)
    }

    /// Returns the smallest regression that would be detected in every result: the sensitivity of a
    /// guard.
    pub fn minimum_detectable_effect(&self) -> Option<f64> {
        let all = self.changes.iter().map(|change| change.compared.detectable);
        all.reduce(f64::max)
    }
}

/// A campaign with its analysis.
#[derive(Clone, Copy, Debug)]
pub struct AnalysedCampaign<'a> {
    /// The facts.
    pub results: &'a CampaignResults,
    /// Analysis of the results.
    pub analysis: &'a Analysis,
}

impl<'a> AnalysedCampaign<'a> {
    /// Combines a campaign with its analysis.
    pub const fn new(results: &'a CampaignResults, analysis: &'a Analysis) -> Self {
        Self { results, analysis }
    }

    pub(super) fn contender(
        &self,
        name: &str,
    ) -> Result<(usize, &'a Contender), IncomparableCampaigns> {
        let all = &self.results.campaign.contenders;
        let found = all.iter().enumerate().find(|(_, contender)| contender.name == name);
        found.ok_or_else(|| IncomparableCampaigns::NoContender {
            name: name.to_owned(),
            known: all.iter().map(|contender| contender.name.clone()).collect(),
        })
    }

    /// Returns the workload category of a row.
    pub(super) fn category(&self, row: &ResultRow) -> Option<WorkloadCategory> {
        self.results.campaign.category(&row.suite, &row.test, &row.phase)
    }

    /// Returns tests and phases by the names of suite, test and phase.
    fn phases(&self) -> BTreeMap<(&'a str, &'a str, &'a str), (&'a Test, &'a Phase)> {
        let suites = self.results.campaign.suites.iter();
        let tests = suites.flat_map(|suite| &suite.tests);
        tests
            .flat_map(|test| test.phases.iter().map(move |phase| (test, phase)))
            .map(|(test, phase)| {
                let key = (test.suite.as_str(), test.name.as_str(), phase.name.as_str());
                (key, (test, phase))
            })
            .collect()
    }
}

/// Compares two campaigns.
///
/// # Errors
/// Returns an error if their clocks or backends differ, if a requested contender does not exist, or
/// if no result can be compared.
pub fn compare_campaigns(
    before: AnalysedCampaign<'_>,
    after: AnalysedCampaign<'_>,
    wanted: &CompareFilter,
) -> Result<CampaignComparison, IncomparableCampaigns> {
    compare_sessions(&[before], &[after], wanted)
}

/// Compares two campaigns, each the first of several sessions of the same campaign. The sessions
/// show how much campaigns vary.
///
/// # Errors
/// Returns an error if [`compare_campaigns`] returns one.
///
/// # Panics
/// Panics if there is no campaign on a side.
pub fn compare_sessions(
    before_all: &[AnalysedCampaign<'_>],
    after_all: &[AnalysedCampaign<'_>],
    wanted: &CompareFilter,
) -> Result<CampaignComparison, IncomparableCampaigns> {
    let (before, after) = (before_all[0], after_all[0]);
    setting_diff::check_comparable(before.results, after.results)?;
    let (pairs, only_in_one) = matched(before, after, &wanted.contenders)?;
    let settings = setting_diff::campaign_differences(before.results, after.results, &pairs);
    let pairing = match before_all.len() + after_all.len() {
        2 => pairing(before.results, after.results),
        _ => BlockDesign::BySession,
    };
    let sides = [before_all, after_all];
    compare(sides, &pairs, wanted, pairing, settings, only_in_one)
}

/// Compares two contenders of one campaign, by their names.
///
/// # Errors
/// Returns an error if one does not exist, or if no result can be compared.
pub fn compare_contenders(
    campaign: AnalysedCampaign<'_>,
    before: &str,
    after: &str,
    wanted: &CompareFilter,
) -> Result<CampaignComparison, IncomparableCampaigns> {
    let (first, of_first) = campaign.contender(before)?;
    let (second, of_second) = campaign.contender(after)?;
    let settings = setting_diff::contender_differences(campaign.results, of_first, of_second);
    let pairs = [(first, second)];
    let pairing = design_within_campaign(campaign.results.campaign.clock);
    let campaign = [campaign];
    let sides = [&campaign[..]; 2];
    let found = compare(sides, &pairs, wanted, pairing, settings, Vec::new())?;
    Ok(CampaignComparison {
        disturbed: [before, after].map(|name| disturbed(&campaign, Some(name))),
        within: Some([before, after].map(str::to_owned)),
        ..found
    })
}

/// Compares two versions: a contender of one campaign with one of another. The names may differ.
///
/// # Errors
/// Returns the errors of [`compare_campaigns`].
pub fn compare_versions(
    (before, old): (AnalysedCampaign<'_>, &str),
    (after, new): (AnalysedCampaign<'_>, &str),
    wanted: &CompareFilter,
) -> Result<CampaignComparison, IncomparableCampaigns> {
    setting_diff::check_comparable(before.results, after.results)?;
    let (first, of_first) = before.contender(old)?;
    let (second, of_second) = after.contender(new)?;
    let mut settings = setting_diff::campaign_differences(before.results, after.results, &[]);
    settings.extend(setting_diff::contender_differences(after.results, of_first, of_second));
    let pairing = pairing(before.results, after.results);
    let sides = [&[before][..], &[after][..]];
    let pairs = [(first, second)];
    compare(sides, &pairs, wanted, pairing, settings, Vec::new())
}

/// Indexes of the compared contenders, before and after, and the names of the others.
pub(super) type Matched = (Vec<(usize, usize)>, Vec<String>);

/// Returns the pairing of rounds of two campaigns. Rounds are paired only in virtual time with
/// equal seeds, because then only the compared contenders differ.
fn pairing(before: &CampaignResults, after: &CampaignResults) -> BlockDesign {
    match (before.campaign.clock, before.campaign.seed == after.campaign.seed) {
        (Clock::Virtual, true) => BlockDesign::Deterministic,
        _ => BlockDesign::Unpaired,
    }
}

/// Returns the indexes of the contenders that both have, and the names of those that only one has.
/// If both campaigns have a single contender, these two are compared, even if their names differ.
pub(super) fn matched(
    before: AnalysedCampaign<'_>,
    after: AnalysedCampaign<'_>,
    wanted: &[String],
) -> Result<Matched, IncomparableCampaigns> {
    let (old, new) = (&before.analysis.contenders, &after.analysis.contenders);
    if old.len() == 1 && new.len() == 1 && wanted.is_empty() {
        return Ok((vec![(0, 0)], Vec::new()));
    }
    for name in wanted {
        before.contender(name)?;
        after.contender(name)?;
    }
    let is_wanted = |name: &String| wanted.is_empty() || wanted.contains(name);
    let place = |name: &String| new.iter().position(|other| other == name);
    let pairs = old.iter().enumerate().filter(|(_, name)| is_wanted(name));
    let pairs = pairs.filter_map(|(index, name)| Some((index, place(name)?)));
    let alone = |mine: &[String], theirs: &[String]| -> Vec<String> {
        let alone = mine.iter().filter(|n| is_wanted(n) && !theirs.contains(n));
        alone.cloned().collect()
    };
    Ok((pairs.collect(), [alone(old, new), alone(new, old)].concat()))
}

fn compare(
    sessions: [&[AnalysedCampaign<'_>]; 2],
    pairs: &[(usize, usize)],
    wanted: &CompareFilter,
    pairing: BlockDesign,
    settings: Vec<SettingChange>,
    only_in_one: Vec<String>,
) -> Result<CampaignComparison, IncomparableCampaigns> {
    let [before, after] = sessions.map(|side| side[0]);
    let numbers = |side: usize| sessions[side].iter().map(|one| one.results.id).collect();
    let mut found = CampaignComparison {
        paired: matches!(pairing, BlockDesign::PairedByRound | BlockDesign::Deterministic),
        sessions: (pairing == BlockDesign::BySession).then(|| [numbers(0), numbers(1)]),
        within: None,
        hosts: Vec::new(),
        disturbed: sessions.map(|side| disturbed(side, None)),
        settings,
        only_in_one,
        not_the_same: Vec::new(),
        changes: Vec::new(),
        new_failures: Vec::new(),
        overall: Vec::new(),
        margin: wanted.margin,
        elsewhere: after.results.campaign.measured_by.is_some(),
    };
    let rows = common_rows(before, after, wanted, &mut found.not_the_same);
    let mut compared: Vec<(RowPair<'_>, PairedResult)> = Vec::new();
    for (contender, &(old, new)) in pairs.iter().enumerate() {
        for (number, (a, b)) in rows.iter().enumerate() {
            let sides = (*b, &a.results[old], &b.results[new]);
            found.new_failures.extend(new_failure(sides, sessions[1]));
            let place = ComparisonKey { number, contender };
            let Some(mut beside) = paired_costs(sides, place, &rows) else {
                continue;
            };
            if pairing == BlockDesign::BySession {
                beside.before = session_means(sessions[0], a, &a.results[old]);
                beside.after = session_means(sessions[1], b, &b.results[new]);
            }
            compared.push((sides, beside));
        }
    }
    found.changes = result_changes(&compared, pairing, wanted.margin);
    found.overall = per_contender(&compared, pairing, wanted.margin);
    if found.changes.is_empty() && found.new_failures.is_empty() {
        return Err(IncomparableCampaigns::NoCommonResults);
    }
    Ok(found)
}

/// Returns the number of disturbed cells of these sessions and the number of cells that ran,
/// optionally of one contender only.
pub(super) fn disturbed(sessions: &[AnalysedCampaign<'_>], contender: Option<&str>) -> [u32; 2] {
    let is_meant = |name: &String| contender.is_none_or(|wanted| wanted == name);
    let count = |of: &dyn Fn(&AnalysedCampaign<'_>) -> usize| {
        u32::try_from(sessions.iter().map(of).sum::<usize>()).unwrap_or(u32::MAX)
    };
    let last = |one: &AnalysedCampaign<'_>| {
        let cells = one.analysis.disturbed.iter();
        let cells = cells.filter(|cell| is_meant(&cell.contender));
        cells.filter(|cell| cell.disturbance.is_some()).count()
    };
    let ran = |one: &AnalysedCampaign<'_>| {
        let cells = one.results.cells.iter();
        let cells = cells.filter(|stored| is_meant(&stored.cell.contender));
        cells.filter(|stored| stored.result.is_some()).count()
    };
    [count(&last), count(&ran)]
}

/// Returns the requested rows that both campaigns have, before and after, and the names of those
/// that are not comparable.
pub(super) fn common_rows<'a>(
    before: AnalysedCampaign<'a>,
    after: AnalysedCampaign<'a>,
    wanted: &CompareFilter,
    not_the_same: &mut Vec<IncomparableTest>,
) -> Vec<(&'a ResultRow, &'a ResultRow)> {
    let (old_phases, new_phases) = (before.phases(), after.phases());
    let key = |row: &'a ResultRow| (row.suite.as_str(), row.test.as_str(), row.phase.as_str());
    let old_rows: BTreeMap<_, &ResultRow> =
        before.analysis.rows.iter().map(|row| ((key(row), row.metric), row)).collect();
    let mut rows = Vec::new();
    for new in &after.analysis.rows {
        let Some((test, phase)) = new_phases.get(&key(new)) else {
            continue;
        };
        let Some(old) = old_rows.get(&(key(new), new.metric)) else {
            continue;
        };
        if !wanted.wants(new, test) {
            continue;
        }
        match old_phases.get(&key(new)).and_then(|(_, old)| differs(old, phase)) {
            None => rows.push((*old, new)),
            Some(why) if not_the_same.iter().any(|n| is_of(n, new) && n.reason == why) => {}
            Some(why) => not_the_same.push(IncomparableTest {
                test: new.test.clone(),
                phase: new.phase.clone(),
                reason: why.to_owned(),
            }),
        }
    }
    rows
}

fn is_of(named: &IncomparableTest, row: &ResultRow) -> bool {
    named.test == row.test && named.phase == row.phase
}

/// Returns the reason if two phases have different work.
fn differs(before: &Phase, after: &Phase) -> Option<&'static str> {
    if before.op != after.op {
        Some("its work differs: another size, or another operation")
    } else if before.cache != after.cache {
        Some("it is planned in another cache state")
    } else if before.sync_at_end != after.sync_at_end {
        Some("it ends elsewhere")
    } else {
        None
    }
}

/// Returns the failure if a row fails after and was ok in every round before.
fn new_failure<'a>(
    (row, before, after): RowPair<'_>,
    sessions: &[AnalysedCampaign<'a>],
) -> Option<NewFailure> {
    let was_ok = before.estimate.is_some() && !before.has_failed_rounds();
    let failed = |(outcome, _): &(RoundOutcome, u32)| outcome.is_failure();
    let failure = |of: AnalysedCampaign<'a>| {
        let (_, after) = find_result(&of, row, &after.contender)?;
        let (outcome, rounds) = after.outcome_counts().into_iter().find(failed)?;
        Some((of, after.planned_rounds(), outcome, rounds))
    };
    let (of, planned, outcome, rounds) = sessions.iter().copied().find_map(failure)?;
    (was_ok && row.primary).then(|| NewFailure {
        contender: after.contender.clone(),
        test: row.test.clone(),
        phase: row.phase.clone(),
        outcome,
        rounds,
        planned_rounds: planned,
        reason: {
            let mut failures = of.analysis.failures.iter();
            let key = (&after.contender, &row.suite, &row.test);
            let found = failures.find(|f| (&f.contender, &f.suite, &f.test) == key);
            found.map_or_else(String::new, |found| found.reason.clone())
        },
    })
}

/// Returns the corresponding result in another session.
pub(super) fn find_result<'a>(
    of: &AnalysedCampaign<'a>,
    row: &ResultRow,
    contender: &str,
) -> Option<(&'a ResultRow, &'a MetricResult)> {
    let is_same = |other: &&ResultRow| {
        (&other.suite, &other.test, &other.phase, other.metric)
            == (&row.suite, &row.test, &row.phase, row.metric)
    };
    let row = of.analysis.rows.iter().find(is_same)?;
    let mut results = row.results.iter();
    Some((row, results.find(|other| other.contender == contender)?))
}

/// Returns the mean log cost of a result in each session that has it and measured it in the same
/// way.
fn session_means(
    sessions: &[AnalysedCampaign<'_>],
    row: &ResultRow,
    result: &MetricResult,
) -> Vec<Option<f64>> {
    let mean = |session: &AnalysedCampaign<'_>| {
        let (row, same) = find_result(session, row, &result.contender)?;
        let same =
            Some(same).filter(|same| is_sound(row, same) && caches(same) == caches(result))?;
        let logs: Vec<f64> = logs(row, same).into_iter().flatten().collect();
        Some(logs.iter().sum::<f64>() / logs.len() as f64)
    };
    sessions.iter().map(mean).collect()
}

/// Returns the change of each result.
pub(super) fn result_changes(
    compared: &[(RowPair<'_>, PairedResult)],
    pairing: BlockDesign,
    margin: Margin,
) -> Vec<ResultChange> {
    let besides: Vec<PairedResult> = compared.iter().map(|(_, beside)| beside.clone()).collect();
    let changes = compared.iter().zip(compare_pairs(&besides, pairing, margin));
    let changes = changes.filter_map(|(((row, before, after), beside), compared)| {
        Some(ResultChange {
            contender: after.contender.clone(),
            suite: row.suite.clone(),
            test: row.test.clone(),
            phase: row.phase.clone(),
            metric: row.metric,
            unit: row.unit,
            direction: row.direction,
            before: before.estimate?,
            after: after.estimate?,
            means: [&beside.before, &beside.after].map(|logs| mean(logs, row.direction)),
            compared: compared?,
        })
    });
    changes.collect()
}

/// Returns the geometric mean of values, from the logarithms of their costs.
fn mean(logs: &[Option<f64>], direction: Direction) -> f64 {
    let logs: Vec<f64> = logs.iter().flatten().copied().collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    match direction {
        Direction::Higher => (-mean).exp(),
        Direction::Lower | Direction::Neutral => mean.exp(),
    }
}

/// Returns the change of each contender over its results of primary metrics.
pub(super) fn per_contender(
    compared: &[(RowPair<'_>, PairedResult)],
    pairing: BlockDesign,
    margin: Margin,
) -> Vec<OverallChange> {
    let primary = compared.iter().filter(|((row, ..), _)| row.primary);
    let primary: Vec<_> = primary.collect();
    let besides: Vec<PairedResult> = primary.iter().map(|(_, beside)| beside.clone()).collect();
    let of_contender = |(contender, cost): (usize, Option<ComparisonResult>)| {
        let own = primary.iter().filter(|(_, b)| b.contender == contender);
        let mut name = own.clone().map(|((.., after), _)| after.contender.clone());
        OverallChange {
            contender: name.next().unwrap_or_default(),
            results: u32::try_from(own.count()).unwrap_or(u32::MAX),
            cost,
        }
    };
    let overall = overall(&besides, pairing, margin);
    overall.into_iter().map(of_contender).collect()
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
