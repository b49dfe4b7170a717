//! Probes a filesystem for a feature.

use super::keys::{choice, keyed, op_name};
use super::{FsState, KeyError, KeySource, OpExecutor, OpInfo, OpName, OpUnit, WorkEstimate};
use crate::{CacheState, Feature, Metric, SyncAtEnd, WorkloadCategory};

keyed! {
    /// Probe a feature. The agent does this and stores the result.
    pub struct ProbeFeature {
        /// The feature to try.
        feature: Feature = feature,
    }
}

fn feature(keys: &dyn KeySource, key: &'static str) -> Result<Feature, KeyError> {
    choice(keys, key, &Feature::WORDS)
}

impl OpInfo for ProbeFeature {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("probe")] }
    }

    fn apply(&self, _: &mut FsState) -> WorkEstimate {
        WorkEstimate::new(0, 0, 1)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        Err(executor.unsupported("it is no operation on files"))
    }

    fn group(&self) -> Option<WorkloadCategory> {
        None
    }

    fn primary_metric(&self) -> Metric {
        Metric::Supported
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
