//! Estimates of every pair of contenders in every row: the difference of their costs, and its
//! noise. They are computed once, and every question is answered from them: rows one by one, groups
//! and uses by weighted sums.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::margin::Margin;
use super::moderated::{ModeratedEstimate, PairSeries, moderate};
use super::outlier_cells;
use super::prior::SeriesTable;
use super::sum::{ChiSquareDraws, SumTerm, WeightedSum, variance};
use super::{CampaignCosts, LogCosts};

/// Normal quantile for an upper limit, at 90 % confidence, of the noise that rows of a cell share.
const Z_90: f64 = 1.2816;

/// Estimates of all pairs in all rows of a campaign.
#[derive(Clone, Debug)]
pub struct PairwiseEstimates {
    /// The costs that the estimates are computed from.
    pub(super) costs: CampaignCosts,
    pub(super) rows: Vec<PairDifferences>,
    /// Correlation of the noise of rows of one cell, from 0 (independent) to 1 (identical).
    correlation: f64,
    /// Created with the first sum.
    draws: OnceCell<ChiSquareDraws>,
}

impl PairwiseEstimates {
    /// Computes the estimates of a campaign.
    pub fn from_costs(costs: CampaignCosts) -> Self {
        let (contenders, columns) = (costs.contenders, all_pairs(costs.contenders).count());
        let mut calm = costs.rows.clone();
        let tests = tests(&costs.rows);
        let replaced = match costs.exact {
            true => outlier_cells::no_replacements(&costs.rows),
            false => outlier_cells::replace(&mut calm, contenders, tests),
        };
        let series = || differences(&calm, &replaced, contenders);
        let table = SeriesTable {
            rows: calm.len(),
            columns,
            independent_columns: contenders.saturating_sub(1) as f64,
            down: tests as f64,
        };
        let mut estimates = moderate(table, series);
        let rows = calm.iter().map(|row| {
            let of_row = estimates.by_ref().take(columns).collect();
            PairDifferences::new(contenders, row.rounds(), of_row)
        });
        let rows = rows.zip(&costs.rows).map(|(pairs, row)| match costs.exact {
            true => pairs,
            false => PairDifferences { stalls: row.possible_stalls(), ..pairs },
        });
        let rows: Vec<PairDifferences> = rows.collect();
        let correlation = correlation(table, &calm, &replaced, &rows);
        Self { rows, correlation, costs, draws: OnceCell::new() }
    }

    /// Returns the correlation of the noise of rows of one cell, 0 … 1.
    pub fn correlation(&self) -> f64 {
        self.correlation
    }

    /// Returns the number of the test of each row.
    pub fn tests(&self) -> impl Iterator<Item = usize> {
        self.costs.rows.iter().map(|row| row.test)
    }

    /// Returns the costs of each row.
    pub fn costs(&self) -> impl Iterator<Item = &LogCosts> {
        self.costs.rows.iter()
    }

    /// Returns the number of rounds of each row.
    pub fn rounds(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().map(|pairs| pairs.rounds)
    }

    /// Returns the estimates of all pairs for each row: the first contender with each later one,
    /// followed by the second with each later one, and so on. `None` if no round has both.
    pub fn pairs(&self) -> impl Iterator<Item = &[Option<ModeratedEstimate>]> {
        self.rows.iter().map(|pairs| &pairs.estimates[..])
    }

    /// Returns all pairs in the weighted sum of rows, for the selected contenders. The variances
    /// are for comparisons only.
    pub(super) fn sums(&self, used: &[(usize, f64)], takes_part: &[bool]) -> PairDifferences {
        let contenders = self.costs.contenders;
        let sum = |(one, other): (usize, usize)| {
            let parts = self.parts(used, one, other)?;
            (takes_part[one] && takes_part[other]).then(|| ModeratedEstimate {
                mean: parts.iter().map(|part| part.share * part.estimate.mean).sum(),
                variance: variance(&parts, self.correlation),
                freedom: 1.0,
                is_nothing: parts.iter().all(|part| part.estimate.is_nothing),
            })
        };
        let rounds = used.iter().map(|(row, _)| self.rows[*row].rounds);
        let estimates = all_pairs(contenders).map(|pair| sum(pair).filter(|_| !used.is_empty()));
        let pairs =
            PairDifferences::new(contenders, rounds.max().unwrap_or(0), estimates.collect());
        let stalls = (0..contenders).map(|contender| self.largest_stall(used, contender));
        PairDifferences { stalls: stalls.collect(), ..pairs }
    }

    /// Returns the largest part of the log cost of a contender in a weighted sum of rows that a
    /// stall of one cell may explain.
    fn largest_stall(&self, used: &[(usize, f64)], contender: usize) -> f64 {
        let mut of_tests: BTreeMap<usize, f64> = BTreeMap::new();
        for (row, share) in used {
            *of_tests.entry(self.costs.rows[*row].test).or_default() +=
                share * self.rows[*row].stalls[contender];
        }
        of_tests.into_values().fold(0.0, f64::max)
    }

    /// Returns the distribution of a weighted sum of rows for one pair. Returns `None` if an
    /// estimate is missing.
    pub(super) fn sum(
        &self,
        used: &[(usize, f64)],
        one: usize,
        other: usize,
    ) -> Option<WeightedSum> {
        let estimates =
            || self.rows.iter().flat_map(|pairs| pairs.estimates.iter().flatten().copied());
        let draws = self.draws.get_or_init(|| ChiSquareDraws::new(self.rows.len(), estimates()));
        Some(draws.sum(&self.parts(used, one, other)?, self.correlation))
    }

    /// Returns `None` if one of the rows has no estimate.
    pub(super) fn parts(
        &self,
        used: &[(usize, f64)],
        one: usize,
        other: usize,
    ) -> Option<Vec<SumTerm>> {
        let part = |(row, share): &(usize, f64)| {
            Some(SumTerm {
                share: *share,
                test: self.costs.rows[*row].test,
                estimate: self.rows[*row].between(one, other)?,
            })
        };
        used.iter().map(part).collect()
    }
}

fn tests(rows: &[LogCosts]) -> usize {
    let tests: BTreeSet<usize> = rows.iter().map(|row| row.test).collect();
    tests.len()
}

/// Returns the differences of all pairs in all rows.
fn differences(
    rows: &[LogCosts],
    replaced: &[Vec<Vec<bool>>],
    contenders: usize,
) -> impl Iterator<Item = PairSeries> {
    let rows = rows.iter().zip(replaced).enumerate();
    rows.flat_map(move |(row, (costs, replaced))| {
        all_pairs(contenders).enumerate().map(move |(column, (one, other))| {
            let (rounds, values) = costs.differences(one, other);
            let replaced = replacements(&rounds, replaced, one, other);
            let mut series = PairSeries::from_values(row, column, &values, replaced);
            series.is_size = costs.is_size;
            series
        })
    })
}

/// Returns the number of rounds in which a value of one of two contenders was replaced.
fn replacements(rounds: &[usize], replaced: &[Vec<bool>], one: usize, other: usize) -> usize {
    rounds.iter().filter(|round| replaced[one][**round] || replaced[other][**round]).count()
}

/// Noise of the rows of a test, for a pair of contenders and a round: deviations of values from
/// their means, in standard deviations.
#[derive(Clone, Copy, Default)]
struct CellNoise {
    sum: f64,
    squares: f64,
    rows: f64,
}

/// Estimates the correlation of the noise of rows of one cell, the same for all cells, at the upper
/// end of its confidence interval: the higher it is, the less several rows add. Series with a
/// replaced value are ignored.
fn correlation(
    table: SeriesTable,
    rows: &[LogCosts],
    replaced: &[Vec<Vec<bool>>],
    estimates: &[PairDifferences],
) -> f64 {
    let mut of_tests: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (row, costs) in rows.iter().enumerate() {
        of_tests.entry(costs.test).or_default().push(row);
    }
    let contenders = rows.first().map_or(0, |row| row.logs.len());
    let (mut products, mut squares, mut others) = (0.0, 0.0, 0.0);
    for of_test in of_tests.values() {
        for (column, (one, other)) in all_pairs(contenders).enumerate() {
            // Handles one pair at a time, because the cells of all pairs would need too much
            // memory.
            let mut cells: Vec<CellNoise> = Vec::new();
            for &row in of_test {
                let estimate = estimates[row].estimates[column];
                let Some(estimate) =
                    estimate.filter(|e| e.variance > 0.0 && e.variance.is_finite())
                else {
                    continue;
                };
                let (rounds, values) = rows[row].differences(one, other);
                if replacements(&rounds, &replaced[row], one, other) > 0 {
                    continue;
                }
                cells.resize(cells.len().max(rows[row].rounds()), CellNoise::default());
                let deviation = (estimate.variance * values.len() as f64).sqrt();
                for (round, value) in rounds.into_iter().zip(values) {
                    let off = (value - estimate.mean) / deviation;
                    cells[round].sum += off;
                    cells[round].squares += off * off;
                    cells[round].rows += 1.0;
                }
            }
            for cell in cells.iter().filter(|cell| cell.rows > 0.0) {
                let rest = cell.rows - 1.0;
                products += cell.sum * cell.sum - cell.squares;
                squares += cell.squares * rest;
                others += rest;
            }
        }
    }
    let independent = others * table.independent_columns / table.columns.max(1) as f64;
    match squares > 0.0 {
        true => (products / squares + Z_90 / independent.sqrt()).clamp(0.0, 1.0),
        false => 1.0,
    }
}

/// Every pair of contenders of a row, or of a sum of rows.
#[derive(Clone, Debug)]
pub(super) struct PairDifferences {
    pub contenders: usize,
    /// Number of contenders that can be compared with another.
    pub comparable: usize,
    pub rounds: usize,
    /// The contender with the lowest estimated cost.
    pub first: Option<usize>,
    /// The part of each contender's log cost that a stall may explain: more than 0 if it has one
    /// round, which no other round can show to be stalled.
    stalls: Vec<f64>,
    /// Whether differences are negated, so that the worst comes first.
    is_reversed: bool,
    /// Difference in cost between the first of a pair and the second, in the order of
    /// [`all_pairs`].
    estimates: Vec<Option<ModeratedEstimate>>,
}

impl PairDifferences {
    pub fn new(
        contenders: usize,
        rounds: usize,
        estimates: Vec<Option<ModeratedEstimate>>,
    ) -> Self {
        let mut pairs = Self {
            contenders,
            comparable: 0,
            rounds,
            first: None,
            stalls: vec![0.0; contenders],
            is_reversed: false,
            estimates,
        };
        let mean = |one: usize| {
            let others = (0..contenders).filter_map(|other| pairs.between(one, other));
            let means: Vec<f64> = others.map(|estimate| estimate.mean).collect();
            let sum: f64 = means.iter().sum();
            (!means.is_empty()).then(|| (one, sum / means.len() as f64))
        };
        let means: Vec<(usize, f64)> = (0..contenders).filter_map(mean).collect();
        pairs.comparable = means.len();
        pairs.first = means.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(one, _)| one);
        pairs
    }

    /// Returns the pairs of the selected contenders only.
    pub fn restrict(&self, takes_part: impl Fn(usize) -> bool) -> Self {
        let pairs = all_pairs(self.contenders).zip(&self.estimates);
        let estimates = pairs.map(|((one, other), estimate)| {
            estimate.filter(|_| takes_part(one) && takes_part(other))
        });
        let pairs = Self::new(self.contenders, self.rounds, estimates.collect());
        Self { stalls: self.stalls.clone(), ..pairs }
    }

    /// Returns the pairs with negated differences.
    pub fn reversed(&self) -> Self {
        let estimates = self.estimates.iter().map(|e| e.map(ModeratedEstimate::reversed));
        let pairs = Self::new(self.contenders, self.rounds, estimates.collect());
        Self { stalls: self.stalls.clone(), is_reversed: !self.is_reversed, ..pairs }
    }

    /// Returns the part of the difference by which `one` is worse than `other` that a stall may
    /// explain.
    pub fn stall(&self, one: usize, other: usize) -> f64 {
        self.stalls[if self.is_reversed { other } else { one }]
    }

    /// Returns the difference in cost between one contender and another.
    pub fn between(&self, one: usize, other: usize) -> Option<ModeratedEstimate> {
        let (a, b) = (one.min(other), one.max(other));
        let before = a * self.contenders - a * (a + 1) / 2;
        let estimate = *self.estimates.get(before + b.checked_sub(a + 1)?)?;
        if one < other {
            return estimate;
        }
        estimate.map(ModeratedEstimate::reversed)
    }

    /// Returns the difference in cost between each contender and the first.
    pub fn differences(&self) -> Vec<Option<f64>> {
        let difference = |one| match self.first {
            Some(first) if first == one => Some(0.0),
            _ => Some(self.relative_to(one)?.mean),
        };
        (0..self.contenders).map(difference).collect()
    }

    pub fn relative_to(&self, one: usize) -> Option<ModeratedEstimate> {
        self.between(one, self.first?)
    }

    /// Returns the contender that `one` is most certainly worse than. Of several equally certain
    /// ones, returns the one with the largest difference.
    pub fn most_certainly_worse_than(&self, one: usize, margin: Margin) -> Option<usize> {
        let errors = |other: usize| {
            let estimate = self.between(one, other)?;
            Some((other, estimate.t_statistic(margin.log()), estimate.mean))
        };
        let all = (0..self.contenders).filter_map(errors);
        all.max_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2))).map(|(other, ..)| other)
    }
}

/// Returns every pair of this number of contenders, in the order of [`PairwiseEstimates::pairs`].
pub(super) fn all_pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}
