//! The stopping rule, which adds rounds until intervals are narrow.
//!
//! A result is narrow when its 95 % interval is known (six rounds or more) and neither end differs
//! from the median by more than the requested share of it. Only primary metrics count; a result
//! without a value, or with a failed round, cannot become narrow by more rounds and does not count.
//! The rule is a function of the stored results, so a resumed campaign continues as if it had not
//! been killed.
//!
//! Checking after every round and stopping at a narrow interval favours rounds that happen to
//! agree: such an interval covers the median somewhat less often than one with a fixed number of
//! rounds.

use model::{CampaignResults, Metric, StoppingRule};
use serde::Serialize;

use crate::estimate::interval::WANTED_CONFIDENCE;
use crate::{CellCounts, Completeness, ResultRow, RobustEstimate};

/// Reason to stop or to add a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The requested number of results is narrow.
    #[serde(rename = "narrow")]
    IntervalsNarrow,
    /// The maximum number of rounds is reached, and too many results are still wide.
    #[serde(rename = "most-rounds")]
    MaxRounds,
    /// The maximum time of the cells is reached, and too many results are still wide.
    #[serde(rename = "most-time")]
    MaxTime,
    /// Planned cells have not run yet.
    Running,
    /// Too many results are wide, and another round will run.
    #[serde(rename = "wide")]
    IntervalsWide,
}

/// A result that is not narrow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WideInterval {
    /// Number of the row in [`crate::Analysis::rows`].
    pub row: usize,
    /// Index of the contender in the campaign's order.
    pub contender: usize,
    /// Distance of the farther end of the interval from the median, as a share of the median, or
    /// `None` if there are too few rounds for a 95 % interval.
    pub width: Option<f64>,
}

/// Result of the stopping rule for a campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopDecision {
    /// The requested rule.
    pub until: StoppingRule,
    /// Result of the rule.
    pub reason: StopReason,
    /// Number of rounds planned so far.
    pub rounds: u32,
    /// Number of results that count.
    pub counted: u32,
    /// Wide results, the widest first.
    pub wide: Vec<WideInterval>,
}

impl StopDecision {
    /// Applies the stopping rule. Returns `None` if the campaign has none.
    pub(crate) fn decide(
        results: &CampaignResults,
        counts: &CellCounts,
        rows: &[ResultRow],
    ) -> Option<Self> {
        let until = results.campaign.stopping_rule?;
        let rounds = results.campaign.rounds;
        let (counted, wide) = wide(rows, until.width);
        let narrow = counted - wide.len();
        let reason = if counts.completeness == Completeness::Incomplete {
            StopReason::Running
        } else if narrow as f64 >= until.share * counted as f64 {
            StopReason::IntervalsNarrow
        } else if rounds >= until.max_rounds {
            StopReason::MaxRounds
        } else if until.max_time.is_some_and(|most| results.total_cell_time() >= most) {
            StopReason::MaxTime
        } else {
            StopReason::IntervalsWide
        };
        Some(Self {
            until,
            reason,
            rounds,
            counted: u32::try_from(counted).unwrap_or(u32::MAX),
            wide,
        })
    }
}

/// Returns the number of results that count, and the wide ones among them.
fn wide(rows: &[ResultRow], width: f64) -> (usize, Vec<WideInterval>) {
    let mut counted = 0;
    let mut wide = Vec::new();
    let rows = rows.iter().enumerate();
    for (number, row) in rows.filter(|(_, row)| row.primary && row.metric != Metric::Supported) {
        for (contender, result) in row.results.iter().enumerate() {
            let Some(estimate) = result.estimate.filter(|_| !result.has_failed_rounds()) else {
                continue;
            };
            counted += 1;
            let reached = relative_width(&estimate);
            if reached.is_none_or(|reached| reached > width) {
                wide.push(WideInterval { row: number, contender, width: reached });
            }
        }
    }
    let key = |result: &WideInterval| result.width.unwrap_or(f64::INFINITY);
    wide.sort_by(|a, b| key(b).total_cmp(&key(a)));
    (counted, wide)
}

/// Returns the distance of the farther end of the interval from the median, as a share of the
/// median, or `None` if the interval does not reach 95 %.
pub fn relative_width(estimate: &RobustEstimate) -> Option<f64> {
    let interval = estimate.interval;
    let farther = (interval.high - estimate.median).max(estimate.median - interval.low);
    let known = interval.confidence >= WANTED_CONFIDENCE;
    known.then(|| match farther {
        0.0 => 0.0,
        // A median of 0 makes the width infinite, and JSON has no infinity.
        _ => (farther / estimate.median.abs()).min(f64::MAX),
    })
}

#[cfg(test)]
#[path = "stopping_tests.rs"]
mod tests;
