//! A file copied within the filesystem.

use super::keys::{block, keyed, name, op_name};
use super::{
    FILE_SYNC_MODES, FsState, ObjectKind, OpExecutor, OpInfo, OpName, OpUnit, WorkEstimate,
};
use crate::{Bytes, SyncAtEnd, WorkloadCategory};

keyed! {
    /// Copy a file within the filesystem by reading and writing.
    pub struct CopyFile {
        /// The file to copy.
        from: String = name,
        /// Name of the copy.
        to: String = name,
        /// Bytes per request.
        block: Bytes = block,
    }
}

impl OpInfo for CopyFile {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("copy-file")] }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let size = files.copy(ObjectKind::File, &self.from, &self.to).bytes;
        WorkEstimate::new(size, size, size.div_ceil(self.block.0.max(1)))
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.copy_file(&self.from, &self.to, self.block)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::StreamWrite)
    }

    fn each(&self) -> OpUnit {
        OpUnit::Request
    }

    fn allowed_ends(&self) -> &'static [SyncAtEnd] {
        FILE_SYNC_MODES
    }
}
