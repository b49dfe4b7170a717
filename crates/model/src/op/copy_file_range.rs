//! A file copied by the kernel.

use super::keys::{keyed, name, size, word};
use super::{Content, ENDS_OF_FILE, Each, Kind, Operation, Stage, Things, Word, Work};
use crate::{Bytes, End, Group};

keyed! {
    /// Copy a file within the filesystem by `copy_file_range`: the kernel copies it, or lets both share its space.
    pub struct CopyFileRange {
        /// The file to copy.
        from: String = name,
        /// Name of the copy.
        to: String = name,
        /// Bytes per call; a filesystem may take fewer.
        block: Bytes = size,
    }
}

impl Operation for CopyFileRange {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("copy-file-range")] }
    }

    fn follow(&self, things: &mut Things) -> Work {
        let size = things.copy(Kind::File, &self.from, &self.to).bytes;
        Work::new(size, size, size.div_ceil(self.block.0.max(1)))
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        let size = stage.size_to_copy(&self.from, &self.to)?.0;
        stage.begin(size.div_ceil(self.block.0.max(1)));
        let from = stage.open_file(&self.from)?;
        let to = stage.create_file(&self.to)?;
        let mut offset = 0;
        while offset < size {
            let length = self.block.0.min(size - offset);
            offset += stage.copy_range(&from, &to, offset, length)?;
        }
        stage.finish(to, Content::SameAs(&self.from))
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
