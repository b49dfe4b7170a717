//! Advice on the contender that suits a use case: the one with the least bound of its cost over the
//! best, all others in order, and the tested share of the weight.
//!
//! [`UseCaseScores`] has the bounds. There is no advice without evidence:
//! the advice reports if less than [`MIN_TESTED_WEIGHT`] of the weight was tested, or if a required
//! feature was not tried.

use model::{Feature, WorkloadCategory};
use serde::Serialize;

use crate::scores::use_scores::ExcludedResult;
use crate::{Candidate, Rank, ShortlistState, UseCaseScores};

/// Minimum share of the weight that must be tested for advice.
pub const MIN_TESTED_WEIGHT: f64 = 0.7;

/// A contender that qualifies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QualifiedContender {
    /// Name of the contender.
    pub contender: String,
    /// Index in the campaign's order.
    pub index: usize,
    /// Rank with its estimated cost, or `None` if it has no competitor.
    pub place: Option<Rank>,
    /// Cost as a multiple of the first's in each group that counts. Empty for the first.
    pub groups: Vec<CategoryCost>,
}

/// Cost of a contender in one group, relative to the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CategoryCost {
    /// The group.
    pub group: WorkloadCategory,
    /// The share of the weight of the category that was tested, 0 … 1.
    pub share: f64,
    /// The estimated cost as a multiple of the first's.
    pub ratio: Option<f64>,
    /// The share of the weight at which the two change places, or `None` if none does.
    pub turns_at: Option<f64>,
}

/// A category that has weight but no results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UntestedCategory {
    /// The group.
    pub group: WorkloadCategory,
    /// Share of the total weight, 0 … 1.
    pub share: f64,
}

/// Conclusion of an advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recommendation {
    /// The first contender: the most that it costs more than the best is known and small.
    Take,
    /// The first contender came first, but the bound of its cost is unknown or useless.
    Unsure,
    /// Only one contender qualifies.
    #[serde(rename = "only")]
    OnlyQualified,
    /// None qualifies.
    #[serde(rename = "none")]
    NoneQualifies,
    /// Too little of the relevant weight was tested.
    NoAdvice,
}

/// An advice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Conclusion.
    pub recommendation: Recommendation,
    /// Qualifying contenders in the order of [`crate::Conclusion::bounds`].
    pub ranking: Vec<QualifiedContender>,
    /// Contenders that do not qualify, with every reason.
    pub ruled_out: Vec<Candidate>,
    /// Features that the use needs but no test tried, with the contenders for which they are
    /// unknown.
    pub untried: Vec<(Feature, Vec<String>)>,
    /// Categories that have weight but no results.
    pub untested: Vec<UntestedCategory>,
    /// Results that do not count because some qualifying contenders do not have them.
    pub left_out: Vec<ExcludedResult>,
    /// The runner-up would come first if, in the untested groups, the first cost more than this
    /// multiple of the runner-up. `None` if all was tested or if there is no runner-up.
    pub turns_if_untested: Option<f64>,
    /// The results that the advice is based on.
    pub scores: UseCaseScores,
}

/// Returns the advice for a use from the scores of a campaign.
pub fn advise(scores: &UseCaseScores) -> Advice {
    let ranking = ranking(scores);
    let (ruled_out, comes): (Vec<Candidate>, Vec<Candidate>) =
        scores.candidates.iter().cloned().partition(|c| !c.ruled_out.is_empty());
    let untested = untested(scores);
    let untried = untried(&comes);
    // Further tests give results to a contender that has none, but do not meet a need.
    let is_hopeless = ruled_out.iter().all(Candidate::is_excluded_without_tests);
    let recommendation = if comes.is_empty() && (scores.tested > 0.0 || is_hopeless) {
        Recommendation::NoneQualifies
    } else if scores.tested < MIN_TESTED_WEIGHT || !untried.is_empty() {
        Recommendation::NoAdvice
    } else {
        match (scores.conclusion.answer, scores.conclusion.first()) {
            (ShortlistState::Single, _) => Recommendation::OnlyQualified,
            (_, None) => Recommendation::NoAdvice,
            (_, Some(first)) if first.useful().is_some() => Recommendation::Take,
            (_, Some(_)) => Recommendation::Unsure,
        }
    };
    Advice {
        recommendation,
        turns_if_untested: turns_if_untested(&ranking, &untested),
        ranking,
        ruled_out,
        untried,
        untested,
        left_out: scores.excluded_results.clone(),
        scores: scores.clone(),
    }
}

/// Returns the contenders that qualify, in the order of the conclusion.
fn ranking(scores: &UseCaseScores) -> Vec<QualifiedContender> {
    let conclusion = &scores.conclusion;
    let order: Vec<usize> = match conclusion.answer {
        ShortlistState::Single => conclusion.shortlist.clone(),
        _ => conclusion.bounds.iter().map(|bound| bound.contender).collect(),
    };
    let ranked = order.iter().map(|index| {
        let first = order.first().filter(|first| *first != index);
        QualifiedContender {
            contender: scores.candidates[*index].contender.clone(),
            index: *index,
            place: scores.places[*index],
            groups: first.map_or_else(Vec::new, |first| group_costs(*index, *first, scores)),
        }
    });
    ranked.collect()
}

fn group_costs(one: usize, first: usize, scores: &UseCaseScores) -> Vec<CategoryCost> {
    let tested = || scores.groups.iter().filter(|g| !g.results.is_empty());
    let whole: f64 = tested().map(|g| g.weight).sum();
    let costs: Vec<(WorkloadCategory, f64, Option<f64>)> = tested()
        .map(|group| {
            let ratio = group.ratios[one].zip(group.ratios[first]).map(|(one, first)| one / first);
            (group.group, group.weight / whole, ratio)
        })
        .collect();
    let log = |ratio: &Option<f64>| ratio.map_or(0.0, f64::ln);
    costs
        .iter()
        .map(|(group, share, ratio)| {
            let others = costs.iter().filter(|(other, ..)| other != group);
            let rest: f64 = others.map(|(_, share, r)| share * log(r)).sum();
            CategoryCost {
                group: *group,
                share: *share,
                ratio: *ratio,
                turns_at: turns_at(rest / (1.0 - share), log(ratio)),
            }
        })
        .collect()
}

/// Returns the share of a category at which (1 − share) · rest + share · here = 0. The other
/// categories share the remaining weight in their present proportions.
fn turns_at(rest: f64, here: f64) -> Option<f64> {
    let share = rest / (rest - here);
    (rest * here < 0.0).then_some(share)
}

/// Returns the features that the use needs and that were not tried on some qualifying contenders.
fn untried(comes: &[Candidate]) -> Vec<(Feature, Vec<String>)> {
    let mut found: Vec<(Feature, Vec<String>)> = Vec::new();
    for candidate in comes {
        for feature in &candidate.not_probed {
            let name = candidate.contender.clone();
            match found.iter_mut().find(|(known, _)| known == feature) {
                Some((_, names)) => names.push(name),
                None => found.push((*feature, vec![name])),
            }
        }
    }
    found
}

fn untested(scores: &UseCaseScores) -> Vec<UntestedCategory> {
    let whole: f64 = scores.groups.iter().map(|g| g.weight).sum();
    let groups = scores.groups.iter().filter(|g| g.results.is_empty());
    groups.map(|g| UntestedCategory { group: g.group, share: g.weight / whole }).collect()
}

/// Returns the cost factor in the untested categories above which the runner-up would come first.
///
/// With a part u of the weight untested, the mean over all is (1 − u) · d − u · ln f. Here d is the
/// log ratio of runner-up to first over the tested part. The mean is 0 at f = exp(d · (1 − u) / u).
fn turns_if_untested(ranking: &[QualifiedContender], untested: &[UntestedCategory]) -> Option<f64> {
    let part: f64 = untested.iter().map(|u| u.share).sum();
    let (first, second) = (ranking.first()?.place?, ranking.get(1)?.place?);
    let ratio = second.ratio / first.ratio;
    (part > 0.0 && part < 1.0).then(|| (ratio.ln() * (1.0 - part) / part).exp())
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
