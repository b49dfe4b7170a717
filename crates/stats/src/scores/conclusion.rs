//! Conclusions: the contenders that may be the best, and the least by which every other contender
//! is worse. A conclusion answers a question about a group of tests ([`WorkloadCategory`]), all groups
//! together, or a use.
//!
//! Conclusions follow from the places of contenders without further statistical tests.

use model::WorkloadCategory;
use serde::Serialize;

use crate::inference::{ComparisonVerdict, Margin};
use crate::{CategoryScore, Overall, Rank};

/// Conclusion of a question. Contenders are indexes in the campaign's order.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conclusion {
    /// The category. `None` for a use case, and for all categories together with equal weights.
    pub group: Option<WorkloadCategory>,
    /// Answer about the shortlist.
    pub answer: ShortlistState,
    /// Contenders that may be the best, by cost.
    pub shortlist: Vec<usize>,
    /// All ranked contenders with the most that they cost: the answer, then the others, least first.
    #[serde(default)]
    pub bounds: Vec<CostBound>,
    /// The contender that the first one displaced, because it costs about as much and recovers
    /// from a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced: Option<usize>,
    /// Contenders whose estimated costs are within the margin of the first one's, and that are not
    /// shown to be worse, by cost; empty if the bound of the first one is within the margin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub close: Vec<usize>,
    /// Contenders that are not on the shortlist, by cost.
    pub worse: Vec<Inferior>,
    /// Contenders that lack results and are not ranked.
    pub unranked: Vec<usize>,
}

/// Answer about the contenders that may be the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ShortlistState {
    /// No contender has all results.
    #[serde(rename = "nobody")]
    Empty,
    /// No other contender has all results.
    #[serde(rename = "only")]
    Single,
    /// It is a single one, and all other contenders are worse.
    Best,
    /// The contenders are equal within the margin.
    Equal,
    /// More rounds are needed to decide which contender is the best.
    Undecided {
        /// Number of rounds that would suffice, or `None` if no number can be promised.
        rounds: Option<u32>,
    },
}

/// A contender that is not the best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inferior {
    /// The contender.
    pub contender: usize,
    /// Minimum additional cost, as a share of the best's cost.
    pub at_least: f64,
    /// Whether the bound is the exact cost difference.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// Estimated cost as a multiple of the lowest.
    pub ratio: f64,
}

/// The most that a contender costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostBound {
    /// The contender.
    pub contender: usize,
    /// Estimated cost as a multiple of the lowest.
    pub ratio: f64,
    /// The most that it costs more than the best, as a share of the best's cost. `None` if the
    /// noise is unknown.
    pub at_most: Option<f64>,
    /// That bound after three times as many rounds, if the estimates do not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<f64>,
}

impl CostBound {
    /// Returns the bound if it is small enough to be stated.
    pub fn stated(&self) -> Option<f64> {
        self.at_most.filter(|share| 1.0 + share < MAX_MULTIPLE)
    }

    /// Returns the bound if it helps to choose.
    pub fn useful(&self) -> Option<f64> {
        self.at_most.filter(|share| *share <= MAX_USEFUL_BOUND)
    }
}

/// Bound from which it is not stated, as a multiple.
const MAX_MULTIPLE: f64 = 10.0;
/// Bound above which a contender is not recommended: it may cost half as much again as the best.
pub const MAX_USEFUL_BOUND: f64 = 0.5;
/// Difference of bounds within which recovery from a crash, and then the estimated cost, decide.
pub const ABOUT_EQUAL: f64 = 0.05;

impl Conclusion {
    /// Returns the contender to take.
    pub fn first(&self) -> Option<&CostBound> {
        self.bounds.first()
    }

    /// Returns the index of the contender to take, also if it is the only one.
    pub fn pick(&self) -> Option<usize> {
        self.first().map(|first| first.contender).or(self.shortlist.first().copied())
    }

    /// Moves one contender to the front of those whose bounds and estimates exceed those of the
    /// contender with the least bound by less than [`ABOUT_EQUAL`]: one that recovers from a crash if there is any, then the one with the lowest
    /// estimated cost. Then finds the contenders that are close to it.
    pub(crate) fn prefer(mut self, margin: Margin, recovers: impl Fn(usize) -> bool) -> Self {
        let Some(CostBound { contender: former, ratio, at_most: Some(least), .. }) =
            self.first().copied()
        else {
            return self;
        };
        let is_near = |bound: &CostBound| {
            let most = bound.at_most.unwrap_or(f64::INFINITY);
            let is_close = bound.ratio <= ratio * (1.0 + ABOUT_EQUAL);
            is_close
                && most - least < ABOUT_EQUAL
                && (most <= MAX_USEFUL_BOUND || least > MAX_USEFUL_BOUND)
        };
        let near = self.bounds.iter().enumerate().filter(|(_, bound)| is_near(bound));
        let preferred = near.min_by(|(_, a), (_, b)| {
            let recovery = recovers(b.contender).cmp(&recovers(a.contender));
            recovery.then(a.ratio.total_cmp(&b.ratio))
        });
        if let Some((place, bound)) = preferred {
            let is_safer = recovers(bound.contender) && !recovers(former);
            self.displaced = is_safer.then_some(former);
            self.bounds[..=place].rotate_right(1);
        }
        self.close = self.close_to_first(margin);
        self
    }

    /// Returns the value of [`Self::close`].
    fn close_to_first(&self, margin: Margin) -> Vec<usize> {
        let Some(first) = self.first().filter(|first| first.at_most > Some(margin.0)) else {
            return Vec::new();
        };
        let is_worse =
            |contender: usize| self.worse.iter().any(|worse| worse.contender == contender);
        let is_close = |bound: &&CostBound| {
            let difference = (bound.ratio / first.ratio).ln().abs();
            difference <= margin.0.ln_1p() && !is_worse(bound.contender)
        };
        let mut close: Vec<&CostBound> = self.bounds.iter().filter(is_close).collect();
        close.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        match close.len() > 1 && !is_worse(first.contender) {
            true => close.into_iter().map(|bound| bound.contender).collect(),
            false => Vec::new(),
        }
    }
}

/// Returns a conclusion for each group of tests, and one for all groups if there are several. Empty
/// if fewer than two contenders compete.
pub(crate) fn conclusions(overall: &Overall, margin: Margin) -> Vec<Conclusion> {
    let competes = |score: &CategoryScore| score.set_apart == 0 || score.counted > 0;
    if overall.total.iter().filter(|score| competes(score)).count() < 2 {
        return Vec::new();
    }
    let of = |group, scores: &[CategoryScore]| {
        let has_all = |score: &CategoryScore| score.counted > 0 && score.missing == 0;
        let places: Vec<Option<Rank>> = scores.iter().map(|score| score.place).collect();
        let mut conclusion = conclude(&places, |contender| has_all(&scores[contender]));
        conclusion.unranked.retain(|one| competes(&scores[*one]));
        Conclusion { group, ..conclusion }.prefer(margin, |_| false)
    };
    let groups = overall.groups.iter();
    let mut all: Vec<Conclusion> = groups.map(|g| of(Some(g.group), &g.scores)).collect();
    if all.len() > 1 {
        all.push(of(None, &overall.total));
    }
    all
}

/// Derives a conclusion from places; `has_all` returns whether a contender could be ranked.
pub(crate) fn conclude(places: &[Option<Rank>], has_all: impl Fn(usize) -> bool) -> Conclusion {
    let mut ranked: Vec<(usize, Rank)> =
        (0..places.len()).filter_map(|contender| Some((contender, places[contender]?))).collect();
    ranked.sort_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let (shortlist, worse): (Vec<_>, Vec<_>) =
        ranked.iter().partition(|(_, place)| place.shortlisted);
    let worse = worse.into_iter().filter_map(|(contender, place)| {
        let ComparisonVerdict::WorseByAtLeast(at_least) = place.verdict else {
            return None;
        };
        Some(Inferior { contender, at_least, exact: place.exact, ratio: place.ratio })
    });
    let mut bounds: Vec<CostBound> = ranked
        .iter()
        .map(|(contender, place)| CostBound {
            contender: *contender,
            ratio: place.ratio,
            at_most: place.at_most,
            forecast: place.forecast,
        })
        .collect();
    // Contenders with the same bound, or without a bound that is stated, stay in the order of their
    // costs.
    let most = |bound: &CostBound| bound.stated().unwrap_or(f64::INFINITY);
    bounds.sort_by(|a, b| most(a).total_cmp(&most(b)));
    let alone: Vec<usize> = match ranked.is_empty() {
        true => (0..places.len()).filter(|one| has_all(*one)).collect(),
        false => Vec::new(),
    };
    let answer = match (shortlist.len(), alone.len()) {
        (0, 1) => ShortlistState::Single,
        (0, _) => ShortlistState::Empty,
        (1, _) => ShortlistState::Best,
        _ => of_several(&shortlist),
    };
    let mut named: Vec<usize> = shortlist.iter().map(|(contender, _)| *contender).collect();
    named.extend(alone.iter().filter(|_| answer == ShortlistState::Single));
    Conclusion {
        group: None,
        answer,
        bounds,
        displaced: None,
        close: Vec::new(),
        worse: worse.collect(),
        unranked: (0..places.len())
            .filter(|one| places[*one].is_none() && !named.contains(one))
            .collect(),
        shortlist: named,
    }
}

/// Returns the state of a shortlist with several contenders, sorted by cost.
fn of_several(shortlist: &[(usize, Rank)]) -> ShortlistState {
    let others = || shortlist.iter().skip(1).map(|(_, place)| place);
    if others().all(Rank::is_equal) {
        return ShortlistState::Equal;
    }
    let open = others().filter_map(|place| match place.verdict {
        ComparisonVerdict::Undecided { rounds } => Some(rounds),
        _ => None,
    });
    let rounds = open.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b)));
    ShortlistState::Undecided { rounds: rounds.flatten() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse, fixture};

    #[test]
    fn the_shortlist_and_the_worse_contenders_follow_from_places() {
        let analysis = analyse(&fixture::plain());
        let written = &analysis.conclusions[0];
        assert_eq!(written.group, Some(WorkloadCategory::StreamWrite));
        assert_eq!((written.answer, &written.shortlist[..]), (ShortlistState::Best, &[0][..]));
        let worse: Vec<usize> = written.worse.iter().map(|w| w.contender).collect();
        assert_eq!(worse, [1, 2], "by cost");
        for (worse, times) in written.worse.iter().zip([2.0, 4.0]) {
            assert!((worse.ratio / times - 1.0).abs() < 0.02, "{worse:?}");
            assert!(worse.at_least > 0.05 && worse.at_least <= worse.ratio - 1.0);
        }
        let groups: Vec<_> = analysis.conclusions.iter().map(|c| c.group).collect();
        assert_eq!(groups.len(), analysis.overall.groups.len() + 1);
        assert_eq!(groups.last(), Some(&None), "all groups come last");
    }

    #[test]
    fn the_estimate_decides_between_bounds_that_are_about_equal() {
        let bounds = [(2, 1.02, 0.286), (0, 1.0, 0.289), (1, 1.01, 0.31), (3, 1.0, 0.4)];
        let bounds = bounds.map(|(contender, ratio, most)| CostBound {
            contender,
            ratio,
            at_most: Some(most),
            forecast: None,
        });
        let conclusion = conclude(&[], |_| false);
        let conclusion = Conclusion { bounds: bounds.to_vec(), ..conclusion };
        let order = |found: &Conclusion| -> Vec<usize> {
            found.bounds.iter().map(|bound| bound.contender).collect()
        };
        let found = conclusion.clone().prefer(Margin::default(), |_| true);
        assert_eq!((order(&found), found.displaced), (vec![0, 2, 1, 3], None));
        assert_eq!(found.close, [0, 3, 1, 2], "by estimate");
        let safer = conclusion.clone().prefer(Margin::default(), |one| one == 1);
        assert_eq!((order(&safer), safer.displaced), (vec![1, 2, 0, 3], Some(2)));
        let mut sure = conclusion;
        sure.bounds[1].at_most = Some(0.05);
        sure.bounds.swap(0, 1);
        assert_eq!(
            sure.prefer(Margin::default(), |_| true).close,
            [0; 0],
            "its bound is close enough"
        );
    }

    #[test]
    fn one_round_is_not_enough_to_find_a_better_contender() {
        let mut results = fixture::plain();
        results.campaign.rounds = 1;
        results.cells.retain(|stored| stored.cell.round == 1);
        let [write, read, all] = &analyse(&results).conclusions[..] else {
            panic!("two groups, and both together")
        };
        // Even if all values are the same: those of one round may be so by chance.
        for open in [write, read, all] {
            assert_eq!((open.shortlist.len(), open.worse.len()), (3, 0));
            assert!(matches!(open.answer, ShortlistState::Undecided { .. }));
        }
    }

    #[test]
    fn unranked_contenders_are_named_and_a_single_one_has_no_rival() {
        let analysis = analyse(&fixture::realistic());
        let all = analysis.conclusions.last().unwrap();
        assert!(!all.unranked.is_empty());
        for index in &all.unranked {
            assert!(analysis.overall.total[*index].place.is_none());
        }
        let mut results = fixture::plain();
        results.campaign.contenders.truncate(1);
        let name = results.campaign.contenders[0].name.clone();
        results.cells.retain(|stored| stored.cell.contender == name);
        assert!(analyse(&results).conclusions.is_empty());
    }
}
