//! How much of the device is left to files.

use serde::{Deserialize, Serialize};

use super::{Each, Op, Operation, Stage, Things, Word, Work};
use crate::{CacheState, End, Group, Metric};

/// Ask how much of the device is left to files (`statfs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capacity;

impl Operation for Capacity {
    fn words() -> &'static [Word] {
        &[Word {
            name: "capacity",
            keys: &[],
            read: |_| Ok(Op::Capacity(Capacity)),
        }]
    }

    fn follow(&self, _: &mut Things) -> Work {
        Work::new(0, 0, 1)
    }

    /// The meter asks; it is to see what was written.
    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.sync()
    }

    fn group(&self) -> Option<Group> {
        Some(Group::Space)
    }

    fn primary_metric(&self) -> Metric {
        Metric::Capacity
    }

    fn each(&self) -> Each {
        Each::Nothing
    }

    fn caches(&self) -> &'static [CacheState] {
        &[]
    }

    fn ends(&self) -> &'static [End] {
        &[]
    }
}
