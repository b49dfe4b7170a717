//! Memory used by a filesystem in addition to the page cache.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Memory used by a filesystem at one moment, without file data in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelMemoryUse {
    /// Growth of the kernel's named object caches (inodes, directory entries, buffer heads,
    /// extents) since before the filesystem was created. Absent if the cell shares its kernel, as
    /// outside guests. A lower bound: `kmalloc` and whole pages are not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Bytes>,
    /// Private memory of the filesystem's processes (a FUSE driver): heap and stacks, without
    /// program text. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Bytes>,
}

impl KernelMemoryUse {
    /// Returns true if no value was measured.
    pub const fn is_empty(&self) -> bool {
        self.kernel.is_none() && self.driver.is_none()
    }
}
