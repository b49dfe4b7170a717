//! Means of few values whose noise is estimated together with that of many others: the moderated t.
//!
//! The variance of a series with d degrees of freedom, s², is shrunk towards the expectation of the
//! prior, s₀² with d₀: (d₀·s₀² + d·s²) / (d₀ + d), which has d₀ + d degrees of freedom (G. K.
//! Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004). A series whose sample variance is far too large
//! for that prior uses less of it (B. Phipson, S. Lee, I. J. Majewski, W. S. Alexander and G. K.
//! Smyth, Ann. Appl. Stat. 10, 2016): d₀ is multiplied by the number of independent series times
//! the probability of a ratio s²/s₀² at least as large, if that product is below one.

use statrs::function::beta::beta_reg;

use super::prior::{Prior, PriorVariance, PriorWeighting, SeriesTable};
use super::scale::{LogScaleEstimate, by_squares, is_constant, mean_and_squares};
use super::student;

/// Summary of values over rounds, at a position in a table.
#[derive(Clone, Debug)]
pub(super) struct PairSeries {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// Number of values that replace stalled ones and are not observations.
    pub replaced: usize,
    count: usize,
    first: f64,
    mean: f64,
    squares: f64,
    is_nothing: bool,
    is_constant: bool,
    /// Whether a single value has no noise.
    pub is_size: bool,
}

impl PairSeries {
    /// Creates the series of one value for each round.
    pub fn from_values(row: usize, column: usize, values: &[f64], replaced: usize) -> Self {
        let (mean, squares) = mean_and_squares(values);
        Self {
            row,
            column,
            replaced,
            count: values.len(),
            first: values.first().copied().unwrap_or_default(),
            mean,
            squares,
            is_nothing: values.iter().all(|v| *v == 0.0),
            is_constant: is_constant(values),
            is_size: false,
        }
    }

    /// Returns the estimate of the deviation of values that were all observed.
    fn deviation(&self) -> Option<LogScaleEstimate> {
        let freedom = self.count.checked_sub(1).filter(|_| self.replaced == 0)?;
        by_squares(self.squares, freedom as f64).filter(|_| !self.is_constant)
    }
}

/// A mean with an estimate of its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModeratedEstimate {
    /// The mean.
    pub mean: f64,
    /// The variance of the mean; 0 if all rounds have the same value, infinite if the noise is
    /// unknown.
    pub variance: f64,
    /// Degrees of freedom of the variance.
    pub freedom: f64,
    /// Whether every value is 0.
    pub is_nothing: bool,
}

/// Returns the estimates of all series of a table, or `None` for series without values. The series
/// are computed twice: there are as many in each row as pairs of contenders, too many to be kept.
pub(super) fn moderate<S: Iterator<Item = PairSeries>>(
    table: SeriesTable,
    series: impl Fn() -> S,
) -> impl Iterator<Item = Option<ModeratedEstimate>> {
    let known = series().filter_map(|s| Some((s.row, s.column, s.deviation()?)));
    let prior = Prior::fit(table, &known.collect::<Vec<_>>(), PriorWeighting::Cautious);
    let independent = table.independent_columns * table.down;
    series().map(move |s| {
        let expected = prior.as_ref().and_then(|p| p.predicted(s.row, s.column));
        estimate(&s, expected, independent)
    })
}

impl ModeratedEstimate {
    /// Returns the estimate with its sign reversed.
    pub fn reversed(self) -> Self {
        Self { mean: -self.mean, ..self }
    }

    /// Returns the distance of the mean above a value, in standard errors.
    pub fn t_statistic(&self, value: f64) -> f64 {
        match self.mean - value {
            way if self.variance > 0.0 => way / self.variance.sqrt(),
            way if way > 0.0 => f64::INFINITY,
            _ => f64::NEG_INFINITY,
        }
    }

    /// Returns the probability of a mean at least this high if the true value were `value`.
    pub fn p_value(&self, value: f64) -> f64 {
        match self.t_statistic(value) {
            f64::INFINITY => 0.0,
            f64::NEG_INFINITY => 1.0,
            errors => student::survival(errors, self.freedom),
        }
    }

    /// Returns the probability of an error larger than this.
    pub fn error_probability(&self, error: f64) -> f64 {
        self.p_value(self.mean - error)
    }

    /// Returns a lower bound of the truth, which is wrong with this probability.
    pub fn lower_bound(&self, chance: f64) -> f64 {
        match self.variance > 0.0 {
            true => self.mean - student::quantile(chance, self.freedom) * self.variance.sqrt(),
            false => self.mean,
        }
    }

    /// Returns the p value of the two tests of equivalence: the probability of a mean so near to 0
    /// if the true value were at the margin.
    pub fn tost_p_value(&self, margin: f64) -> f64 {
        let sides = [*self, self.reversed()];
        let chances = sides.map(|side| side.p_value(-margin));
        chances[0].max(chances[1])
    }
}

fn estimate(
    series: &PairSeries,
    expected: Option<PriorVariance>,
    independent: f64,
) -> Option<ModeratedEstimate> {
    let &PairSeries { count, replaced, mean, squares, is_size, .. } = series;
    // Two equal times of a single round are a coincidence.
    let is_nothing = series.is_nothing && (count > 1 || is_size);
    if count == 0 {
        return None;
    }
    // The noise of times is not that of sizes.
    let expected = expected.filter(|_| !is_size);
    let is_repeated = is_size || (count > 1 && replaced == 0);
    if is_nothing || (is_repeated && series.is_constant) {
        return Some(ModeratedEstimate {
            mean: series.first,
            variance: 0.0,
            freedom: f64::INFINITY,
            is_nothing,
        });
    }
    let own = count.saturating_sub(replaced).max(1) as f64;
    let freedom = own - 1.0;
    let (variance, freedom) = match expected {
        Some(expected) => {
            let belief = expected.freedom * prior_weight(squares, freedom, expected, independent);
            let sum = belief * expected.variance + squares;
            match belief + freedom {
                // The prior knows less than one degree of freedom, and a single value adds none.
                freedom if freedom < 1.0 => (f64::INFINITY, 1.0),
                freedom => (sum / freedom, freedom),
            }
        }
        // A single size is taken as exact, so a few of them are not less certain: a filesystem that
        // rounds to a block now and then has no rare, large deviations.
        None if freedom > 0.0 && is_size => (squares / freedom, f64::INFINITY),
        None if freedom > 0.0 => (squares / freedom, freedom),
        None => (f64::INFINITY, 1.0),
    };
    Some(ModeratedEstimate { mean, variance: variance / own, freedom, is_nothing })
}

/// Returns the share of the prior that a series uses. The share is a multiple of a quarter, to
/// limit the number of different degrees of freedom.
pub(super) fn prior_weight(
    squares: f64,
    freedom: f64,
    expected: PriorVariance,
    independent: f64,
) -> f64 {
    let freedom = freedom.max(1.0);
    let ratio = squares / freedom / expected.variance;
    // Such a small ratio is never conspicuous. It is not a number for a single value if the prior
    // expects no noise.
    if ratio.is_nan() || ratio < 4.0 {
        return 1.0;
    }
    let d0 = expected.freedom;
    let chance = beta_reg(d0 / 2.0, freedom / 2.0, d0 / (d0 + freedom * ratio));
    ((chance * independent).min(1.0) * 4.0).floor() / 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One value and a prior of half a degree of freedom say nothing about the noise.
    #[test]
    fn the_noise_of_a_single_value_is_unknown_without_a_degree_of_freedom() {
        let estimated = |values: &[f64], freedom: f64| {
            let series = PairSeries::from_values(0, 0, values, 0);
            estimate(&series, Some(PriorVariance { variance: 1.0, freedom }), 4.0).unwrap()
        };
        assert_eq!(estimated(&[0.3], 0.5).variance, f64::INFINITY);
        assert_eq!(estimated(&[0.3], 2.0).variance, 1.0);
        assert!(estimated(&[0.3, 0.4], 0.5).variance.is_finite());
    }

    /// Two contenders took the same time in one round. A size has no noise.
    #[test]
    fn one_equal_time_is_a_coincidence_and_one_equal_size_is_not() {
        let of = |values: &[f64], is_size| {
            let series = PairSeries { is_size, ..PairSeries::from_values(0, 0, values, 0) };
            estimate(&series, None, 4.0).unwrap()
        };
        assert!(!of(&[0.0], false).is_nothing);
        assert_eq!(of(&[0.0], false).variance, f64::INFINITY);
        assert!(of(&[0.0], true).is_nothing && of(&[0.0, 0.0], false).is_nothing);
    }
}
