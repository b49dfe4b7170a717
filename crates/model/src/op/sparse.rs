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

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        files.add(ObjectKind::File, &self.file, 1, self.size.0);
        WorkEstimate::new(0, 0, 1)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.start_timing(1);
        let file = executor.create_file(&self.file)?;
        executor.set_size(&file, self.size)?;
        executor.finish(file, FileContent::Zeros(self.size))
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::ManyFiles)
    }

    fn each(&self) -> OpUnit {
        OpUnit::Request
    }
}
