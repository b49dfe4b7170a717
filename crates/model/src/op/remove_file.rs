//! A file removed.

use super::keys::{keyed, name, op_name};
use super::{FsState, ObjectKind, OpExecutor, OpInfo, OpName, WorkEstimate};
use crate::WorkloadCategory;

keyed! {
    /// Remove one file, or the files of all threads with this name.
    pub struct RemoveFile {
        /// Name of the file.
        file: String = name,
    }
}

impl OpInfo for RemoveFile {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("remove-file")] }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        files.remove(ObjectKind::File, &self.file);
        WorkEstimate::new(0, 0, 1)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.remove_file(&self.file)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::ManyFiles)
    }
}
