//! A tree removed.

use super::keys::{keyed, name, op_name};
use super::{FsState, ObjectKind, OpExecutor, OpInfo, OpName, WorkEstimate};
use crate::WorkloadCategory;

keyed! {
    /// Remove a tree, like `rm -r`.
    pub struct RemoveTree {
        /// The tree.
        tree: String = name,
    }
}

impl OpInfo for RemoveTree {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("remove-tree")] }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        WorkEstimate::new(0, 0, files.remove(ObjectKind::Tree, &self.tree).entries)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.remove_tree(&self.tree)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::Trees)
    }
}
