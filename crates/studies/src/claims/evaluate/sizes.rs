//! Statements about sizes: the ratio of two numbers, and the bounds of a number.

use super::{Comparand, Judge};
use crate::claims::evidence::{Comparison, ObservedValue, Unknown};
use crate::claims::truth::{StatementResult, Truth, combine};
use crate::language::NumberRange;

impl Judge<'_> {
    pub(super) fn ratio(
        &self,
        at: Comparand<'_>,
        who: &[String],
        times: &NumberRange,
        than: &[String],
    ) -> StatementResult {
        let mut sizes: Vec<(f64, f64)> = Vec::new();
        let mut findings = Vec::new();
        for a in who {
            for b in than.iter().filter(|b| *b != a) {
                let Some(found) = self.evidence.compare(at.place(a), at.place(b)) else {
                    findings.push(self.unknown(at, &[a, b]));
                    continue;
                };
                let truth = size(found, times);
                if truth == Truth::Open {
                    findings.push(self.open(at, a, b));
                    continue;
                }
                sizes.push((found.low, found.high));
                findings.push(StatementResult::new(truth));
            }
        }
        let mut all = combine(findings);
        let (least, most) = ends(&sizes);
        if matches!(all.truth, Truth::Partly | Truth::Fails) {
            all.off = vec![format!("said {} times, is {}", times.text, range((least, most)))];
        }
        let mut shown: Vec<&String> = self.ends(at, who);
        shown.extend(self.ends(at, than));
        let is_as_said = all.off.is_empty() && !sizes.is_empty();
        let times = is_as_said.then(|| range((least, most)));
        all.values = self.values(at, &shown, times);
        all
    }

    pub(super) fn bound(
        &self,
        at: Comparand<'_>,
        who: &[String],
        amount: &NumberRange,
    ) -> StatementResult {
        let findings = who.iter().map(|one| {
            let ObservedValue::Number(number) = self.evidence.value(at.place(one)) else {
                return self.unknown(at, &[one]);
            };
            let (low, high) = (number.low, number.high);
            match () {
                () if self.evidence.is_other_machine(at.place(one)) => {
                    StatementResult::unknown(one, Unknown::OtherMachine)
                }
                () if low >= amount.low && high <= amount.high => {
                    StatementResult::new(Truth::Holds)
                }
                () if high < amount.low || low > amount.high => StatementResult::deviating(
                    Truth::Fails,
                    format!("said {}, {one} is {}", amount.text, number.shown),
                ),
                () => StatementResult::open(format!("{one} is {}", number.shown)),
            }
        });
        let mut all = combine(findings.collect());
        all.values = self.values(at, &self.ends(at, who), None);
        all
    }
}

/// Judges the size of a ratio. Another size is partly true if the direction is the same and the
/// logarithm is at least half and at most twice the claimed one.
fn size(found: Comparison, said: &NumberRange) -> Truth {
    if found.low >= said.low && found.high <= said.high {
        return Truth::Holds;
    }
    let (missed, is) = match () {
        () if found.high < said.low => (said.low, found.high),
        () if found.low > said.high => (said.high, found.low),
        () => return Truth::Open,
    };
    let share = is.ln() / missed.ln();
    match (0.5..=2.0).contains(&share) {
        // The ratio may also be any larger one, for which the claim would not be partly true.
        true if found.high.is_infinite() => Truth::Open,
        true => Truth::Partly,
        false => Truth::Fails,
    }
}

/// Returns the minimum and the maximum of sizes that are ranges.
pub(super) fn ends(sizes: &[(f64, f64)]) -> (f64, f64) {
    let least = sizes.iter().map(|size| size.0).fold(f64::INFINITY, f64::min);
    let most = sizes.iter().map(|size| size.1).fold(0.0, f64::max);
    (least, most)
}

/// Formats a range with few digits, as one number if both ends look the same.
pub(crate) fn range((low, high): (f64, f64)) -> String {
    let is_bound = high.is_infinite();
    let [low, high] = [low, high].map(digits);
    match low == high {
        _ if is_bound => format!("at least {low}"),
        true => low,
        false => format!("{low} to {high}"),
    }
}

/// Formats a ratio with three digits.
pub(super) fn digits(value: f64) -> String {
    match value {
        value if !value.is_finite() => "any number of".to_owned(),
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value if value >= 0.0995 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}
