//! What an operation can ask of the engine: what it already does with jobs, sets, trees and streams, and single system
//! calls on files. Names are those of files, sets and trees on the filesystem that is measured.

use std::ops::Range;

use super::{Create, Exec, FallocateMode, Io, Metadata, Mix, Replay, StreamUnit, TreeSpec};
use crate::Bytes;

/// What a file holds after an operation, so that it can be compared with that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent<'a> {
    /// A new file of so many zeros.
    Zeros(Bytes),
    /// A new file that holds what this one does.
    CopyOf(&'a str),
    /// What it held before, with zeros in this range.
    Zeroed(Range<u64>),
    /// What it held before, without this range.
    CollapsedRange(Range<u64>),
}

/// Where an operation is performed.
#[expect(
    clippy::missing_errors_doc,
    reason = "all fail as the filesystem does, or because it cannot do the thing at all"
)]
pub trait OpExecutor {
    /// What can go wrong.
    type Error;
    /// A file that is open.
    type File;

    /// The error that says that this cannot be done here at all.
    fn unsupported(&self, reason: &str) -> Self::Error;
    /// Brings everything to the device.
    fn sync(&mut self) -> Result<(), Self::Error>;

    /// Runs a command.
    fn run(&mut self, exec: &Exec) -> Result<(), Self::Error>;
    /// Does again what a trace holds.
    fn replay(&mut self, replay: &Replay) -> Result<(), Self::Error>;

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
    /// Lets roles work side by side.
    fn mix(&mut self, mix: &Mix) -> Result<(), Self::Error>;
    /// Writes a tree whose content is made in memory.
    fn generate_tree(&mut self, tree: &str, spec: &TreeSpec) -> Result<(), Self::Error>;
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
    /// Finds all files below a directory that a command has made, and reads them in random order.
    fn read_files(&mut self, directory: &str) -> Result<(), Self::Error>;
    /// Removes a tree.
    fn remove_tree(&mut self, tree: &str) -> Result<(), Self::Error>;

    /// The size of a file that an earlier operation made.
    fn size_of(&self, file: &str) -> Result<Bytes, Self::Error>;
    /// The same of a file that is to be copied; where it could not be made, its copy cannot be either.
    fn size_to_copy(&mut self, from: &str, to: &str) -> Result<Bytes, Self::Error>;
    /// Begins what is timed, so many operations.
    fn start_timing(&mut self, operations: u64);
    /// Opens a file that an earlier operation made.
    fn open_file(&mut self, file: &str) -> Result<Self::File, Self::Error>;
    /// Makes a file and opens it.
    fn create_file(&mut self, file: &str) -> Result<Self::File, Self::Error>;
    /// Sets the size of a file; an operation, as each of the calls below.
    fn set_size(&mut self, file: &Self::File, size: Bytes) -> Result<(), Self::Error>;
    /// Changes the space of a file.
    fn fallocate(
        &mut self,
        file: &Self::File,
        mode: FallocateMode,
        offset: u64,
        length: u64,
    ) -> Result<(), Self::Error>;
    /// Lets a file share all space of another.
    fn clone_file(&mut self, from: &Self::File, to: &Self::File) -> Result<(), Self::Error>;
    /// Copies a part of a file to the same place of another; says how many bytes that were.
    fn copy_range(
        &mut self,
        from: &Self::File,
        to: &Self::File,
        offset: u64,
        length: u64,
    ) -> Result<u64, Self::Error>;
    /// Ends the work on a file as the phase says it ends, and with it what is timed; remembers what the file holds
    /// now.
    fn finish(&mut self, file: Self::File, holds: FileContent<'_>) -> Result<(), Self::Error>;
}
