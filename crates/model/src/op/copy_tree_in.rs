//! A tree copied in from another disk.

use serde::{Deserialize, Serialize};

use super::keys::{FromKeys, block, name};
use super::{KeyError, KeySource, Op, OpInfo, OpExecutor, FsState, TreeSpec, OpName, WorkEstimate};
use crate::{Bytes, WorkloadCategory};

/// Copy a tree from the campaign's source, all of it, into the filesystem; where there is no source, write a tree
/// like this whose content is made in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyTreeIn {
    /// Name of the tree's top directory.
    pub tree: String,
    /// What it is made of.
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
            keys: &[
                "tree",
                "files",
                "directories",
                "bytes",
                "smallest",
                "largest",
                "block",
            ],
            read,
        }]
    }

    fn apply(&self, things: &mut FsState) -> WorkEstimate {
        self.spec.apply_to(&self.tree, things)
    }

    fn perform<S: OpExecutor>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.copy_tree_in(&self.tree, &self.spec, self.block)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::Trees)
    }

    fn check(&self) -> Result<(), String> {
        self.spec.check()
    }

    fn copies_in(&self) -> bool {
        true
    }
}
