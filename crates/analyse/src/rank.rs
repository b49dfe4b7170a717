//! Ranks with ties, and the rule by which a best and a worst are marked.
//!
//! 1. Two contenders are tied when their intervals overlap; ties are passed on, so that a chain of
//!    overlapping intervals is one group. Groups come in the order of their medians, and a group's
//!    rank is one more than the number of contenders in better groups.
//! 2. Best is the one contender whose group is the first and holds nobody else, worst the one whose
//!    group is the last and holds nobody else: its interval overlaps nobody's.
//! 3. A contender that failed in some round is ranked by what is left, but never marked: the rounds
//!    it survived are no fair sample.
//! 4. Nothing is marked when pure chance would mark something too often. Suppose the contenders do
//!    not differ at all, so that every order of their N values is equally likely. The chance that all
//!    nᵢ values of one that may be marked lie beyond all others is Σ 1 / C(N, nᵢ); it must not be above
//!    [`FALSE_MARK_LIMIT`]. Two contenders need three rounds (10 %), nine need two (6 %), and one
//!    round never suffices. From nine rounds on intervals leave out the outermost values, which
//!    makes a mark likelier than this sum says, but by then both are far below the limit.

use std::cmp::Ordering;

use model::Direction;
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// The largest chance of marking a best (or a worst) among contenders that do not differ.
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
#[derive(Clone, Copy, Debug)]
pub struct Competitor {
    /// What its rounds come to; `None` where it has no value and takes no place.
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
    let groups = tie_groups(competitors, direction);
    let may_mark = groups.len() > 1 && chance_among(competitors) <= FALSE_MARK_LIMIT;
    let mut better = 0;
    for (index, group) in groups.iter().enumerate() {
        let size = u32::try_from(group.len()).unwrap_or(u32::MAX);
        let lone = may_mark && size == 1 && competitors[group[0]].sound;
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

fn chance_among(competitors: &[Competitor]) -> f64 {
    let counts = |sound: bool| {
        competitors
            .iter()
            .filter(move |c| c.sound == sound)
            .filter_map(|c| c.estimate.map(|e| e.rounds))
    };
    chance_of_false_mark(&counts(true).collect::<Vec<_>>(), counts(false).sum())
}

/// Indices of those who have an estimate, best group first; members in the order of their medians.
fn tie_groups(competitors: &[Competitor], direction: Direction) -> Vec<Vec<usize>> {
    let mut order: Vec<(usize, Estimate)> = competitors
        .iter()
        .enumerate()
        .filter_map(|(index, c)| Some((index, c.estimate?)))
        .collect();
    order.sort_by(|(_, a), (_, b)| a.interval.low.total_cmp(&b.interval.low));
    let mut groups: Vec<Vec<(usize, Estimate)>> = Vec::new();
    let mut reach = f64::NEG_INFINITY;
    for entry in order {
        match groups.last_mut() {
            Some(group) if entry.1.interval.low <= reach => group.push(entry),
            _ => groups.push(vec![entry]),
        }
        reach = reach.max(entry.1.interval.high);
    }
    if direction == Direction::Higher {
        groups.reverse();
    }
    groups
        .into_iter()
        .map(|group| in_order_of_medians(group, direction))
        .collect()
}

fn in_order_of_medians(mut group: Vec<(usize, Estimate)>, direction: Direction) -> Vec<usize> {
    group.sort_by(|(i, a), (j, b)| better_first(a.median, b.median, direction).then(i.cmp(j)));
    group.into_iter().map(|(index, _)| index).collect()
}

fn better_first(a: f64, b: f64, direction: Direction) -> Ordering {
    match direction {
        Direction::Higher => b.total_cmp(&a),
        Direction::Lower | Direction::Neutral => a.total_cmp(&b),
    }
}

/// The chance that, without any difference between contenders that have so many values each, all
/// values of one of them lie above all others; `unmarked` values belong to those never marked.
pub fn chance_of_false_mark(counts: &[u32], unmarked: u32) -> f64 {
    let total = counts.iter().sum::<u32>() + unmarked;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| 1.0 / choose(total, *count))
        .sum()
}

/// The binomial coefficient; infinite where it is too large for a float.
fn choose(n: u32, k: u32) -> f64 {
    (0..k.min(n - k)).fold(1.0, |product, i| {
        product * f64::from(n - i) / f64::from(i + 1)
    })
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
