//! A file that shares the space of another until one of them is written to.

use super::keys::{keyed, name, word};
use super::{Content, ENDS_OF_FILE, Each, Kind, Operation, Stage, Things, Word, Work};
use crate::{End, Group};

keyed! {
    /// Clone a file (`FICLONE`, as `cp --reflink=always` does).
    pub struct Reflink {
        /// The file to clone.
        from: String = name,
        /// Name of the clone.
        to: String = name,
    }
}

impl Operation for Reflink {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("reflink")] }
    }

    fn follow(&self, things: &mut Things) -> Work {
        things.copy(Kind::File, &self.from, &self.to);
        Work::new(0, 0, 1)
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.size_to_copy(&self.from, &self.to)?;
        stage.begin(1);
        let from = stage.open_file(&self.from)?;
        let to = stage.create_file(&self.to)?;
        stage.clone_file(&from, &to)?;
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
