//! Who may be the best of a row or a use, and how much worse everybody else is at least.
//!
//! Each contender is compared with every other, over the rounds that both have, which takes out what a round has in
//! common. It leaves the shortlist where it is shown to be worse than one of them by more than the
//! margin: then it is worse than the best, too, whoever that is (subset selection, S. S. Gupta, Technometrics 7, 1965;
//! multiple comparisons with the best, J. C. Hsu, J. Am. Stat. Assoc. 79, 1984).
//!
//! A *use* is tested by what it costs: the weighted sum of log costs. Rows of one test are summed up in each round
//! first, for they come from the same cell; sums of different tests are independent.

use std::collections::{BTreeMap, BTreeSet};

use super::margin::{Margin, Verdict, rounds_needed, without_noise};
use super::moderated::{Estimate, Series, moderate};
use super::multiplicity::{among, level};
use super::prior::Table;
use super::sum::{Draws, Sum};
use super::{Costs, FALSE_LIMIT, RowCosts, stalls, student};

/// The level of all uses together. It is below [`FALSE_LIMIT`] since a claim among hundreds is decided far out in the tails,
/// which are heavier than those of the t distribution where noise is skewed: so much is kept back that the counted
/// rate stays below the limit with noise that is exponential on the log scale.
const USES_LEVEL: f64 = 0.75 * FALSE_LIMIT;

/// How contenders stand to the best of a row or a use.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The contender with the lowest cost by the estimates; `None` where no two are comparable.
    pub first: Option<usize>,
    /// Who may be the best, in the campaign's order.
    pub shortlist: Vec<usize>,
    /// For each contender the log of its cost as a multiple of the first's.
    pub differences: Vec<Option<f64>>,
    /// For each contender its verdict against the best; of those on the shortlist, against the first, and of the
    /// first, against whoever comes next to it. `None` where it is not comparable.
    pub verdicts: Vec<Option<Verdict>>,
}

/// The standings of all rows. Of what they call worse, and of what they call equal, at most [`FALSE_LIMIT`] is false.
pub fn rows(costs: &Costs, margin: Margin) -> Vec<Standing> {
    let pairs = compare(costs.contenders, &costs.rows, costs.exact);
    let levels = Levels::of(&pairs, margin);
    let both = pairs.iter().zip(&costs.rows);
    both.map(|(pairs, row)| {
        let verdict = |one| {
            let certain = costs.exact.then(|| certain(row, one, pairs.first, margin));
            certain
                .flatten()
                .or_else(|| in_row(pairs, one, levels, margin))
        };
        Standing::of(pairs, verdict)
    })
    .collect()
}

/// The standings of uses, each given by the weights of the rows. With all of them together, the chance that a shortlist
/// does not hold the best, or a bound or an equality is false, is at most [`FALSE_LIMIT`].
pub fn uses(costs: &Costs, weights: &[Vec<f64>], margin: Margin) -> Vec<Standing> {
    let uses = weights.iter();
    uses.map(|one| weighed(costs, one, margin, weights.len()))
        .collect()
}

/// The standing of one of as many uses as `family` says, by its weights of the rows.
pub fn weighed(costs: &Costs, weights: &[f64], margin: Margin, family: usize) -> Standing {
    let limit = USES_LEVEL / family.max(1) as f64;
    of_use(costs, weights, margin, limit, &mut Draws::default())
}

fn of_use(
    costs: &Costs,
    weights: &[f64],
    margin: Margin,
    limit: f64,
    draws: &mut Draws,
) -> Standing {
    let used: Vec<(&RowCosts, f64)> = costs
        .rows
        .iter()
        .zip(weights)
        .filter(|(_, weight)| **weight > 0.0)
        .map(|(row, weight)| (row, *weight))
        .collect();
    let (shares, cells): (Vec<f64>, Vec<RowCosts>) = by_test(&used).into_iter().unzip();
    let tests = compare(costs.contenders, &cells, costs.exact);
    let all = Pairs::sums(costs.contenders, &tests, &shares);
    let whole = costs.exact.then(|| summed_up(&used));
    let verdict = |one| {
        let certain = whole
            .as_ref()
            .and_then(|row| certain(row, one, all.first, margin));
        let mut sum = |other| {
            let parts = tests.iter().zip(&shares);
            let parts = parts.map(|(pairs, share)| Some((*share, pairs.between(one, other)?)));
            Some(draws.sum(&parts.collect::<Option<Vec<_>>>()?))
        };
        certain
            .or_else(|| worse_in_use(&sum(all.farthest(one, margin)?)?, &all, limit, margin))
            .or_else(|| {
                let first = all.first.filter(|first| *first != one)?;
                Some(equal_in_use(&sum(first)?, &all, limit, margin))
            })
    };
    Standing::of(&all, verdict)
}

/// The rows of each test summed up, with its share in the weight of all.
fn by_test(used: &[(&RowCosts, f64)]) -> Vec<(f64, RowCosts)> {
    let whole: f64 = used.iter().map(|(_, weight)| weight).sum();
    let mut tests: BTreeMap<usize, Vec<(&RowCosts, f64)>> = BTreeMap::new();
    for part in used {
        tests.entry(part.0.test).or_default().push(*part);
    }
    let tests = tests.into_values();
    tests
        .map(|rows| {
            let weight: f64 = rows.iter().map(|(_, weight)| weight).sum();
            (weight / whole, summed_up(&rows))
        })
        .collect()
}

/// The weighted mean of rows in each round that has all of them.
fn summed_up(rows: &[(&RowCosts, f64)]) -> RowCosts {
    let weight: f64 = rows.iter().map(|(_, weight)| weight).sum();
    let contenders = rows.first().map_or(0, |(row, _)| row.logs.len());
    let mean = |contender: usize, round: usize| {
        let logs = rows.iter().map(|(row, part)| {
            let log = row.logs[contender].get(round).copied().flatten();
            log.map(|log| log * part / weight)
        });
        logs.sum::<Option<f64>>()
    };
    let rounds = rows.iter().map(|(row, _)| row.rounds()).max().unwrap_or(0);
    let of_contender = |contender| (0..rounds).map(|round| mean(contender, round)).collect();
    RowCosts {
        test: rows.first().map_or(0, |(row, _)| row.test),
        logs: (0..contenders).map(of_contender).collect(),
    }
}

/// What values without noise say of a contender: by how much it is worse than any other in every round, else how it
/// stands to the first.
fn certain(row: &RowCosts, one: usize, first: Option<usize>, margin: Margin) -> Option<Verdict> {
    let against = |other: usize| without_noise(&row.differences(one, other).1, margin);
    let shares = (0..row.logs.len()).filter_map(|other| match against(other) {
        Some(Verdict::WorseByAtLeast(share)) => Some(share),
        _ => None,
    });
    match shares.reduce(f64::max) {
        Some(share) => Some(Verdict::WorseByAtLeast(share)),
        None => against(first.filter(|first| *first != one)?),
    }
}

/// The levels at which claims about single pairs are made.
#[derive(Clone, Copy, Debug)]
struct Levels {
    worse: f64,
    equal: f64,
}

impl Levels {
    /// Over all rows. That a contender is worse than the best is shown by any other, so that its p value is the least of
    /// them by their number; that it is equal, by the first alone, which the estimates favour.
    fn of(rows: &[Pairs], margin: Margin) -> Self {
        let contenders = rows.first().map_or(0, |pairs| pairs.contenders);
        let others = contenders.saturating_sub(1).max(1) as f64;
        let of_all = |of: &dyn Fn(&Pairs, usize) -> Option<f64>| {
            let places = rows
                .iter()
                .flat_map(|p| (0..contenders).map(move |one| (p, one)));
            places
                .filter_map(|(pairs, one)| of(pairs, one))
                .collect::<Vec<f64>>()
        };
        let worse = of_all(&|pairs, one| {
            let farthest = pairs.between(one, pairs.farthest(one, margin)?)?;
            Some((farthest.chance_beyond(margin.log()) * others).min(1.0))
        });
        let equal = of_all(&|pairs, one| {
            let beside = pairs.beside_first(one).filter(|e| !e.is_nothing)?;
            Some(beside.chance_of_equality(margin.log()))
        });
        Self {
            worse: level(worse, FALSE_LIMIT) / others,
            equal: level(equal, FALSE_LIMIT),
        }
    }
}

fn in_row(pairs: &Pairs, one: usize, levels: Levels, margin: Margin) -> Option<Verdict> {
    let farthest = pairs.between(one, pairs.farthest(one, margin)?)?;
    if farthest.chance_beyond(margin.log()) <= levels.worse {
        return Some(Verdict::worse(farthest.lower_bound(levels.worse)));
    }
    let beside = pairs.beside_first(one)?;
    Some(if beside.is_nothing {
        Verdict::Identical
    } else if beside.chance_of_equality(margin.log()) <= levels.equal {
        Verdict::EqualWithin(margin)
    } else {
        let level = match beside.mean.abs() > margin.log() {
            true => levels.worse,
            false => levels.equal,
        };
        let chance = |error: f64| beside.chance_of_error(error);
        Verdict::NotEnoughRounds {
            rounds: rounds_needed(beside.mean, margin, pairs.rounds, level, chance),
        }
    })
}

fn worse_in_use(sum: &Sum, pairs: &Pairs, limit: f64, margin: Margin) -> Option<Verdict> {
    let above = sum.chance_above(sum.value);
    let chance = |error: f64| among(pairs.contenders, sum.chance_above(error), above);
    let room = sum.value - margin.log();
    if room <= 0.0 || chance(room) > limit {
        return None;
    }
    // The bound is where the chance comes up to the limit.
    let reach = match sum.variance > 0.0 {
        true => student::falls_to(limit, chance).min(room),
        false => 0.0,
    };
    Some(Verdict::worse(sum.value - reach))
}

fn equal_in_use(sum: &Sum, pairs: &Pairs, limit: f64, margin: Margin) -> Verdict {
    let level = limit / (pairs.contenders - 1) as f64;
    let room = margin.log() - sum.value.abs();
    if sum.is_nothing {
        Verdict::Identical
    } else if room >= 0.0 && sum.chance_above(room) <= level {
        Verdict::EqualWithin(margin)
    } else {
        let chance = |error: f64| match room >= 0.0 {
            true => sum.chance_above(error),
            false => among(pairs.contenders, sum.chance_above(error), 0.0),
        };
        let level = if room >= 0.0 { level } else { limit };
        Verdict::NotEnoughRounds {
            rounds: rounds_needed(sum.value, margin, pairs.rounds, level, chance),
        }
    }
}

impl Standing {
    /// Puts it together from what each contender is by itself.
    fn of(pairs: &Pairs, verdict: impl FnMut(usize) -> Option<Verdict>) -> Self {
        let mut verdicts: Vec<Option<Verdict>> = (0..pairs.contenders).map(verdict).collect();
        let is_worse = |one: usize| matches!(verdicts[one], Some(Verdict::WorseByAtLeast(_)));
        let differences: Vec<Option<f64>> = (0..pairs.contenders)
            .map(|one| match pairs.first {
                Some(first) if first == one => Some(0.0),
                _ => Some(pairs.beside_first(one)?.mean),
            })
            .collect();
        let comparable = (0..pairs.contenders).filter(|one| differences[*one].is_some());
        let shortlist: Vec<usize> = comparable.filter(|one| !is_worse(*one)).collect();
        if let Some(first) = pairs.first.filter(|first| !is_worse(*first)) {
            let others = verdicts.iter().flatten().copied();
            verdicts[first] = first_of(&others.collect::<Vec<Verdict>>());
        }
        Self {
            first: pairs.first,
            shortlist,
            differences,
            verdicts,
        }
    }
}

/// The verdict on the first, from those on all others: on the nearest of them.
fn first_of(others: &[Verdict]) -> Option<Verdict> {
    let nearest = others.iter().copied().reduce(|a, b| match (a, b) {
        (Verdict::WorseByAtLeast(a), Verdict::WorseByAtLeast(b)) => {
            Verdict::WorseByAtLeast(a.min(b))
        }
        (Verdict::WorseByAtLeast(_), other) | (other, Verdict::WorseByAtLeast(_)) => other,
        (Verdict::NotEnoughRounds { rounds: a }, Verdict::NotEnoughRounds { rounds: b }) => {
            let rounds = a.zip(b).map(|(a, b)| a.max(b));
            Verdict::NotEnoughRounds { rounds }
        }
        (open @ Verdict::NotEnoughRounds { .. }, _)
        | (_, open @ Verdict::NotEnoughRounds { .. }) => open,
        (Verdict::Identical, other) => other,
        (other, _) => other,
    });
    nearest.map(Verdict::reversed)
}

/// Every pair of contenders of a row, or of a use.
#[derive(Clone, Debug)]
struct Pairs {
    contenders: usize,
    rounds: usize,
    /// Who costs least by the estimates.
    first: Option<usize>,
    /// How much more the first of a pair costs than the second, in the order of [`all_pairs`].
    estimates: Vec<Option<Estimate>>,
}

impl Pairs {
    fn new(contenders: usize, rounds: usize, estimates: Vec<Option<Estimate>>) -> Self {
        let mut pairs = Self {
            contenders,
            rounds,
            first: None,
            estimates,
        };
        let mean = |one: usize| {
            let others = (0..contenders).filter_map(|other| pairs.between(one, other));
            let means: Vec<f64> = others.map(|estimate| estimate.mean).collect();
            let sum: f64 = means.iter().sum();
            (!means.is_empty()).then(|| (one, sum / means.len() as f64))
        };
        let means = (0..contenders).filter_map(mean);
        pairs.first = means.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(one, _)| one);
        pairs
    }

    /// The weighted sums over tests; their variances serve to compare them, and no more.
    fn sums(contenders: usize, tests: &[Self], shares: &[f64]) -> Self {
        let sum = |pair: usize| {
            let mut sum = Estimate {
                mean: 0.0,
                variance: 0.0,
                freedom: 1.0,
                is_nothing: true,
            };
            for (test, share) in tests.iter().zip(shares) {
                let part = test.estimates[pair]?;
                sum.mean += share * part.mean;
                sum.variance += share * share * part.variance;
                sum.is_nothing &= part.is_nothing;
            }
            (!tests.is_empty()).then_some(sum)
        };
        let rounds = tests.iter().map(|test| test.rounds).max().unwrap_or(0);
        let count = all_pairs(contenders).count();
        Self::new(contenders, rounds, (0..count).map(sum).collect())
    }

    /// How much more one costs than another.
    fn between(&self, one: usize, other: usize) -> Option<Estimate> {
        let (a, b) = (one.min(other), one.max(other));
        let before = a * self.contenders - a * (a + 1) / 2;
        let estimate = *self.estimates.get(before + b.checked_sub(a + 1)?)?;
        if one < other {
            return estimate;
        }
        estimate.map(Estimate::reversed)
    }

    fn beside_first(&self, one: usize) -> Option<Estimate> {
        self.between(one, self.first?)
    }

    /// The other that a contender is most surely worse than; of several that are sure beyond any doubt, the one it is
    /// farthest from.
    fn farthest(&self, one: usize, margin: Margin) -> Option<usize> {
        let errors = |other: usize| {
            let estimate = self.between(one, other)?;
            Some((other, estimate.errors_above(margin.log()), estimate.mean))
        };
        let all = (0..self.contenders).filter_map(errors);
        all.max_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)))
            .map(|(other, ..)| other)
    }
}

/// Compares all pairs of contenders of all rows.
fn compare(contenders: usize, rows: &[RowCosts], exact: bool) -> Vec<Pairs> {
    let tests: BTreeSet<usize> = rows.iter().map(|row| row.test).collect();
    let mut calm = rows.to_vec();
    let replaced = match exact {
        true => stalls::none(rows),
        false => stalls::replace(&mut calm, contenders, tests.len()),
    };
    let columns = all_pairs(contenders).count();
    let mut series = Vec::with_capacity(rows.len() * columns);
    for (row, (costs, replaced)) in calm.iter().zip(&replaced).enumerate() {
        for (column, (one, other)) in all_pairs(contenders).enumerate() {
            let (rounds, values) = costs.differences(one, other);
            let was_replaced = |round: &&usize| replaced[one][**round] || replaced[other][**round];
            series.push(Series {
                row,
                column,
                replaced: rounds.iter().filter(was_replaced).count(),
                values,
            });
        }
    }
    let table = Table {
        rows: rows.len(),
        columns,
        across: contenders.saturating_sub(1) as f64,
        down: tests.len() as f64,
    };
    let mut estimates = moderate(table, &series).into_iter();
    rows.iter()
        .map(|row| {
            let of_row = estimates.by_ref().take(columns).collect();
            Pairs::new(contenders, row.rounds(), of_row)
        })
        .collect()
}

fn all_pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}

#[cfg(test)]
#[path = "best_tests.rs"]
mod tests;
