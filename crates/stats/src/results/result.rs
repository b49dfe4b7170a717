//! One metric of one phase for one contender: its rounds, its estimate, or the outcomes that
//! explain their absence.
//!
//! The round is the statistical replicate; samples within a round are already summed up by the
//! model.

use std::collections::BTreeMap;

use model::{CacheState, Metric};
use serde::Serialize;

use crate::estimate::interval::median;
use crate::estimate::outlier;
use crate::{OVERHEAD_ABOVE, Rank, RobustEstimate, RoundOutcome};

/// Result of one planned round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundValue {
    /// The round, from 1.
    pub round: u32,
    /// Outcome of the round.
    pub outcome: RoundOutcome,
    /// The number in the metric's unit, if and only if the outcome is `ok`.
    pub value: Option<f64>,
    /// The cache state in which the phase started, if it completed.
    pub cache: Option<CacheState>,
    /// Whether the phase's time limit ended it before all operations were done.
    #[serde(rename = "cut_short", default, skip_serializing_if = "std::ops::Not::not")]
    pub time_limited: bool,
    /// Number of passes in the value: several if one ended too soon to be timed.
    #[serde(default)]
    pub passes: u32,
    /// The value as a share of the raw device's speed, in percent. Only for phases that measure the
    /// device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_device_share: Option<f64>,
    /// Overhead of fsarena as a share of the phase's time, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_share: Option<f64>,
}

/// One metric of one phase for one contender.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricResult {
    /// Name of the contender.
    pub contender: String,
    /// Every planned round, in order.
    pub rounds: Vec<RoundValue>,
    /// Estimate over the rounds, or `None` if no round gave a value.
    pub estimate: Option<RobustEstimate>,
    /// The share of the raw device's speed, in percent: the median over rounds. Present if every
    /// round with a value has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_device_share: Option<f64>,
    /// Overhead of fsarena as a share of the time, in percent: the median over rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_share: Option<f64>,
    /// Whether it belongs to a baseline, such as a filesystem in memory. It is shown, but not
    /// ranked.
    #[serde(default)]
    pub set_apart: bool,
    /// Whether it is not ranked because its syncs never reached the disk, although those of other
    /// contenders did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_durable: bool,
    /// Place relative to the best, or `None` if it has no value, failed in a round, is not ranked,
    /// or has no competitor.
    pub place: Option<Rank>,
}

impl MetricResult {
    /// Creates a result without a rank.
    pub fn new(contender: &str, rounds: Vec<RoundValue>) -> Self {
        let values: Vec<f64> = rounds.iter().filter_map(|r| r.value).collect();
        Self {
            contender: contender.to_owned(),
            estimate: RobustEstimate::from_values(&values),
            raw_device_share: median_share(&rounds, |r| r.raw_device_share),
            overhead_share: median_share(&rounds, |r| r.overhead_share),
            rounds,
            set_apart: false,
            not_durable: false,
            place: None,
        }
    }

    /// Whether it can be compared with the results of others: every round that ran gave a value, in
    /// the same cache state.
    pub fn is_comparable(&self) -> bool {
        self.estimate.is_some() && !self.has_failed_rounds() && !self.set_apart
    }

    /// Returns the outcomes of planned rounds other than `ok`, with the number of rounds. The most
    /// frequent outcome is first; equally frequent ones are in the order of [`RoundOutcome::ALL`].
    pub fn outcome_counts(&self) -> Vec<(RoundOutcome, u32)> {
        let mut counts = BTreeMap::new();
        for round in &self.rounds {
            if round.outcome.is_planned() && round.outcome != RoundOutcome::Ok {
                *counts.entry(round.outcome).or_insert(0) += 1;
            }
        }
        let mut words: Vec<_> = counts.into_iter().collect();
        words.sort_by_key(|(outcome, count)| (std::cmp::Reverse(*count), *outcome));
        words
    }

    /// Returns the number of planned rounds, which may differ between contenders within a budget.
    pub fn planned_rounds(&self) -> u32 {
        let planned = self.rounds.iter().filter(|r| r.outcome.is_planned());
        u32::try_from(planned.count()).unwrap_or(u32::MAX)
    }

    /// Returns true if a round failed, so that the estimate is based on the remaining rounds.
    pub fn has_failed_rounds(&self) -> bool {
        self.rounds.iter().any(|r| r.outcome.is_failure())
    }

    /// Returns the rounds whose value is an outlier (see [`outlier::OUTLIER_BEYOND`]).
    pub fn outliers(&self) -> Vec<u32> {
        let measured = self.rounds.iter().filter_map(|r| Some((r.round, r.value?)));
        let (rounds, values): (Vec<u32>, Vec<f64>) = measured.unzip();
        let places = outlier::outliers(&values);
        places.into_iter().map(|place| rounds[place]).collect()
    }

    /// Returns true if a planned round has not run yet.
    pub fn is_incomplete(&self) -> bool {
        self.rounds.iter().any(|r| r.outcome == RoundOutcome::NotRun)
    }

    /// Whether fsarena's share of the time is so large that the result is misleading.
    pub fn is_largely_overhead(&self) -> bool {
        self.overhead_share.is_some_and(|s| s > OVERHEAD_ABOVE)
    }

    /// Returns true if the number is only a lower bound: the total of a phase that its time limit
    /// ended early.
    pub fn is_lower_bound(&self, metric: Metric) -> bool {
        is_cumulative(metric) && self.rounds.iter().any(|r| r.value.is_some() && r.time_limited)
    }
}

/// Returns the median of the shares of the rounds that have a value, or `None` if one of these has
/// no share.
fn median_share(rounds: &[RoundValue], share: impl Fn(&RoundValue) -> Option<f64>) -> Option<f64> {
    let shares = rounds.iter().filter(|r| r.value.is_some()).map(share);
    median(&shares.collect::<Option<Vec<f64>>>()?)
}

/// Returns true if a metric is a total that would have grown without a time limit.
pub(crate) fn is_cumulative(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Elapsed
            | Metric::MinorFaults
            | Metric::MajorFaults
            | Metric::DeviceRead
            | Metric::DeviceWritten
            | Metric::DeviceFlushes
            | Metric::SpaceTaken
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(round: u32, outcome: RoundOutcome, value: Option<f64>) -> RoundValue {
        RoundValue {
            round,
            outcome,
            value,
            cache: Some(CacheState::Warm),
            time_limited: false,
            passes: 1,
            raw_device_share: None,
            overhead_share: None,
        }
    }

    #[test]
    fn a_round_that_survives_is_a_result_but_a_marked_one() {
        let result = MetricResult::new(
            "ext4",
            vec![
                round(1, RoundOutcome::Failed, None),
                round(2, RoundOutcome::Ok, Some(7.0)),
                round(3, RoundOutcome::Failed, None),
            ],
        );
        assert_eq!(result.estimate.unwrap().median, 7.0);
        assert_eq!(result.estimate.unwrap().interval.confidence, 0.0);
        assert!(result.has_failed_rounds());
        assert_eq!(result.outcome_counts(), [(RoundOutcome::Failed, 2)]);
    }

    #[test]
    fn the_most_frequent_outcome_comes_first() {
        let result = MetricResult::new(
            "ext4",
            vec![
                round(1, RoundOutcome::Failed, None),
                round(2, RoundOutcome::Hung, None),
                round(3, RoundOutcome::Hung, None),
                round(4, RoundOutcome::NotRun, None),
            ],
        );
        let words = [(RoundOutcome::Hung, 2), (RoundOutcome::Failed, 1), (RoundOutcome::NotRun, 1)];
        assert_eq!(result.outcome_counts(), words);
        assert!(result.is_incomplete() && result.estimate.is_none());
    }

    #[test]
    fn a_total_cut_short_is_a_lower_bound_and_a_rate_is_not() {
        let mut cut = round(1, RoundOutcome::Ok, Some(3.0));
        cut.time_limited = true;
        let result = MetricResult::new("ext4", vec![cut]);
        assert!(result.is_lower_bound(Metric::Elapsed));
        assert!(!result.is_lower_bound(Metric::Rate));
    }
}
