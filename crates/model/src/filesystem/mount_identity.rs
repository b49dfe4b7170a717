//! The mount that a path leads to. Another filesystem can be mounted in its place.

use serde::{Deserialize, Serialize};

/// Location of a directory, independent of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountId {
    /// Major and minor number of the filesystem.
    pub device: (u64, u64),
    /// Number of the mount; 0 before Linux 5.8.
    pub mount: u64,
    /// Number of the directory's inode.
    pub inode: u64,
}
