//! State of the filesystem during a test, followed phase by phase: existing objects, changes by
//! operations, and missing objects that an operation needs.

use std::collections::BTreeMap;
use std::fmt;

use super::{MaintenanceTask, Op, VolumeStep, WorkEstimate};
use crate::Bytes;

/// Kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A file, or one file per thread.
    File,
    /// Many similar files or directories.
    Set,
    /// Directories and files below one directory.
    Tree,
    /// The directory of a replayed trace.
    Replayed,
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::File => "file",
            Self::Set => "set",
            Self::Tree => "tree",
            Self::Replayed => "replayed directory",
        })
    }
}

/// An object of the filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsObject {
    kind: ObjectKind,
    /// Number of names in the object.
    pub entries: u64,
    /// Total number of bytes in the object.
    pub bytes: u64,
}

/// A change to an object that may have to be undone before the operation is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FsChange {
    /// An object was created.
    Made(ObjectKind, String),
    /// An object was removed.
    Removed(ObjectKind, String),
    /// A file was extended.
    Grown(String),
    /// The entries of a set have other names, and other directories if `across` is set.
    Renamed {
        /// The set.
        set: String,
        /// Whether they are in other directories.
        across: bool,
    },
    /// The size of the files of a set has changed.
    Resized {
        /// The set.
        set: String,
        /// The size.
        size: Bytes,
    },
    /// The content or the size of a file has changed; it must be written again.
    AllocationChanged(String),
    /// Unknown changes, which cannot be undone.
    Unknown,
    /// The content or the attributes changed. A repetition has the same result.
    Overwritten(ObjectKind, String),
}

/// State of the filesystem: whether it exists and whether it is mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MountState {
    /// Before the first phase.
    #[default]
    Start,
    Unmounted,
    Mounted,
}

/// Follows a test: the objects created by its operations so far. The first error is recorded, and
/// the simulation continues.
#[derive(Debug, Default)]
pub struct FsState {
    state: MountState,
    there: BTreeMap<String, FsObject>,
    /// Sets that a mix has changed. Only another mix can use them.
    mixed: BTreeMap<String, FsObject>,
    /// Bytes in unnamed objects.
    nameless: u64,
    /// Changes by the last operation.
    changes: Vec<FsChange>,
    /// Whether the last operation used an object.
    uses: bool,
    complaint: Option<String>,
}

impl FsState {
    /// Applies the next operation and returns its work.
    pub fn apply(&mut self, op: &Op) -> WorkEstimate {
        self.changes.clear();
        self.uses = false;
        self.complaint = None;
        match op.info().step() {
            Some(step) => self.step(step),
            None if self.state == MountState::Unmounted => {
                self.reject("the filesystem is not mounted here".into());
            }
            // A test without mkfs starts with a mounted filesystem.
            None => self.state = MountState::Mounted,
        }
        op.info().apply(self)
    }

    fn step(&mut self, step: VolumeStep) {
        use MountState::{Mounted, Start, Unmounted};
        let (state, complaint) = match (step, self.state) {
            (VolumeStep::Mkfs | VolumeStep::Maintain(MaintenanceTask::MkfsHalf), Start) => {
                (Unmounted, None)
            }
            (VolumeStep::Mkfs | VolumeStep::Maintain(MaintenanceTask::MkfsHalf), state) => (
                state,
                Some("mkfs can only be the first phase: it would erase the data of the others"),
            ),
            (VolumeStep::Mount, Unmounted) => (Mounted, None),
            (VolumeStep::Unmount, Start | Mounted) => (Unmounted, None),
            (VolumeStep::Fsck, Unmounted) => (Unmounted, None),
            (VolumeStep::Maintain(_), Start | Mounted) => (Mounted, None),
            (_, Start | Mounted) => (Mounted, Some("the filesystem is mounted here")),
            (_, Unmounted) => (Unmounted, Some("the filesystem is not mounted here")),
        };
        self.state = state;
        complaint.into_iter().for_each(|c| self.reject(c.into()));
    }

    /// Returns the reason why the last operation is not valid at its position.
    pub fn violation(&self) -> Option<&str> {
        self.complaint.as_deref()
    }

    /// Returns the changes by the last operation.
    pub fn changes(&self) -> &[FsChange] {
        &self.changes
    }

    /// Returns true if the last operation uses existing objects.
    pub const fn depends_on_state(&self) -> bool {
        self.uses
    }

    /// Returns the current total size of files on the filesystem.
    pub fn bytes(&self) -> Bytes {
        let all = self.there.values().chain(self.mixed.values());
        let each = all.map(|thing| thing.bytes);
        Bytes(each.fold(self.nameless, u64::saturating_add))
    }

    /// Returns the size of a file, or `None` if it does not exist.
    pub fn size_of(&self, file: &str) -> Option<Bytes> {
        self.there.get(file).map(|thing| Bytes(thing.bytes))
    }

    /// Records that the operation is invalid here, with the reason.
    pub fn reject(&mut self, complaint: String) {
        self.complaint.get_or_insert(complaint);
    }

    /// Records that the operation creates an object with this number of entries and bytes.
    pub fn add(&mut self, kind: ObjectKind, name: &str, entries: u64, bytes: u64) {
        let thing = FsObject { kind, entries, bytes };
        let mixed = self.mixed.get(name).copied();
        if let Some(there) = self.there.insert(name.to_owned(), thing).or(mixed) {
            self.reject(format!("a {} `{name}` already exists", there.kind));
        }
        self.changes.push(FsChange::Made(kind, name.to_owned()));
    }

    /// Records that the operation uses an object of an earlier one, and returns it.
    pub fn find(&mut self, kind: ObjectKind, name: &str) -> FsObject {
        self.uses = true;
        let found = self.there.get(name).copied();
        match found {
            Some(thing) if thing.kind == kind => {}
            Some(thing) => self.reject(format!("`{name}` is a {} and no {kind}", thing.kind)),
            None if self.mixed.contains_key(name) => self.reject(format!(
                "a mix has changed the {kind} `{name}`: only another mix can use it"
            )),
            None => {
                self.reject(format!("no earlier phase made a {kind} `{name}`, or one removed it"));
            }
        }
        found.unwrap_or(FsObject { kind, entries: 0, bytes: 0 })
    }

    /// Returns a set for a mix, even if another mix has changed it.
    pub(super) fn find_dynamic(&mut self, set: &str) -> FsObject {
        self.uses = true;
        match self.mixed.get(set) {
            Some(mixed) => *mixed,
            None => self.find(ObjectKind::Set, set),
        }
    }

    /// Returns a set without recording a use.
    pub(super) fn mixed(&self, set: &str) -> FsObject {
        let found = self.mixed.get(set).or_else(|| self.there.get(set));
        found.copied().unwrap_or(FsObject { kind: ObjectKind::Set, entries: 0, bytes: 0 })
    }

    /// Records the state of a set after a mix.
    pub(super) fn set_mixed(&mut self, set: &str, left: FsObject) {
        self.there.remove(set);
        self.mixed.insert(set.to_owned(), left);
    }

    /// Records that the operation removes an object, and returns it.
    pub fn remove(&mut self, kind: ObjectKind, name: &str) -> FsObject {
        let thing = self.find(kind, name);
        self.there.remove(name);
        self.changes.push(FsChange::Removed(kind, name.to_owned()));
        thing
    }

    /// Records that the operation copies an object, and returns the original.
    pub fn copy(&mut self, kind: ObjectKind, from: &str, to: &str) -> FsObject {
        let thing = self.find(kind, from);
        self.add(kind, to, thing.entries, thing.bytes);
        thing
    }

    /// Records that the operation extends a file by this number of bytes.
    pub fn grow(&mut self, file: &str, bytes: u64) {
        let there = self.find(ObjectKind::File, file);
        let bytes = there.bytes.saturating_add(bytes);
        self.there.insert(file.to_owned(), FsObject { bytes, ..there });
        self.changes.push(FsChange::Grown(file.to_owned()));
    }

    /// Records that the operation changes the space of a file, and the new size of the file.
    pub fn change_allocation(&mut self, file: &str, bytes: u64) {
        let there = self.find(ObjectKind::File, file);
        self.there.insert(file.to_owned(), FsObject { bytes, ..there });
        self.changes.push(FsChange::AllocationChanged(file.to_owned()));
    }

    /// Records an operation with unknown changes, with estimates of the bytes that it writes and
    /// frees.
    pub fn change_unknown(&mut self, bytes: u64, freed: u64) {
        self.nameless = self.nameless.saturating_add(bytes).saturating_sub(freed);
        self.changes.push(FsChange::Unknown);
    }

    /// Records that the operation made no lasting change, so there is nothing to undo.
    pub fn mark_unchanged(&mut self) {
        self.changes.clear();
    }

    /// Records another change to existing objects.
    pub fn change(&mut self, change: FsChange) {
        self.changes.push(change);
    }
}
