//! Cells whose times are less reliable because of other activity on the machine.

use model::{CampaignResults, HostNoise};
use serde::Serialize;

/// Such a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DisturbedCell {
    /// Name of the contender.
    pub contender: String,
    /// Name of the test.
    pub test: String,
    /// The round.
    pub round: u32,
    /// Disturbance of the run that counts.
    pub disturbance: Option<HostNoise>,
    /// Disturbance of the first run, if the cell was run again because of it.
    pub first: Option<HostNoise>,
}

/// Returns every cell whose final or first run was disturbed, in the order of the plan.
pub(crate) fn disturbed(results: &CampaignResults) -> Vec<DisturbedCell> {
    let much = |disturbance: Option<HostNoise>| disturbance.filter(HostNoise::is_significant);
    let cells = results.cells.iter().filter_map(|stored| {
        let result = stored.result.as_ref()?;
        let first = result.first.as_ref();
        let (last, first) =
            (much(result.disturbance), much(first.and_then(|first| first.disturbance)));
        (last.is_some() || first.is_some()).then(|| DisturbedCell {
            contender: stored.cell.contender.clone(),
            test: stored.cell.test.clone(),
            round: stored.cell.round,
            disturbance: last,
            first,
        })
    });
    cells.collect()
}
