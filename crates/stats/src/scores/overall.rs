//! Compares contenders over whole groups of tests, and over all groups with weights.
//!
//! A row's *cost* is its value if lower is better, and one divided by its value if higher is
//! better. The cost of a contender in a group is the geometric mean of its costs in the rows of the
//! group, and the cost over several groups is the weighted geometric mean of these. Costs are
//! compared by the estimates that answers come from ([`crate::inference::PairwiseEstimates`]), so a
//! table never contradicts a sentence: 1 is the contender with the lowest estimate.
//!
//! Results of primary metrics count if contenders are ranked by them, every value is positive, and
//! the row is not withheld. Every phase counts once, regardless of the number of points of a sweep.
//! A contender that lacks results of a group is not ranked in it.

use std::collections::BTreeMap;

use model::{CampaignResults, Metric};
use serde::Serialize;

use crate::inference::Margin;
use crate::results::costs::RankedCosts;
use crate::{Rank, RankingState, ResultRow, WorkloadCategory};

/// A row with its weight in the score of its category.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowWeight {
    /// Number of the row in [`crate::Analysis::rows`].
    pub row: usize,
    /// Weight: 1, or 1 divided by the number of points for a phase of a sweep.
    pub weight: f64,
}

/// Standing of a contender in one or several categories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CategoryScore {
    /// Number of counted results.
    pub counted: u32,
    /// Number of missing results: failed, unsupported, not run yet, or not ranked.
    pub missing: u32,
    /// Number of missing results that are not ranked, such as those of a baseline.
    #[serde(default)]
    pub set_apart: u32,
    /// Rank among the contenders that lack no result, with the estimated cost as a multiple of the
    /// lowest. `None` for a contender that lacks some, and for a single contender.
    pub place: Option<Rank>,
}

/// A category with the scores of all contenders.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CategoryScores {
    /// The group.
    pub group: WorkloadCategory,
    /// The rows of the category with their weights.
    pub shares: Vec<RowWeight>,
    /// A score for each contender, in the campaign's order.
    pub scores: Vec<CategoryScore>,
}

/// A weight above which one contender overtakes another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Crossover {
    /// The category whose weight increases.
    pub group: WorkloadCategory,
    /// Leader under equal weights of all groups, as an index in the campaign's order.
    pub from: usize,
    /// Leader beyond that share.
    #[serde(rename = "to")]
    pub leader_above: usize,
    /// Share of the total weight, 0 … 1, above which the leader changes. The other categories share
    /// the rest equally.
    pub share: f64,
}

/// The overall view of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overall {
    /// The categories with tests in the campaign, in the order of [`WorkloadCategory::ALL`].
    pub groups: Vec<CategoryScores>,
    /// Scores over all categories with equal weights, in the campaign's order.
    pub total: Vec<CategoryScore>,
    /// Weights above which the leader changes.
    pub crossovers: Vec<Crossover>,
}

impl Overall {
    /// Returns the overall view of analysed rows for the selected contenders.
    pub(crate) fn compute(
        results: &CampaignResults,
        rows: &[ResultRow],
        costs: &RankedCosts,
        margin: Margin,
        takes_part: &[bool],
    ) -> Self {
        let contenders = results.campaign.contenders.len();
        let groups: Vec<CategoryScores> = shares(results, rows)
            .into_iter()
            .map(|(group, shares)| CategoryScores {
                scores: (0..contenders).map(|c| score(c, &shares, rows)).collect(),
                group,
                shares,
            })
            .collect();
        let total = (0..contenders).map(|c| total(groups.iter().map(|group| &group.scores[c])));
        let total = if groups.is_empty() { Vec::new() } else { total.collect() };
        let mut overall = Self { groups, total, crossovers: Vec::new() };
        overall.give_places(costs, margin, takes_part);
        overall.crossovers = overall.find_crossovers();
        overall
    }

    /// Sets the ranks in each category and over all categories. Together, they are one family of
    /// questions.
    fn give_places(&mut self, costs: &RankedCosts, margin: Margin, takes_part: &[bool]) {
        if self.groups.is_empty() {
            return;
        }
        let family = self.groups.len() + 1;
        let mut all = Vec::new();
        for group in &mut self.groups {
            let weights = row_weights(&group.shares, 1.0);
            let places = costs.weighted(&weights, takes_part, margin, family);
            set_places(&mut group.scores, places);
            all.extend(weights);
        }
        let places = costs.weighted(&all, takes_part, margin, family);
        set_places(&mut self.total, places);
    }

    /// Finds the weight of one group from which another contender costs less than the leader under
    /// equal weights. Reported only if established: the overtaking contender is shown not to be the
    /// best overall, and the leader is shown not to be the best in the group.
    fn find_crossovers(&self) -> Vec<Crossover> {
        let score = |group: &CategoryScores, contender: usize| {
            Some(group.scores[contender].place?.ratio.ln())
        };
        let whole: Vec<(usize, Vec<f64>)> = (0..self.total.len())
            .filter_map(|c| {
                let logs = self.groups.iter().map(|g| score(g, c));
                Some((c, logs.collect::<Option<Vec<f64>>>()?))
            })
            .collect();
        let sum = |logs: &[f64]| logs.iter().sum::<f64>();
        let leader = whole.iter().min_by(|a, b| sum(&a.1).total_cmp(&sum(&b.1)));
        let Some((from, leading)) = leader else {
            return Vec::new();
        };
        let may_lead = |scores: &[CategoryScore], c: usize| {
            scores[c].place.is_none_or(|place| place.shortlisted)
        };
        let others = self.groups.len().saturating_sub(1) as f64;
        let mut crossovers = Vec::new();
        for (index, group) in self.groups.iter().enumerate().filter(|_| others > 0.0) {
            if may_lead(&group.scores, *from) {
                continue;
            }
            let overtaken = whole.iter().filter_map(|(to, logs)| {
                let here = logs[index] - leading[index];
                let rest = (sum(logs) - sum(leading) - here) / others;
                let established = may_lead(&group.scores, *to) && !may_lead(&self.total, *to);
                // (1 − w) · rest + w · here = 0
                (established && here < 0.0 && rest > 0.0).then(|| (*to, rest / (rest - here)))
            });
            if let Some((to, share)) = overtaken.min_by(|a, b| a.1.total_cmp(&b.1)) {
                crossovers.push(Crossover {
                    group: group.group,
                    from: *from,
                    leader_above: to,
                    share,
                });
            }
        }
        crossovers
    }
}

/// Returns the rows of each category with their weights.
fn shares(
    results: &CampaignResults,
    rows: &[ResultRow],
) -> BTreeMap<WorkloadCategory, Vec<RowWeight>> {
    let mut of_phase = BTreeMap::new();
    let mut points: BTreeMap<(&str, &str, &str), u32> = BTreeMap::new();
    for test in results.campaign.suites.iter().flat_map(|s| &s.tests) {
        let name = test.sweep.as_ref().map_or(&test.name, |point| &point.sweep);
        for phase in &test.phases {
            let key = (test.suite.as_str(), name.as_str(), phase.name.as_str());
            *points.entry(key).or_default() += 1;
            let phase_key = (test.suite.as_str(), test.name.as_str(), phase.name.as_str());
            of_phase.insert(phase_key, (WorkloadCategory::of_phase(test, phase), key));
        }
    }
    let mut shares: BTreeMap<WorkloadCategory, Vec<RowWeight>> = BTreeMap::new();
    for (row, of) in rows.iter().enumerate().filter(|(_, row)| counts(row)) {
        let key = (of.suite.as_str(), of.test.as_str(), of.phase.as_str());
        if let Some((Some(group), sweep)) = of_phase.get(&key) {
            let weight = 1.0 / f64::from(points[sweep]);
            shares.entry(*group).or_default().push(RowWeight { row, weight });
        }
    }
    shares
}

fn counts(row: &ResultRow) -> bool {
    let mut values = row.results.iter().flat_map(|f| &f.rounds).filter_map(|r| r.value);
    row.primary
        && row.metric != Metric::Supported
        && row.ranking == RankingState::Ranked
        && row.withheld.is_none()
        && row.results.iter().any(|f| f.estimate.is_some())
        && values.all(|v| v > 0.0)
}

/// Returns the weight of each row if the rows together have this weight.
pub(crate) fn row_weights(shares: &[RowWeight], weight: f64) -> Vec<(usize, f64)> {
    let whole: f64 = shares.iter().map(|share| share.weight).sum();
    let part = |share: &RowWeight| (share.row, weight * share.weight / whole);
    shares.iter().map(part).collect()
}

fn set_places(scores: &mut [CategoryScore], places: Vec<Option<Rank>>) {
    for (score, place) in scores.iter_mut().zip(places) {
        score.place = place;
    }
}

/// Counts the results of a contender.
fn score(contender: usize, shares: &[RowWeight], rows: &[ResultRow]) -> CategoryScore {
    let mut score = CategoryScore::default();
    for share in shares {
        let result = &rows[share.row].results[contender];
        match result.is_comparable() {
            true => score.counted += 1,
            false => score.missing += 1,
        }
        score.set_apart += u32::from(result.set_apart);
    }
    score
}

/// Adds up the results of a contender in several categories.
fn total<'a>(scores: impl Iterator<Item = &'a CategoryScore>) -> CategoryScore {
    scores.fold(CategoryScore::default(), |sum, score| CategoryScore {
        counted: sum.counted + score.counted,
        missing: sum.missing + score.missing,
        set_apart: sum.set_apart + score.set_apart,
        place: None,
    })
}

#[cfg(test)]
#[path = "overall_tests.rs"]
mod tests;
