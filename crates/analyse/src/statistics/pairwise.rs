//! Which contenders of a row are significantly different: every pair by an exact test, corrected for their number.
//!
//! The family of a correction is the row: all pairs of its contenders, by Holm's step-down method
//! (S. Holm, Scand. J. Stat. 6, 1979), which holds whatever the tests have to do with each other. If no
//! contender of a row differed from another, some pair would be called different in at most
//! [`FALSE_DIFFERENCE_LIMIT`] of such rows. Rows are not corrected for each other: a report of a hundred
//! rows is expected to hold a few false differences, were there no true ones.

use std::cmp::Ordering;

use model::Direction;
use serde::{Deserialize, Serialize};

use crate::Effect;
use crate::statistics::signed_rank;
use crate::statistics::signed_rank::{SignedRank, Tested};

/// The largest chance of calling any pair of a row different where none differs.
pub const FALSE_DIFFERENCE_LIMIT: f64 = 0.05;

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Significance {
    /// The first is better.
    Better,
    /// The first is worse.
    Worse,
    /// They differ, and neither more nor less is better.
    Differs,
    /// There were rounds enough, and the two are not significantly different.
    NotSignificant,
    /// However large the difference, so few rounds cannot show it beside so many other comparisons.
    TooFewRounds {
        /// Rounds from which on they can.
        needed: u32,
    },
    /// One of them has no value, has failed rounds, or has values that make no ratio.
    NotComparable,
}

impl Significance {
    /// Whether the two are significantly different.
    pub const fn is_difference(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Differs)
    }
}

/// Two contenders of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first, by its place in the campaign's order.
    pub a: usize,
    /// The second.
    pub b: usize,
    /// How the first differs from the second, over the rounds that both have; absent where the two
    /// are not comparable.
    pub effect: Option<Effect>,
    /// The p value corrected for the comparisons of the row; 1 where there is no effect.
    pub p_corrected: f64,
    /// What it came to.
    pub significance: Significance,
}

/// P values corrected by Holm's method, in the order given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![1.0; p_values.len()];
    let mut reached = 0.0f64;
    for (place, index) in order.into_iter().enumerate() {
        let left = (p_values.len() - place) as f64;
        reached = reached.max((p_values[index] * left).min(1.0));
        corrected[index] = reached;
    }
    corrected
}

/// Whether an effect is significant, by its corrected p value; `needed` says how many rounds would do.
pub fn significance(
    effect: &Effect,
    p_corrected: f64,
    comparisons: usize,
    direction: Direction,
    needed: impl FnOnce() -> u32,
) -> Significance {
    let above = effect.ratio > 1.0;
    match direction {
        _ if effect.smallest_p * comparisons as f64 > FALSE_DIFFERENCE_LIMIT => {
            Significance::TooFewRounds { needed: needed() }
        }
        _ if p_corrected > FALSE_DIFFERENCE_LIMIT => Significance::NotSignificant,
        Direction::Neutral => Significance::Differs,
        Direction::Higher if above => Significance::Better,
        Direction::Lower if !above => Significance::Better,
        _ => Significance::Worse,
    }
}

/// Rounds from which on a pair among so many comparisons can be significantly different at all.
pub fn rounds_needed(comparisons: usize) -> u32 {
    let enough = |rounds: &u32| {
        signed_rank::smallest_p(*rounds) * comparisons.max(1) as f64 <= FALSE_DIFFERENCE_LIMIT
    };
    (1..).find(enough).unwrap_or(u32::MAX)
}

/// Compares every pair of series over the rounds that both have; `None` is comparable to nothing.
pub(crate) fn compare_all(
    series: &[Option<&[Option<f64>]>],
    direction: Direction,
) -> Vec<Comparison> {
    let mut tests = Tests::default();
    let mut comparisons: Vec<Comparison> = pairs(series.len())
        .map(|(a, b)| Comparison {
            a,
            b,
            effect: series[a].zip(series[b]).and_then(|(a, b)| {
                let both = in_both(a, b);
                Effect::paired_by(tests.of(both.len()), &both)
            }),
            p_corrected: 1.0,
            significance: Significance::NotComparable,
        })
        .collect();
    correct(&mut comparisons, direction);
    comparisons
}

fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}

/// The values of the rounds that both have.
pub(crate) fn in_both(a: &[Option<f64>], b: &[Option<f64>]) -> Vec<(f64, f64)> {
    let rounds = a.iter().zip(b);
    rounds.filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect()
}

/// The tests by their number of pairs; mostly one.
#[derive(Default)]
struct Tests(Vec<(usize, SignedRank)>);

impl Tests {
    fn of(&mut self, pairs: usize) -> &SignedRank {
        let known = self.0.iter().position(|(size, _)| *size == pairs);
        let index = known.unwrap_or_else(|| {
            self.0.push((pairs, SignedRank::of(pairs)));
            self.0.len() - 1
        });
        &self.0[index].1
    }
}

fn correct(comparisons: &mut [Comparison], direction: Direction) {
    let raw: Vec<f64> = comparisons
        .iter()
        .filter_map(|c| Some(c.effect?.p))
        .collect();
    let count = raw.len();
    let mut corrected = holm(&raw).into_iter();
    for comparison in comparisons {
        let Some(effect) = &comparison.effect else {
            continue;
        };
        comparison.p_corrected = corrected.next().unwrap_or(1.0);
        let needed = || rounds_needed(count);
        comparison.significance =
            significance(effect, comparison.p_corrected, count, direction, needed);
    }
}

/// Who is better than whom: the verdicts of [`compare_all`] without their results, for ranking.
pub(crate) struct Pairs {
    contenders: usize,
    better: Vec<bool>,
}

impl Pairs {
    /// Tests every pair of series; their values are positive. Some pair of series that do not differ is
    /// called different no more often than `limit` says.
    pub fn of(series: &[Option<&[Option<f64>]>], direction: Direction, limit: f64) -> Self {
        let logs: Vec<Option<Vec<Option<f64>>>> = series
            .iter()
            .map(|values| Some((*values)?.iter().map(|v| v.map(f64::ln)).collect()))
            .collect();
        let mut tests = Tests::default();
        let tested: Vec<(usize, usize, Tested)> = pairs(series.len())
            .filter_map(|(a, b)| {
                let both = in_both(logs[a].as_deref()?, logs[b].as_deref()?);
                let differences: Vec<f64> = both.into_iter().map(|(a, b)| a - b).collect();
                Some((a, b, tests.of(differences.len()).test(&differences)))
            })
            .collect();
        let corrected = holm(&tested.iter().map(|(_, _, t)| t.p).collect::<Vec<_>>());
        let contenders = series.len();
        let mut better = vec![false; contenders * contenders];
        for ((a, b, tested), p) in tested.into_iter().zip(corrected) {
            if p > limit {
                continue;
            }
            match (tested.first, direction) {
                (Ordering::Greater, Direction::Higher) | (Ordering::Less, Direction::Lower) => {
                    better[a * contenders + b] = true;
                }
                (Ordering::Greater, Direction::Lower) | (Ordering::Less, Direction::Higher) => {
                    better[b * contenders + a] = true;
                }
                _ => {}
            }
        }
        Self { contenders, better }
    }

    /// Whether the tests say that the first is better than the second.
    pub fn is_better(&self, first: usize, second: usize) -> bool {
        self.better[first * self.contenders + second]
    }
}

#[cfg(test)]
#[path = "pairwise_tests.rs"]
mod tests;
