//! Whether a filesystem has a feature.

use super::keys::{choice, keyed, word};
use super::{Each, KeyError, Keys, Operation, Stage, Things, Word, Work};
use crate::{CacheState, End, Feature, Group, Metric};

keyed! {
    /// Try a feature. The agent does it, and keeps what it found.
    pub struct Probe {
        /// The feature to try.
        feature: Feature = feature,
    }
}

fn feature(keys: &dyn Keys, key: &'static str) -> Result<Feature, KeyError> {
    choice(keys, key, &Feature::ALL.map(|f| (f.name(), f)))
}

impl Operation for Probe {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("probe")] }
    }

    fn follow(&self, _: &mut Things) -> Work {
        Work::new(0, 0, 1)
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        Err(stage.unsupported("it is no operation on files"))
    }

    fn group(&self) -> Option<Group> {
        None
    }

    fn primary_metric(&self) -> Metric {
        Metric::Supported
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
