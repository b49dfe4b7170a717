//! A tree copied within the filesystem.

use super::keys::{block, keyed, name, word};
use super::{Kind, Operation, Stage, Things, Word, Work};
use crate::{Bytes, Group};

keyed! {
    /// Copy a tree within the filesystem.
    pub struct CopyTree {
        /// The tree to copy.
        from: String = name,
        /// Name of the copy.
        to: String = name,
        /// Bytes per request.
        block: Bytes = block,
    }
}

impl Operation for CopyTree {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("copy-tree")] }
    }

    fn follow(&self, things: &mut Things) -> Work {
        let tree = things.copy(Kind::Tree, &self.from, &self.to);
        Work::new(tree.bytes, tree.bytes, tree.entries)
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.copy_tree(&self.from, &self.to, self.block)
    }

    fn group(&self) -> Option<Group> {
        Some(Group::Trees)
    }
}
