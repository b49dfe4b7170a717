//! Consistency checks of figures: totals are the sums of their parts, and rates match times.

use config::{SpannedText, SumRuleSource};
use stats::median;

use crate::figures::FigureTable;
use crate::language::{Vocabulary, parse_paths};

/// A relation that should hold for every contender.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    what: String,
    sum: SumRule,
    within: Tolerance,
}

#[derive(Clone, Debug, PartialEq)]
enum SumRule {
    Total(String, Vec<String>),
    Product(Vec<String>),
    Time(String, f64, Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Tolerance {
    Amount(f64),
    Share(f64),
}

impl Check {
    /// Reads a check and resolves its figures.
    pub fn read(check: &config::ConsistencyCheck, vocabulary: &Vocabulary) -> Result<Self, String> {
        let one = |said: &SpannedText| match &parse_paths(&said.text, vocabulary)?[..] {
            [only] => Ok(only.clone()),
            _ => Err(format!("`{}` are several figures; expected one", said.text)),
        };
        let all = |said: &[SpannedText]| -> Result<Vec<String>, String> {
            let paths = said.iter().map(|said| parse_paths(&said.text, vocabulary));
            Ok(paths.collect::<Result<Vec<_>, _>>()?.concat())
        };
        let sum = match &check.sum {
            SumRuleSource::Total { total, parts } => SumRule::Total(one(total)?, all(parts)?),
            SumRuleSource::Product(factors) => SumRule::Product(all(factors)?),
            SumRuleSource::Time { total, bytes, rates } => {
                SumRule::Time(one(total)?, *bytes as f64, all(rates)?)
            }
        };
        let said = check.within.text.as_str();
        let (number, is_share) = match said.strip_suffix('%') {
            Some(share) => (share.trim(), true),
            None => (said, false),
        };
        let number: Option<f64> = number.parse().ok();
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        let number = number.ok_or_else(|| {
            format!("`within` is `{said}`; expected a number such as `0.5` or `1%`")
        })?;
        Ok(Self {
            what: check.description.text.clone(),
            sum,
            within: match is_share {
                true => Tolerance::Share(number / 100.0),
                false => Tolerance::Amount(number),
            },
        })
    }

    /// Returns the figure that is the sum of others, or `None` for another kind of check.
    pub fn total(&self) -> Option<&str> {
        match &self.sum {
            SumRule::Total(total, _) => Some(total),
            SumRule::Product(_) | SumRule::Time(..) => None,
        }
    }

    /// Returns the contenders for which the check fails, largest deviation first, or `None` if it
    /// holds for all.
    pub fn off(&self, figures: &FigureTable) -> Option<String> {
        let contenders = figures.contenders.iter();
        let both =
            contenders.filter_map(|c| Some((c.name.as_str(), self.sides(figures, &c.name)?)));
        let both: Vec<(&str, (f64, f64))> = both.collect();
        let products: Vec<f64> = both.iter().map(|(_, sides)| sides.0).collect();
        let usual = median(&products).unwrap_or_default();
        let mut off: Vec<(f64, String)> = Vec::new();
        for (name, (printed, follows)) in &both {
            let expected = match self.sum {
                SumRule::Product(_) => usual,
                SumRule::Total(..) | SumRule::Time(..) => *follows,
            };
            let apart = printed - expected;
            let is_off = match self.within {
                Tolerance::Amount(most) => apart.abs() > most,
                Tolerance::Share(most) => apart.abs() > most * expected.abs(),
            };
            if is_off {
                let text = match self.sum {
                    SumRule::Product(_) => {
                        format!("{name} {printed:.1}, not {expected:.1} ({apart:+.1})")
                    }
                    SumRule::Total(..) | SumRule::Time(..) => {
                        format!(
                            "{name} is printed as {printed:.1}, but its parts add up to {expected:.1} ({apart:+.1})"
                        )
                    }
                };
                off.push((apart.abs(), text));
            }
        }
        off.sort_by(|a, b| b.0.total_cmp(&a.0));
        let off: Vec<String> = off.into_iter().map(|(_, text)| text).collect();
        (!off.is_empty()).then(|| format!("{}: {}", self.what, off.join("; ")))
    }

    /// Returns the printed number of a contender, and the number that follows from its other
    /// figures, or `None` if one of them has no number.
    fn sides(&self, figures: &FigureTable, contender: &str) -> Option<(f64, f64)> {
        let value = |path: &String| figures.value(contender, path)?.1.exact();
        match &self.sum {
            SumRule::Total(total, parts) => {
                let parts: Option<Vec<f64>> = parts.iter().map(value).collect();
                Some((value(total)?, parts?.iter().sum()))
            }
            SumRule::Product(factors) => {
                let factors: Option<Vec<f64>> = factors.iter().map(value).collect();
                Some((factors?.iter().product(), 0.0))
            }
            SumRule::Time(total, bytes, rates) => {
                let times = rates.iter().map(|path| {
                    let (figure, cell) = figures.value(contender, path)?;
                    Some(bytes / (cell.exact()? * figure.scale()?))
                });
                let times: Option<Vec<f64>> = times.collect();
                Some((value(total)?, times?.iter().sum()))
            }
        }
    }
}
