//! Results that should have been served from the page cache but include reads from the device.

use std::collections::BTreeMap;

use model::{Bytes, CampaignResults, Op};
use serde::Serialize;

/// A phase of a contender that was planned as warm, but read from the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotActuallyWarm {
    /// Name of the contender.
    pub contender: String,
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// The rounds in which the phase read from the device.
    pub rounds: Vec<u32>,
    /// Bytes read from the device in the worst round.
    pub bytes: Bytes,
}

/// Returns every phase that should have been warm but read from the device, in the order of the
/// plan.
pub(crate) fn warm_reads(results: &CampaignResults) -> Vec<NotActuallyWarm> {
    let tests = results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let ops: BTreeMap<(&str, &str), &Op> = tests
        .flat_map(|test| {
            let phases = test.phases.iter();
            phases.map(|phase| ((test.name.as_str(), phase.name.as_str()), &phase.op))
        })
        .collect();
    let mut found: Vec<NotActuallyWarm> = Vec::new();
    for stored in &results.cells {
        let cell = &stored.cell;
        for result in stored.result.iter().flat_map(|result| &result.phases) {
            let op = ops.get(&(cell.test.as_str(), result.phase.as_str()));
            let Some(bytes) = op.and_then(|op| result.device_reads_when_warm(op)) else {
                continue;
            };
            let same = found.iter_mut().find(|w| {
                w.contender == cell.contender && w.test == cell.test && w.phase == result.phase
            });
            if let Some(known) = same {
                known.rounds.push(cell.round);
                known.bytes = known.bytes.max(bytes);
            } else {
                found.push(NotActuallyWarm {
                    contender: cell.contender.clone(),
                    test: cell.test.clone(),
                    phase: result.phase.clone(),
                    rounds: vec![cell.round],
                    bytes,
                });
            }
        }
    }
    found
}
