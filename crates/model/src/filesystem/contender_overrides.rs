//! Campaign settings that a contender overrides: memory, the disks of its guests, and age.

use serde::{Deserialize, Serialize};

use crate::{AgeingSpec, Bytes, DiskModel};

/// Settings of a contender. Absent settings come from the campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContenderOverrides {
    /// Memory limit of its cells, including the page cache; for a guest, all its memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// The disk model of its guests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskModel>,
    /// Number of disks of its guests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disks: Option<u32>,
    /// Ageing of its filesystem before a test; not aged if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<AgeingSpec>,
}

impl ContenderOverrides {
    /// Returns true if no setting is overridden.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
