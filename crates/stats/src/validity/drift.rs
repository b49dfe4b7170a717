//! Drift: whether results get better or worse from the first round of a campaign to the last.
//!
//! Rounds follow each other, so their order is the order in which cells ran. Each result is divided
//! by its median, as a cost (above 1 is worse). The geometric mean over all results of primary
//! metrics is one value for each round, for each contender and for all contenders. Kendall's test
//! asks whether these have a trend. It is done once for all contenders together and once for each
//! contender, the latter corrected for their number by Holm's method. Each of the two reports a
//! false drift in at most [`FALSE_DRIFT_LIMIT`] of campaigns.
//!
//! Contenders take turns, so a drift that affects all contenders does not bias comparisons. A drift
//! of a single contender (a disk that wears, a filesystem that is not freshly made after all) is a
//! finding.

use model::{Direction, Metric};
use serde::Serialize;

use crate::estimate::kendall;
use crate::{RankingState, ResultRow};

/// Maximum probability of reporting a drift that does not exist.
pub const FALSE_DRIFT_LIMIT: f64 = 0.05;
/// Minimum number of rounds to distinguish a trend from chance. With four rounds, two of 24 orders
/// already are 8 %.
pub const DRIFT_FROM: u32 = 5;

/// The trend of one contender, or of all contenders together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drift {
    /// Index of the contender in the campaign's order, or `None` for all contenders together.
    pub contender: Option<usize>,
    /// Number of rounds.
    pub rounds: u32,
    /// The cost in the last round as a multiple of the cost in the first round, along the trend.
    /// Above 1, the cost increased.
    pub change: f64,
    /// The two-sided p value.
    pub p: f64,
    /// The p value, corrected for the number of contenders.
    pub p_corrected: f64,
}

impl Drift {
    /// Returns true if the trend is more than chance.
    pub fn is_named(&self) -> bool {
        self.p_corrected <= FALSE_DRIFT_LIMIT
    }
}

/// Returns the trends of a campaign: of all contenders together, followed by one for each
/// contender. Empty if no contender has [`DRIFT_FROM`] rounds.
pub(crate) fn drifts(contenders: usize, rows: &[ResultRow]) -> Vec<Drift> {
    let series: Vec<Vec<Option<f64>>> = (0..contenders).map(|c| costs_of(c, rows)).collect();
    let together = mean_of(&series);
    let mut drifts: Vec<Drift> = trend(None, &together).into_iter().collect();
    let each: Vec<Drift> = series
        .iter()
        .enumerate()
        .filter_map(|(contender, costs)| trend(Some(contender), costs))
        .collect();
    let corrected = holm(&each.iter().map(|d| d.p).collect::<Vec<_>>());
    drifts.extend(
        each.into_iter().zip(corrected).map(|(drift, p_corrected)| Drift { p_corrected, ..drift }),
    );
    drifts
}

/// Returns the trend over the rounds that have a value.
fn trend(contender: Option<usize>, costs: &[Option<f64>]) -> Option<Drift> {
    let values: Vec<f64> = costs.iter().flatten().copied().collect();
    let rounds = u32::try_from(values.len()).ok()?;
    if rounds < DRIFT_FROM {
        return None;
    }
    let p = kendall::p_value(&values);
    Some(Drift {
        contender,
        rounds,
        change: (kendall::slope(&values)? * f64::from(rounds - 1)).exp(),
        p,
        p_corrected: p,
    })
}

/// Returns the mean log cost of a contender in each round. Each cost is relative to its median. A
/// round has a mean only if every included result has a value in it.
fn costs_of(contender: usize, rows: &[ResultRow]) -> Vec<Option<f64>> {
    let compared = rows.iter().filter(|row| {
        row.primary && row.ranking == RankingState::Ranked && row.metric != Metric::Supported
    });
    let results: Vec<_> = compared
        .filter_map(|row| {
            let result = &row.results[contender];
            let positive = result.rounds.iter().filter_map(|r| r.value).all(|v| v > 0.0);
            let median = result.estimate.filter(|_| positive && !result.has_failed_rounds())?;
            let sign = match row.direction {
                Direction::Higher => -1.0,
                Direction::Lower | Direction::Neutral => 1.0,
            };
            Some((result, sign, median.median.ln()))
        })
        .collect();
    let planned = results.first().map_or(0, |(result, _, _)| result.rounds.len());
    (0..planned)
        .map(|round| {
            let costs = results.iter().map(|(result, sign, median)| {
                Some(sign * (result.rounds[round].value?.ln() - median))
            });
            Some(costs.sum::<Option<f64>>()? / results.len() as f64)
        })
        .collect()
}

/// Returns the mean over the contenders that have any value. A round has a mean only if each of
/// these contenders has a value.
fn mean_of(series: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    let present: Vec<_> = series.iter().filter(|s| s.iter().any(Option::is_some)).collect();
    let planned = present.first().map_or(0, |s| s.len());
    (0..planned)
        .map(|round| {
            let sum: Option<f64> = present.iter().map(|s| s[round]).sum();
            Some(sum? / present.len() as f64)
        })
        .collect()
}

/// Corrects p values by Holm's method (Scand. J. Stat. 6, 1979) and keeps their order.
fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![1.0; p_values.len()];
    let mut reached = 0.0f64;
    for (place, index) in order.into_iter().enumerate() {
        let left = (p_values.len() - place) as f64;
        reached = reached.max((p_values[index] * left).min(1.0));
        corrected[index] = reached;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::holm;
    use crate::{analyse, fixture};

    #[test]
    fn holm_by_hand() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }

    #[test]
    fn a_machine_that_gets_slower_is_named_and_how_much() {
        // `write` takes 1 % more of its median in each of seven rounds, and `read` takes equally
        // long in all rounds. Over both, the mean cost increases by about 3 %.
        let analysis = analyse(&fixture::rising(7, 0.01));
        assert_eq!(analysis.drifts.len(), 4, "all together, and three contenders");
        for drift in &analysis.drifts {
            assert!(drift.is_named(), "{drift:?}");
            assert!((drift.change - 1.03).abs() < 0.001, "{drift:?}");
            assert!((drift.p - 2.0 / 5_040.0).abs() < 1e-12);
        }
        assert_eq!(analysis.drifts[0].contender, None);
        assert!((analysis.drifts[1].p_corrected - 3.0 * analysis.drifts[1].p).abs() < 1e-12);
    }

    #[test]
    fn constant_results_and_few_rounds_have_no_trend() {
        let analysis = analyse(&fixture::rising(6, 0.0));
        assert!(analysis.drifts.iter().all(|d| !d.is_named() && d.change == 1.0));
        assert!(analyse(&fixture::rising(4, 0.05)).drifts.is_empty());
    }
}
