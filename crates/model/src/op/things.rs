//! What lies on the filesystem while a test is followed phase by phase, what its operations do to that, and whether
//! what one of them needs is there.

use std::collections::BTreeMap;
use std::fmt;

use super::{Op, VolumeStep, Work};
use crate::Bytes;

/// What operations work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file, or one for each thread.
    File,
    /// Many files or directories alike.
    Set,
    /// Directories and files below one directory.
    Tree,
    /// What the replay of a trace has left in a directory.
    Replayed,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::File => "file",
            Self::Set => "set",
            Self::Tree => "tree",
            Self::Replayed => "replayed directory",
        })
    }
}

/// A thing on the filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thing {
    kind: Kind,
    /// Names in it.
    pub entries: u64,
    /// Bytes in all of it.
    pub bytes: u64,
}

/// What an operation did to a thing, as far as that has to be taken back before the operation can be done again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was made.
    Made(Kind, String),
    /// It was removed.
    Removed(Kind, String),
    /// A file became longer.
    Lengthened(String),
    /// The entries of a set have other names, in other directories where that is said.
    Renamed {
        /// The set.
        set: String,
        /// Whether they are in other directories.
        across: bool,
    },
    /// The files of a set have another size.
    Resized {
        /// The set.
        set: String,
        /// The size.
        size: Bytes,
    },
    /// The content or the size of a file is another one; it is to be written again.
    Reshaped(String),
    /// Nobody knows what: it cannot be taken back.
    Unknown,
    /// It holds something else, or has other attributes: done again, the same becomes of it.
    InPlace(Kind, String),
}

/// Whether there is a filesystem, and whether it is mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the first phase.
    #[default]
    Start,
    Unmounted,
    Mounted,
}

/// Follows a test: what its operations have made so far. What cannot be is remembered, and things go on as if it were.
#[derive(Debug, Default)]
pub struct Things {
    state: State,
    there: BTreeMap<String, Thing>,
    /// Bytes in what has no name here.
    nameless: u64,
    /// What the last operation did.
    changes: Vec<Change>,
    /// Whether the last operation looked for something.
    uses: bool,
    complaint: Option<String>,
}

impl Things {
    /// Takes in the next operation and gives its work.
    pub fn follow(&mut self, op: &Op) -> Work {
        self.changes.clear();
        self.uses = false;
        self.complaint = None;
        match op.descriptor().step() {
            Some(step) => self.step(step),
            None if self.state == State::Unmounted => {
                self.complain("the filesystem is not mounted here".into());
            }
            // A test that makes no filesystem itself finds one made and mounted.
            None => self.state = State::Mounted,
        }
        op.descriptor().follow(self)
    }

    fn step(&mut self, step: VolumeStep) {
        use State::{Mounted, Start, Unmounted};
        let (state, complaint) = match (step, self.state) {
            (VolumeStep::Mkfs, Start) => (Unmounted, None),
            (VolumeStep::Mkfs, state) => (
                state,
                Some("mkfs can only be the first phase: the others would be made on what is gone"),
            ),
            (VolumeStep::Mount, Unmounted) => (Mounted, None),
            (VolumeStep::Unmount, Start | Mounted) => (Unmounted, None),
            (VolumeStep::Fsck, Unmounted) => (Unmounted, None),
            (_, Start | Mounted) => (Mounted, Some("the filesystem is mounted here")),
            (_, Unmounted) => (Unmounted, Some("the filesystem is not mounted here")),
        };
        self.state = state;
        complaint.into_iter().for_each(|c| self.complain(c.into()));
    }

    /// Why the last operation cannot come where it does.
    pub fn complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }

    /// What the last operation did.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Whether the last operation works on what is there.
    pub const fn uses_something(&self) -> bool {
        self.uses
    }

    /// What lies on the filesystem now, as files have it.
    pub fn bytes(&self) -> Bytes {
        let each = self.there.values().map(|thing| thing.bytes);
        Bytes(each.fold(self.nameless, u64::saturating_add))
    }

    /// The size of a file, where there is one.
    pub fn size_of(&self, file: &str) -> Option<Bytes> {
        self.there.get(file).map(|thing| Bytes(thing.bytes))
    }

    /// The operation makes no sense here, for this reason.
    pub fn complain(&mut self, complaint: String) {
        self.complaint.get_or_insert(complaint);
    }

    /// The operation makes a thing of so many names and bytes.
    pub fn make(&mut self, kind: Kind, name: &str, entries: u64, bytes: u64) {
        let thing = Thing {
            kind,
            entries,
            bytes,
        };
        if let Some(there) = self.there.insert(name.to_owned(), thing) {
            self.complain(format!("a {} `{name}` is there already", there.kind));
        }
        self.changes.push(Change::Made(kind, name.to_owned()));
    }

    /// The operation works on a thing that an earlier one made.
    pub fn find(&mut self, kind: Kind, name: &str) -> Thing {
        self.uses = true;
        let found = self.there.get(name).copied();
        match found {
            Some(thing) if thing.kind == kind => {}
            Some(thing) => self.complain(format!("`{name}` is a {} and no {kind}", thing.kind)),
            None => self.complain(format!(
                "no earlier phase made a {kind} `{name}`, or one removed it"
            )),
        }
        found.unwrap_or(Thing {
            kind,
            entries: 0,
            bytes: 0,
        })
    }

    /// The operation removes a thing.
    pub fn remove(&mut self, kind: Kind, name: &str) -> Thing {
        let thing = self.find(kind, name);
        self.there.remove(name);
        self.changes.push(Change::Removed(kind, name.to_owned()));
        thing
    }

    /// The operation makes a thing like another.
    pub fn copy(&mut self, kind: Kind, from: &str, to: &str) -> Thing {
        let thing = self.find(kind, from);
        self.make(kind, to, thing.entries, thing.bytes);
        thing
    }

    /// The operation makes a file longer by so many bytes.
    pub fn lengthen(&mut self, file: &str, bytes: u64) {
        let there = self.find(Kind::File, file);
        let bytes = there.bytes.saturating_add(bytes);
        self.there.insert(file.to_owned(), Thing { bytes, ..there });
        self.changes.push(Change::Lengthened(file.to_owned()));
    }

    /// The operation changes the space of a file, which has this many bytes then.
    pub fn reshape(&mut self, file: &str, bytes: u64) {
        let there = self.find(Kind::File, file);
        self.there.insert(file.to_owned(), Thing { bytes, ..there });
        self.changes.push(Change::Reshaped(file.to_owned()));
    }

    /// The operation does what nobody knows, and about so many bytes come from it.
    pub fn change_unknown(&mut self, bytes: u64) {
        self.nameless = self.nameless.saturating_add(bytes);
        self.changes.push(Change::Unknown);
    }

    /// The operation only seems to do what it does: there is nothing to take back.
    pub fn nothing_changed(&mut self) {
        self.changes.clear();
    }

    /// The operation changes what is there, in one of the other ways.
    pub fn change(&mut self, change: Change) {
        self.changes.push(change);
    }
}
