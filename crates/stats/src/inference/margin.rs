//! The margin of relevance and the verdicts that it allows.
//!
//! *Better* needs a test against the margin (D. J. McCarthy and G. K. Smyth, Bioinformatics 25,
//! 2009). *Equal* needs the two one-sided tests of equivalence (D. J. Schuirmann, J. Pharmacokinet.
//! Biopharm. 15, 1987). If neither test succeeds, the verdict is open and is never reported as a
//! tie.

use serde::Serialize;

/// Maximum number of rounds that a report announces as sufficient. For a larger number it promises
/// nothing.
pub const MAX_ROUNDS: u32 = 100;

/// The margin of relevance as a share: with 0.05, a contender that costs up to 5 % more is as good.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Margin(pub f64);

impl Default for Margin {
    fn default() -> Self {
        Self(0.05)
    }
}

impl Margin {
    /// Returns the margin on the scale of log costs.
    pub(super) fn log(self) -> f64 {
        self.0.ln_1p()
    }
}

/// Verdict on one contender against another. Shares are of the lower cost: at 0.2 the worse one
/// costs 1.2 times as much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonVerdict {
    /// The contender is better by at least this share, which is more than the margin.
    BetterByAtLeast(f64),
    /// The contender is worse by at least this share.
    WorseByAtLeast(f64),
    /// The two are equal within this margin.
    EqualWithin(Margin),
    /// Both contenders have equal values in every round.
    Identical,
    /// No other verdict is shown.
    Undecided {
        /// Number of rounds that would suffice if the estimates stayed the same. `None` if it
        /// exceeds [`MAX_ROUNDS`], or if the noise is unknown.
        rounds: Option<u32>,
    },
}

impl ComparisonVerdict {
    /// Returns the verdict "worse" for a difference of log costs.
    pub(super) fn worse(log: f64) -> Self {
        Self::WorseByAtLeast(log.exp_m1())
    }

    /// Returns true if one of the two is better.
    pub const fn is_significant(&self) -> bool {
        matches!(self, Self::BetterByAtLeast(_) | Self::WorseByAtLeast(_))
    }

    /// Returns the verdict from the point of view of the other one.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::BetterByAtLeast(share) => Self::WorseByAtLeast(share),
            Self::WorseByAtLeast(share) => Self::BetterByAtLeast(share),
            other => other,
        }
    }
}

/// Returns the verdict for values without noise, from the differences of log costs in each round:
/// the statement that holds in all rounds. Returns `None` if they disagree, so that a test over
/// rounds is needed.
pub(super) fn exact(differences: &[f64], margin: Margin) -> Option<ComparisonVerdict> {
    let least = differences.iter().copied().reduce(f64::min)?;
    let most = differences.iter().copied().reduce(f64::max)?;
    if least == 0.0 && most == 0.0 {
        Some(ComparisonVerdict::Identical)
    } else if least > margin.log() {
        Some(ComparisonVerdict::worse(least))
    } else if most < -margin.log() {
        Some(ComparisonVerdict::worse(-most).reversed())
    } else {
        let equal = least >= -margin.log() && most <= margin.log();
        equal.then_some(ComparisonVerdict::EqualWithin(margin))
    }
}

/// Returns the number of rounds after which a difference would be clearly above or below the
/// margin, if the noise stays the same. Errors shrink with the square root of the rounds.
///
/// `chance_above` returns the probability of a larger error with the present rounds. `level` is the
/// probability that a claim requires.
pub(super) fn rounds_needed(
    difference: f64,
    margin: Margin,
    rounds: usize,
    level: f64,
    chance_above: impl Fn(f64) -> f64,
) -> Option<u32> {
    let way = (difference.abs() - margin.log()).abs();
    let suffices =
        |count: u32| chance_above(way * (f64::from(count) / rounds as f64).sqrt()) <= level;
    let (mut few, mut enough) = (u32::try_from(rounds).ok()?, MAX_ROUNDS);
    if few >= enough || !suffices(enough) {
        return None;
    }
    while enough - few > 1 {
        let middle = few.midpoint(enough);
        match suffices(middle) {
            true => enough = middle,
            false => few = middle,
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::student;

    const FIVE: Margin = Margin(0.05);

    #[test]
    fn without_noise_one_round_is_enough_and_the_margin_holds() {
        let of = |ratios: &[f64]| {
            let logs: Vec<f64> = ratios.iter().map(|r| f64::ln(*r)).collect();
            exact(&logs, FIVE)
        };
        assert_eq!(of(&[1.0]), Some(ComparisonVerdict::Identical));
        assert_eq!(of(&[1.02]), Some(ComparisonVerdict::EqualWithin(FIVE)));
        assert_eq!(of(&[1.0499]), Some(ComparisonVerdict::EqualWithin(FIVE)));
        let Some(ComparisonVerdict::WorseByAtLeast(share)) = of(&[1.3, 1.2]) else {
            panic!("both rounds say so");
        };
        assert!((share - 0.2).abs() < 1e-9);
        let better = of(&[1.0 / 1.2]);
        assert!(
            matches!(better, Some(ComparisonVerdict::BetterByAtLeast(s)) if (s - 0.2).abs() < 1e-9)
        );
        assert_eq!(of(&[1.3, 1.0]), None);
        assert_eq!(of(&[]), None);
    }

    /// 20 % at a standard error of 8 % after three rounds: the distance to the margin is 13.4 %.
    /// One in forty needs 1.96 standard errors, so 3·(1.96·0.08/0.134)² = 4.1 rounds.
    #[test]
    fn rounds_follow_from_the_square_root() {
        let normal = |error: f64| student::survival(error / 0.08, 1e6);
        assert_eq!(rounds_needed(1.2f64.ln(), FIVE, 3, 0.025, normal), Some(5));
        // Exactly at the margin, no number of rounds is enough.
        assert_eq!(rounds_needed(1.05f64.ln(), FIVE, 3, 0.025, normal), None);
    }
}
