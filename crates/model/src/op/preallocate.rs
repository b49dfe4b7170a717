//! A file whose space is set aside.

use super::keys::{keyed, name, size, word};
use super::{ENDS_OF_FILE, Each, Kind, Operation, Stage, Things, Word, Work};
use crate::{Bytes, End, Group};

keyed! {
    /// Make a file whose space is set aside and not written (`fallocate`).
    pub struct Preallocate {
        /// Name of the file.
        file: String = name,
        /// Its size.
        size: Bytes = size,
    }
}

impl Operation for Preallocate {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("preallocate")] }
    }

    fn follow(&self, things: &mut Things) -> Work {
        things.make(Kind::File, &self.file, 1, self.size.0);
        Work::new(0, 0, 1)
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.preallocate(&self.file, self.size)
    }

    fn group(&self) -> Option<Group> {
        Some(Group::StreamWrite)
    }

    fn each(&self) -> Each {
        Each::Request
    }

    fn ends(&self) -> &'static [End] {
        ENDS_OF_FILE
    }
}
