//! Estimators of the spread of a few values, on the log scale and without bias. Each of the two has
//! the variance that it would have by chance if the values are normal.

use statrs::function::gamma::digamma;

use crate::median;

/// An estimate of the logarithm of a standard deviation.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogScaleEstimate {
    /// The estimate.
    pub value: f64,
    /// Variance of the estimate for normal values.
    pub variance: f64,
}

/// Estimates the scale from the sum of squared deviations and its degrees of freedom. The sample
/// variance s² of n values is σ²·χ²/d with d = n − 1, so that ln s has the mean ln σ + (ψ(d/2) −
/// ln(d/2))/2 and the variance ψ′(d/2)/4 (G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004).
/// Returns `None` without degrees of freedom, or if all values are equal.
pub(super) fn by_squares(squares: f64, freedom: f64) -> Option<LogScaleEstimate> {
    let half = freedom / 2.0;
    (half > 0.0 && squares > 0.0).then(|| LogScaleEstimate {
        value: ((squares / freedom).ln() - digamma(half) + half.ln()) / 2.0,
        variance: trigamma(half) / 4.0,
    })
}

/// Means and variances of ln MAD of 2 … 20 standard normal values, from a million samples each.
const LOG_MAD: [(f64, f64); 19] = [
    (-0.9815, 1.2376),
    (-1.2585, 1.3902),
    (-0.8977, 0.4787),
    (-0.7944, 0.5000),
    (-0.6946, 0.2908),
    (-0.6521, 0.2952),
    (-0.6074, 0.2065),
    (-0.5848, 0.2078),
    (-0.5594, 0.1589),
    (-0.5447, 0.1597),
    (-0.5284, 0.1295),
    (-0.5189, 0.1297),
    (-0.5072, 0.1089),
    (-0.5008, 0.1088),
    (-0.4922, 0.0940),
    (-0.4864, 0.0938),
    (-0.4799, 0.0826),
    (-0.4760, 0.0826),
    (-0.4711, 0.0737),
];

/// Estimates the scale from the median absolute deviation, which tolerates one outlier among three
/// values and two among five. Returns `None` with fewer than two values, or if half of them are
/// equal.
pub(super) fn from_mad(values: &[f64]) -> Option<LogScaleEstimate> {
    let count = values.len();
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    let (mean, variance) = match LOG_MAD.get(count.checked_sub(2)?) {
        Some(counted) => *counted,
        // Asymptotic values with a correction fitted to the table.
        None => (-0.3938 - 1.55 / count as f64, 1.361 / (count as f64 - 1.5)),
    };
    let deviation = median(&distances).filter(|d| *d > 0.0)?;
    Some(LogScaleEstimate { value: deviation.ln() - mean, variance })
}

/// Returns the mean, and the sum of squared deviations from the mean.
pub(super) fn mean_and_squares(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|v| (v - mean).powi(2)).sum())
}

/// Whether all values are equal, except for the rounding of logarithms.
pub(super) fn is_constant(values: &[f64]) -> bool {
    values.iter().all(|v| (v - values[0]).abs() < 1e-12)
}

/// Returns the second derivative of ln Γ, by the recurrence up to 6, followed by the asymptotic
/// series (Abramowitz and Stegun 6.4.6 and 6.4.12).
pub(super) fn trigamma(x: f64) -> f64 {
    let steps = (6.0 - x).ceil().max(0.0);
    let below: f64 = (0..steps as u32).map(|k| (x + f64::from(k)).powi(-2)).sum();
    let x = x + steps;
    let y = x.powi(-2);
    below + 1.0 / x + y / 2.0 + y / x * (1.0 / 6.0 - y * (1.0 / 30.0 - y / 42.0))
}

/// Returns the argument, between e⁻¹² and e¹², at which the trigamma function has a value.
pub(super) fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (-12.0f64, 12.0f64);
    while high - low > 1e-9 {
        let middle = f64::midpoint(low, high);
        match trigamma(middle.exp()) > value {
            true => low = middle,
            false => high = middle,
        }
    }
    high.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::costs::Draws;

    /// ψ′(1) = π²/6, ψ′(1/2) = π²/2.
    #[test]
    fn trigamma_has_its_known_values() {
        let pi = std::f64::consts::PI;
        for (x, value) in [(1.0, pi * pi / 6.0), (0.5, pi * pi / 2.0)] {
            assert!((trigamma(x) - value).abs() < 1e-6);
            assert!((inverse_trigamma(value) - x).abs() < 1e-5);
        }
    }

    fn from_deviation(values: &[f64]) -> Option<LogScaleEstimate> {
        by_squares(mean_and_squares(values).1, (values.len() - 1) as f64)
    }

    #[test]
    fn both_estimators_have_the_stated_mean_and_variance() {
        let mut draws = Draws::from_seed(1);
        for estimator in [from_deviation, from_mad] {
            for count in [2, 3, 4, 7, 12, 25] {
                let estimates: Vec<LogScaleEstimate> = (0..20_000)
                    .filter_map(|_| {
                        let values: Vec<f64> = (0..count).map(|_| draws.normal()).collect();
                        estimator(&values)
                    })
                    .collect();
                let values: Vec<f64> = estimates.iter().map(|e| e.value).collect();
                let (mean, squares) = mean_and_squares(&values);
                let variance = squares / values.len() as f64;
                assert!(mean.abs() < 0.03, "{count}: {mean}");
                assert!(
                    (variance / estimates[0].variance - 1.0).abs() < 0.06,
                    "{count}: {variance}"
                );
            }
        }
    }
}
