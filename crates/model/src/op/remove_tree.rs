//! A tree removed.

use super::keys::{keyed, name, word};
use super::{Kind, Operation, Stage, Things, Word, Work};
use crate::Group;

keyed! {
    /// Remove a tree, as `rm -r` does.
    pub struct RemoveTree {
        /// The tree.
        tree: String = name,
    }
}

impl Operation for RemoveTree {
    fn words() -> &'static [Word] {
        const { &[word::<Self>("remove-tree")] }
    }

    fn follow(&self, things: &mut Things) -> Work {
        Work::new(0, 0, things.remove(Kind::Tree, &self.tree).entries)
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.remove_tree(&self.tree)
    }

    fn group(&self) -> Option<Group> {
        Some(Group::Trees)
    }
}
