//! A file copied within the filesystem.

use super::keys::{block, keyed, name, word};
use super::{ENDS_OF_FILE, Each, Kind, Operation, Stage, Things, Word, Work};
use crate::{Bytes, End, Group};

keyed! {
    /// Copy a file within the filesystem by reading and writing.
    pub struct CopyFile {
        /// The file to copy.
        from: String = name,
        /// Name of the copy.
        to: String = name,
        /// Bytes per request.
        block: Bytes = block,
    }
}

impl Operation for CopyFile {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("copy-file")] }
    }

    fn follow(&self, things: &mut Things) -> Work {
        let size = things.copy(Kind::File, &self.from, &self.to).bytes;
        Work::new(size, size, size.div_ceil(self.block.0.max(1)))
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.copy_file(&self.from, &self.to, self.block)
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
