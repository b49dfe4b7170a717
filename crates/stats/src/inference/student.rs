//! Student's t distribution, with tails as thin as one in a million.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the probability of a value above `t`.
pub(super) fn survival(t: f64, freedom: f64) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, freedom);
    distribution.map_or(1.0, |distribution| distribution.sf(t))
}

/// Returns the value that is exceeded with this probability, which must be below one half. Uses
/// bisection because the inverse of the crate does not terminate for some degrees of freedom.
pub(super) fn quantile(chance: f64, freedom: f64) -> f64 {
    find_root(chance, |t| survival(t, freedom))
}

/// Returns the point at which a function that decreases from 0 reaches a level, to nine digits.
pub(super) fn find_root(level: f64, function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while function(high) > level && high < 1e150 {
        (low, high) = (high, high * 2.0);
    }
    while high - low > 1e-9 * high {
        let middle = f64::midpoint(low, high);
        match function(middle) > level {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are from tables of the t distribution, for instance Abramowitz and Stegun,
    /// table 26.10.
    #[test]
    fn tails_are_those_of_the_tables() {
        for (chance, freedom, value) in
            [(0.025, 2.0, 4.303), (0.005, 10.0, 3.169), (0.05, 1.0, 6.314), (0.000_5, 30.0, 3.646)]
        {
            assert!((quantile(chance, freedom) - value).abs() < 5e-4);
            assert!((survival(value, freedom) / chance - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn any_degrees_of_freedom_come_to_an_end() {
        for tenths in 3..400 {
            let freedom = f64::from(tenths) / 10.0;
            assert!(quantile(1e-7, freedom).is_finite());
        }
    }
}
