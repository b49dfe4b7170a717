//! A file removed.

use super::keys::{keyed, name, word};
use super::{Kind, Operation, Stage, Things, Word, Work};
use crate::Group;

keyed! {
    /// Remove one file, or those that threads made for themselves under its name.
    pub struct RemoveFile {
        /// Name of the file.
        file: String = name,
    }
}

impl Operation for RemoveFile {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("remove-file")] }
    }

    fn follow(&self, things: &mut Things) -> Work {
        things.remove(Kind::File, &self.file);
        Work::new(0, 0, 1)
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.remove_file(&self.file)
    }

    /// One file is not many, and what it takes is none of reading or writing it.
    fn group(&self) -> Option<Group> {
        None
    }
}
