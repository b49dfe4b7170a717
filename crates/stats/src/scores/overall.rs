//! Compares contenders over whole groups of tests, and over all groups with weights.
//!
//! A row's *cost* is its value if lower is better, and one divided by its value if higher is
//! better. A *ratio* is the cost of a contender in a round, as a multiple of the cost of the row's
//! best median: 1 is as good as the best, 2 takes twice as long or does half as much. This
//! reference is one number for the whole row, so rounds keep their noise. A contender's *score* in
//! a group is the geometric mean of its ratios, computed for each round; the rounds are the
//! replicate, so the interval is that of a median over rounds. A score over several groups is the
//! weighted geometric mean of their scores, again computed for each round.
//!
//! Results of primary metrics count if contenders are ranked by them, every value is positive, and
//! the row is not withheld. Every phase counts once, regardless of the number of points of a sweep.
//! Results of a contender with a failed round are excluded from its score. A contender that lacks
//! results of a group has a score over the others, and no place.

use std::collections::BTreeMap;

use model::{CampaignResults, Metric};
use serde::{Deserialize, Serialize};

use crate::inference::Margin;
use crate::results::costs::{RankedCosts, log_cost};
use crate::{Rank, RankingState, ResultRow, RobustEstimate, WorkloadCategory};

/// A row with its weight in the score of its category.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowWeight {
    /// Number of the row in [`crate::Analysis::rows`].
    pub row: usize,
    /// Weight: 1, or 1 divided by the number of points for a phase of a sweep.
    pub weight: f64,
}

/// Score of a contender in one or several categories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CategoryScore {
    /// The geometric mean of the ratios to the best in each round, starting with the first, or
    /// `None` if a result of that round is missing.
    pub rounds: Vec<Option<f64>>,
    /// The median over rounds, with its interval; 1 is as good as the best everywhere. `None` if no
    /// round is complete.
    pub ratio: Option<RobustEstimate>,
    /// Number of counted results.
    pub counted: u32,
    /// Number of missing results: failed, unsupported, not run yet, or not ranked.
    pub missing: u32,
    /// Number of missing results that are not ranked, such as those of a baseline.
    #[serde(default)]
    pub set_apart: u32,
    /// Rank among the contenders that lack no result. `None` for a contender that lacks some, for a
    /// single contender, and for arbitrary weights.
    pub place: Option<Rank>,
}

/// A category with the scores of all contenders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overall {
    /// The categories with tests in the campaign, in the order of [`Group::ALL`].
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
            .map(|(group, shares)| standing(group, shares, rows, contenders))
            .collect();
        let mut overall = Self { groups, total: Vec::new(), crossovers: Vec::new() };
        overall.total = overall.weighted(|_| 1.0);
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

    /// Returns the scores under weights of the categories, in the campaign's order. Categories with
    /// weight 0 or less are ignored, and the weights may have any sum.
    pub fn weighted(&self, weight: impl Fn(WorkloadCategory) -> f64) -> Vec<CategoryScore> {
        let weights: Vec<f64> = self.groups.iter().map(|g| weight(g.group)).collect();
        let used = || self.groups.iter().zip(&weights).filter(|(_, w)| **w > 0.0);
        let contenders = self.groups.first().map_or(0, |g| g.scores.len());
        (0..contenders)
            .map(|contender| {
                let parts = used().map(|(group, weight)| (&group.scores[contender], *weight));
                mean_of(&parts.collect::<Vec<_>>())
            })
            .collect()
    }

    /// Finds the weight of one group from which another contender costs less than the leader under
    /// equal weights. Reported only if established: the overtaking contender is shown not to be the
    /// best overall, and the leader is shown not to be the best in the group.
    fn find_crossovers(&self) -> Vec<Crossover> {
        let score = |group: &CategoryScores, contender: usize| {
            let score = &group.scores[contender];
            let whole = score.missing == 0 && score.counted > 0;
            whole.then_some(score.ratio?.median.ln())
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
            of_phase.insert(phase_key, (WorkloadCategory::of_phase(phase), key));
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

pub(crate) fn standing(
    group: WorkloadCategory,
    shares: Vec<RowWeight>,
    rows: &[ResultRow],
    contenders: usize,
) -> CategoryScores {
    CategoryScores {
        group,
        scores: (0..contenders).map(|c| score(c, &shares, rows)).collect(),
        shares,
    }
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

/// Returns the best median of a row, as the logarithm of its cost.
fn best(row: &ResultRow) -> f64 {
    let sound = row.results.iter().filter(|f| f.is_comparable());
    let medians = sound.filter_map(|f| Some(f.estimate?.median));
    let costs = medians.map(|m| log_cost(m, row.direction));
    costs.fold(f64::INFINITY, f64::min)
}

fn score(contender: usize, shares: &[RowWeight], rows: &[ResultRow]) -> CategoryScore {
    let result = |share: &RowWeight| &rows[share.row].results[contender];
    let usable = |share: &&RowWeight| result(share).is_comparable();
    let apart = shares.iter().filter(|share| result(share).set_apart);
    let counted: Vec<&RowWeight> = shares.iter().filter(usable).collect();
    let planned = shares.first().map_or(0, |s| rows[s.row].results[contender].rounds.len());
    let weight: f64 = counted.iter().map(|s| s.weight).sum();
    let bests: Vec<f64> = counted.iter().map(|s| best(&rows[s.row])).collect();
    let of_round = |round: usize| -> Option<f64> {
        let logs = counted.iter().zip(&bests).map(|(share, best)| {
            let row = &rows[share.row];
            let value = row.results[contender].rounds[round].value?;
            Some(share.weight * (log_cost(value, row.direction) - best))
        });
        Some((logs.sum::<Option<f64>>()? / weight).exp())
    };
    let rounds = match counted.is_empty() {
        true => vec![None; planned],
        false => (0..planned).map(of_round).collect(),
    };
    from_rounds(rounds, [counted.len(), shares.len() - counted.len(), apart.count()])
}

/// Creates a score from its rounds and from the numbers of counted, missing and unranked results.
pub(crate) fn from_rounds(rounds: Vec<Option<f64>>, results: [usize; 3]) -> CategoryScore {
    let values: Vec<f64> = rounds.iter().filter_map(|r| *r).collect();
    let [counted, missing, set_apart] = results.map(|f| u32::try_from(f).unwrap_or(u32::MAX));
    CategoryScore {
        ratio: RobustEstimate::from_values(&values),
        rounds,
        counted,
        missing,
        set_apart,
        place: None,
    }
}

/// Returns the weighted geometric mean of scores. A category without any result counts as missing.
fn mean_of(parts: &[(&CategoryScore, f64)]) -> CategoryScore {
    let planned = parts.first().map_or(0, |(score, _)| score.rounds.len());
    let present = parts.iter().filter(|(score, _)| score.counted > 0);
    let present = present.map(|(score, weight)| (&score.rounds[..], *weight));
    let rounds = weighted_means(&present.collect::<Vec<_>>(), planned);
    let sum =
        |of: fn(&CategoryScore) -> u32| parts.iter().map(|(score, _)| of(score) as usize).sum();
    let results = [sum(|s| s.counted), sum(|s| s.missing), sum(|s| s.set_apart)];
    from_rounds(rounds, results)
}

/// Returns the weighted geometric mean in each of the planned rounds: exp( Σ w · ln s / Σ w ).
pub(crate) fn weighted_means(parts: &[(&[Option<f64>], f64)], planned: usize) -> Vec<Option<f64>> {
    let whole: f64 = parts.iter().map(|(_, weight)| weight).sum();
    let of_round = |round: usize| {
        let logs = parts.iter().map(|(rounds, weight)| Some(weight * rounds[round]?.ln()));
        Some((logs.sum::<Option<f64>>()? / whole).exp()).filter(|_| !parts.is_empty())
    };
    (0..planned).map(of_round).collect()
}

#[cfg(test)]
#[path = "overall_tests.rs"]
mod tests;
