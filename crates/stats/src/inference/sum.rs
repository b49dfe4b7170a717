//! The distribution of a sum of estimates whose variances are estimated from few values each.
//!
//! A cost over many tests is a sum of means, each with few degrees of freedom and a different
//! variance (the problem of Behrens and Fisher). The usual approximation by one t distribution
//! (Welch and Satterthwaite) is good in the middle and too thin in the tails, which decide a claim
//! among hundreds. So the tail is computed: given the true variances the sum is normal, and each
//! true variance is distributed as v·f/χ² with f degrees of freedom; the tail is the mean of normal
//! tails over draws of all χ². The draws are a Latin hypercube (M. D. McKay, R. J. Beckman and W.
//! J. Conover, Technometrics 21, 1979): each χ² takes each of its quantiles once, in a fixed order.

use std::collections::{BTreeMap, BTreeSet};

use model::SeededRng;
use statrs::function::erf::erfc;
use statrs::function::gamma::{gamma_lr, ln_gamma};

use super::moderated::ModeratedEstimate;
use super::student;

/// Number of draws. The relative error of a tail of one in ten thousand is some tenths.
const DRAWS: usize = 400;

/// A weighted sum of estimates.
#[derive(Clone, Debug)]
pub(super) struct WeightedSum {
    /// Its value.
    pub value: f64,
    /// The sum of the estimated variances.
    pub variance: f64,
    /// Whether every term is exactly zero.
    pub is_nothing: bool,
    /// The standard deviation of the sum in each draw.
    deviations: Vec<f64>,
}

impl WeightedSum {
    /// Returns the probability of an error larger than this.
    pub fn chance_above(&self, error: f64) -> f64 {
        if self.variance == 0.0 {
            return if error > 0.0 { 0.0 } else { 1.0 };
        }
        let tails = self.deviations.iter();
        let sum: f64 = tails.map(|d| erfc(error / (d * std::f64::consts::SQRT_2))).sum();
        sum / (2 * DRAWS) as f64
    }

    /// Returns the error that is exceeded with this probability, or `None` if the noise is unknown.
    pub fn reach(&self, chance: f64) -> Option<f64> {
        if self.variance == 0.0 {
            return Some(0.0);
        }
        let reach = student::find_root(chance, |error| self.chance_above(error));
        (self.variance.is_finite() && reach < 1e100).then_some(reach)
    }
}

/// A term of a sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumTerm {
    /// Its share.
    pub share: f64,
    /// The test of the result.
    pub test: usize,
    /// Estimate of the part.
    pub estimate: ModeratedEstimate,
}

/// Returns the variance of a sum if the estimated variances of its terms were exact.
pub(super) fn variance(parts: &[SumTerm], correlation: f64) -> f64 {
    of_tests(parts, correlation, |_| 1.0)
}

/// Returns the part of each test in that variance, by the number of the test.
pub(super) fn variance_by_test(parts: &[SumTerm], correlation: f64) -> BTreeMap<usize, f64> {
    let tests = parts.chunk_by(|a, b| a.test == b.test);
    tests.map(|terms| (terms[0].test, variance(terms, correlation))).collect()
}

/// Returns the variance of a sum of terms, with the variance of each term multiplied by a factor.
/// Within a test, the noise of terms has a correlation of `correlation`. The variance of a test is
/// (1 − ρ)·Σ σ² + ρ·(Σ σ)².
fn of_tests(parts: &[SumTerm], correlation: f64, factor: impl Fn(usize) -> f64) -> f64 {
    let (mut all, mut test, mut squares, mut sum) = (0.0, None, 0.0, 0.0);
    let of_test = |squares: f64, sum: f64| squares + correlation * (sum * sum - squares);
    for (place, part) in parts.iter().enumerate() {
        if test != Some(part.test) {
            all += of_test(squares, sum);
            (test, squares, sum) = (Some(part.test), 0.0, 0.0);
        }
        let variance = match part.estimate.variance {
            0.0 => 0.0,
            variance => part.share * part.share * variance * factor(place),
        };
        squares += variance;
        sum += variance.sqrt();
    }
    let all = all + of_test(squares, sum);
    // Infinity minus infinity: the noise of a part is unknown.
    if all.is_nan() { f64::INFINITY } else { all }
}

/// Random draws that all sums share.
#[derive(Clone, Debug)]
pub(super) struct ChiSquareDraws {
    /// Quantiles of f/χ² by the bits of f.
    quantiles: BTreeMap<u64, Vec<f64>>,
    /// For each part of a sum, the quantile of each draw.
    orders: Vec<Vec<usize>>,
}

impl ChiSquareDraws {
    /// Creates the draws for sums of this number of parts of these estimates.
    pub fn new(parts: usize, estimates: impl Iterator<Item = ModeratedEstimate>) -> Self {
        let freedoms = estimates.map(|estimate| estimate.freedom).filter(|f| f.is_finite());
        let freedoms: BTreeSet<u64> = freedoms.map(f64::to_bits).collect();
        let of_each = freedoms.into_iter().map(|f| (f, quantiles(f64::from_bits(f))));
        Self { quantiles: of_each.collect(), orders: (0..parts as u64).map(order).collect() }
    }

    /// Returns the sum of terms. Terms of one test must be adjacent.
    pub fn sum(&self, parts: &[SumTerm], correlation: f64) -> WeightedSum {
        // A part with infinite degrees of freedom has no uncertain variance, and no draws.
        let of_part = |part: &SumTerm| self.quantiles.get(&part.estimate.freedom.to_bits());
        let quantiles: Vec<Option<&Vec<f64>>> = parts.iter().map(of_part).collect();
        let deviation = |draw: usize| {
            let factor =
                |place: usize| quantiles[place].map_or(1.0, |q| q[self.orders[place][draw]]);
            of_tests(parts, correlation, factor).sqrt()
        };
        WeightedSum {
            value: parts.iter().map(|part| part.share * part.estimate.mean).sum(),
            variance: variance(parts, correlation),
            is_nothing: parts.iter().all(|part| part.estimate.is_nothing),
            deviations: (0..DRAWS).map(deviation).collect(),
        }
    }
}

/// Returns f/χ² at the middle of each of [`DRAWS`] equally likely intervals. Newton's method finds
/// each value from the previous one.
pub fn quantiles(freedom: f64) -> Vec<f64> {
    let shape = freedom / 2.0;
    let constant = ln_gamma(shape);
    let chance = |draw: usize| (draw as f64 + 0.5) / DRAWS as f64;
    // Near 0, the incomplete gamma function is x^a / Γ(a + 1).
    let mut log = ((ln_gamma(shape + 1.0) + chance(0).ln()) / shape).min(shape.ln());
    let quantile = |draw: usize| {
        for _ in 0..50 {
            let x = f64::exp(log);
            let density = (shape * log - x - constant).exp();
            let step = ((gamma_lr(shape, x) - chance(draw)) / density).clamp(-0.5, 0.5);
            log -= step;
            if step.abs() < 1e-7 {
                break;
            }
        }
        shape / log.exp()
    };
    (0..DRAWS).map(quantile).collect()
}

/// Returns an order of the draws that depends only on a number.
fn order(number: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..DRAWS).collect();
    SeededRng::new(number).shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::student;

    fn part(test: usize, share: f64, variance: f64, freedom: f64) -> SumTerm {
        let estimate = ModeratedEstimate { mean: 1.0, variance, freedom, is_nothing: false };
        SumTerm { share, test, estimate }
    }

    fn sum(parts: &[SumTerm], correlation: f64) -> WeightedSum {
        ChiSquareDraws::new(parts.len(), parts.iter().map(|part| part.estimate))
            .sum(parts, correlation)
    }

    #[test]
    fn a_sum_of_one_part_is_a_t_distribution() {
        for freedom in [2.0, 5.5, 12.0] {
            let sum = sum(&[part(0, 2.0, 1.0, freedom)], 0.5);
            for t in [0.5, 2.0, 4.0] {
                let exact = student::survival(t, freedom);
                let ratio = sum.chance_above(2.0 * t) / exact;
                assert!((0.9..1.1).contains(&ratio), "{freedom} {t}: {ratio}");
            }
        }
    }

    /// With many degrees of freedom a sum of two equal parts is normal. Its variance is twice that
    /// of one for different tests, and up to four times for parts of one test.
    #[test]
    fn variances_add_up() {
        let normal = student::survival(2.0, 1e6);
        for (test, correlation, variance) in
            [(1, 0.5, 2.0), (0, 0.0, 2.0), (0, 0.5, 3.0), (0, 1.0, 4.0)]
        {
            let parts = [part(0, 1.0, 1.0, 1e4), part(test, 1.0, 1.0, 1e4)];
            let sum = sum(&parts, correlation);
            let ratio = sum.chance_above(2.0 * f64::sqrt(variance)) / normal;
            assert!((0.98..1.02).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn a_sum_without_noise_is_certain() {
        let sum = sum(&[part(0, 1.0, 0.0, f64::INFINITY)], 1.0);
        assert_eq!([sum.chance_above(0.1), sum.chance_above(-0.1)], [0.0, 1.0]);
    }
}
