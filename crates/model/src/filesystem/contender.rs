//! A filesystem with its options, as part of a campaign.

use serde::{Deserialize, Serialize};

use crate::{ContenderOverrides, Filesystem};

/// A filesystem of the catalog with its options and settings in a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contender {
    /// The name in tables: `ext4`, `ext4:data=journal`, or the name from a campaign file.
    pub name: String,
    /// The complete filesystem entry, so that a stored campaign is self-contained.
    pub filesystem: Filesystem,
    /// Words added to the mkfs command line.
    pub mkfs_options: Vec<String>,
    /// Options added to the mount command line.
    pub mount_options: Vec<String>,
    /// The directory to use instead of a device (`dir` backend).
    pub directory: Option<std::path::PathBuf>,
    /// Settings that override the settings of the campaign.
    #[serde(default, skip_serializing_if = "ContenderOverrides::is_empty")]
    pub own: ContenderOverrides,
}
