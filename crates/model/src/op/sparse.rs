//! A file that is one hole.

use super::keys::{keyed, name, size, word};
use super::{Content, Each, Kind, Operation, Stage, Things, Word, Work};
use crate::{Bytes, Group};

keyed! {
    /// Make a file that is one hole (`ftruncate`).
    pub struct Sparse {
        /// Name of the file.
        file: String = name,
        /// Its size.
        size: Bytes = size,
    }
}

impl Operation for Sparse {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("sparse")] }
    }

    fn follow(&self, things: &mut Things) -> Work {
        things.make(Kind::File, &self.file, 1, self.size.0);
        Work::new(0, 0, 1)
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.begin(1);
        let file = stage.create_file(&self.file)?;
        stage.set_size(&file, self.size)?;
        stage.finish(file, Content::Zeros(self.size))
    }

    fn group(&self) -> Option<Group> {
        Some(Group::ManyFiles)
    }

    fn each(&self) -> Each {
        Each::Request
    }
}
