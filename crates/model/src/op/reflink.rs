//! A file that shares the space of another until one of them is written to.

use super::keys::{keyed, name, op_name};
use super::{
    FILE_SYNC_MODES, FileContent, FsState, ObjectKind, OpExecutor, OpInfo, OpName, OpUnit,
    WorkEstimate,
};
use crate::{SyncAtEnd, WorkloadCategory};

keyed! {
    /// Clone a file (`FICLONE`, like `cp --reflink=always`).
    pub struct Reflink {
        /// The file to clone.
        from: String = name,
        /// Name of the clone.
        to: String = name,
    }
}

impl OpInfo for Reflink {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("reflink")] }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        files.copy(ObjectKind::File, &self.from, &self.to);
        WorkEstimate::new(0, 0, 1)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.size_to_copy(&self.from, &self.to)?;
        executor.start_timing(1);
        let from = executor.open_file(&self.from)?;
        let to = executor.create_file(&self.to)?;
        executor.clone_file(&from, &to)?;
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
