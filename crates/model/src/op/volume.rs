//! Steps of the filesystem itself: creating, mounting, unmounting and checking it. The agent runs
//! the programs that the catalog names.

use serde::{Deserialize, Serialize};

use super::{
    FsState, KeyError, KeySource, MaintenanceTask, Op, OpExecutor, OpInfo, OpName, OpUnit,
    WorkEstimate,
};
use crate::{CacheState, SyncAtEnd, WorkloadCategory};

/// Kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeStep {
    /// Creates the filesystem.
    Mkfs,
    /// Mounts it.
    Mount,
    /// Unmounts it.
    Unmount,
    /// Checks it.
    Fsck,
    /// Performs a task of an administrator.
    Maintain(MaintenanceTask),
}

macro_rules! steps {
    ($($(#[$doc:meta])* $step:ident $word:literal,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $step;

        impl OpInfo for $step {
            fn op_names() -> &'static [OpName] {
                const READ: fn(&dyn KeySource) -> Result<Op, KeyError> = |_| Ok(Op::$step($step));
                &[OpName { name: $word, keys: &[], read: READ }]
            }

            fn apply(&self, _: &mut FsState) -> WorkEstimate {
                WorkEstimate::new(0, 0, 1)
            }

            fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
                Err(executor.unsupported("it is no operation on files"))
            }

            fn group(&self) -> Option<WorkloadCategory> {
                Some(WorkloadCategory::Maintenance)
            }

            fn each(&self) -> OpUnit {
                OpUnit::Nothing
            }

            fn allowed_caches(&self) -> &'static [CacheState] {
                &[]
            }

            fn allowed_ends(&self) -> &'static [SyncAtEnd] {
                &[]
            }

            fn step(&self) -> Option<VolumeStep> {
                Some(VolumeStep::$step)
            }
        }
    )*};
}

steps! {
    /// Create the filesystem.
    Mkfs "mkfs",
    /// Mount it.
    Mount "mount",
    /// Unmount it.
    Unmount "unmount",
    /// Check the unmounted filesystem with its own checker, read-only.
    Fsck "fsck",
}
