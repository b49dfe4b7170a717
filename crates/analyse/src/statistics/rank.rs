//! Ranks with ties, and the rule by which a best and a worst are marked.
//!
//! 1. Contenders are put in the order of their medians, and the order is cut wherever everybody before
//!    the cut is significantly different from everybody behind it. What lies between two cuts is a tie, even where
//!    its ends are significantly different. A rank is one more than the number of contenders
//!    before the cut.
//! 2. Two rules say that contenders differ, and one of them suffices:
//!    * That their values mingle little, or not at all, with few rounds ([`crate::statistics::separation`]). It serves
//!      from two or three rounds on.
//!    * Where the rounds suffice for it ([`crate::rounds_needed`]), the exact test of each pair, corrected
//!      for their number, as in [`crate::Row::comparisons`]. It sees a difference that is smaller than
//!      what the rounds have in common.
//!
//!    Among contenders that do not differ, the two together make no more than [`FALSE_MARK_LIMIT`] cuts
//!    per row: the tests take what they can reach of [`FALSE_DIFFERENCE_LIMIT`], and the first rule takes
//!    the rest. Which rules there are, and how much may mingle, depends on how many contenders there are
//!    and how many rounds they have, and never on the values; and as the limit is the same for any number
//!    of rounds, more rounds show more of the same difference, and not less.
//! 3. Best is the one contender before the first cut, worst the one behind the last, where it is alone
//!    there.
//! 4. A contender that failed in some round is ranked by what is left, never by the tests, and never
//!    marked: the rounds it survived are no fair sample.

use std::cmp::Ordering;

use model::Direction;
use serde::{Deserialize, Serialize};

use crate::statistics::pairwise::Pairs;
use crate::statistics::separation::{Tolerance, inversions};
use crate::statistics::signed_rank::SignedRank;
use crate::{Estimate, FALSE_DIFFERENCE_LIMIT, rounds_needed};

/// The largest number of cuts per row, on average, among contenders that do not differ; with any number of
/// rounds.
pub const FALSE_MARK_LIMIT: f64 = 0.10;

/// What the tables point out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Better than everybody else.
    Best,
    /// Worse than everybody else.
    Worst,
}

/// Where a contender stands in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rank {
    /// One more than the number of contenders that are better.
    pub rank: u32,
    /// How many others share the rank.
    pub tied_with: u32,
    /// Whether it is pointed out.
    pub mark: Option<Mark>,
}

/// What ranking needs to know of one contender.
#[derive(Clone, Debug)]
pub struct Competitor {
    /// Its value in each round, from the first.
    pub values: Vec<Option<f64>>,
    /// What these come to; `None` where it has no value and takes no place.
    pub estimate: Option<Estimate>,
    /// Whether every round that ran gave a value.
    pub sound: bool,
}

/// Places of the contenders, in the order given; none where the direction is neutral.
pub fn rank(competitors: &[Competitor], direction: Direction) -> Vec<Option<Rank>> {
    let mut places = vec![None; competitors.len()];
    if direction == Direction::Neutral {
        return places;
    }
    let groups = groups(competitors, direction);
    let mut better = 0;
    for (index, group) in groups.iter().enumerate() {
        let size = u32::try_from(group.len()).unwrap_or(u32::MAX);
        let lone = groups.len() > 1 && size == 1 && competitors[group[0]].sound;
        let mark = match index {
            0 if lone => Some(Mark::Best),
            last if lone && last + 1 == groups.len() => Some(Mark::Worst),
            _ => None,
        };
        for &member in group {
            places[member] = Some(Rank {
                rank: better + 1,
                tied_with: size - 1,
                mark,
            });
        }
        better += size;
    }
    places
}

/// Indices of those who have an estimate, best group first; members in the order of their medians.
fn groups(competitors: &[Competitor], direction: Direction) -> Vec<Vec<usize>> {
    let mut order: Vec<(usize, Estimate)> = competitors
        .iter()
        .enumerate()
        .filter_map(|(index, c)| Some((index, c.estimate?)))
        .collect();
    order.sort_by(|(i, a), (j, b)| better_first(a.median, b.median, direction).then(i.cmp(j)));
    let order: Vec<usize> = order.into_iter().map(|(index, _)| index).collect();
    let found = Order::of(competitors, direction);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // The farthest place, in the order, of somebody from whom one of those before is not significantly different.
    let mut reach = 0;
    for (place, &index) in order.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if place <= reach => group.push(index),
            _ => groups.push(vec![index]),
        }
        let tied = |other: &usize| !found.differ_significantly(index, order[*other]);
        let farthest = (place + 1..order.len()).rev().find(tied);
        reach = reach.max(farthest.unwrap_or(place));
    }
    groups
}

/// Who is significantly different from whom.
struct Order<'a> {
    competitors: &'a [Competitor],
    direction: Direction,
    /// The values of each, rising.
    sorted: Vec<Vec<f64>>,
    /// Verdicts of the tests on those who are sound, where there are rounds enough.
    tests: Option<Pairs>,
    /// How far values may mingle; absent where it says nothing even if they do not.
    tolerance: Option<Tolerance>,
}

impl<'a> Order<'a> {
    fn of(competitors: &'a [Competitor], direction: Direction) -> Self {
        let (tests, taken) = match tests(competitors, direction) {
            Some((tests, level)) => (Some(tests), level),
            None => (None, 0.0),
        };
        let sorted = |competitor: &Competitor| {
            let mut values: Vec<f64> = competitor.values.iter().flatten().copied().collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        Self {
            competitors,
            direction,
            sorted: competitors.iter().map(sorted).collect(),
            tests,
            tolerance: Tolerance::within(&counts(competitors), FALSE_MARK_LIMIT - taken),
        }
    }

    /// Whether the first, whose median is no worse, is significantly different from the second.
    fn differ_significantly(&self, first: usize, second: usize) -> bool {
        let are_sound = self.competitors[first].sound && self.competitors[second].sound;
        let by_tests = |tests: &Pairs| are_sound && tests.is_better(first, second);
        self.tests.as_ref().is_some_and(by_tests) || self.are_separate(first, second)
    }

    /// Whether the values of the first, whose median is no worse, mingle little with those of the second.
    fn are_separate(&self, first: usize, second: usize) -> bool {
        let (a, b) = (&self.sorted[first], &self.sorted[second]);
        let pairs = (a.len() * b.len()) as u64;
        let found = inversions(a, b, self.direction);
        self.tolerance.is_some_and(|t| t.admits(found, pairs))
    }
}

/// The tests of all pairs of sound contenders, and how often they call some pair different where none differs;
/// `None` where the rounds are too few for any of them to show a difference, or where values make no ratios.
fn tests(competitors: &[Competitor], direction: Direction) -> Option<(Pairs, f64)> {
    let ranked = |c: &&Competitor| c.sound && c.estimate.is_some();
    let sound: Vec<&Competitor> = competitors.iter().filter(ranked).collect();
    let pairs = sound.len() * sound.len().saturating_sub(1) / 2;
    let least = sound
        .iter()
        .filter_map(|c| Some(c.estimate?.rounds))
        .min()?;
    let positive = |c: &&Competitor| c.values.iter().flatten().all(|v| *v > 0.0);
    if pairs == 0 || least < rounds_needed(pairs) || !sound.iter().all(positive) {
        return None;
    }
    let series: Vec<_> = competitors
        .iter()
        .map(|c| ranked(&c).then_some(&c.values[..]))
        .collect();
    let level = level(pairs, least);
    Some((Pairs::of(&series, direction, level), level))
}

/// What the tests of so many pairs can reach of their limit: p values come in steps.
fn level(pairs: usize, rounds: u32) -> f64 {
    let pairs = pairs as f64;
    let reached = SignedRank::of(rounds as usize).largest_p_within(FALSE_DIFFERENCE_LIMIT / pairs);
    reached * pairs
}

fn counts(competitors: &[Competitor]) -> Vec<u32> {
    let estimates = competitors.iter().filter_map(|c| c.estimate);
    estimates.map(|e| e.rounds).collect()
}

fn better_first(a: f64, b: f64, direction: Direction) -> Ordering {
    match direction {
        Direction::Higher => b.total_cmp(&a),
        Direction::Lower | Direction::Neutral => a.total_cmp(&b),
    }
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
