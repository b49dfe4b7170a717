//! Behaviour of a full filesystem.

use serde::{Deserialize, Serialize};

use crate::{Bytes, SyscallError};

/// Result of a step on a full filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FullStep {
    /// It succeeded.
    Done,
    /// It failed.
    Failed {
        /// One readable line.
        reason: String,
        /// The system call that failed; absent if a program failed.
        error: Option<SyscallError>,
    },
}

/// Result of a phase that fills a filesystem. A step without a result was not reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FullResult {
    /// Files whose sync succeeded.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: Bytes,
    /// The first call that failed. Absent if the filesystem was not full at the limit of the phase.
    pub first_failure: Option<SyscallError>,
    /// The call that failed for an empty file or its sync.
    pub name_failure: Option<SyscallError>,
    /// Synced files without their content after the first failure.
    pub lost_when_full: u64,
    /// Synced files without their content after an unmount and a mount; absent if it is not mounted.
    pub lost_after_mount: Option<u64>,
    /// An example of a loss; empty without losses.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub example: String,
    /// Replacement of a small synced file: a new file with fsync, and a rename.
    pub replace: Option<FullStep>,
    /// Unmount and mount.
    pub remount: Option<FullStep>,
    /// Check of the full filesystem by its checker.
    pub check: Option<FullStep>,
    /// Removal of every tenth file, with a sync at the end.
    pub remove: Option<FullStep>,
    /// Files that were removed.
    pub removed: u64,
    /// A new file with a sync after the removal.
    pub write_again: Option<FullStep>,
}

impl FullStep {
    /// Returns true if the step failed.
    pub const fn has_failed(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

impl FullResult {
    /// Returns the highest number of synced files without their content at one time.
    pub fn lost(&self) -> u64 {
        self.lost_when_full.max(self.lost_after_mount.unwrap_or(0))
    }

    /// Returns the share of synced files with their content, in percent. Returns `None` if no file
    /// was synced.
    pub fn share(&self) -> Option<f64> {
        let kept = self.files.saturating_sub(self.lost());
        (self.files > 0).then(|| 100.0 * kept as f64 / self.files as f64)
    }
}
