//! Copies a file from another disk.

use super::keys::{block, keyed, name, op_name, size};
use super::{FILE_SYNC_MODES, FsState, ObjectKind, OpExecutor, OpInfo, OpName, WorkEstimate};
use crate::{Bytes, Metric, SyncAtEnd, WorkloadCategory};

keyed! {
    /// Copy the largest file of the campaign's source into the filesystem. Without a source, write
    /// a file with generated content.
    pub struct CopyFileIn {
        /// Name of the file.
        file: String = name,
        /// Its size.
        size: Bytes = size,
        /// Bytes per request.
        block: Bytes = block,
    }
}

impl OpInfo for CopyFileIn {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("copy-file-in")] }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let size = self.size.0;
        files.add(ObjectKind::File, &self.file, 1, size);
        WorkEstimate::new(0, size, size.div_ceil(self.block.0.max(1)))
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.copy_file_in(&self.file, self.size, self.block)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::StreamWrite)
    }

    fn primary_metric(&self) -> Metric {
        Metric::Throughput
    }

    fn allowed_ends(&self) -> &'static [SyncAtEnd] {
        FILE_SYNC_MODES
    }

    fn copies_in(&self) -> bool {
        true
    }
}
