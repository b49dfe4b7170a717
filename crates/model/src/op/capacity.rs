//! Space on the device that is available to files.

use serde::{Deserialize, Serialize};

use super::{FsState, Op, OpExecutor, OpInfo, OpName, OpUnit, WorkEstimate};
use crate::{CacheState, Metric, SyncAtEnd, WorkloadCategory};

/// Measure the space on the device that is available to files (`statfs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capacity;

impl OpInfo for Capacity {
    fn op_names() -> &'static [OpName] {
        &[OpName { name: "capacity", keys: &[], read: |_| Ok(Op::Capacity(Capacity)) }]
    }

    fn apply(&self, _: &mut FsState) -> WorkEstimate {
        WorkEstimate::new(0, 0, 1)
    }

    /// Syncs, so that the meter, which calls `statfs`, sees all written data.
    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.sync()
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::Space)
    }

    fn primary_metric(&self) -> Metric {
        Metric::Capacity
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
}
