//! Two campaigns, or two contenders of one, side by side: what changed, by how much, how surely.
//!
//! Campaigns are compared contender by contender, matched by name, and result by result. Rounds of two
//! campaigns have nothing to do with each other ([`Effect::unpaired`]); those of two contenders of one
//! campaign are paired ([`Effect::paired`]). All results that are compared are one family: p values are
//! corrected for their number by Holm's method, so that of two campaigns that do not differ some result
//! is called changed in at most [`FALSE_DIFFERENCE_LIMIT`] of all cases.
//!
//! Compared is only what is the same work, in the same cache state and to the same end, on the same
//! clock and backend. What fails after and did not before is a change that needs no test.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CacheState, CampaignResults, Contender, Direction, FigurePattern, Metric, Phase, Test, Unit,
};
use serde::{Deserialize, Serialize};

use crate::campaigns::settings::{self, CannotCompare, SettingChange};
use crate::groups::overall::log_cost;
use crate::statistics::pairwise::{holm, significance};
use crate::statistics::rank_sum;
use crate::{
    Analysis, Effect, Estimate, FALSE_DIFFERENCE_LIMIT, MetricResult, RoundOutcome, Row,
    Significance, rounds_needed,
};

/// Which results are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Contenders by name; all that both have where empty.
    pub contenders: Vec<String>,
    /// Results by pattern; all where empty.
    pub results: Vec<FigurePattern>,
    /// Whether every metric that has a better and a worse is compared, and not only that by which a
    /// phase is ranked.
    pub every_metric: bool,
}

impl Wanted {
    fn wants(&self, row: &Row, test: &Test) -> bool {
        if row.direction == Direction::Neutral || row.metric == Metric::Supported {
            return false;
        }
        let by_default = row.primary || self.every_metric;
        let sweep = test.sweep.as_ref().map(|point| point.of.as_str());
        let named = |pattern: &FigurePattern| {
            let metric = match pattern.metric() {
                Some(_) => pattern.means(row.metric, row.primary),
                None => by_default,
            };
            metric && pattern.names_phase(&row.test, sweep, &row.phase)
        };
        match self.results.is_empty() {
            true => by_default,
            false => self.results.iter().any(named),
        }
    }
}

/// One result before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Name of the contender; of two contenders, that of the second.
    pub contender: String,
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// What the numbers say.
    pub metric: Metric,
    /// Their unit.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// Before.
    pub before: Estimate,
    /// After.
    pub after: Estimate,
    /// After as a multiple of before.
    pub effect: Effect,
    /// The p value corrected for all results that are compared.
    pub p_corrected: f64,
    /// What it came to: whether after is better or worse than before.
    pub significance: Significance,
    /// How much worse, as a share of before; negative where it is better.
    pub worse_by: f64,
}

impl Change {
    /// Whether it is surely worse, and by more than this share of before.
    pub fn is_regression(&self, threshold: f64) -> bool {
        self.significance == Significance::Worse && self.worse_by > threshold
    }
}

/// A phase that was ok in every round before and is not after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFailure {
    /// Name of the contender.
    pub contender: String,
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// What became of it.
    pub outcome: RoundOutcome,
    /// In how many rounds.
    pub rounds: u32,
    /// Of how many.
    pub of: u32,
}

/// A contender over all its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverallChange {
    /// Name of the contender.
    pub contender: String,
    /// Results that the mean is over: those of primary metrics.
    pub results: u32,
    /// What it costs after as a multiple of before, the geometric mean over these results in each round;
    /// absent where no round is whole. Its p value is not corrected.
    pub cost: Option<Effect>,
}

/// Why results of a test are not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotTheSame {
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// What differs.
    pub why: String,
}

/// What a comparison came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// Whether rounds are paired: two contenders of one campaign.
    pub paired: bool,
    /// What differs in the setting.
    pub settings: Vec<SettingChange>,
    /// Contenders that only one of the campaigns has.
    pub only_in_one: Vec<String>,
    /// Phases that are not the same work, or were not taken in the same way.
    pub not_the_same: Vec<NotTheSame>,
    /// Every result that was compared.
    pub changes: Vec<Change>,
    /// What fails after and did not before.
    pub new_failures: Vec<NewFailure>,
    /// Each contender over all its results.
    pub overall: Vec<OverallChange>,
    /// Rounds, in each campaign, from which on any difference among so many results can be shown;
    /// absent where there are enough.
    pub rounds_needed: Option<u32>,
}

impl Differences {
    /// Results that are surely worse by more than a share of before.
    pub fn regressions(&self, threshold: f64) -> impl Iterator<Item = &Change> {
        let changes = self.changes.iter();
        changes.filter(move |change| change.is_regression(threshold))
    }
}

/// A campaign with its analysis.
#[derive(Clone, Copy, Debug)]
pub struct Analysed<'a> {
    /// The facts.
    pub results: &'a CampaignResults,
    /// What follows from them.
    pub analysis: &'a Analysis,
}

impl<'a> Analysed<'a> {
    /// A campaign beside what follows from it.
    pub const fn new(results: &'a CampaignResults, analysis: &'a Analysis) -> Self {
        Self { results, analysis }
    }

    fn contender(&self, name: &str) -> Result<(usize, &'a Contender), CannotCompare> {
        let mut contenders = self.results.campaign.contenders.iter().enumerate();
        contenders
            .find(|(_, contender)| contender.name == name)
            .ok_or_else(|| CannotCompare::NoContender(name.to_owned()))
    }

    /// Tests and phases by the names of suite, test and phase.
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
/// When they are in different clocks or backends, a contender that is asked for is not there, or
/// there is nothing to compare.
pub fn compare_campaigns(
    before: Analysed<'_>,
    after: Analysed<'_>,
    wanted: &Wanted,
) -> Result<Differences, CannotCompare> {
    settings::same_ground(before.results, after.results)?;
    let (pairs, only_in_one) = matched(before, after, &wanted.contenders)?;
    let settings = settings::of_campaigns(before.results, after.results, &pairs);
    compare(before, after, &pairs, wanted, false, settings, only_in_one)
}

/// Compares two contenders of one campaign, by their names.
///
/// # Errors
/// When one is not there, or there is nothing to compare.
pub fn compare_contenders(
    campaign: Analysed<'_>,
    before: &str,
    after: &str,
    wanted: &Wanted,
) -> Result<Differences, CannotCompare> {
    let (first, of_first) = campaign.contender(before)?;
    let (second, of_second) = campaign.contender(after)?;
    let settings = settings::of_contenders(of_first, of_second);
    let pairs = [(first, second)];
    compare(
        campaign,
        campaign,
        &pairs,
        wanted,
        true,
        settings,
        Vec::new(),
    )
}

/// Places of the contenders that are compared, before and after, and names of those that are not.
type Matched = (Vec<(usize, usize)>, Vec<String>);

/// A row with a contender's result before and after.
type Beside<'a> = (&'a Row, &'a MetricResult, &'a MetricResult);

/// Places of the contenders that both have, and names of those that one has alone. Two campaigns of one
/// contender each are about these, whatever they are called.
fn matched(
    before: Analysed<'_>,
    after: Analysed<'_>,
    wanted: &[String],
) -> Result<Matched, CannotCompare> {
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
    before: Analysed<'_>,
    after: Analysed<'_>,
    pairs: &[(usize, usize)],
    wanted: &Wanted,
    paired: bool,
    settings: Vec<SettingChange>,
    only_in_one: Vec<String>,
) -> Result<Differences, CannotCompare> {
    let mut found = Differences {
        paired,
        settings,
        only_in_one,
        not_the_same: Vec::new(),
        changes: Vec::new(),
        new_failures: Vec::new(),
        overall: Vec::new(),
        rounds_needed: None,
    };
    let rows = rows_in_common(before, after, wanted, &mut found.not_the_same);
    for &(old, new) in pairs {
        let results = rows
            .iter()
            .map(|(a, b)| (*b, &a.results[old], &b.results[new]));
        let results: Vec<_> = results.collect();
        for &(row, old, new) in &results {
            found.new_failures.extend(new_failure(row, old, new));
            found.changes.extend(change(row, old, new, paired));
        }
        let name = after.analysis.contenders[new].clone();
        found.overall.push(overall(name, &results, paired));
    }
    if found.changes.is_empty() && found.new_failures.is_empty() {
        return Err(CannotCompare::NothingInCommon);
    }
    correct(&mut found);
    Ok(found)
}

/// Rows that both campaigns have and that are wanted, before and after; those that are not the same
/// are named.
fn rows_in_common<'a>(
    before: Analysed<'a>,
    after: Analysed<'a>,
    wanted: &Wanted,
    not_the_same: &mut Vec<NotTheSame>,
) -> Vec<(&'a Row, &'a Row)> {
    let (old_phases, new_phases) = (before.phases(), after.phases());
    let key = |row: &'a Row| (row.suite.as_str(), row.test.as_str(), row.phase.as_str());
    let old_rows: BTreeMap<_, &Row> = before
        .analysis
        .rows
        .iter()
        .map(|row| ((key(row), row.metric), row))
        .collect();
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
        match old_phases
            .get(&key(new))
            .and_then(|(_, old)| differs(old, phase))
        {
            None => rows.push((*old, new)),
            Some(why) if not_the_same.iter().any(|n| is_of(n, new) && n.why == why) => {}
            Some(why) => not_the_same.push(NotTheSame {
                test: new.test.clone(),
                phase: new.phase.clone(),
                why: why.to_owned(),
            }),
        }
    }
    rows
}

fn is_of(named: &NotTheSame, row: &Row) -> bool {
    named.test == row.test && named.phase == row.phase
}

/// Why two phases are not the same work.
fn differs(before: &Phase, after: &Phase) -> Option<&'static str> {
    if before.op != after.op {
        Some("its work differs: another size, or another operation")
    } else if before.cache != after.cache {
        Some("it is planned in another cache state")
    } else if before.ends != after.ends {
        Some("it ends elsewhere")
    } else {
        None
    }
}

/// What fails after and was ok in every round before.
fn new_failure(row: &Row, before: &MetricResult, after: &MetricResult) -> Option<NewFailure> {
    let was_ok = before.estimate.is_some() && !before.has_failed_rounds();
    let failed = |(outcome, _): &(RoundOutcome, u32)| outcome.is_failure();
    let (outcome, rounds) = after.words().into_iter().find(failed)?;
    (was_ok && row.primary).then(|| NewFailure {
        contender: after.contender.clone(),
        test: row.test.clone(),
        phase: row.phase.clone(),
        outcome,
        rounds,
        of: u32::try_from(after.rounds.len()).unwrap_or(u32::MAX),
    })
}

/// A result before and after, where both were taken in the same way and in no failed round.
fn change(row: &Row, before: &MetricResult, after: &MetricResult, paired: bool) -> Option<Change> {
    let sound =
        |result: &MetricResult| !result.has_failed_rounds() && !result.is_lower_bound(row.metric);
    if !(sound(before) && sound(after) && caches(before) == caches(after)) {
        return None;
    }
    let effect = effect(&series(after), &series(before), paired)?;
    let worse_by = match row.direction {
        Direction::Higher => 1.0 - effect.ratio,
        Direction::Lower | Direction::Neutral => effect.ratio - 1.0,
    };
    Some(Change {
        contender: after.contender.clone(),
        suite: row.suite.clone(),
        test: row.test.clone(),
        phase: row.phase.clone(),
        metric: row.metric,
        unit: row.unit,
        direction: row.direction,
        before: before.estimate?,
        after: after.estimate?,
        effect,
        p_corrected: 1.0,
        significance: Significance::NotComparable,
        worse_by,
    })
}

/// The cache states in which a result was really taken.
fn caches(result: &MetricResult) -> BTreeSet<Option<CacheState>> {
    let rounds = result.rounds.iter().filter(|r| r.value.is_some());
    rounds.map(|r| r.cache).collect()
}

fn series(result: &MetricResult) -> Vec<Option<f64>> {
    result.rounds.iter().map(|r| r.value).collect()
}

fn effect(first: &[Option<f64>], second: &[Option<f64>], paired: bool) -> Option<Effect> {
    if paired {
        let pairs = first.iter().zip(second);
        let pairs = pairs.filter_map(|(a, b)| Some(((*a)?, (*b)?)));
        return Effect::paired(&pairs.collect::<Vec<_>>());
    }
    let values = |series: &[Option<f64>]| series.iter().filter_map(|v| *v).collect::<Vec<f64>>();
    Effect::unpaired(&values(first), &values(second))
}

/// The geometric mean of the costs in each round, before and after.
fn overall(contender: String, results: &[Beside<'_>], paired: bool) -> OverallChange {
    let counts = |(row, old, new): &&Beside<'_>| {
        let positive = |f: &MetricResult| f.rounds.iter().all(|r| r.value.is_none_or(|v| v > 0.0));
        row.primary && change(row, old, new, paired).is_some() && positive(old) && positive(new)
    };
    let counted: Vec<_> = results.iter().filter(counts).collect();
    let costs = |of: &dyn Fn(&Beside<'_>) -> Vec<Option<f64>>| {
        let all: Vec<Vec<Option<f64>>> = counted.iter().map(|f| of(f)).collect();
        let rounds = all.iter().map(Vec::len).min().unwrap_or(0);
        let of_round = |round: usize| {
            let sum: Option<f64> = all.iter().map(|series| series[round]).sum();
            Some((sum? / all.len() as f64).exp())
        };
        (0..rounds).map(of_round).collect::<Vec<Option<f64>>>()
    };
    let logs = |row: &Row, result: &MetricResult| -> Vec<Option<f64>> {
        let values = result.rounds.iter().map(|r| r.value);
        values
            .map(|value| value.map(|v| log_cost(v, row.direction)))
            .collect()
    };
    let before = costs(&|(row, old, _)| logs(row, old));
    let after = costs(&|(row, _, new)| logs(row, new));
    OverallChange {
        contender,
        results: u32::try_from(counted.len()).unwrap_or(u32::MAX),
        cost: effect(&after, &before, paired),
    }
}

/// Corrects the p values of all results and says which are significant.
fn correct(found: &mut Differences) {
    let count = found.changes.len();
    let raw: Vec<f64> = found.changes.iter().map(|c| c.effect.p).collect();
    let paired = found.paired;
    for (change, p) in found.changes.iter_mut().zip(holm(&raw)) {
        change.p_corrected = p;
        let needed = || needed(count, paired);
        change.significance = significance(&change.effect, p, count, change.direction, needed);
    }
    let any_can = found
        .changes
        .iter()
        .any(|c| !matches!(c.significance, Significance::TooFewRounds { .. }));
    found.rounds_needed = (!any_can && count > 0).then(|| needed(count, paired));
}

/// Rounds, in each series, from which on one of so many results can be significantly different.
fn needed(comparisons: usize, paired: bool) -> u32 {
    if paired {
        return rounds_needed(comparisons);
    }
    let enough = |rounds: &u32| {
        rank_sum::smallest_p(*rounds, *rounds) * comparisons as f64 <= FALSE_DIFFERENCE_LIMIT
    };
    (1..1_000).find(enough).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
