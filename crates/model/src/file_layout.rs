//! Where the files lie that are there after a phase: in one piece each, or in many.

use serde::{Deserialize, Serialize};

/// In what pieces files lie on the device. Pieces that touch are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FragmentationStats {
    /// Files of which the kernel said where all of it lies.
    pub files: u64,
    /// Pieces of all of them.
    pub pieces: u64,
    /// Blocks of 4 KiB of all of them, but for the first of each.
    pub blocks: u64,
    /// Of these, blocks that lie behind the one before.
    #[serde(rename = "behind")]
    pub contiguous_blocks: u64,
}

impl FragmentationStats {
    /// Pieces of a file on average; nothing where none was found.
    pub fn extents_per_file(&self) -> Option<f64> {
        (self.files > 0).then(|| self.pieces as f64 / self.files as f64)
    }

    /// The layout score: the share of the blocks, but for the first of each file, that lie behind the one before (K. Smith,
    /// M. Seltzer, File System Aging, SIGMETRICS 1997); nothing where no file has two.
    pub fn layout_score(&self) -> Option<f64> {
        (self.blocks > 0).then(|| self.contiguous_blocks as f64 / self.blocks as f64)
    }
}
