//! A file that consists of one hole.

use super::keys::{keyed, name, op_name, size};
use super::{FileContent, FsState, ObjectKind, OpExecutor, OpInfo, OpName, OpUnit, WorkEstimate};
use crate::{Bytes, WorkloadCategory};

keyed! {
    /// Create a file that consists of one hole (`ftruncate`).
    pub struct Sparse {
        /// Name of the file.
        file: String = name,
        /// Its size.
        size: Bytes = size,
    }
}

impl OpInfo for Sparse {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("sparse")] }
    }

    fn apply(&self, things: &mut FsState) -> WorkEstimate {
        things.add(ObjectKind::File, &self.file, 1, self.size.0);
        WorkEstimate::new(0, 0, 1)
    }

    fn perform<S: OpExecutor>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.start_timing(1);
        let file = stage.create_file(&self.file)?;
        stage.set_size(&file, self.size)?;
        stage.finish(file, FileContent::Zeros(self.size))
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::ManyFiles)
    }

    fn each(&self) -> OpUnit {
        OpUnit::Request
    }
}
