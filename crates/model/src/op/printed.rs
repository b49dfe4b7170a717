//! Values that a command prints, found by a regular expression.

use std::str::FromStr;

use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use crate::{Metric, ReportedValue, Unit};

/// A value in the output of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrintedValue {
    /// Meaning of the value.
    pub metric: Metric,
    /// Regular expression with one group, whose name is the unit of the number: one of
    /// [`PrintedValue::units`].
    pub pattern: String,
}

/// Names of groups with a factor to the unit of the metric.
type GroupUnits = &'static [(&'static str, f64)];

/// Units of times.
const TIMES: GroupUnits = &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
/// Units of sizes, and of sizes per second.
const SIZES: GroupUnits =
    &[("B", 1.0), ("KB", 1e3), ("MB", 1e6), ("KiB", 1024.0), ("MiB", 1_048_576.0)];
/// Group for numbers without a unit.
const NUMBERS: GroupUnits = &[("n", 1.0)];

impl PrintedValue {
    /// Returns the possible names of the group, each with the factor to the unit of the metric.
    const fn units(metric: Metric) -> GroupUnits {
        match metric.unit() {
            Unit::Seconds => TIMES,
            Unit::Bytes | Unit::BytesPerSecond => SIZES,
            Unit::PerSecond | Unit::Percent | Unit::Count | Unit::Ratio => NUMBERS,
        }
    }

    /// Returns the expression, and the group with its factor.
    fn compile(&self) -> Result<(Regex, &'static str, f64), String> {
        let expression = Regex::new(&self.pattern)
            .map_err(|error| format!("`{}` is no regular expression: {error}", self.pattern))?;
        let units = Self::units(self.metric);
        let names: Vec<&str> = expression.capture_names().flatten().collect();
        let unit = match names[..] {
            [name] if expression.captures_len() == 2 => units.iter().find(|unit| unit.0 == name),
            _ => None,
        };
        let &(unit, factor) = unit.ok_or_else(|| {
            let groups: Vec<String> =
                units.iter().map(|(name, _)| format!("`(?<{name}>…)`")).collect();
            format!("the pattern of {} needs one group: {}", self.metric, groups.join(" or "))
        })?;
        Ok((expression, unit, factor))
    }

    /// Returns the last value in an output.
    ///
    /// # Errors
    /// Returns a reason if the output does not contain the value, or if it is not a number from zero.
    pub fn find(&self, output: &str) -> Result<ReportedValue, String> {
        let (expression, unit, factor) = self.compile()?;
        let found = expression.captures_iter(output).filter_map(|found| found.name(unit)).last();
        let text =
            found.ok_or_else(|| format!("it printed no {} (`{}`)", self.metric, self.pattern))?;
        let number = text.as_str().replace(',', "").parse::<f64>().ok();
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        let value = number.ok_or_else(|| {
            format!(
                "it printed `{}` as {}, which is not a number of at least 0",
                text.as_str(),
                self.metric
            )
        })?;
        Ok(ReportedValue { metric: self.metric, value: value * factor })
    }
}

/// Reads `METRIC: PATTERN`.
impl FromStr for PrintedValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (metric, pattern) = text
            .split_once(':')
            .ok_or_else(|| format!("`{text}` is not of the form `METRIC: PATTERN`"))?;
        let value = Self { metric: metric.trim().parse()?, pattern: pattern.trim().to_owned() };
        value.compile().map(|_| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> PrintedValue {
        text.parse().unwrap()
    }

    #[test]
    fn the_last_value_counts_in_the_unit_of_its_group() {
        let output = "progress: tps = 10.5\nlatency average = 3.250 ms\ntps = 1,234.5 (without)\n";
        assert_eq!(value(r"rate: tps = (?<n>[\d.,]+)").find(output).unwrap().value, 1234.5);
        let mean = value(r"latency-mean: latency average = (?<ms>\S+) ms").find(output).unwrap();
        assert_eq!(mean.metric, Metric::LatencyMean);
        assert!((mean.value - 0.003_25).abs() < 1e-9, "{mean:?}");
        let bytes = value(r"throughput: (?<MiB>\S+) MiB/s").find("2 MiB/s").unwrap();
        assert_eq!(bytes.value, 2_097_152.0);
    }

    #[test]
    fn a_missing_or_strange_value_is_an_error_with_the_metric() {
        let rate = value(r"rate: tps = (?<n>\S+)");
        assert_eq!(rate.find("no"), Err(r"it printed no rate (`tps = (?<n>\S+)`)".into()));
        for strange in ["nan", "-1", "inf", "fast"] {
            let error = rate.find(&format!("tps = {strange}")).unwrap_err();
            assert!(error.contains(strange) && error.contains("rate"), "{error}");
        }
    }

    #[test]
    fn a_pattern_needs_one_group_named_after_a_unit_of_its_metric() {
        for (text, wanted) in [
            ("rate", "METRIC: PATTERN"),
            ("speed: (?<n>.)", "`speed` is no metric"),
            ("rate: ((", "regular expression"),
            (r"rate: (\d+)", "needs one group: `(?<n>…)`"),
            (r"latency-p99: (?<n>\d+)", "`(?<s>…)` or `(?<ms>…)`"),
            (r"rate: (?<n>\d+)(\d)", "needs one group"),
        ] {
            let error = text.parse::<PrintedValue>().unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_output_panics(output in ".{0,200}", pattern in ".{0,20}") {
            if let Ok(value) = format!("rate: {pattern}(?<n>.*)").parse::<PrintedValue>() {
                let _ = value.find(&output);
            }
        }
    }
}
