//! Finds the contenders that may be the best in a row or a use, and the least by which every other
//! contender is worse.
//!
//! Each contender is compared with every other, over the rounds that both have, which cancels the
//! effects of a round. A contender leaves the shortlist if it is shown to be worse than another by
//! more than the margin, because it is also worse than the best, whichever that is (subset
//! selection, S. S. Gupta, Technometrics 7, 1965; multiple comparisons with the best, J. C. Hsu, J.
//! Am. Stat. Assoc. 79, 1984).
//!
//! A *use* is tested by its cost: the weighted sum of log costs. Rows of one test come from the
//! same cell, and their noise is correlated as estimated from the campaign; rows of different tests
//! are independent.

use std::collections::BTreeMap;

use super::estimates::{PairDifferences, PairwiseEstimates};
use super::margin::{ComparisonVerdict, Margin, exact, rounds_needed};
use super::multiplicity::{level, sidak};
use super::sum::{SumTerm, WeightedSum};
use super::{FDR_LIMIT, LogCosts, Selected, student};

/// Standing of each contender relative to the best of a row or a use.
#[derive(Clone, Debug, PartialEq)]
pub struct BestComparison {
    /// The contender with the lowest estimated cost, or `None` if no two are comparable.
    pub first: Option<usize>,
    /// Contenders that may be the best, in the campaign's order.
    pub shortlist: Vec<usize>,
    /// Log of the cost of each contender as a multiple of the cost of the first.
    pub differences: Vec<Option<f64>>,
    /// Verdict on each contender against the best; for the shortlist, against the first; for the
    /// first, against the next one. `None` if it is not comparable.
    pub verdicts: Vec<Option<ComparisonVerdict>>,
    /// Whether shares in the verdicts are exact differences, because a single round has values that
    /// are free of noise.
    pub exact: bool,
}

/// The most that a contender costs more than the best, as a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExcessBound {
    /// The bound.
    pub most: f64,
    /// That bound after [`FORECAST_ROUNDS`] times as many rounds, if the estimates stay the
    /// same: errors shrink with the square root of the rounds.
    pub forecast: f64,
    /// The contender whose comparison sets the bound. `None` if no other may cost less.
    pub rival: Option<usize>,
}

/// Number of times as many rounds for which a bound is forecast.
pub const FORECAST_ROUNDS: f64 = 3.0;

impl ExcessBound {
    /// Returns the bound of a known excess.
    const fn exact(excess: f64) -> Self {
        Self { most: excess, forecast: excess, rival: None }
    }

    /// Returns the larger of this bound and that of a difference from a rival, with an error.
    fn larger(self, rival: usize, difference: f64, error: f64) -> Self {
        match difference + error > self.most {
            true => Self {
                most: difference + error,
                forecast: (difference + error / FORECAST_ROUNDS.sqrt()).max(0.0),
                rival: Some(rival),
            },
            false => self,
        }
    }
}

/// Which end of a row contenders are compared with.
#[derive(Clone, Copy, Debug)]
enum RowEnd {
    Best,
    Worst,
}

/// A question about several rows together.
#[derive(Clone, Copy, Debug)]
pub struct Contrast<'a> {
    /// Weight of each row.
    pub weights: &'a [f64],
    /// Whether each contender is selected.
    pub takes_part: &'a [bool],
    /// Margin of relevance.
    pub margin: Margin,
    /// Number of such questions that a report answers.
    pub family: usize,
}

/// Returns the allowed probability of a false claim for each question of a family of this size. If
/// results decide when a campaign ends, the probability is half of that: without this, 5.7 ± 1.2 % of
/// simulated campaigns of two contenders made a false claim.
pub fn family_level(family: usize, ends_by_results: bool) -> f64 {
    let looks = if ends_by_results { 2.0 } else { 1.0 };
    FDR_LIMIT / (looks * family.max(1) as f64)
}

/// Returns the allowed probability of a false bound for each of the others among this many
/// contenders.
///
/// A campaign that ends depending on its results broke 8 % of the bounds of two contenders in
/// simulations, and 5 % with α/k. Its bounds have α/(k + 1), or half of α/(k − 1) if that is less:
/// with α/(k + 1), 4.2 ± 2.8 % of the bounds of twelve contenders broke. With a fixed number of
/// rounds, α/(k − 1) broke 4.9 ± 0.4 % in the hardest case, two contenders. With α/(k − 0.8) the
/// upper end of that count is below 5 %, too.
fn bound_level(contenders: usize, ends_by_results: bool) -> f64 {
    let others = (contenders.max(2) - 1) as f64;
    FDR_LIMIT / if ends_by_results { (others + 2.0).max(2.0 * others) } else { others + 0.2 }
}

impl PairwiseEstimates {
    /// Returns the comparison of all rows. At most [`FDR_LIMIT`] of the verdicts "worse" is false,
    /// and likewise of the verdicts "equal".
    pub fn rows(&self, margin: Margin) -> Vec<BestComparison> {
        self.standings(&self.costs.everything(), RowEnd::Best, margin)
    }

    /// Returns the standings of the selected contenders in the selected rows, compared only with
    /// each other, and the standings of the negated costs, whose best is the worst of a row. The
    /// noise estimate still comes from the whole campaign.
    pub fn rows_among(&self, selected: &Selected, margin: Margin) -> [Vec<BestComparison>; 2] {
        [RowEnd::Best, RowEnd::Worst].map(|end| self.standings(selected, end, margin))
    }

    /// Returns the standings of the selected contenders in the selected rows. The pairs of only
    /// one row are in memory at a time.
    fn standings(&self, selected: &Selected, end: RowEnd, margin: Margin) -> Vec<BestComparison> {
        let costs = self.costs.among(selected);
        let costs = match end {
            RowEnd::Best => costs,
            RowEnd::Worst => costs.negated(),
        };
        let pairs_of = |row: usize| {
            let is_used = |one: usize| selected.rows[row] && selected.contenders[one];
            let pairs = self.rows[row].restrict(is_used);
            match end {
                RowEnd::Best => pairs,
                RowEnd::Worst => pairs.reversed(),
            }
        };
        let takes_part = selected.contenders.iter().filter(|one| **one).count();
        let levels = SignificanceLevels::of((0..self.rows.len()).map(pairs_of), takes_part, margin);
        let rows = costs.rows.iter().enumerate();
        rows.map(|(number, row)| {
            let pairs = pairs_of(number);
            let verdict = |one| {
                let certain = costs.exact.then(|| certain(row, one, pairs.first, margin));
                certain.flatten().or_else(|| in_row(&pairs, one, levels, margin))
            };
            BestComparison::of(&pairs, costs.exact, verdict)
        })
        .collect()
    }

    /// Returns the logarithm of the estimated cost of each selected contender in a weighted sum of
    /// rows, as a multiple of the first's.
    pub fn differences(&self, weights: &[f64], takes_part: &[bool]) -> Vec<Option<f64>> {
        self.sums(&shares(weights), takes_part).differences()
    }

    /// Returns for each contender the logarithm of the most that it costs as a multiple of the
    /// best, whichever that is; 0 if no other costs less. `None` if the noise is unknown, or if it
    /// cannot be compared with each of the others.
    ///
    /// The bound of contender i is U = max(0, max over j of d + c): d is the estimated difference
    /// in cost between i and j, and c is the error that it exceeds with a probability of
    /// α/(k − 1) among k contenders. All bounds of a question hold together with a probability of
    /// 1 − α: a bound is false only if the bound of the pair with the true best is false, and there
    /// are k − 1 such pairs (D. G. Edwards and J. C. Hsu, J. Am. Stat. Assoc. 78, 1983). So the
    /// contender with the least bound may be chosen after the fact.
    ///
    /// The probability is less than α/(k − 1): see [`bound_level`].
    pub fn at_most(&self, asked: Contrast<'_>) -> Vec<Option<ExcessBound>> {
        let used = asked.used();
        let all = self.sums(&used, asked.takes_part);
        if self.costs.exact {
            let together = summed_up(&self.of_rows(&used), asked.takes_part);
            let most = |one| most_in_any_round(&together, one).map(ExcessBound::exact);
            return (0..all.contenders).map(most).collect();
        }
        let level = bound_level(all.comparable, self.costs.ends_by_results);
        let mut quantiles: BTreeMap<u64, f64> = BTreeMap::new();
        // The error of a sum is at most that of parts that all err together, each with the fewest
        // degrees of freedom. Most pairs need no exact tail, because even this error does not make
        // their bound the largest.
        let mut farthest = |one: usize, other: usize| {
            let parts = self.parts(&used, one, other)?;
            let freedom = parts.iter().map(|p| p.estimate.freedom).fold(f64::INFINITY, f64::min);
            let tail = quantiles
                .entry(freedom.to_bits())
                .or_insert_with(|| student::quantile(level, freedom));
            let ends = parts.iter().map(|part| {
                let SumTerm { share, estimate, .. } = part;
                share * (estimate.mean + *tail * estimate.variance.sqrt())
            });
            Some((other, ends.sum::<f64>()))
        };
        let bound = |one: usize| {
            let others = (0..all.contenders).filter(|other| all.between(one, *other).is_some());
            let mut pairs: Vec<(usize, f64)> =
                others.filter_map(|other| farthest(one, other)).collect();
            // The best may be one with which it shares no round of some row.
            if pairs.len() + 1 < all.comparable {
                return None;
            }
            pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
            let mut bound = pairs.first().map(|_| ExcessBound::exact(0.0))?;
            for (other, at_most) in pairs {
                if at_most <= bound.most {
                    break;
                }
                let sum = self.sum(&used, one, other)?;
                // One chance is enough for most of the others; an exact reach needs many.
                if sum.chance_above(bound.most - sum.value) > level {
                    bound = bound.larger(other, sum.value, sum.reach(level)?);
                }
            }
            Some(bound)
        };
        (0..all.contenders).map(bound).collect()
    }

    /// Returns the comparisons of use cases among all contenders. Each use case is given by the
    /// weights of the rows.
    ///
    /// Errors are counted over all use cases together: a shortlist without the best, a false bound
    /// or a false equality. The probability of an error is at most [`FDR_LIMIT`].
    pub fn uses(&self, weights: &[Vec<f64>], margin: Margin) -> Vec<BestComparison> {
        let everybody = vec![true; self.costs.contenders];
        let question =
            |weights| Contrast { weights, takes_part: &everybody, margin, family: weights.len() };
        weights.iter().map(|one| self.weighed(question(one))).collect()
    }

    /// Returns the comparison for one use case.
    pub fn weighed(&self, asked: Contrast<'_>) -> BestComparison {
        let used = asked.used();
        let all = self.sums(&used, asked.takes_part);
        let together = self.costs.exact.then(|| summed_up(&self.of_rows(&used), asked.takes_part));
        let (margin, limit) =
            (asked.margin, family_level(asked.family, self.costs.ends_by_results));
        let verdict = |one| {
            let certain = together.as_ref().and_then(|row| certain(row, one, all.first, margin));
            let sum = |other| self.sum(&used, one, other);
            certain
                .or_else(|| {
                    let other = all.most_certainly_worse_than(one, margin)?;
                    worse_in_use(&sum(other)?, &all, all.stall(one, other), limit, margin)
                })
                .or_else(|| {
                    let first = all.first.filter(|first| *first != one)?;
                    all.between(one, first)?;
                    Some(equal_in_use(&sum(first)?, &all, limit, margin))
                })
        };
        BestComparison::of(&all, self.costs.exact, verdict)
    }

    fn of_rows(&self, used: &[(usize, f64)]) -> Vec<(&LogCosts, f64)> {
        let rows = used.iter();
        rows.map(|(row, share)| (&self.costs.rows[*row], *share)).collect()
    }
}

impl Contrast<'_> {
    /// Returns the rows that have a weight, with their shares of the total weight.
    pub(super) fn used(&self) -> Vec<(usize, f64)> {
        shares(self.weights)
    }
}

fn shares(weights: &[f64]) -> Vec<(usize, f64)> {
    let whole: f64 = weights.iter().sum();
    let shares = weights.iter().map(|weight| weight / whole).enumerate();
    shares.filter(|(_, share)| *share > 0.0).collect()
}

/// Returns the weighted mean of the rows in each round that has values of all rows.
fn summed_up(rows: &[(&LogCosts, f64)], takes_part: &[bool]) -> LogCosts {
    let contenders = rows.first().map_or(0, |(row, _)| row.logs.len());
    let mean = |contender: usize, round: usize| {
        let logs = rows.iter().map(|(row, part)| {
            let log = row.logs[contender].get(round).copied().flatten();
            log.filter(|_| takes_part[contender]).map(|log| log * part)
        });
        logs.sum::<Option<f64>>()
    };
    let rounds = rows.iter().map(|(row, _)| row.rounds()).max().unwrap_or(0);
    let of_contender = |contender| (0..rounds).map(|round| mean(contender, round)).collect();
    LogCosts {
        test: rows.first().map_or(0, |(row, _)| row.test),
        is_size: rows.iter().all(|(row, _)| row.is_size),
        logs: (0..contenders).map(of_contender).collect(),
    }
}

/// Returns the logarithm of the most by which a contender costs more than another in any round, at
/// least 0. `None` if it is comparable to no other.
fn most_in_any_round(row: &LogCosts, one: usize) -> Option<f64> {
    let others = (0..row.logs.len()).filter(|other| *other != one);
    others
        .flat_map(|other| row.differences(one, other).1)
        .reduce(f64::max)
        .map(|most| most.max(0.0))
}

/// Returns the verdict for values without noise: the share by which a contender is worse than any
/// other in every round, or else its verdict against the first.
fn certain(
    row: &LogCosts,
    one: usize,
    first: Option<usize>,
    margin: Margin,
) -> Option<ComparisonVerdict> {
    let against = |other: usize| exact(&row.differences(one, other).1, margin);
    let shares = (0..row.logs.len()).filter_map(|other| match against(other) {
        Some(ComparisonVerdict::WorseByAtLeast(share)) => Some(share),
        _ => None,
    });
    match shares.reduce(f64::max) {
        Some(share) => Some(ComparisonVerdict::WorseByAtLeast(share)),
        None => against(first.filter(|first| *first != one)?),
    }
}

/// The significance levels of claims about single pairs.
#[derive(Clone, Copy, Debug)]
struct SignificanceLevels {
    worse: f64,
    equal: f64,
}

impl SignificanceLevels {
    /// Computes the levels over all rows. Any other contender can show that one is worse than the
    /// best, so its p value is the smallest of them multiplied by their number, plus one for the end
    /// of a campaign with a budget; see [`PairwiseEstimates::at_most`]. Equality is shown only
    /// against the first, which the estimates favour.
    fn of(rows: impl Iterator<Item = PairDifferences>, takes_part: usize, margin: Margin) -> Self {
        let tries = takes_part.max(2) as f64;
        let (mut worse, mut equal) = (Vec::new(), Vec::new());
        for pairs in rows {
            for one in 0..pairs.contenders {
                let farthest = pairs.most_certainly_worse_than(one, margin);
                let farthest = farthest.and_then(|other| {
                    Some((pairs.between(one, other)?, margin.log() + pairs.stall(one, other)))
                });
                worse.extend(farthest.map(|(e, least)| (e.p_value(least) * tries).min(1.0)));
                let beside = pairs.relative_to(one).filter(|e| !e.is_nothing);
                equal.extend(beside.map(|e| e.tost_p_value(margin.log())));
            }
        }
        Self { worse: level(worse, FDR_LIMIT) / tries, equal: level(equal, FDR_LIMIT) }
    }
}

fn in_row(
    pairs: &PairDifferences,
    one: usize,
    levels: SignificanceLevels,
    margin: Margin,
) -> Option<ComparisonVerdict> {
    let other = pairs.most_certainly_worse_than(one, margin)?;
    let (farthest, stall) = (pairs.between(one, other)?, pairs.stall(one, other));
    if farthest.p_value(margin.log() + stall) <= levels.worse {
        return Some(ComparisonVerdict::worse(farthest.lower_bound(levels.worse) - stall));
    }
    let beside = pairs.relative_to(one)?;
    Some(if beside.is_nothing {
        ComparisonVerdict::Identical
    } else if beside.tost_p_value(margin.log()) <= levels.equal {
        ComparisonVerdict::EqualWithin(margin)
    } else {
        let level = match beside.mean.abs() > margin.log() {
            true => levels.worse,
            false => levels.equal,
        };
        let chance = |error: f64| beside.error_probability(error);
        ComparisonVerdict::Undecided {
            rounds: rounds_needed(beside.mean, margin, pairs.rounds, level, chance),
        }
    })
}

fn worse_in_use(
    sum: &WeightedSum,
    pairs: &PairDifferences,
    stall: f64,
    limit: f64,
    margin: Margin,
) -> Option<ComparisonVerdict> {
    let above = sum.chance_above(sum.value);
    let chance = |error: f64| sidak(pairs.comparable, sum.chance_above(error), above);
    let value = sum.value - stall;
    let room = value - margin.log();
    if room <= 0.0 || chance(room) > limit {
        return None;
    }
    // At the bound, the probability reaches the limit.
    let reach = match sum.variance > 0.0 {
        true => student::find_root(limit, chance).min(room),
        false => 0.0,
    };
    Some(ComparisonVerdict::worse(value - reach))
}

fn equal_in_use(
    sum: &WeightedSum,
    pairs: &PairDifferences,
    limit: f64,
    margin: Margin,
) -> ComparisonVerdict {
    let level = limit / (pairs.comparable - 1) as f64;
    let room = margin.log() - sum.value.abs();
    if sum.is_nothing {
        ComparisonVerdict::Identical
    } else if room >= 0.0 && sum.chance_above(room) <= level {
        ComparisonVerdict::EqualWithin(margin)
    } else {
        let chance = |error: f64| match room >= 0.0 {
            true => sum.chance_above(error),
            false => sidak(pairs.comparable, sum.chance_above(error), 0.0),
        };
        let level = if room >= 0.0 { level } else { limit };
        ComparisonVerdict::Undecided {
            rounds: rounds_needed(sum.value, margin, pairs.rounds, level, chance),
        }
    }
}

impl BestComparison {
    /// Combines the verdicts of all contenders.
    fn of(
        pairs: &PairDifferences,
        without_noise: bool,
        verdict: impl FnMut(usize) -> Option<ComparisonVerdict>,
    ) -> Self {
        let mut verdicts: Vec<Option<ComparisonVerdict>> =
            (0..pairs.contenders).map(verdict).collect();
        let is_worse =
            |one: usize| matches!(verdicts[one], Some(ComparisonVerdict::WorseByAtLeast(_)));
        let differences = pairs.differences();
        let comparable = (0..pairs.contenders).filter(|one| differences[*one].is_some());
        let shortlist: Vec<usize> = comparable.filter(|one| !is_worse(*one)).collect();
        if let Some(first) = pairs.first.filter(|first| !is_worse(*first)) {
            let others = verdicts.iter().flatten().copied();
            verdicts[first] = first_of(&others.collect::<Vec<ComparisonVerdict>>());
            // A contender identical to the first has the same open verdict.
            if let open @ Some(ComparisonVerdict::Undecided { .. }) = verdicts[first] {
                let same = verdicts.iter_mut();
                same.filter(|one| **one == Some(ComparisonVerdict::Identical))
                    .for_each(|one| *one = open);
            }
        }
        Self {
            first: pairs.first,
            shortlist,
            differences,
            verdicts,
            exact: without_noise && pairs.rounds == 1,
        }
    }
}

/// Returns the verdict on the first, from the verdict on the contender nearest to it.
fn first_of(others: &[ComparisonVerdict]) -> Option<ComparisonVerdict> {
    let nearest = others.iter().copied().reduce(|a, b| match (a, b) {
        (ComparisonVerdict::WorseByAtLeast(a), ComparisonVerdict::WorseByAtLeast(b)) => {
            ComparisonVerdict::WorseByAtLeast(a.min(b))
        }
        (ComparisonVerdict::WorseByAtLeast(_), other)
        | (other, ComparisonVerdict::WorseByAtLeast(_)) => other,
        (
            ComparisonVerdict::Undecided { rounds: a },
            ComparisonVerdict::Undecided { rounds: b },
        ) => {
            let rounds = a.zip(b).map(|(a, b)| a.max(b));
            ComparisonVerdict::Undecided { rounds }
        }
        (open @ ComparisonVerdict::Undecided { .. }, _)
        | (_, open @ ComparisonVerdict::Undecided { .. }) => open,
        (ComparisonVerdict::Identical, other) => other,
        (other, _) => other,
    });
    nearest.map(ComparisonVerdict::reversed)
}

#[cfg(test)]
#[path = "multiple_comparisons_best_tests.rs"]
mod tests;
