//! What of a campaign's setting is another one for a single contender: its memory, the disks of its guests, its age.

use serde::{Deserialize, Serialize};

use crate::{AgeingSpec, Bytes, DiskModel};

/// What is a contender's own; what is absent is as the campaign says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContenderOverrides {
    /// Memory that its cells may use, the page cache among it; of a guest all that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// The model of its guests' disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskModel>,
    /// How many disks its guests have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disks: Option<u32>,
    /// How its filesystem is aged before a test; it is fresh where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<AgeingSpec>,
}

impl ContenderOverrides {
    /// Whether everything is as the campaign says.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
