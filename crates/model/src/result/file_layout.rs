//! File layout after a phase: fragmentation of the existing files.

use serde::{Deserialize, Serialize};

/// Fragmentation of files on the device. Adjacent extents count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FragmentationStats {
    /// Files whose extents the kernel reported completely.
    pub files: u64,
    /// Number of pieces of all files.
    pub pieces: u64,
    /// Number of 4 KiB blocks in all files, without the first block of each.
    pub blocks: u64,
    /// Number of these blocks that directly follow the previous block of the file on the device.
    #[serde(rename = "behind")]
    pub contiguous_blocks: u64,
}

impl FragmentationStats {
    /// Returns the average number of extents per file, or `None` without files.
    pub fn extents_per_file(&self) -> Option<f64> {
        (self.files > 0).then(|| self.pieces as f64 / self.files as f64)
    }

    /// Returns the layout score: the share of blocks, without the first of each file, that directly
    /// follow the previous block (K. Smith, M. Seltzer, File System Aging, SIGMETRICS 1997).
    /// Returns `None` if no file has two blocks.
    pub fn layout_score(&self) -> Option<f64> {
        (self.blocks > 0).then(|| self.contiguous_blocks as f64 / self.blocks as f64)
    }
}
