//! A group of contenders named by the user: `journaling=ext4,xfs`.

use serde::{Deserialize, Serialize};

/// Contenders that are evaluated together. A contender may be in several groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContenderGroup {
    /// The name in reports.
    pub name: String,
    /// Names of its contenders.
    pub members: Vec<String>,
}
