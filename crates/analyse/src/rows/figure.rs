//! One metric of one phase for one contender: its rounds, its estimate, or the words for their absence.
//!
//! The round is the statistical replicate; what happened inside a round is summed up by the model
//! before it comes here.

use std::collections::BTreeMap;

use model::{CacheState, Metric};
use serde::{Deserialize, Serialize};

use crate::statistics::interval::median;
use crate::statistics::outlier;
use crate::{Estimate, INSTRUMENT_ABOVE, Outcome, Place};

/// What one planned round gave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundValue {
    /// The round, from 1.
    pub round: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// The number, in the metric's unit; present exactly where the outcome is `ok`.
    pub value: Option<f64>,
    /// The cache state that the phase really began with, where it was done.
    pub cache: Option<CacheState>,
    /// Whether the phase's time limit ended it before all operations were done.
    pub cut_short: bool,
    /// Passes that the value is over: several where one ended too soon to be timed.
    #[serde(default)]
    pub passes: u32,
    /// The value as a share of what the device can do without a filesystem, in percent; only where
    /// the phase worked on the device.
    #[serde(default)]
    pub ceiling_share: Option<f64>,
    /// The share of the phase's time that the instrument itself took, in percent.
    #[serde(default)]
    pub instrument_share: Option<f64>,
}

/// One metric of one phase for one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// Name of the contender.
    pub contender: String,
    /// Every planned round, in order.
    pub rounds: Vec<RoundValue>,
    /// What the rounds come to; `None` where no round gave a value.
    pub estimate: Option<Estimate>,
    /// The share of the device's ceiling, in percent: the median over rounds. Present where every
    /// round with a value has one.
    #[serde(default)]
    pub ceiling_share: Option<f64>,
    /// The share of the time that the instrument took, in percent: the median over rounds.
    #[serde(default)]
    pub instrument_share: Option<f64>,
    /// Whether it is that of a baseline, such as what lives in memory, which was taken in another cache state
    /// than those of all others: it is shown, and set against nobody's.
    #[serde(default)]
    pub set_apart: bool,
    /// Where it stands among the contenders; `None` where it has no value or is not ranked.
    pub place: Option<Place>,
}

impl Figure {
    /// A figure that is not ranked yet.
    pub fn new(contender: &str, rounds: Vec<RoundValue>) -> Self {
        let values: Vec<f64> = rounds.iter().filter_map(|r| r.value).collect();
        Self {
            contender: contender.to_owned(),
            estimate: Estimate::of(&values),
            ceiling_share: median_share(&rounds, |r| r.ceiling_share),
            instrument_share: median_share(&rounds, |r| r.instrument_share),
            rounds,
            set_apart: false,
            place: None,
        }
    }

    /// Whether it can be set against the figures of others: every round that ran gave a value, in the
    /// cache state that theirs were taken in.
    pub fn is_comparable(&self) -> bool {
        self.estimate.is_some() && !self.has_failed_rounds() && !self.set_apart
    }

    /// The outcomes other than `ok` with how many rounds had each: the most frequent first, and of
    /// equally frequent ones in the order of [`Outcome::ALL`].
    pub fn words(&self) -> Vec<(Outcome, u32)> {
        let mut counts = BTreeMap::new();
        for round in &self.rounds {
            if round.outcome != Outcome::Ok {
                *counts.entry(round.outcome).or_insert(0) += 1;
            }
        }
        let mut words: Vec<_> = counts.into_iter().collect();
        words.sort_by_key(|(outcome, count)| (std::cmp::Reverse(*count), *outcome));
        words
    }

    /// Whether a round failed, so that the estimate rests on the rounds that survived.
    pub fn has_failed_rounds(&self) -> bool {
        self.rounds.iter().any(|r| r.outcome.is_failure())
    }

    /// Rounds whose value lies far off the others (see [`crate::OUTLIER_BEYOND`]).
    pub fn outliers(&self) -> Vec<u32> {
        let measured = self.rounds.iter().filter_map(|r| Some((r.round, r.value?)));
        let (rounds, values): (Vec<u32>, Vec<f64>) = measured.unzip();
        let places = outlier::outliers(&values);
        places.into_iter().map(|place| rounds[place]).collect()
    }

    /// Whether a planned round has not run yet.
    pub fn is_incomplete(&self) -> bool {
        self.rounds.iter().any(|r| r.outcome == Outcome::NotRun)
    }

    /// Whether the instrument itself took so much of the time that the figure says less than it seems.
    pub fn holds_the_instrument(&self) -> bool {
        self.instrument_share.is_some_and(|s| s > INSTRUMENT_ABOVE)
    }

    /// Whether the number is no more than a lower bound: a total of a phase that was cut short.
    pub fn is_lower_bound(&self, metric: Metric) -> bool {
        grows_with_work(metric) && self.rounds.iter().any(|r| r.value.is_some() && r.cut_short)
    }
}

/// The median of the shares of the rounds that have a value, where each of these has a share.
fn median_share(rounds: &[RoundValue], share: impl Fn(&RoundValue) -> Option<f64>) -> Option<f64> {
    let shares = rounds.iter().filter(|r| r.value.is_some()).map(share);
    median(&shares.collect::<Option<Vec<f64>>>()?)
}

/// Whether a metric is a total that would have grown had the phase not been cut short.
pub(crate) fn grows_with_work(metric: Metric) -> bool {
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

    fn round(round: u32, outcome: Outcome, value: Option<f64>) -> RoundValue {
        RoundValue {
            round,
            outcome,
            value,
            cache: Some(CacheState::Warm),
            cut_short: false,
            passes: 1,
            ceiling_share: None,
            instrument_share: None,
        }
    }

    #[test]
    fn a_round_that_survives_is_a_figure_but_a_marked_one() {
        let figure = Figure::new(
            "ext4",
            vec![
                round(1, Outcome::Failed, None),
                round(2, Outcome::Ok, Some(7.0)),
                round(3, Outcome::Failed, None),
            ],
        );
        assert_eq!(figure.estimate.unwrap().median, 7.0);
        assert_eq!(figure.estimate.unwrap().interval.confidence, 0.0);
        assert!(figure.has_failed_rounds());
        assert_eq!(figure.words(), [(Outcome::Failed, 2)]);
    }

    #[test]
    fn the_most_frequent_word_comes_first() {
        let figure = Figure::new(
            "ext4",
            vec![
                round(1, Outcome::Failed, None),
                round(2, Outcome::Hung, None),
                round(3, Outcome::Hung, None),
                round(4, Outcome::NotRun, None),
            ],
        );
        let words = [
            (Outcome::Hung, 2),
            (Outcome::Failed, 1),
            (Outcome::NotRun, 1),
        ];
        assert_eq!(figure.words(), words);
        assert!(figure.is_incomplete() && figure.estimate.is_none());
    }

    #[test]
    fn a_total_cut_short_is_a_lower_bound_and_a_rate_is_not() {
        let mut cut = round(1, Outcome::Ok, Some(3.0));
        cut.cut_short = true;
        let figure = Figure::new("ext4", vec![cut]);
        assert!(figure.is_lower_bound(Metric::Elapsed));
        assert!(!figure.is_lower_bound(Metric::Rate));
    }
}
