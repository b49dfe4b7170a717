//! The distribution of a sum of estimates whose variances are estimated from few values each.
//!
//! A cost over many tests is a sum of means, each with few degrees of freedom and a variance of its own (the problem of
//! Behrens and Fisher). The usual approximation by one t distribution (Welch and Satterthwaite) is good in the middle
//! and too thin far out, where a claim among hundreds is decided. So the tail is computed: given the true variances the
//! sum is normal, and what is known of each variance is v·f/χ² with f degrees of freedom; the tail is the mean of
//! normal tails over draws of all χ². The draws are a Latin hypercube (M. D. McKay, R. J. Beckman and
//! W. J. Conover, Technometrics 21, 1979): each χ² takes each of its quantiles once, in an order that is fixed.

use std::collections::BTreeMap;

use model::SeededRng;
use statrs::function::erf::erfc;
use statrs::function::gamma::{gamma_lr, ln_gamma};

use super::moderated::Estimate;

/// How many draws. The relative error of a tail of one in ten thousand is some tenths.
const DRAWS: usize = 400;

/// A weighted sum of estimates.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    /// Its value.
    pub value: f64,
    /// The sum of the variances as they were estimated.
    pub variance: f64,
    /// Whether every part is nothing at all.
    pub is_nothing: bool,
    /// The standard deviation of the sum in each draw.
    deviations: Vec<f64>,
}

impl Sum {
    /// The chance of an error above so much.
    pub fn chance_above(&self, error: f64) -> f64 {
        if self.variance == 0.0 {
            return if error > 0.0 { 0.0 } else { 1.0 };
        }
        let tails = self.deviations.iter();
        let sum: f64 = tails
            .map(|d| erfc(error / (d * std::f64::consts::SQRT_2)))
            .sum();
        sum / (2 * DRAWS) as f64
    }
}

/// The draws that sums of a campaign share.
#[derive(Clone, Debug, Default)]
pub(super) struct Draws {
    /// Quantiles of f/χ² by the bits of f.
    quantiles: BTreeMap<u64, Vec<f64>>,
    /// Of each part of a sum, which quantile each draw takes.
    orders: Vec<Vec<usize>>,
}

impl Draws {
    /// The sum of estimates with their weights.
    pub fn sum(&mut self, parts: &[(f64, Estimate)]) -> Sum {
        let mut variances = vec![0.0; DRAWS];
        for (place, (weight, part)) in parts.iter().enumerate() {
            let variance = part.variance * weight * weight;
            if variance == 0.0 {
                continue;
            }
            while self.orders.len() <= place {
                self.orders.push(order(self.orders.len() as u64));
            }
            let key = part.freedom.to_bits();
            let quantiles = self.quantiles.entry(key);
            let quantiles = quantiles.or_insert_with(|| quantiles_of(part.freedom));
            for (sum, draw) in variances.iter_mut().zip(&self.orders[place]) {
                *sum += variance * quantiles[*draw];
            }
        }
        Sum {
            value: parts.iter().map(|(weight, part)| weight * part.mean).sum(),
            variance: parts.iter().map(|(w, part)| w * w * part.variance).sum(),
            is_nothing: parts.iter().all(|(_, part)| part.is_nothing),
            deviations: variances.into_iter().map(f64::sqrt).collect(),
        }
    }
}

/// f/χ² at the middle of each of [`DRAWS`] equally likely stretches. Each is found by Newton's method from the one before.
fn quantiles_of(freedom: f64) -> Vec<f64> {
    let shape = freedom / 2.0;
    let constant = ln_gamma(shape);
    let chance = |draw: usize| (draw as f64 + 0.5) / DRAWS as f64;
    // Near 0 the incomplete gamma function is x^a / Γ(a + 1).
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

/// An order of the draws that follows from a number alone.
fn order(number: u64) -> Vec<usize> {
    let mut rng = SeededRng::for_purpose(number, "order of draws");
    let mut order: Vec<usize> = (0..DRAWS).collect();
    for last in (1..DRAWS).rev() {
        order.swap(last, rng.below(last as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::student;

    fn estimate(variance: f64, freedom: f64) -> Estimate {
        Estimate {
            mean: 1.0,
            variance,
            freedom,
            is_nothing: false,
        }
    }

    #[test]
    fn a_sum_of_one_part_is_a_t_distribution() {
        for freedom in [2.0, 5.5, 12.0] {
            let sum = Draws::default().sum(&[(2.0, estimate(1.0, freedom))]);
            for t in [0.5, 2.0, 4.0] {
                let exact = student::chance_above(t, freedom);
                let ratio = sum.chance_above(2.0 * t) / exact;
                assert!((0.9..1.1).contains(&ratio), "{freedom} {t}: {ratio}");
            }
        }
    }

    /// With many degrees of freedom a sum of two equal parts is normal, with twice the variance of one.
    #[test]
    fn variances_add_up() {
        let part = estimate(1.0, 1e4);
        let sum = Draws::default().sum(&[(1.0, part), (1.0, part)]);
        let normal = student::chance_above(2.0, 1e6);
        let ratio = sum.chance_above(2.0 * f64::sqrt(2.0)) / normal;
        assert!((0.98..1.02).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_has_no_noise_is_certain() {
        let sum = Draws::default().sum(&[(1.0, estimate(0.0, f64::INFINITY))]);
        assert_eq!([sum.chance_above(0.1), sum.chance_above(-0.1)], [0.0, 1.0]);
    }
}
