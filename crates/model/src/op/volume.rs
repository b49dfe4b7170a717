//! Steps of the filesystem itself: making, mounting, unmounting and checking it. The agent does them by the programs
//! that the catalog names.

use serde::{Deserialize, Serialize};

use super::{Each, KeyError, Keys, Op, Operation, Stage, Things, Word, Work};
use crate::{CacheState, End, Group};

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeStep {
    /// Makes the filesystem.
    Mkfs,
    /// Mounts it.
    Mount,
    /// Unmounts it.
    Unmount,
    /// Checks it.
    Fsck,
}

macro_rules! steps {
    ($($(#[$doc:meta])* $step:ident $word:literal,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $step;

        impl Operation for $step {
            fn words() -> &'static [Word] {
                const READ: fn(&dyn Keys) -> Result<Op, KeyError> = |_| Ok(Op::$step($step));
                &[Word { name: $word, keys: &[], read: READ }]
            }

            fn follow(&self, _: &mut Things) -> Work {
                Work::new(0, 0, 1)
            }

            fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
                Err(stage.unsupported("it is no operation on files"))
            }

            fn group(&self) -> Option<Group> {
                Some(Group::Maintenance)
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

            fn step(&self) -> Option<VolumeStep> {
                Some(VolumeStep::$step)
            }
        }
    )*};
}

steps! {
    /// Make the filesystem.
    Mkfs "mkfs",
    /// Mount it.
    Mount "mount",
    /// Unmount it.
    Unmount "unmount",
    /// Check it with its own checker, read-only, unmounted.
    Fsck "fsck",
}
