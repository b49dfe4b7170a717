//! Files of a set that the roles of a mix create and remove, with their sizes and generations;
//! pure.
//!
//! If a mix changes a set, each of its threads has an exclusive share of the files. The work of a
//! thread therefore depends only on the seed, not on other threads, and no thread looks up a file
//! that another has just removed.

use model::SeededRng;

use crate::data::pattern::BlockIdentity;
use crate::files::set::{FileSet, SetEntry};

/// A file, or a free slot for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSlot {
    /// Name and location of the file, and its size if it exists.
    pub entry: SetEntry,
    /// Number of times the file was created.
    pub generation: u32,
}

/// A set whose files are created and removed during a mix.
#[derive(Clone, Debug)]
pub struct DynamicFileSet {
    /// Names and locations of the files.
    pub set: FileSet,
    there: Vec<FileSlot>,
    gone: Vec<FileSlot>,
    /// Number of the next file if no free slot remains.
    next: u64,
}

/// Exclusive share of one thread in a set.
#[derive(Clone, Debug)]
pub struct ThreadFiles {
    there: Vec<FileSlot>,
    gone: Vec<FileSlot>,
    next: u64,
    step: u64,
}

impl DynamicFileSet {
    /// Creates the set in the state that earlier phases left.
    pub fn from_file_set(set: &FileSet) -> Self {
        let there =
            (0..set.len()).map(|position| FileSlot { entry: set.entry(position), generation: 1 });
        Self { there: there.collect(), gone: Vec::new(), next: set.indices(), set: set.clone() }
    }

    /// Its files.
    pub fn files(&self) -> &[FileSlot] {
        &self.there
    }

    /// Returns an upper limit of the size of the largest file.
    pub fn largest(&self) -> u64 {
        let there = self.there.iter().map(|slot| slot.entry.size);
        there.fold(self.set.largest(), u64::max)
    }

    /// Splits the set into one share per thread. Their sizes differ by at most one file.
    pub fn split(&self, threads: u64) -> Vec<ThreadFiles> {
        let part = |slots: &[FileSlot], thread: u64| -> Vec<FileSlot> {
            let every = usize::try_from(threads).unwrap_or(usize::MAX);
            let skip = usize::try_from(thread).unwrap_or(usize::MAX);
            slots.iter().skip(skip).step_by(every).copied().collect()
        };
        let share = |thread| ThreadFiles {
            there: part(&self.there, thread),
            gone: part(&self.gone, thread),
            next: self.next + thread,
            step: threads,
        };
        (0..threads).map(share).collect()
    }

    /// Merges the shares of all threads.
    pub fn merge(&mut self, shares: Vec<ThreadFiles>) {
        self.there.clear();
        self.gone.clear();
        for share in shares {
            self.next = self.next.max(share.next);
            self.there.extend(share.there);
            self.gone.extend(share.gone);
        }
        // Restore the index order, independent of the random draws.
        self.there.sort_unstable_by_key(|slot| slot.entry.index);
        self.gone.sort_unstable_by_key(|slot| slot.entry.index);
    }

    /// Returns the origin of the blocks of a file.
    pub fn origin(set: &FileSet, slot: &FileSlot) -> BlockIdentity {
        BlockIdentity { generation: slot.generation, ..set.origin(slot.entry.index) }
    }
}

impl ThreadFiles {
    /// Removes a random file from the share. Returns `None` if the share is empty.
    pub fn take(&mut self, rng: &mut SeededRng) -> Option<FileSlot> {
        if self.there.is_empty() {
            return None;
        }
        let place = rng.below(self.there.len() as u64) as usize;
        Some(self.there.swap_remove(place))
    }

    /// Adds a returned or new file.
    pub fn put(&mut self, slot: FileSlot) {
        self.there.push(slot);
    }

    /// Keeps the slot of a removed file for reuse.
    pub fn removed(&mut self, slot: FileSlot) {
        self.gone.push(slot);
    }

    /// Returns an empty slot for a new file: that of the last removed file, or a different one.
    pub fn room(&mut self, set: &FileSet) -> FileSlot {
        let slot = match self.gone.pop() {
            Some(gone) => FileSlot { generation: gone.generation + 1, ..gone },
            None => {
                let entry = set.planned(self.next);
                self.next += self.step;
                FileSlot { entry, generation: 1 }
            }
        };
        let entry = SetEntry { size: 0, ..slot.entry };
        FileSlot { entry, ..slot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::op::SizeDistribution;
    use model::{Bytes, Create, EntryKind, FileSharing, TraversalOrder};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn set(entries: u64) -> DynamicFileSet {
        DynamicFileSet::from_file_set(&FileSet::new_planned(
            Path::new("/root"),
            7,
            &Create {
                set: "set".into(),
                kind: EntryKind::File,
                entries,
                directories: 3,
                depth: 1,
                size: Bytes(100),
                spread: SizeDistribution::Gamma,
                order: TraversalOrder::Random,
                fsync: false,
                fsync_directory: false,
                threads: 1,
                sharing: FileSharing::Shared,
            },
        ))
    }

    proptest! {
        /// Threads create and remove files at random. No two threads have the same file, and no
        /// file is lost.
        #[test]
        fn shares_are_disjoint_and_complete(
            entries in 1u64..60, threads in 1u64..7, seed: u64,
            mixes in proptest::collection::vec(proptest::collection::vec(0u8..3, 0..40), 1..4),
        ) {
            let mut mixed = set(entries);
            let mut known = entries;
            let mut rng = SeededRng::new(seed);
            for steps in mixes {
                let mut shares = mixed.split(threads);
                for (number, step) in steps.iter().enumerate() {
                    let share = &mut shares[number % threads as usize];
                    match step {
                        0 => {
                            let room = share.room(&mixed.set);
                            prop_assert_eq!(room.entry.size, 0);
                            share.put(room);
                            known += 1;
                        }
                        1 => if let Some(slot) = share.take(&mut rng) {
                            share.removed(slot);
                            known -= 1;
                        },
                        _ => if let Some(slot) = share.take(&mut rng) {
                            share.put(slot);
                        },
                    }
                }
                mixed.merge(shares);
                prop_assert_eq!(mixed.files().len() as u64, known);
                let slots = mixed.there.iter().chain(&mixed.gone);
                let names: BTreeSet<u64> = slots.clone().map(|slot| slot.entry.index).collect();
                prop_assert_eq!(names.len(), slots.count());
                prop_assert!(names.iter().all(|index| *index < mixed.next));
            }
        }
    }

    #[test]
    fn a_recreated_file_keeps_its_name_and_gets_the_next_generation() {
        let mixed = set(4);
        let mut share = mixed.split(1).remove(0);
        let taken = share.take(&mut SeededRng::new(1)).unwrap();
        share.removed(taken);
        let again = share.room(&mixed.set);
        assert_eq!(again.entry.index, taken.entry.index);
        assert_eq!((again.generation, again.entry.size), (2, 0));
        assert_eq!(share.room(&mixed.set).entry.index, 4, "and then a new one");
        let origin = DynamicFileSet::origin(&mixed.set, &again);
        assert_eq!(origin.file, mixed.set.origin(again.entry.index).file);
        assert_eq!(origin.generation, 2);
    }
}
