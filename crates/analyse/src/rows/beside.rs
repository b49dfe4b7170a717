//! One result of two contenders, or of two campaigns, side by side: whether they can be compared, and what they cost.

use std::collections::BTreeSet;

use model::{CacheState, Clock};

use crate::inference::{Beside, Pairing};
use crate::rows::costs::log_cost;
use crate::{MetricResult, Row};

/// A row with a contender's result before and after.
pub(crate) type Sides<'a> = (&'a Row, &'a MetricResult, &'a MetricResult);

/// Rounds of a campaign belong together.
pub(crate) const fn of_one_campaign(clock: Clock) -> Pairing {
    match clock {
        Clock::Real => Pairing::Rounds,
        Clock::Virtual => Pairing::Exact,
    }
}

/// Where a result stands among all that are compared.
pub(crate) struct Place {
    /// The number of its row.
    pub number: usize,
    /// That of its contender.
    pub contender: usize,
}

/// Whether a result can be compared: in no failed round, and with a logarithm.
pub(crate) fn is_sound(row: &Row, result: &MetricResult) -> bool {
    result.estimate.is_some()
        && !result.has_failed_rounds()
        && !result.is_lower_bound(row.metric)
        && result
            .rounds
            .iter()
            .all(|r| r.value.is_none_or(|v| v > 0.0))
}

/// The log cost of each round.
pub(crate) fn logs(row: &Row, result: &MetricResult) -> Vec<Option<f64>> {
    let values = result.rounds.iter().map(|round| round.value);
    values
        .map(|value| Some(log_cost(value?, row.direction)))
        .collect()
}

/// The costs of a result before and after, where both were taken in the same way, in no failed round, and have logarithms.
pub(crate) fn beside(
    (row, before, after): Sides<'_>,
    place: Place,
    rows: &[(&Row, &Row)],
) -> Option<Beside> {
    let is_comparable = is_sound(row, before) && is_sound(row, after);
    if !(is_comparable && caches(before) == caches(after)) {
        return None;
    }
    let is_same =
        |(_, other): &(&Row, &Row)| (&other.suite, &other.test) == (&row.suite, &row.test);
    Some(Beside {
        row: place.number,
        test: rows.iter().position(is_same)?,
        contender: place.contender,
        before: logs(row, before),
        after: logs(row, after),
    })
}

/// The cache states in which a result was really taken.
pub(crate) fn caches(result: &MetricResult) -> BTreeSet<Option<CacheState>> {
    let rounds = result.rounds.iter().filter(|r| r.value.is_some());
    rounds.map(|r| r.cache).collect()
}
