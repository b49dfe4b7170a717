//! A prior for variances, fitted to all rows and columns of the campaign.
//!
//! Series form a table of rows (results) and columns (contenders, or pairs of them). The logarithm
//! of a standard deviation is modelled as the sum of a row effect, a column effect and a residual.
//! The effects are means that are shrunk towards 0 to the extent that chance explains them (the
//! estimator of James and Stein, 1961). The variance of the residual, minus the sampling variance
//! of an estimate from few values, measures how much a single standard deviation departs from the
//! model. As degrees of freedom of the prior it is d₀ with ψ′(d₀/2)/4 = that variance (G. K. Smyth,
//! Stat. Appl. Genet. Mol. Biol. 3, 2004, whose prior has a single effect).

use std::collections::BTreeSet;

use statrs::function::gamma::digamma;

use super::scale::{LogScaleEstimate, inverse_trigamma};

/// Maximum degrees of freedom of a prior. A higher number would treat the noise as known exactly,
/// which is false if a few rows have different noise.
const MAX_FREEDOM: f64 = 10.0;

/// Normal quantile for an upper limit of the remaining variance, at 90 % confidence.
const Z_90: f64 = 1.2816;

/// A table of series, and the number of independent rows and columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeriesTable {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Number of independent columns: k − 1 for the pairs of k contenders.
    pub independent_columns: f64,
    /// Number of independent rows, which is the number of tests.
    pub down: f64,
}

impl SeriesTable {
    /// Returns the number of independent positions with a known value.
    ///
    /// A campaign with a budget repeats only some tests, so that many series have a single value
    /// and no known noise.
    fn independent(self, known: &[(usize, usize, LogScaleEstimate)]) -> f64 {
        let rows = known.iter().map(|known| known.0).collect::<BTreeSet<usize>>().len();
        let in_row = self.independent_among(known.len() as f64 / rows.max(1) as f64);
        in_row * self.down * rows as f64 / self.rows as f64
    }

    /// Returns the number of independent ones among columns of a row: m − 1 of the m·(m − 1)/2
    /// pairs of m contenders, or the same share as in a full row if columns are not pairs.
    fn independent_among(self, columns: f64) -> f64 {
        let (all, independent) = (self.columns as f64, self.independent_columns);
        match all == independent * (independent + 1.0) / 2.0 {
            true => ((8.0 * columns + 1.0).sqrt() - 1.0) / 2.0,
            false => independent * columns / all,
        }
    }
}

/// Treatment of the prior's uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PriorWeighting {
    /// The prior is used as estimated.
    Full,
    /// The uncertainty of the prior's row and column effects counts as noise.
    Cautious,
}

/// Prior expectation of the noise of a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct PriorVariance {
    /// The variance of a value.
    pub variance: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

/// The prior of a table.
#[derive(Clone, Debug)]
pub(super) struct Prior {
    /// The mean of the log standard deviations, minus the bias of the logarithm.
    level: f64,
    of_row: Vec<f64>,
    of_column: Vec<f64>,
    freedom: f64,
    /// Rows with a known value.
    known_rows: BTreeSet<usize>,
    /// Mean and degrees of freedom for a row without one, whose effect is unknown. `None` below one
    /// degree of freedom.
    other_rows: Option<(f64, f64)>,
}

impl Prior {
    /// Fits the prior to positions in a table and their estimates. Returns `None` if there are too
    /// few.
    pub fn fit(
        table: SeriesTable,
        known: &[(usize, usize, LogScaleEstimate)],
        trust: PriorWeighting,
    ) -> Option<Self> {
        let count = known.len() as f64;
        let mean = |of: &dyn Fn(&(usize, usize, LogScaleEstimate)) -> f64| {
            known.iter().map(of).sum::<f64>() / count
        };
        let (level, chance) = (mean(&|k| k.2.value), mean(&|k| k.2.variance));
        let (mut row, mut column) = (Effects::none(table.rows), Effects::none(table.columns));
        for _ in 0..3 {
            let rest = known.iter().map(|(r, c, k)| (*r, k.value - level - column.of[*c]));
            row = Effects::of(table.rows, rest, chance, table.independent_columns);
            let rest = known.iter().map(|(r, c, k)| (*c, k.value - level - row.of[*r]));
            column = Effects::of(table.columns, rest, chance, table.down);
        }
        let independent = table.independent_columns * table.down;
        let fitted =
            1.0 + row.kept * (table.down - 1.0) + column.kept * (table.independent_columns - 1.0);
        let left = independent - fitted;
        let left_of_known = left.min(table.independent(known) - 1.0);
        if left_of_known.is_nan() || left_of_known < 1.0 {
            return None;
        }
        let rest = mean(&|(r, c, k)| (k.value - level - row.of[*r] - column.of[*c]).powi(2));
        let rest = rest * independent / left;
        let excess = match trust {
            PriorWeighting::Full => rest - chance,
            PriorWeighting::Cautious => {
                let parts = row.kept / table.independent_columns
                    + column.kept / table.down
                    + 1.0 / independent;
                rest * upper_limit(left) - chance + chance * parts
            }
        };
        let freedom = |excess: f64, most: f64| match excess > 0.0 {
            true => (2.0 * inverse_trigamma(4.0 * excess)).min(MAX_FREEDOM).min(most),
            false => MAX_FREEDOM.min(most),
        };
        let unbiased = |freedom: f64| level + (digamma(freedom / 2.0) - (freedom / 2.0).ln()) / 2.0;
        let known_rows: BTreeSet<usize> = known.iter().map(|known| known.0).collect();
        let known_tests = table.down * known_rows.len() as f64 / table.rows as f64;
        let squares = known_rows.iter().map(|known| row.of[*known].powi(2)).sum::<f64>();
        let between = squares / known_rows.len().max(2) as f64 * (1.0 + 1.0 / known_tests);
        let of_others = freedom(excess.max(0.0) + between, known_tests - 1.0);
        let freedom = freedom(excess, left_of_known);
        Some(Self {
            level: unbiased(freedom),
            of_row: row.of,
            of_column: column.of,
            freedom,
            known_rows,
            other_rows: (of_others >= 1.0).then(|| (unbiased(of_others), of_others)),
        })
    }

    /// Returns the expectation of the prior for a position.
    pub fn expected(&self, row: usize, column: usize) -> PriorVariance {
        let log = self.level + self.of_row[row] + self.of_column[column];
        PriorVariance { variance: (2.0 * log).exp(), freedom: self.freedom }
    }

    /// Returns the expectation for a position, which may be in a row without a known value. `None`
    /// if too few rows are known.
    pub fn predicted(&self, row: usize, column: usize) -> Option<PriorVariance> {
        if self.known_rows.contains(&row) {
            return Some(self.expected(row, column));
        }
        let (level, freedom) = self.other_rows?;
        let log = level + self.of_column[column];
        Some(PriorVariance { variance: (2.0 * log).exp(), freedom })
    }

    /// Returns the degrees of freedom.
    pub fn freedom(&self) -> f64 {
        self.freedom
    }
}

/// Returns the upper limit of a variance with these degrees of freedom, as a multiple of its
/// estimate, at the confidence of [`Z_90`]: f divided by the lower quantile of χ² (E. B. Wilson
/// and M. M. Hilferty, Proc. Natl. Acad. Sci. 17, 1931).
fn upper_limit(freedom: f64) -> f64 {
    let ninth = 2.0 / (9.0 * freedom);
    (1.0 - ninth - Z_90 * ninth.sqrt()).powi(-3)
}

/// The effects of rows or columns.
struct Effects {
    of: Vec<f64>,
    /// The share of the means that chance does not explain, 0 … 1.
    kept: f64,
}

impl Effects {
    fn none(count: usize) -> Self {
        Self { of: vec![0.0; count], kept: 0.0 }
    }

    /// Computes the means of the values of each position, shrunk towards 0 to the extent that
    /// chance explains them. `count` is the number of independent positions. A single value is not
    /// a mean: the effect could not be separated from the residual.
    fn of(
        count: usize,
        values: impl Iterator<Item = (usize, f64)>,
        variance: f64,
        independent: f64,
    ) -> Self {
        if count < 2 || independent < 3.0 {
            return Self::none(count);
        }
        let chance = variance / independent;
        let mut sums = vec![(0.0, 0.0); count];
        for (place, value) in values {
            sums[place].0 += value;
            sums[place].1 += 1.0;
        }
        let means: Vec<f64> = sums.iter().map(|(sum, n)| sum / f64::max(*n, 1.0)).collect();
        let squares: f64 = means.iter().map(|m| m * m).sum();
        let found = squares / (count as f64 - 1.0);
        let kept = 1.0 - chance / found.max(chance);
        Self { of: means.into_iter().map(|mean| mean * kept).collect(), kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::scale::by_squares;

    /// The noise of a campaign with a budget is known only of the tests that ran again.
    #[test]
    fn a_prior_has_no_more_freedom_than_the_series_that_are_known() {
        let table = SeriesTable { rows: 5, columns: 1, independent_columns: 1.0, down: 5.0 };
        let freedom = |known: usize| {
            let known = (0..known).map(|row| (row, 0, by_squares(1.0, 1.0).unwrap()));
            let prior = Prior::fit(table, &known.collect::<Vec<_>>(), PriorWeighting::Full)?;
            Some(prior.freedom())
        };
        assert_eq!([0, 1, 2, 3, 5].map(freedom), [None, None, Some(1.0), Some(2.0), Some(4.0)]);
    }
    /// One known test is not enough for another one. Several are, with the differences between them.
    #[test]
    fn noise_of_a_test_that_ran_once_needs_several_others() {
        let table = SeriesTable { rows: 9, columns: 11, independent_columns: 11.0, down: 9.0 };
        let predicted = |known: usize, ratio: f64| {
            let scale = |row: usize| ratio.powi(row as i32 % 2);
            let of_row = |row| (0..11).map(move |column| (row, column));
            let known = (0..known).flat_map(of_row);
            let known = known
                .map(|(row, column)| (row, column, by_squares(3.0 * scale(row), 3.0).unwrap()));
            let prior = Prior::fit(table, &known.collect::<Vec<_>>(), PriorWeighting::Full)?;
            Some((prior.expected(0, 0).freedom, prior.predicted(8, 0).map(|p| p.freedom)))
        };
        assert_eq!(predicted(1, 1.0).unwrap().1, None);
        assert_eq!(predicted(4, 1.0).unwrap().1, Some(3.0));
        let (known, other) = predicted(8, 10.0).unwrap();
        assert!(other.unwrap() < 4.0 && known > 2.0 * other.unwrap(), "{known} {other:?}");
        assert_eq!(predicted(8, 1e6).unwrap().1, None);
    }
}
