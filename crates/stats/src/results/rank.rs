//! Place of a contender relative to the best of a row, a group of tests or a use.

use serde::Serialize;

use crate::inference::{BestComparison, ComparisonVerdict};

/// Place of a contender relative to the best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rank {
    /// One plus the number of contenders with a lower estimated cost.
    pub order: u32,
    /// Estimated cost as a multiple of the lowest.
    pub ratio: f64,
    /// Whether it may be the best: no contender is shown to be better by more than the margin.
    pub shortlisted: bool,
    /// Whether it is the best: every other contender is shown to be worse by more than the margin.
    pub best: bool,
    /// Whether it is the worst of a row: every other contender is shown to be better by more than
    /// the margin.
    #[serde(default)]
    pub worst: bool,
    /// Verdict against the best; for the shortlist, against the first; for the first, against the
    /// next one.
    pub verdict: ComparisonVerdict,
    /// Whether the share in the verdict is the exact difference and not a bound, because a single
    /// round has values that are free of noise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// The most that it costs more than the best of a group of tests or a use, as a share of the
    /// best's cost: with 95 % confidence for all contenders together. `None` for single rows, and
    /// if the noise is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// That bound after three times as many rounds, if the estimates do not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<f64>,
}

impl Rank {
    /// Whether it is equal to the first within the margin, or is the first and another contender is
    /// equal to it.
    pub const fn is_equal(&self) -> bool {
        self.shortlisted
            && matches!(
                self.verdict,
                ComparisonVerdict::EqualWithin(_) | ComparisonVerdict::Identical
            )
    }

    /// Returns true if the contender may be the best, but rounds are too few to decide.
    pub const fn is_open(&self) -> bool {
        self.shortlisted && matches!(self.verdict, ComparisonVerdict::Undecided { .. })
    }
}

/// Returns the places of a standing, in the campaign's order, or `None` for a contender that is not
/// comparable to any other.
pub(crate) fn places(standing: &BestComparison) -> Vec<Option<Rank>> {
    let lowest = standing.differences.iter().flatten().copied();
    let lowest = lowest.fold(f64::INFINITY, f64::min);
    let place = |one: usize| {
        let difference = standing.differences[one]?;
        let cheaper = standing.differences.iter().flatten();
        let cheaper = cheaper.filter(|other| **other < difference).count();
        let shortlisted = standing.shortlist.contains(&one);
        Some(Rank {
            order: u32::try_from(cheaper).unwrap_or(u32::MAX).saturating_add(1),
            ratio: (difference - lowest).exp(),
            shortlisted,
            best: shortlisted && standing.shortlist.len() == 1,
            worst: false,
            verdict: standing.verdicts[one]?,
            exact: standing.exact,
            at_most: None,
            forecast: None,
        })
    };
    (0..standing.differences.len()).map(place).collect()
}
