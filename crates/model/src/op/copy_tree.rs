//! A tree copied within the filesystem.

use super::keys::{block, keyed, name, op_name};
use super::{FsState, ObjectKind, OpExecutor, OpInfo, OpName, WorkEstimate};
use crate::{Bytes, WorkloadCategory};

keyed! {
    /// Copy a tree within the filesystem.
    pub struct CopyTree {
        /// The tree to copy.
        from: String = name,
        /// Name of the copy.
        to: String = name,
        /// Bytes per request.
        block: Bytes = block,
    }
}

impl OpInfo for CopyTree {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("copy-tree")] }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let tree = files.copy(ObjectKind::Tree, &self.from, &self.to);
        WorkEstimate::new(tree.bytes, tree.bytes, tree.entries)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.copy_tree(&self.from, &self.to, self.block)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::Trees)
    }
}
