//! Files that commands have made, read in random order.

use super::keys::{keyed, name, word};
use super::{CacheState, Each, End, Operation, Stage, Things, Word, Work};
use crate::Group;

keyed! {
    /// Find all files below a directory that a command has made, and read each whole, in an order drawn from the seed.
    pub struct ReadFiles {
        /// The directory.
        directory: String = name,
    }
}

impl Operation for ReadFiles {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("read-files")] }
    }

    /// What a command has made has no size before it ran.
    fn follow(&self, _: &mut Things) -> Work {
        Work::default()
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.read_files(&self.directory)
    }

    fn group(&self) -> Option<Group> {
        Some(Group::Trees)
    }

    fn each(&self) -> Each {
        Each::Nothing
    }

    fn caches(&self) -> &'static [CacheState] {
        &[CacheState::Cold, CacheState::Warm]
    }

    fn usually(&self) -> Option<(CacheState, End)> {
        Some((CacheState::Cold, End::Call))
    }
}
