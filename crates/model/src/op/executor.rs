//! Interface between operations and the engine: its jobs, sets, trees and streams, and single
//! system calls on files. Names refer to files, sets and trees on the measured filesystem.

use std::ops::Range;

use super::{
    Create, Exec, FallocateMode, Io, Metadata, Mix, Occupy, Replay, StreamUnit, TreeSpec, Vacate,
};
use crate::Bytes;

/// Contents of a file after an operation, for verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent<'a> {
    /// A new file with this many zero bytes.
    Zeros(Bytes),
    /// A new file with the contents of this file.
    CopyOf(&'a str),
    /// The previous contents, with zeros in this range.
    Zeroed(Range<u64>),
    /// The previous contents, without this range.
    CollapsedRange(Range<u64>),
}

/// Environment in which an operation is performed.
#[expect(
    clippy::missing_errors_doc,
    reason = "all fail as the filesystem does, or because it cannot do the thing at all"
)]
pub trait OpExecutor {
    /// The error type.
    type Error;
    /// An open file.
    type File;

    /// Returns the error for an operation that is not supported here.
    fn unsupported(&self, reason: &str) -> Self::Error;
    /// Writes all data to the device.
    fn sync(&mut self) -> Result<(), Self::Error>;

    /// Runs a command.
    fn run(&mut self, exec: &Exec) -> Result<(), Self::Error>;
    /// Replays a trace.
    fn replay(&mut self, replay: &Replay) -> Result<(), Self::Error>;

    /// Writes files until a share of the space is used.
    fn occupy(&mut self, occupy: &Occupy) -> Result<(), Self::Error>;
    /// Removes a share of those files.
    fn vacate(&mut self, vacate: &Vacate) -> Result<(), Self::Error>;

    /// Performs requests on one file, or on one file per thread.
    fn job(&mut self, job: &Io) -> Result<(), Self::Error>;
    /// Writes a new file through a user-space buffer.
    fn write_stream(
        &mut self,
        file: &str,
        size: Bytes,
        unit: StreamUnit,
    ) -> Result<(), Self::Error>;
    /// Reads a file through a user-space buffer.
    fn read_stream(&mut self, file: &str, unit: StreamUnit) -> Result<(), Self::Error>;
    /// Copies a file by reading and writing.
    fn copy_file(&mut self, from: &str, to: &str, block: Bytes) -> Result<(), Self::Error>;
    /// Copies a file of the campaign's source. Without a source, writes a file of this size.
    fn copy_file_in(&mut self, file: &str, size: Bytes, block: Bytes) -> Result<(), Self::Error>;
    /// Removes a file.
    fn remove_file(&mut self, file: &str) -> Result<(), Self::Error>;
    /// Creates many files or directories.
    fn create(&mut self, create: &Create) -> Result<(), Self::Error>;
    /// Performs a metadata operation on each entry of a set.
    fn visit(&mut self, metadata: &Metadata) -> Result<(), Self::Error>;
    /// Runs roles concurrently.
    fn mix(&mut self, mix: &Mix) -> Result<(), Self::Error>;
    /// Writes a tree with generated content.
    fn generate_tree(&mut self, tree: &str, spec: &TreeSpec) -> Result<(), Self::Error>;
    /// Copies the campaign's source. Without a source, writes a tree of this specification.
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
    /// Searches for a name in a tree.
    fn find_in_tree(&mut self, tree: &str) -> Result<(), Self::Error>;
    /// Verifies every file of a tree.
    fn verify_tree(&mut self, tree: &str) -> Result<(), Self::Error>;
    /// Finds all files below a directory created by a command, and reads them in random order.
    fn read_files(&mut self, directory: &str) -> Result<(), Self::Error>;
    /// Removes a tree.
    fn remove_tree(&mut self, tree: &str) -> Result<(), Self::Error>;

    /// Returns the size of a file created by an earlier operation.
    fn size_of(&self, file: &str) -> Result<Bytes, Self::Error>;
    /// Returns the size of a file to be copied. If creating that file is unsupported, its copy is
    /// marked as unsupported, too.
    fn size_to_copy(&mut self, from: &str, to: &str) -> Result<Bytes, Self::Error>;
    /// Starts the timed part with this number of operations.
    fn start_timing(&mut self, operations: u64);
    /// Opens a file created by an earlier operation.
    fn open_file(&mut self, file: &str) -> Result<Self::File, Self::Error>;
    /// Creates a file and opens it.
    fn create_file(&mut self, file: &str) -> Result<Self::File, Self::Error>;
    /// Sets the size of a file. Counts as one operation, like each of the following calls.
    fn set_size(&mut self, file: &Self::File, size: Bytes) -> Result<(), Self::Error>;
    /// Changes the allocated space of a file.
    fn fallocate(
        &mut self,
        file: &Self::File,
        mode: FallocateMode,
        offset: u64,
        length: u64,
    ) -> Result<(), Self::Error>;
    /// Makes a file share all space of another.
    fn clone_file(&mut self, from: &Self::File, to: &Self::File) -> Result<(), Self::Error>;
    /// Copies a range of a file to the same offset of another and returns the number of bytes
    /// copied.
    fn copy_range(
        &mut self,
        from: &Self::File,
        to: &Self::File,
        offset: u64,
        length: u64,
    ) -> Result<u64, Self::Error>;
    /// Finishes the work on a file with the end of the phase, which also ends the timed part.
    /// Records the contents of the file.
    fn finish(&mut self, file: Self::File, holds: FileContent<'_>) -> Result<(), Self::Error>;
}
