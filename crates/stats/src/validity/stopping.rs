//! Whether a campaign has rounds enough: the rule that adds rounds until intervals are narrow.
//!
//! A result is narrow when its 95 % interval is known (six rounds and more) and neither end lies farther
//! from the median than the asked share of it. Counted are the primary metrics; one that
//! has no value, or a failed round, cannot be made narrow by more rounds and does not count. The rule is a
//! function of what is stored, so that a campaign that was killed goes on as it would have.
//!
//! Looking after every round and stopping at a narrow interval favours rounds that happen to agree:
//! such an interval covers the median somewhat less often than one whose rounds were fixed before.

use model::{CampaignResults, Metric, StoppingRule};
use serde::{Deserialize, Serialize};

use crate::statistics::interval::WANTED_CONFIDENCE;
use crate::{CellCounts, Completeness, ResultRow, RobustEstimate};

/// Why no round is added, or that one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// As many results are narrow as were asked for.
    #[serde(rename = "narrow")]
    IntervalsNarrow,
    /// There are as many rounds as may be, and too many results are still wide.
    #[serde(rename = "most-rounds")]
    MaxRounds,
    /// The cells have taken as long as they may, and too many results are still wide.
    #[serde(rename = "most-time")]
    MaxTime,
    /// Cells that are planned have not run yet.
    Running,
    /// Too many results are wide, and another round is to be run.
    #[serde(rename = "wide")]
    IntervalsWide,
}

/// A result that is not narrow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WideInterval {
    /// Number of the row in [`crate::Analysis::rows`].
    pub row: usize,
    /// The contender, by its place in the campaign's order.
    pub contender: usize,
    /// How far the farther end of the interval lies from the median, as a share of it; `None` where the
    /// rounds are too few for a 95 % interval.
    pub width: Option<f64>,
}

/// What the rule says of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopDecision {
    /// The rule as it was asked for.
    pub until: StoppingRule,
    /// What it says.
    pub reason: StopReason,
    /// Rounds that are planned by now.
    pub rounds: u32,
    /// Results that count.
    pub counted: u32,
    /// Those of them that are wide, the widest first.
    pub wide: Vec<WideInterval>,
}

impl StopDecision {
    /// What the rule says; `None` where the campaign has none.
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
        } else if until
            .max_time
            .is_some_and(|most| results.total_cell_time() >= most)
        {
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

/// How many results count, and which of them are wide.
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
                wide.push(WideInterval {
                    row: number,
                    contender,
                    width: reached,
                });
            }
        }
    }
    let key = |result: &WideInterval| result.width.unwrap_or(f64::INFINITY);
    wide.sort_by(|a, b| key(b).total_cmp(&key(a)));
    (counted, wide)
}

/// How far the farther end of the interval lies from the median, as a share of it; `None` where the
/// interval does not reach 95 %.
pub fn relative_width(estimate: &RobustEstimate) -> Option<f64> {
    let interval = estimate.interval;
    let farther = (interval.high - estimate.median).max(estimate.median - interval.low);
    let known = interval.confidence >= WANTED_CONFIDENCE;
    known.then(|| match farther {
        0.0 => 0.0,
        // A median of 0 makes it infinite, which JSON cannot say.
        _ => (farther / estimate.median.abs()).min(f64::MAX),
    })
}

#[cfg(test)]
#[path = "stopping_tests.rs"]
mod tests;
