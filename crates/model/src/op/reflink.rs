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

    fn apply(&self, things: &mut FsState) -> WorkEstimate {
        things.copy(ObjectKind::File, &self.from, &self.to);
        WorkEstimate::new(0, 0, 1)
    }

    fn perform<S: OpExecutor>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.size_to_copy(&self.from, &self.to)?;
        stage.start_timing(1);
        let from = stage.open_file(&self.from)?;
        let to = stage.create_file(&self.to)?;
        stage.clone_file(&from, &to)?;
        stage.finish(to, FileContent::CopyOf(&self.from))
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
