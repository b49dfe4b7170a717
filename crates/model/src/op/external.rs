//! An operation performed and measured by another program.

use serde::{Deserialize, Serialize};

use super::{FsState, OpExecutor, OpInfo, OpName, OpUnit, WorkEstimate};
use crate::{CacheState, Metric, SyncAtEnd, WorkloadCategory};

/// An operation performed by another program. No suite can contain it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct External {
    /// The metric that ranks its results.
    pub metric: Metric,
    /// Workload category, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<WorkloadCategory>,
    /// Whether its time is the total of the other phases of its test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub total: bool,
}

impl OpInfo for External {
    fn op_names() -> &'static [OpName] {
        &[]
    }

    fn apply(&self, _: &mut FsState) -> WorkEstimate {
        WorkEstimate::new(0, 0, 1)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        Err(executor.unsupported("another program did it, and fsarena does not know how"))
    }

    fn group(&self) -> Option<WorkloadCategory> {
        self.group
    }

    fn primary_metric(&self) -> Metric {
        self.metric
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
