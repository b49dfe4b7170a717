//! Copies a tree from another disk.

use serde::{Deserialize, Serialize};

use super::keys::{FromKeys, block, name};
use super::{FsState, KeyError, KeySource, Op, OpExecutor, OpInfo, OpName, TreeSpec, WorkEstimate};
use crate::{Bytes, Metric, WorkloadCategory};

/// Copy the whole tree of the campaign's source into the filesystem. Without a source, write a tree
/// with generated content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyTreeIn {
    /// Name of the tree's top directory.
    pub tree: String,
    /// Properties of the tree.
    #[serde(flatten)]
    pub spec: TreeSpec,
    /// Bytes per request.
    pub block: Bytes,
}

impl OpInfo for CopyTreeIn {
    fn op_names() -> &'static [OpName] {
        fn read(keys: &dyn KeySource) -> Result<Op, KeyError> {
            Ok(Op::CopyTreeIn(CopyTreeIn {
                tree: name(keys, "tree")?,
                spec: TreeSpec::read(keys)?,
                block: block(keys, "block")?,
            }))
        }
        &[OpName {
            name: "copy-tree-in",
            keys: &["tree", "files", "directories", "bytes", "smallest", "largest", "block"],
            read,
        }]
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        self.spec.apply_to(&self.tree, files)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.copy_tree_in(&self.tree, &self.spec, self.block)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::Trees)
    }

    fn secondary_metrics(&self) -> Option<Metric> {
        Some(Metric::SpaceTaken)
    }

    fn check(&self) -> Result<(), String> {
        self.spec.check()
    }

    fn copies_in(&self) -> bool {
        true
    }
}
