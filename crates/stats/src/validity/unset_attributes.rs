//! Owners, modes and times that commands did not set, because a filesystem lacks them.

use std::collections::BTreeMap;

use model::{CampaignResults, UnsetAttributes};
use serde::Serialize;

/// A phase of a contender whose command did not set all attributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseUnsetAttributes {
    /// Name of the contender.
    pub contender: String,
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// The attributes, in the round with the most.
    pub unset: UnsetAttributes,
}

/// Returns every phase with unset attributes, in the order of contender, test and phase.
pub(crate) fn unset_attributes(results: &CampaignResults) -> Vec<PhaseUnsetAttributes> {
    let mut most: BTreeMap<(&str, &str, &str), &UnsetAttributes> = BTreeMap::new();
    for stored in &results.cells {
        let cell = &stored.cell;
        for phase in stored.result.iter().flat_map(|result| &result.phases) {
            let Some(unset) = &phase.unset else { continue };
            let key = (cell.contender.as_str(), cell.test.as_str(), phase.phase.as_str());
            let known = most.entry(key).or_insert(unset);
            if unset.messages > known.messages {
                *known = unset;
            }
        }
    }
    let found = most.into_iter().map(|((contender, test, phase), unset)| PhaseUnsetAttributes {
        contender: contender.to_owned(),
        test: test.to_owned(),
        phase: phase.to_owned(),
        unset: unset.clone(),
    });
    found.collect()
}
