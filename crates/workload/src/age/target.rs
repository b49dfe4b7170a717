//! What ageing happens on: a directory, or in tests one that exists in numbers alone.

use model::{PerMille, SpaceUsage};

use crate::error::OpError;

/// A file of an aged filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgedFile {
    /// Its number, of which its name is made.
    pub name: u32,
    /// The directory in which it lies, by its place among those that were made.
    pub directory: u32,
    /// Its size in bytes.
    pub size: u64,
}

/// Where files come and go.
pub trait AgeingTarget {
    /// Makes directories, each in that of this place among them; the first is the top, and its own parent.
    ///
    /// # Errors
    /// What the filesystem says.
    fn make_directories(&mut self, parents: &[u32]) -> Result<(), OpError>;

    /// Makes a file and writes it; where that fails, nothing is left of it.
    ///
    /// # Errors
    /// What the filesystem says.
    fn create(&mut self, file: AgedFile) -> Result<(), OpError>;

    /// Writes a file anew under another name, and renames that over it.
    ///
    /// # Errors
    /// What the filesystem says; the old file is there still.
    fn rewrite(&mut self, file: AgedFile) -> Result<(), OpError>;

    /// Removes a file.
    ///
    /// # Errors
    /// What the filesystem says.
    fn remove(&mut self, file: AgedFile) -> Result<(), OpError>;

    /// Writes everything out, and says how full it is then.
    ///
    /// # Errors
    /// What the filesystem says.
    fn sync(&mut self) -> Result<SpaceUsage, OpError>;

    /// In what pieces a file of a byte takes room.
    ///
    /// # Errors
    /// What the filesystem says.
    fn block(&mut self) -> Result<u64, OpError>;

    /// The share of the blocks of these files, but for the first of each, that lie behind the one before (K. Smith,
    /// M. Seltzer, File System Aging, SIGMETRICS 1997); nothing where the filesystem does not say where files lie.
    fn layout(&mut self, files: &mut dyn Iterator<Item = AgedFile>) -> Option<PerMille>;
}
