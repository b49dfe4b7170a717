//! A file copied in from another disk.

use super::keys::{block, keyed, name, size, word};
use super::{ENDS_OF_FILE, Kind, Operation, Stage, Things, Word, Work};
use crate::{Bytes, End, Group, Metric};

keyed! {
    /// Copy the largest file of the campaign's source into the filesystem; where there is no source, write a file
    /// whose content is made in memory.
    pub struct CopyFileIn {
        /// Name of the file.
        file: String = name,
        /// Its size.
        size: Bytes = size,
        /// Bytes per request.
        block: Bytes = block,
    }
}

impl Operation for CopyFileIn {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("copy-file-in")] }
    }

    fn follow(&self, things: &mut Things) -> Work {
        let size = self.size.0;
        things.make(Kind::File, &self.file, 1, size);
        Work::new(0, size, size.div_ceil(self.block.0.max(1)))
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.copy_file_in(&self.file, self.size, self.block)
    }

    fn group(&self) -> Option<Group> {
        Some(Group::StreamWrite)
    }

    fn primary_metric(&self) -> Metric {
        Metric::Throughput
    }

    fn ends(&self) -> &'static [End] {
        ENDS_OF_FILE
    }

    fn copies_in(&self) -> bool {
        true
    }
}
