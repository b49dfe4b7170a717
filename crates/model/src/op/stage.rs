//! What an operation can ask of the engine: what it already does with jobs, sets, trees and streams, and single system
//! calls on files. Names are those of files, sets and trees on the filesystem that is measured.

use super::{Create, Io, Metadata, StreamUnit, TreeSpec};
use crate::Bytes;

/// Where an operation is performed.
#[expect(
    clippy::missing_errors_doc,
    reason = "all fail as the filesystem does, or because it cannot do the thing at all"
)]
pub trait Stage {
    /// What can go wrong.
    type Error;

    /// The error that says that this cannot be done here at all.
    fn unsupported(&self, reason: &str) -> Self::Error;
    /// Brings everything to the device.
    fn sync(&mut self) -> Result<(), Self::Error>;

    /// Requests on one file, or on one for each thread.
    fn job(&mut self, job: &Io) -> Result<(), Self::Error>;
    /// Writes a new file through a buffer of the program's own.
    fn write_stream(
        &mut self,
        file: &str,
        size: Bytes,
        unit: StreamUnit,
    ) -> Result<(), Self::Error>;
    /// Reads a file through a buffer of the program's own.
    fn read_stream(&mut self, file: &str, unit: StreamUnit) -> Result<(), Self::Error>;
    /// Makes a file whose space is set aside and not written.
    fn preallocate(&mut self, file: &str, size: Bytes) -> Result<(), Self::Error>;
    /// Makes a file that is one hole.
    fn sparse(&mut self, file: &str, size: Bytes) -> Result<(), Self::Error>;
    /// Copies a file by reading and writing.
    fn copy_file(&mut self, from: &str, to: &str, block: Bytes) -> Result<(), Self::Error>;
    /// Copies a file of the campaign's source; writes one of this size where there is none.
    fn copy_file_in(&mut self, file: &str, size: Bytes, block: Bytes) -> Result<(), Self::Error>;
    /// Removes a file.
    fn remove_file(&mut self, file: &str) -> Result<(), Self::Error>;
    /// Makes many files or directories.
    fn create(&mut self, create: &Create) -> Result<(), Self::Error>;
    /// Does something with each entry of a set.
    fn visit(&mut self, metadata: &Metadata) -> Result<(), Self::Error>;
    /// Writes a tree whose content is made in memory.
    fn plant_tree(&mut self, tree: &str, spec: &TreeSpec) -> Result<(), Self::Error>;
    /// Copies the campaign's source; writes a tree like this where there is none.
    fn copy_tree_in(
        &mut self,
        tree: &str,
        spec: &TreeSpec,
        block: Bytes,
    ) -> Result<(), Self::Error>;
    /// Copies a tree by reading and writing.
    fn copy_tree(&mut self, from: &str, to: &str, block: Bytes) -> Result<(), Self::Error>;
    /// Lists a tree with the attributes of every entry.
    fn list_tree(&mut self, tree: &str) -> Result<(), Self::Error>;
    /// Looks for a name in a tree.
    fn find_in_tree(&mut self, tree: &str) -> Result<(), Self::Error>;
    /// Compares every file of a tree with what was written.
    fn verify_tree(&mut self, tree: &str) -> Result<(), Self::Error>;
    /// Removes a tree.
    fn remove_tree(&mut self, tree: &str) -> Result<(), Self::Error>;
}
