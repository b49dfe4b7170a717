//! The operations of phases: one file for each, or for a family that shares everything, and one line for it below.
//!
//! A file holds all that is particular to an operation: its name and keys, what it needs and changes, how it is
//! performed, how often its result is worth repeating, which group that belongs to, which cache states and ends make
//! sense. `docs/adding-an-operation.md` shows how one is added.

mod capacity;
mod copy_file;
mod copy_file_in;
mod copy_tree;
mod copy_tree_in;
mod create;
mod io;
mod keys;
mod metadata;
mod plant_tree;
mod preallocate;
mod probe;
mod remove_file;
mod remove_tree;
mod sparse;
mod stage;
mod stream;
mod things;
mod visit_tree;
mod volume;
mod work;

use serde::{Deserialize, Serialize};

use crate::{CacheState, End, Group, Metric};

pub use capacity::Capacity;
pub use copy_file::CopyFile;
pub use copy_file_in::CopyFileIn;
pub use copy_tree::CopyTree;
pub use copy_tree_in::CopyTreeIn;
pub use create::{Create, EntryKind};
pub use io::{Access, Io, IoEngine, Sharing};
pub use keys::{KeyError, Keys, Word};
pub use metadata::{Action, Metadata, Order};
pub use plant_tree::{PlantTree, TreeSpec};
pub use preallocate::Preallocate;
pub use probe::Probe;
pub use remove_file::RemoveFile;
pub use remove_tree::RemoveTree;
pub use sparse::Sparse;
pub use stage::Stage;
pub use stream::{ReadStream, StreamUnit, WriteStream};
pub use things::{Change, Kind, Things};
pub use visit_tree::{FindInTree, ListTree, VerifyTree};
pub use volume::{Fsck, Mkfs, Mount, Unmount, VolumeStep};
pub use work::{Each, Work};

/// Makes [`Op`] and finds the descriptor of what it holds.
macro_rules! operations {
    ($($operation:ident,)*) => {
        /// An operation of a phase. Words are fio's where fio has one.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "op", rename_all = "kebab-case")]
        pub enum Op {
            $(#[doc = concat!("See [`", stringify!($operation), "`].")] $operation($operation),)*
        }

        impl Op {
            /// What is particular to the operation.
            pub fn descriptor(&self) -> &dyn Operation {
                match self { $(Self::$operation(operation) => operation,)* }
            }

            /// Performs it.
            ///
            /// # Errors
            /// What the stage says: the first thing that went wrong.
            pub fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
                match self { $(Self::$operation(operation) => operation.perform(stage),)* }
            }

            /// Every word that a phase may have for `op`, with its keys.
            pub fn words() -> impl Iterator<Item = &'static Word> {
                [$($operation::words(),)*].into_iter().flatten()
            }
        }

        $(impl From<$operation> for Op {
            fn from(operation: $operation) -> Self {
                Self::$operation(operation)
            }
        })*
    };
}

operations! {
    Mkfs,
    Mount,
    Unmount,
    Fsck,
    Capacity,
    Probe,
    Io,
    WriteStream,
    ReadStream,
    Preallocate,
    Sparse,
    Create,
    Metadata,
    PlantTree,
    CopyTreeIn,
    CopyTree,
    ListTree,
    FindInTree,
    VerifyTree,
    RemoveTree,
    CopyFileIn,
    CopyFile,
    RemoveFile,
}

/// All that is particular to an operation. What is not said here has the answer of most of them.
pub trait Operation {
    /// The words of suites for it, each with its keys.
    fn words() -> &'static [Word]
    where
        Self: Sized;

    /// Follows what lies on the filesystem: says to `things` what the operation needs, makes, changes and removes, and
    /// gives its work. The order of phases is held to it, and what it changes is taken back before it is repeated.
    fn follow(&self, things: &mut Things) -> Work;

    /// Performs it.
    ///
    /// # Errors
    /// What the stage says: the first thing that went wrong.
    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error>
    where
        Self: Sized;

    /// What its result tells; `None` where it only tries what a filesystem can do, or does nothing with it.
    fn group(&self) -> Option<Group>;

    /// The figure by which the tables judge it.
    fn headline(&self) -> Metric {
        Metric::Elapsed
    }

    /// What the tables show beside that.
    fn beside(&self) -> Option<Metric> {
        None
    }

    /// What each of its operations takes beside bytes and syncs: the guess of its time before it was ever measured.
    fn each(&self) -> Each {
        Each::Name
    }

    /// The cache states that it can be asked for in; none where the page cache plays no part.
    fn caches(&self) -> &'static [CacheState] {
        &[CacheState::Cold, CacheState::Warm, CacheState::Advised]
    }

    /// Where it can end; nowhere else than where it does where there are none.
    fn ends(&self) -> &'static [End] {
        &[End::Call, End::Syncfs]
    }

    /// Whether its numbers go together.
    ///
    /// # Errors
    /// Why not, for the one who wrote them.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Threads that work side by side.
    fn threads(&self) -> u32 {
        1
    }

    /// Whether it copies from the campaign's source, where there is one.
    fn copies_in(&self) -> bool {
        false
    }

    /// The step of the filesystem itself that it is, done by programs of the catalog.
    fn step(&self) -> Option<VolumeStep> {
        None
    }
}

/// Where an operation on one file can end.
const ENDS_OF_FILE: &[End] = &[End::Call, End::Fsync, End::Syncfs];

impl Op {
    /// The figure by which the tables judge this operation.
    pub fn headline(&self) -> Metric {
        self.descriptor().headline()
    }

    /// What the tables show of this operation, the headline first.
    pub fn shown(&self) -> impl Iterator<Item = Metric> {
        std::iter::once(self.headline()).chain(self.descriptor().beside())
    }

    /// What the operation does to what other operations have made, for taking it back.
    pub fn changes(&self) -> Vec<Change> {
        let mut things = Things::default();
        things.follow(self);
        things.changes().to_vec()
    }

    /// Whether files or names are other ones after the operation.
    pub fn changes_something(&self) -> bool {
        !self.changes().is_empty()
    }

    /// Whether it does nothing but read what is there: a warm cache can serve all of it.
    pub fn only_reads(&self) -> bool {
        let mut things = Things::default();
        things.follow(self);
        things.uses_something() && things.changes().is_empty()
    }

    /// Whether it copies from the campaign's source, where there is one.
    pub fn copies_in(&self) -> bool {
        self.descriptor().copies_in()
    }

    /// Whether the operation is one of making, mounting or checking, done by a program of the catalog.
    pub fn is_command(&self) -> bool {
        self.descriptor().step().is_some()
    }
}
