//! Target of ageing: a directory, or a simulation for tests.

use model::{PerMille, SpaceUsage};

use crate::error::OpError;

/// A file of an aged filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgedFile {
    /// Number from which the name is formed.
    pub name: u32,
    /// Index of its directory in creation order.
    pub directory: u32,
    /// Size in bytes.
    pub size: u64,
}

/// Filesystem in which the ager creates and removes files.
pub trait AgeingTarget {
    /// Creates directories; each element is the index of the parent. The first directory is the top
    /// and its own parent.
    ///
    /// # Errors
    /// Returns the error of the filesystem.
    fn make_directories(&mut self, parents: &[u32]) -> Result<(), OpError>;

    /// Creates and writes a file. Removes the file if writing fails.
    ///
    /// # Errors
    /// Returns the error of the filesystem.
    fn create(&mut self, file: AgedFile) -> Result<(), OpError>;

    /// Writes a new version under a temporary name and renames it over the file.
    ///
    /// # Errors
    /// Returns the error of the filesystem; the old file remains.
    fn rewrite(&mut self, file: AgedFile) -> Result<(), OpError>;

    /// Removes a file.
    ///
    /// # Errors
    /// Returns the error of the filesystem.
    fn remove(&mut self, file: AgedFile) -> Result<(), OpError>;

    /// Writes all data to the device and returns the space usage.
    ///
    /// # Errors
    /// Returns the error of the filesystem.
    fn sync(&mut self) -> Result<SpaceUsage, OpError>;

    /// Returns the allocation unit of the filesystem, in bytes.
    ///
    /// # Errors
    /// Returns the error of the filesystem.
    fn block(&mut self) -> Result<u64, OpError>;

    /// Returns the share of blocks, except the first of each file, that directly follow their
    /// predecessor (K. Smith, M. Seltzer, File System Aging, SIGMETRICS 1997). Returns `None` if
    /// the filesystem reports no extents.
    fn layout(&mut self, files: &mut dyn Iterator<Item = AgedFile>) -> Option<PerMille>;
}
