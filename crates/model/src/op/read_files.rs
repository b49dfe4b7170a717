//! Reads files created by commands, in random order.

use super::keys::{keyed, name, op_name};
use super::{CacheState, FsState, OpExecutor, OpInfo, OpName, OpUnit, SyncAtEnd, WorkEstimate};
use crate::WorkloadCategory;

keyed! {
    /// Find all files below a directory created by a command, and read each whole, in an order
    /// derived from the seed.
    pub struct ReadFiles {
        /// The directory.
        directory: String = name,
    }
}

impl OpInfo for ReadFiles {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("read-files")] }
    }

    /// Files created by a command have an unknown size before it runs.
    fn apply(&self, _: &mut FsState) -> WorkEstimate {
        WorkEstimate::default()
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.read_files(&self.directory)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::Trees)
    }

    fn each(&self) -> OpUnit {
        OpUnit::Nothing
    }

    fn allowed_caches(&self) -> &'static [CacheState] {
        &[CacheState::Cold, CacheState::Warm]
    }

    fn default_end(&self) -> Option<(CacheState, SyncAtEnd)> {
        Some((CacheState::Cold, SyncAtEnd::Call))
    }
}
