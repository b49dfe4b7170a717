//! Generates a tree of directories and files in memory.

use serde::{Deserialize, Serialize};

use super::keys::{FromKeys, count, keyed, name, size};
use super::{
    FsState, KeyError, KeySource, ObjectKind, Op, OpExecutor, OpInfo, OpName, WorkEstimate,
};
use crate::{Bytes, Metric, WorkloadCategory};

keyed! {
    /// Properties of a tree.
    #[derive(Copy)]
    pub struct TreeSpec {
        /// Number of files.
        files: u64 = count,
        /// Number of directories.
        directories: u64 = count,
        /// Total size of all files.
        bytes: Bytes = size,
        /// Size of the smallest file.
        smallest: Bytes = size,
        /// Size of the largest file.
        largest: Bytes = size,
    }
}

/// Write a tree of directories and files with content generated in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GenerateTree {
    /// Name of the tree's top directory.
    pub tree: String,
    /// Properties of the tree.
    #[serde(flatten)]
    pub spec: TreeSpec,
}

impl TreeSpec {
    /// Checks that this number of files can contain this number of bytes.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self { files, bytes, smallest, largest, .. } = self;
        let least = files.saturating_mul(smallest.0);
        let most = files.saturating_mul(largest.0);
        if smallest > largest {
            Err(format!("`smallest` ({smallest}) is above `largest` ({largest})"))
        } else if !(least..=most).contains(&bytes.0) {
            Err(format!("{files} files of {smallest} to {largest} cannot hold {bytes} together"))
        } else {
            Ok(())
        }
    }

    /// Records the creation of the tree and returns its work.
    pub(super) fn apply_to(&self, tree: &str, files: &mut FsState) -> WorkEstimate {
        let entries = self.files.saturating_add(self.directories);
        files.add(ObjectKind::Tree, tree, entries, self.bytes.0);
        WorkEstimate::new(0, self.bytes.0, entries)
    }
}

impl OpInfo for GenerateTree {
    fn op_names() -> &'static [OpName] {
        fn read(keys: &dyn KeySource) -> Result<Op, KeyError> {
            Ok(Op::GenerateTree(GenerateTree {
                tree: name(keys, "tree")?,
                spec: TreeSpec::read(keys)?,
            }))
        }
        &[OpName {
            name: "plant-tree",
            keys: &["tree", "files", "directories", "bytes", "smallest", "largest"],
            read,
        }]
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        self.spec.apply_to(&self.tree, files)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.generate_tree(&self.tree, &self.spec)
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
}
