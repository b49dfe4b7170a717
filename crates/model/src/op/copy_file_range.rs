//! A file copied by the kernel.

use super::keys::{keyed, name, op_name, size};
use super::{
    FILE_SYNC_MODES, FileContent, FsState, ObjectKind, OpExecutor, OpInfo, OpName, OpUnit,
    WorkEstimate,
};
use crate::{Bytes, SyncAtEnd, WorkloadCategory};

keyed! {
    /// Copy a file within the filesystem by `copy_file_range`: the kernel copies the data or shares
    /// the space.
    pub struct CopyFileRange {
        /// The file to copy.
        from: String = name,
        /// Name of the copy.
        to: String = name,
        /// Bytes per call; a filesystem may copy fewer.
        block: Bytes = size,
    }
}

impl OpInfo for CopyFileRange {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("copy-file-range")] }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let size = files.copy(ObjectKind::File, &self.from, &self.to).bytes;
        WorkEstimate::new(size, size, size.div_ceil(self.block.0.max(1)))
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        let size = executor.size_to_copy(&self.from, &self.to)?.0;
        executor.start_timing(size.div_ceil(self.block.0.max(1)));
        let from = executor.open_file(&self.from)?;
        let to = executor.create_file(&self.to)?;
        let mut offset = 0;
        while offset < size {
            let length = self.block.0.min(size - offset);
            offset += executor.copy_range(&from, &to, offset, length)?;
        }
        executor.finish(to, FileContent::CopyOf(&self.from))
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
