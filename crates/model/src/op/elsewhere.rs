//! What another program did and measured.

use serde::{Deserialize, Serialize};

use super::{Each, Operation, Stage, Things, Word, Work};
use crate::{CacheState, End, Group, Metric};

/// Something that was not done by fsarena: no suite can ask for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Elsewhere {
    /// The number by which its results are ranked.
    pub metric: Metric,
    /// What it asked of the filesystem, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// Whether its time is that of the other phases of its test together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub total: bool,
}

impl Operation for Elsewhere {
    fn words() -> &'static [Word] {
        &[]
    }

    fn follow(&self, _: &mut Things) -> Work {
        Work::new(0, 0, 1)
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        Err(stage.unsupported("another program did it, and fsarena does not know how"))
    }

    fn group(&self) -> Option<Group> {
        self.group
    }

    fn primary_metric(&self) -> Metric {
        self.metric
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
