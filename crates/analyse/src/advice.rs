//! Which contender suits a use: the order by cost, who is significantly different from the first, what the
//! runner-up would cost, and on how much of the weight all this rests.
//!
//! Costs are those of [`UseScores`]. Two contenders are significantly different by the exact signed-rank test
//! ([`Effect::paired`]) over all pairs of cells that had the same test in the same round: each cell has a
//! filesystem of its own and its own random place in the order, so that, did the two not differ in any
//! test, they could change places in each pair. What is ranked is the pair's part in the weighted mean:
//! the log ratio of the costs, summed up over the test's results with their weights. All who are compared
//! with the first are corrected for by Holm's method, and a difference counts only where the test and
//! the rounds agree which way it goes. Intervals are over rounds, as everywhere.

use std::collections::BTreeMap;

use model::{Group, Use};
use serde::{Deserialize, Serialize};

use crate::groups::overall::log_cost;
use crate::groups::use_scores::LeftOut;
use crate::statistics::pairwise::holm;
use crate::statistics::signed_rank;
use crate::{
    Analysis, Candidate, Effect, Estimate, FALSE_DIFFERENCE_LIMIT, Significance, UseScores,
};

/// A contender that comes into question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    /// Name of the contender.
    pub contender: String,
    /// Its place in the campaign's order.
    pub index: usize,
    /// Its cost: 1 is as good as the best in every result, 2 takes twice as long.
    pub cost: Estimate,
    /// How it compares with the first; absent for the first itself.
    pub against_first: Option<AgainstFirst>,
}

/// A contender beside the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgainstFirst {
    /// Its cost as a multiple of the first's, over rounds; absent where no round is whole.
    pub rounds: Option<Effect>,
    /// Pairs of cells that the test is over.
    pub pairs: u32,
    /// The p value of that test, corrected for all who are compared with the first.
    pub p_corrected: f64,
    /// Whether the two are significantly different.
    pub significance: Significance,
    /// Its cost as a multiple of the first's in each group that counts.
    pub groups: Vec<GroupCost>,
}

/// What taking a contender instead of the first costs in one group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupCost {
    /// The group.
    pub group: Group,
    /// The group's share of the weight that was tested, 0 … 1.
    pub share: f64,
    /// The cost as a multiple of the first's, over rounds; absent where no round is whole.
    pub ratio: Option<Effect>,
    /// The share of the weight at which the two change places; absent where none does.
    pub turns_at: Option<f64>,
}

/// A group that has weight and no results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Untested {
    /// The group.
    pub group: Group,
    /// Its share of all weight, 0 … 1.
    pub share: f64,
}

/// What it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recommendation {
    /// The first is better than all others.
    One,
    /// Several are not significantly different from the first.
    Tie,
    /// Only one comes into question.
    Only,
    /// None comes into question.
    None,
    /// Nothing that counts was tested.
    Untested,
}

/// An advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// What it comes to.
    pub recommendation: Recommendation,
    /// Those who come into question, by their cost.
    pub ranking: Vec<Ranked>,
    /// How many of them, from the first, are not significantly different from it, itself among them.
    pub tied: usize,
    /// Those who do not come into question, with every reason.
    pub ruled_out: Vec<Candidate>,
    /// Those who come into question though a feature that is needed was not tried.
    pub unproven: Vec<Candidate>,
    /// Groups that have weight and no results.
    pub untested: Vec<Untested>,
    /// Results that do not count, since some who come into question do not have them.
    pub left_out: Vec<LeftOut>,
    /// The runner-up would come first if, in what was not tested, the first cost more than this many
    /// times as much; absent where all was tested or there is no runner-up.
    pub turns_if_untested: Option<f64>,
    /// The results behind it.
    pub scores: UseScores,
}

/// Advises on a use by the results of a campaign.
pub fn advise(one: &Use, analysis: &Analysis) -> Advice {
    let scores = analysis.scores(one);
    let mut ranking = by_cost(&scores);
    compare_with_first(&mut ranking, &scores, analysis);
    let tied = ranking.iter().filter(|r| !is_worse(r)).count();
    // Those who are tied stand before those who are not, each by cost.
    ranking.sort_by_key(is_worse);
    let (ruled_out, comes): (Vec<Candidate>, Vec<Candidate>) = scores
        .candidates
        .iter()
        .cloned()
        .partition(|c| !c.ruled_out.is_empty());
    let untested = untested(&scores);
    let turns_if_untested = turns_if_untested(&ranking, &untested);
    Advice {
        recommendation: match (comes.len(), ranking.len(), tied) {
            (0, ..) => Recommendation::None,
            (_, 0, _) => Recommendation::Untested,
            (1, ..) => Recommendation::Only,
            (_, _, 1) => Recommendation::One,
            _ => Recommendation::Tie,
        },
        unproven: comes
            .into_iter()
            .filter(|c| !c.not_probed.is_empty())
            .collect(),
        left_out: scores.left_out.clone(),
        ranking,
        tied,
        ruled_out,
        untested,
        turns_if_untested,
        scores,
    }
}

fn is_worse(ranked: &Ranked) -> bool {
    let against = ranked.against_first.as_ref();
    against.is_some_and(|a| a.significance == Significance::Worse)
}

fn by_cost(scores: &UseScores) -> Vec<Ranked> {
    let costs = scores.weighed(|group| group.weight);
    let mut ranking: Vec<Ranked> = costs
        .iter()
        .enumerate()
        .filter_map(|(index, score)| {
            Some(Ranked {
                contender: scores.candidates[index].contender.clone(),
                index,
                cost: score.ratio?,
                against_first: None,
            })
        })
        .collect();
    ranking.sort_by(|a, b| a.cost.median.total_cmp(&b.cost.median));
    ranking
}

/// Fills in how each compares with the first.
fn compare_with_first(ranking: &mut [Ranked], scores: &UseScores, analysis: &Analysis) {
    let Some((first, others)) = ranking.split_first_mut() else {
        return;
    };
    let costs = scores.weighed(|group| group.weight);
    let parts: Vec<Vec<(f64, f64)>> = others
        .iter()
        .map(|other| pairs_of_cells(other.index, first.index, scores, analysis))
        .collect();
    let tests: Vec<Option<Effect>> = parts.iter().map(|pairs| Effect::paired(pairs)).collect();
    let p_values: Vec<f64> = tests.iter().map(|t| t.map_or(1.0, |t| t.p)).collect();
    let corrected = holm(&p_values);
    for (place, other) in others.iter_mut().enumerate() {
        let rounds = over_rounds(&costs[other.index].rounds, &costs[first.index].rounds);
        let significance = significance(tests[place], corrected[place], p_values.len(), rounds);
        other.against_first = Some(AgainstFirst {
            rounds,
            pairs: tests[place].map_or(0, |t| t.first),
            p_corrected: corrected[place],
            significance,
            groups: group_costs(other.index, first.index, scores),
        });
    }
}

fn significance(
    test: Option<Effect>,
    p: f64,
    comparisons: usize,
    rounds: Option<Effect>,
) -> Significance {
    let (Some(test), Some(rounds)) = (test, rounds) else {
        return Significance::NotComparable;
    };
    let reaches =
        |pairs: u32| signed_rank::smallest_p(pairs) * comparisons as f64 <= FALSE_DIFFERENCE_LIMIT;
    if !reaches(test.first) {
        let by_round = f64::from(test.first) / f64::from(rounds.first.max(1));
        let enough = |count: &u32| reaches((by_round * f64::from(*count)) as u32);
        return Significance::TooFewRounds {
            needed: (1..).find(enough).unwrap_or(u32::MAX),
        };
    }
    let is_worse = test.ratio > 1.0 && rounds.ratio > 1.0;
    if p <= FALSE_DIFFERENCE_LIMIT && is_worse {
        Significance::Worse
    } else {
        Significance::NotSignificant
    }
}

/// One contender's series as a multiple of another's, over the rounds that both have.
fn over_rounds(one: &[Option<f64>], other: &[Option<f64>]) -> Option<Effect> {
    let pairs = one.iter().zip(other);
    let pairs = pairs.filter_map(|(a, b)| Some(((*a)?, (*b)?)));
    Effect::paired(&pairs.collect::<Vec<_>>())
}

/// For each test and round, how much one contender costs more than another, as its part in the
/// weighted mean; as pairs whose ratio it is.
fn pairs_of_cells(
    one: usize,
    other: usize,
    scores: &UseScores,
    analysis: &Analysis,
) -> Vec<(f64, f64)> {
    let mut sums: BTreeMap<(&str, u32), f64> = BTreeMap::new();
    for group in &scores.groups {
        let whole: f64 = group.results.iter().map(|share| share.weight).sum();
        for share in &group.results {
            let row = &analysis.rows[share.row];
            let rounds = row.results[one].rounds.iter();
            for (a, b) in rounds.zip(&row.results[other].rounds) {
                if let (Some(a_value), Some(b_value)) = (a.value, b.value) {
                    let cost = |value| log_cost(value, row.direction);
                    let part = group.weight * share.weight / whole;
                    *sums.entry((row.test.as_str(), a.round)).or_default() +=
                        part * (cost(a_value) - cost(b_value));
                }
            }
        }
    }
    let whole: f64 = scores.groups.iter().map(|g| g.weight).sum();
    sums.into_values()
        .map(|sum| ((sum / whole).exp(), 1.0))
        .collect()
}

fn group_costs(one: usize, first: usize, scores: &UseScores) -> Vec<GroupCost> {
    let tested = || scores.groups.iter().filter(|g| !g.results.is_empty());
    let whole: f64 = tested().map(|g| g.weight).sum();
    let costs: Vec<(Group, f64, Option<Effect>)> = tested()
        .map(|group| {
            let ratio = over_rounds(&group.rounds[one], &group.rounds[first]);
            (group.group, group.weight / whole, ratio)
        })
        .collect();
    let log = |effect: &Option<Effect>| effect.map_or(0.0, |e| e.ratio.ln());
    costs
        .iter()
        .map(|(group, share, ratio)| {
            let others = costs.iter().filter(|(other, ..)| other != group);
            let rest: f64 = others.map(|(_, share, r)| share * log(r)).sum();
            GroupCost {
                group: *group,
                share: *share,
                ratio: *ratio,
                turns_at: turns_at(rest / (1.0 - share), log(ratio)),
            }
        })
        .collect()
}

/// The share of a group at which (1 − share) · rest + share · here = 0; with the other groups sharing
/// the remaining weight as they do now.
fn turns_at(rest: f64, here: f64) -> Option<f64> {
    let share = rest / (rest - here);
    (rest * here < 0.0 && share.is_finite()).then_some(share)
}

fn untested(scores: &UseScores) -> Vec<Untested> {
    let whole: f64 = scores.groups.iter().map(|g| g.weight).sum();
    let groups = scores.groups.iter().filter(|g| g.results.is_empty());
    groups
        .map(|g| Untested {
            group: g.group,
            share: g.weight / whole,
        })
        .collect()
}

/// With a part u of the weight untested, the mean over all is (1 − u) · d − u · ln f, where d is the log
/// ratio of runner-up to first over what was tested; it is 0 at f = exp(d · (1 − u) / u).
fn turns_if_untested(ranking: &[Ranked], untested: &[Untested]) -> Option<f64> {
    let part: f64 = untested.iter().map(|u| u.share).sum();
    let ratio = ranking.get(1)?.against_first.as_ref()?.rounds?.ratio;
    (part > 0.0 && part < 1.0).then(|| (ratio.ln() * (1.0 - part) / part).exp())
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
