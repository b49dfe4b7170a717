//! How each contender did over all phases, by the primary metric of each phase.
//!
//! Counts only: phases are not alike, and a sum over them would say that they are. What a filesystem
//! can do is no contest, so phases that try a feature are left out.

use model::Metric;
use serde::{Deserialize, Serialize};

use crate::{Mark, Row};

/// How one contender did over all phases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Standing {
    /// Name of the contender.
    pub contender: String,
    /// Phases in which it is marked best.
    pub best: u32,
    /// Phases in which it has the first rank, alone or tied.
    pub first: u32,
    /// Phases in which it is marked worst.
    pub worst: u32,
    /// Phases in which it has a result.
    pub results: u32,
    /// Phases in which some round failed.
    pub failed: u32,
    /// Phases there are.
    pub phases: u32,
}

/// Standings of all contenders, in the campaign's order.
pub(crate) fn standings(contenders: &[String], rows: &[Row]) -> Vec<Standing> {
    contenders
        .iter()
        .enumerate()
        .map(|(index, name)| standing(index, name, rows))
        .collect()
}

fn standing(index: usize, name: &str, rows: &[Row]) -> Standing {
    let results = || {
        rows.iter()
            .filter(|row| row.primary && row.metric != Metric::Supported)
            .map(move |row| &row.results[index])
    };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let places = || results().filter_map(|result| result.place);
    let marked = |mark| count(places().filter(|p| p.mark == Some(mark)).count());
    Standing {
        contender: name.to_owned(),
        best: marked(Mark::Best),
        first: count(places().filter(|p| p.rank == 1).count()),
        worst: marked(Mark::Worst),
        results: count(results().filter(|f| f.estimate.is_some()).count()),
        failed: count(results().filter(|f| f.has_failed_rounds()).count()),
        phases: count(results().count()),
    }
}
