//! One result of two contenders, or of two campaigns: whether they can be compared, and their
//! costs.

use std::collections::BTreeSet;

use model::{CacheState, Clock};

use crate::inference::{BlockDesign, PairedResult};
use crate::results::costs::log_cost;
use crate::{MetricResult, ResultRow};

/// A row with a contender's result before and after.
pub(crate) type RowPair<'a> = (&'a ResultRow, &'a MetricResult, &'a MetricResult);

/// Returns the pairing of rounds within a campaign.
pub(crate) const fn design_within_campaign(clock: Clock) -> BlockDesign {
    match clock {
        Clock::Real => BlockDesign::PairedByRound,
        Clock::Virtual => BlockDesign::Deterministic,
    }
}

/// Position of a result among all compared results.
pub(crate) struct ComparisonKey {
    /// The number of the row.
    pub number: usize,
    /// The number of its contender.
    pub contender: usize,
}

/// Returns true if a result can be compared: it is no lower bound, no round failed, and every value
/// has a logarithm.
pub(crate) fn is_sound(row: &ResultRow, result: &MetricResult) -> bool {
    result.estimate.is_some()
        && !result.has_failed_rounds()
        && !result.is_lower_bound(row.metric)
        && result.rounds.iter().all(|r| r.value.is_none_or(|v| v > 0.0))
}

/// Returns the log cost of each round.
pub(crate) fn logs(row: &ResultRow, result: &MetricResult) -> Vec<Option<f64>> {
    let values = result.rounds.iter().map(|round| round.value);
    values.map(|value| Some(log_cost(value?, row.direction))).collect()
}

/// Returns the costs of a result before and after if both were measured in the same way, without
/// failed rounds, and have logarithms.
pub(crate) fn paired_costs(
    (row, before, after): RowPair<'_>,
    place: ComparisonKey,
    rows: &[(&ResultRow, &ResultRow)],
) -> Option<PairedResult> {
    let is_comparable = is_sound(row, before) && is_sound(row, after);
    if !(is_comparable && caches(before) == caches(after)) {
        return None;
    }
    let is_same = |(_, other): &(&ResultRow, &ResultRow)| {
        (&other.suite, &other.test) == (&row.suite, &row.test)
    };
    Some(PairedResult {
        row: place.number,
        test: rows.iter().position(is_same)?,
        contender: place.contender,
        before: logs(row, before),
        after: logs(row, after),
    })
}

/// Returns the actual cache states of the values of a result.
pub(crate) fn caches(result: &MetricResult) -> BTreeSet<Option<CacheState>> {
    let rounds = result.rounds.iter().filter(|r| r.value.is_some());
    rounds.map(|r| r.cache).collect()
}
