//! Human-readable numbers: a unit that suits the row, and three significant digits, or the number
//! of digits required by a metric.
//!
//! This is the only place that rounds results. Prefixes are those of the SI: 1 MB is 10⁶ bytes.

use model::{Metric, Unit};

/// A unit with its prefix, chosen for the numbers of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitScale {
    factor: f64,
    symbol: &'static str,
    whole: bool,
    /// Decimal places, if they are equal for all numbers.
    decimals: Option<usize>,
}

/// Returns the prefixed units of a unit, largest first.
const fn steps(unit: Unit) -> &'static [(f64, &'static str)] {
    match unit {
        Unit::BytesPerSecond => &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")],
        Unit::PerSecond => &[(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")],
        Unit::Seconds => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
        Unit::Bytes => &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")],
        Unit::Count => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
        Unit::Percent => &[(1.0, "%")],
        Unit::Ratio => &[(1.0, "×")],
    }
}

/// Decimal places of a capacity in percent. All capacities are near 100 % and differ only in the
/// remainder: three digits would show 99.93 % and 99.95 % as the same.
const CAPACITY_DECIMALS: usize = 2;

impl UnitScale {
    /// Returns the scale of a metric: [`Self::for_values`] with its unit, and with the number of
    /// decimals that the metric needs.
    pub fn for_metric(metric: Metric, values: impl IntoIterator<Item = f64>) -> Self {
        Self {
            decimals: (metric == Metric::Capacity).then_some(CAPACITY_DECIMALS),
            ..Self::for_values(metric.unit(), values)
        }
    }

    /// Returns the scale in which the middle value has one to three digits before the point.
    pub fn for_values(unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        let mut sizes: Vec<f64> =
            values.into_iter().map(f64::abs).filter(|v| *v > 0.0 && v.is_finite()).collect();
        sizes.sort_by(f64::total_cmp);
        let steps = steps(unit);
        let smallest = steps[steps.len() - 1];
        let (factor, symbol) = match sizes.get(sizes.len() / 2) {
            // Compare the rounded value: 999.96 MB/s is shown as 1.00 GB/s, not as 1000 MB/s.
            Some(middle) => {
                *steps.iter().find(|(factor, _)| middle * 1.0005 >= *factor).unwrap_or(&smallest)
            }
            None => *steps.iter().find(|(factor, _)| *factor == 1.0).unwrap_or(&smallest),
        };
        let whole = factor == 1.0 && matches!(unit, Unit::Count | Unit::Bytes);
        Self { factor, symbol, whole, decimals: None }
    }

    /// Returns the decimal places, if they are equal for all numbers.
    pub const fn decimals(&self) -> Option<usize> {
        self.decimals
    }

    /// Returns the unit's symbol with its prefix: `MB/s`.
    pub const fn symbol(&self) -> &'static str {
        self.symbol
    }

    /// Returns the label of an axis: the symbol, or text if the symbol alone could be overlooked.
    pub fn axis(&self) -> &'static str {
        match self.symbol {
            "" => "count",
            "k" => "thousands",
            "M" => "millions",
            "G" => "billions",
            "/s" => "per second",
            "k/s" => "thousands/s",
            "M/s" => "millions/s",
            symbol => symbol,
        }
    }

    /// Returns a value in this scale, not rounded.
    pub fn scaled(&self, value: f64) -> f64 {
        value / self.factor
    }

    /// Formats a value in this scale, without its unit, with three significant digits or a fixed
    /// number of decimal places.
    pub fn number(&self, value: f64) -> String {
        let scaled = self.scaled(value);
        if let Some(decimals) = self.decimals {
            return format!("{scaled:.decimals$}");
        }
        if self.whole && scaled.fract() == 0.0 && scaled.abs() < 1000.0 {
            return format!("{scaled}");
        }
        three_digits(scaled)
    }

    /// Formats a value in this scale with its unit: `97.3 MB/s`.
    pub fn with_unit(&self, value: f64) -> String {
        let number = self.number(value);
        if self.symbol.is_empty() { number } else { format!("{number} {}", self.symbol) }
    }
}

/// Formats three significant digits, without an exponent if the number stays readable.
pub(crate) fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding can carry into another digit, so the exponent after rounding is used.
    let rounded = format!("{value:.2e}");
    let exponent: i32 =
        rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    match exponent {
        -6..=2 => {
            let decimals = usize::try_from(2 - exponent).unwrap_or(0);
            format!("{value:.decimals$}")
        }
        3..=8 => {
            let unit = 10f64.powi(exponent - 2);
            format!("{:.0}", (value / unit).round() * unit)
        }
        _ => rounded,
    }
}

/// Formats a number above 1 like [`three_digits`], rounded up.
pub(crate) fn three_digits_up(value: f64) -> String {
    let unit = 10f64.powi(value.log10().floor() as i32 - 2);
    // Rounding errors in the last digits must not raise a number.
    three_digits((value / unit - 1e-6).ceil() * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_digits_of_any_size() {
        for (value, shown) in [
            (0.0, "0"),
            (1.0, "1.00"),
            (9.999, "10.0"),
            (99.95, "100"),
            (123.4, "123"),
            (1234.0, "1230"),
            (12_345.0, "12300"),
            (0.012_34, "0.0123"),
            (-4.567, "-4.57"),
            (1.5e-9, "1.50e-9"),
        ] {
            assert_eq!(three_digits(value), shown, "{value}");
        }
    }

    #[test]
    fn an_upper_bound_is_rounded_up() {
        for (value, shown) in [(74.0118, "74.1"), (12.0, "12.0"), (99.91, "100"), (1234.0, "1240")]
        {
            assert_eq!(three_digits_up(value), shown, "{value}");
        }
    }

    #[test]
    fn a_row_has_one_unit_which_suits_its_middle() {
        let row = [90e6, 250e6, 2.2e9];
        let scale = UnitScale::for_values(Unit::BytesPerSecond, row);
        assert_eq!(scale.with_unit(90e6), "90.0 MB/s");
        assert_eq!(scale.with_unit(2.2e9), "2200 MB/s");
        let scale = UnitScale::for_values(Unit::Seconds, [0.000_015]);
        assert_eq!(scale.with_unit(0.000_015), "15.0 µs");
        let scale = UnitScale::for_values(Unit::BytesPerSecond, [999.96e6]);
        assert_eq!(scale.with_unit(999.96e6), "1.00 GB/s");
    }

    #[test]
    fn capacities_show_a_difference_of_two_hundredths_of_a_percent() {
        let capacities = [92.77, 99.83, 99.82, 99.95, 100.0];
        let scale = UnitScale::for_metric(Metric::Capacity, capacities);
        let shown = capacities.map(|value| scale.with_unit(value));
        assert_eq!(shown, ["92.77 %", "99.83 %", "99.82 %", "99.95 %", "100.00 %"]);
        let of_time = UnitScale::for_metric(Metric::Cpu, [99.95]);
        assert_eq!(of_time.with_unit(74.26), "74.3 %");
    }

    #[test]
    fn whole_counts_have_no_decimals() {
        let scale = UnitScale::for_values(Unit::Count, [3.0, 7.0]);
        assert_eq!(scale.with_unit(3.0), "3");
        assert_eq!(scale.with_unit(3.5), "3.50");
        assert_eq!(UnitScale::for_values(Unit::Seconds, [3.0]).with_unit(3.0), "3.00 s");
    }

    #[test]
    fn zero_and_empty_input_use_the_base_unit() {
        assert_eq!(UnitScale::for_values(Unit::Seconds, []).symbol(), "s");
        assert_eq!(UnitScale::for_values(Unit::Bytes, [0.0]).with_unit(0.0), "0 B");
    }

    proptest! {
        #[test]
        fn rounding_is_never_off_by_more_than_half_of_the_third_digit(value in 1e-6..1e8f64) {
            let shown: f64 = three_digits(value).parse().unwrap();
            prop_assert!((shown - value).abs() <= value * 0.005_000_1, "{} {}", value, shown);
        }

        #[test]
        fn larger_is_never_shown_as_smaller(a in 1e-5..1e7f64, b in 1e-5..1e7f64) {
            let scale = UnitScale::for_values(Unit::Seconds, [a, b]);
            let shown = |v| scale.number(v).parse::<f64>().unwrap();
            if a <= b {
                prop_assert!(shown(a) <= shown(b));
            }
        }
    }
}
