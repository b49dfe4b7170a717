//! Memory that a filesystem holds beside the page cache.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// What a filesystem holds in memory at one moment, beside the data of files in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelMemoryUse {
    /// What the kernel's caches of objects with a name of their own (inodes, directory entries, buffer heads, extents)
    /// hold more than before the filesystem was made. Absent where the kernel is not the cell's alone, as outside
    /// guests. Less than all that the kernel needs for it: `kmalloc` and whole pages are not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Bytes>,
    /// What the filesystem's own processes (a FUSE driver) have for themselves: heap and stacks, without program text.
    /// Absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Bytes>,
}

impl KernelMemoryUse {
    /// Whether nothing of it could be measured.
    pub const fn is_empty(&self) -> bool {
        self.kernel.is_none() && self.driver.is_none()
    }
}
