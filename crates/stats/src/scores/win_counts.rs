//! Number of phases in which each contender is the best, is on the shortlist, has a result or
//! failed, by the primary metric of each phase.
//!
//! Only counts: phases are not comparable, so a sum over them would be misleading. Features are not
//! a contest, so phases that try a feature are omitted.

use model::Metric;
use serde::Serialize;

use crate::{Rank, ResultRow};

/// Counts of the phases in which a contender performed well or failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WinCounts {
    /// Name of the contender.
    pub contender: String,
    /// Number of phases in which the contender is the best.
    pub best: u32,
    /// Number of phases in which the contender may be the best, alone or as one of several.
    pub shortlisted: u32,
    /// Number of phases in which the contender has a result.
    pub results: u32,
    /// Number of phases in which a round failed.
    pub failed: u32,
    /// Number of all phases.
    pub phases: u32,
}

/// Returns the counts of all contenders, in the campaign's order.
pub(crate) fn phase_counts(contenders: &[String], rows: &[ResultRow]) -> Vec<WinCounts> {
    contenders.iter().enumerate().map(|(index, name)| of_contender(index, name, rows)).collect()
}

fn of_contender(index: usize, name: &str, rows: &[ResultRow]) -> WinCounts {
    let results = || {
        rows.iter()
            .filter(|row| row.primary && row.metric != Metric::Supported)
            .map(move |row| &row.results[index])
    };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let places = |of: fn(&Rank) -> bool| {
        let places = results().filter_map(|result| result.place);
        count(places.filter(of).count())
    };
    WinCounts {
        contender: name.to_owned(),
        best: places(|place| place.best),
        shortlisted: places(|place| place.shortlisted),
        results: count(results().filter(|f| f.estimate.is_some()).count()),
        failed: count(results().filter(|f| f.has_failed_rounds()).count()),
        phases: count(results().count()),
    }
}
