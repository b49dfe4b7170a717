//! Ranks with ties, and the rule by which a best and a worst are marked.
//!
//! 1. Contenders are put in the order of their medians, and the order is cut wherever everybody before
//!    the cut is told apart from everybody behind it. What lies between two cuts is a tie, even where
//!    its ends could be told apart from each other. A rank is one more than the number of contenders
//!    before the cut.
//! 2. Which of two rules tells contenders apart depends on how many there are and how many rounds they
//!    have, and never on the values:
//!    * Where the rounds suffice for it ([`crate::rounds_needed`]), the exact test of each pair,
//!      corrected for their number, as in [`crate::Row::comparisons`]. Among contenders that do not
//!      differ, it makes some cut in at most 5 % of rows.
//!    * With fewer rounds, that the intervals of the two do not overlap; and that only where chance
//!      would cut seldom. Suppose the contenders do not differ at all, so that every order of their N
//!      values is equally likely. The chance that all values of some of them, s in number, lie beyond
//!      all others is 1 / C(N, s), and the sum over all ways to choose some of them is the number of
//!      cuts to be expected; it must not be above [`FALSE_MARK_LIMIT`]. Two contenders need three
//!      rounds (10 %), thirteen need two (9 %), and one round never suffices. With nine rounds and
//!      more, intervals leave out the outermost values, which makes a cut likelier than this sum says,
//!      but by then both are far below the limit.
//! 3. Best is the one contender before the first cut, worst the one behind the last, where it is alone
//!    there.
//! 4. A contender that failed in some round is ranked by what is left, always by its interval, and never
//!    marked: the rounds it survived are no fair sample.

use std::cmp::Ordering;

use model::Direction;
use serde::{Deserialize, Serialize};

use crate::compare::Pairs;
use crate::{Estimate, rounds_needed};

/// The largest number of cuts per row, on average, among contenders that do not differ.
pub const FALSE_MARK_LIMIT: f64 = 0.10;

/// What the tables point out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Better than everybody else.
    Best,
    /// Worse than everybody else.
    Worst,
}

/// Where a contender stands in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
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
pub fn rank(competitors: &[Competitor], direction: Direction) -> Vec<Option<Place>> {
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
            places[member] = Some(Place {
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
    let judge = Judge::of(competitors, direction);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // The farthest place, in the order, of somebody whom one of those before is not told apart from.
    let mut reach = 0;
    for (place, &index) in order.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if place <= reach => group.push(index),
            _ => groups.push(vec![index]),
        }
        let tied = |other: &usize| !judge.tells_apart(index, order[*other]);
        let farthest = (place + 1..order.len()).rev().find(tied);
        reach = reach.max(farthest.unwrap_or(place));
    }
    groups
}

/// Who is told apart from whom.
struct Judge<'a> {
    competitors: &'a [Competitor],
    /// Verdicts of the tests on those who are sound, where there are rounds enough.
    tests: Option<Pairs>,
    /// Whether intervals that do not overlap say something.
    intervals: bool,
}

impl<'a> Judge<'a> {
    fn of(competitors: &'a [Competitor], direction: Direction) -> Self {
        Self {
            competitors,
            tests: tests(competitors, direction),
            intervals: expected_cuts(&counts(competitors)) <= FALSE_MARK_LIMIT,
        }
    }

    /// Whether the first, whose median is no worse, is told apart from the second.
    fn tells_apart(&self, first: usize, second: usize) -> bool {
        let (a, b) = (&self.competitors[first], &self.competitors[second]);
        match &self.tests {
            Some(tests) if a.sound && b.sound => tests.is_better(first, second),
            _ => {
                let intervals = a.estimate.zip(b.estimate);
                self.intervals && intervals.is_some_and(|(a, b)| !a.interval.overlaps(&b.interval))
            }
        }
    }
}

/// The tests of all pairs of sound contenders; `None` where the rounds are too few for any of them to
/// tell anybody apart, or where values make no ratios.
fn tests(competitors: &[Competitor], direction: Direction) -> Option<Pairs> {
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
    let series = competitors
        .iter()
        .map(|c| ranked(&c).then_some(&c.values[..]));
    Some(Pairs::of(&series.collect::<Vec<_>>(), direction))
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

/// Cuts to be expected in the order of contenders that do not differ and have so many values each: the
/// sum over all ways to choose some of them, but not all, of the chance that all their values lie above
/// all others.
pub fn expected_cuts(counts: &[u32]) -> f64 {
    let total: u32 = counts.iter().sum();
    // Ways to choose contenders whose values number so many.
    let mut ways = vec![0.0; total as usize + 1];
    ways[0] = 1.0;
    for &count in counts {
        for sum in (count..=total).rev() {
            ways[sum as usize] += ways[(sum - count) as usize];
        }
    }
    let mut combinations = 1.0;
    let mut cuts = 0.0;
    // Those chosen above and those not chosen below are the same cut seen from either end, and as likely.
    for chosen in 1..=total / 2 {
        // C(total, chosen) from C(total, chosen − 1); infinite where it is too large for a float.
        combinations *= f64::from(total - chosen + 1) / f64::from(chosen);
        let either_end = if 2 * chosen == total { 1.0 } else { 2.0 };
        cuts += either_end * ways[chosen as usize] / combinations;
    }
    cuts
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
