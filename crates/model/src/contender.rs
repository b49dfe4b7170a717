//! A filesystem with its options, as it enters a campaign.

use serde::{Deserialize, Serialize};

use crate::{ContenderOverrides, Filesystem};

/// A contender: a filesystem of the catalog with the options, and in the setting, under which it competes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contender {
    /// What the tables call it: `ext4`, `ext4:data=journal`, or the name a campaign file gives.
    pub name: String,
    /// The filesystem, complete, so that a stored campaign stands on its own.
    pub filesystem: Filesystem,
    /// Words added to the mkfs command line.
    pub mkfs_options: Vec<String>,
    /// Options added to the mount command line.
    pub mount_options: Vec<String>,
    /// The directory to use instead of a device (`dir` backend).
    pub directory: Option<std::path::PathBuf>,
    /// Where its setting is not the campaign's.
    #[serde(default, skip_serializing_if = "ContenderOverrides::is_empty")]
    pub own: ContenderOverrides,
}
