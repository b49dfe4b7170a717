//! Open files: descriptors of processes, their open file descriptions, and both ends of pipes and
//! sockets.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use model::Nanos;
use trace::{HandleId, PathId};

use crate::orders::Channel;

/// An open file description of a file or directory below the recorded one. Copies of its descriptor
/// share it.
#[derive(Debug)]
pub struct RecordedOpening {
    /// Number of the handle in the trace.
    pub handle: HandleId,
    /// Path at the time of opening.
    pub path: PathId,
    /// Real path, and the value of the move counter for which it is valid.
    pub real: RefCell<(Vec<u8>, u64)>,
    /// Offset of the next read or write.
    pub position: Cell<u64>,
    /// True if writes are appended.
    pub appends: Cell<bool>,
    /// True if the open file description holds a lock.
    pub locks: Cell<bool>,
    /// A listing that has not finished.
    pub listing: Cell<Option<Listing>>,
    references: Cell<u32>,
}

/// Progress of a directory listing.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    /// Start time of the listing.
    pub began: Nanos,
    /// Total duration of the listing calls.
    pub took: Nanos,
    /// Number of names so far, without `.` and `..`.
    pub entries: u64,
}

impl RecordedOpening {
    /// Creates an open file description at position 0, without references.
    pub fn new(handle: HandleId, path: PathId, real: (Vec<u8>, u64), appends: bool) -> Self {
        Self {
            handle,
            path,
            real: RefCell::new(real),
            position: Cell::new(0),
            appends: Cell::new(appends),
            locks: Cell::new(false),
            listing: Cell::new(None),
            references: Cell::new(0),
        }
    }

    /// Adds a reference for a descriptor or mapping.
    pub fn take(&self) {
        self.references.set(self.references.get() + 1);
    }

    /// Removes a reference. Returns true if it was the last one.
    pub fn give_back(&self) -> bool {
        self.references.set(self.references.get() - 1);
        self.references.get() == 0
    }
}

/// One end of a pipe or socket.
#[derive(Debug)]
pub struct End {
    /// Channel for written data.
    pub sends: Option<Channel>,
    /// Channel of the data that is read.
    pub receives: Option<Channel>,
    references: Cell<u32>,
}

impl End {
    /// Creates an end without references.
    pub fn new(sends: Option<Channel>, receives: Option<Channel>) -> Self {
        Self { sends, receives, references: Cell::new(0) }
    }
}

/// Target of a descriptor. Descriptors of other kinds are not tracked.
#[derive(Clone, Debug)]
pub enum HeldFile {
    /// A file or directory in the recorded directory.
    Opening(Rc<RecordedOpening>),
    /// An end of a pipe or socket.
    End(Rc<End>),
    /// A socket that is bound to this name and may accept connections.
    Listener(Rc<Vec<u8>>),
}

impl HeldFile {
    fn take(&self) {
        match self {
            Self::Opening(opening) => opening.take(),
            Self::End(end) => end.references.set(end.references.get() + 1),
            Self::Listener(_) => {}
        }
    }

    /// Removes a reference. Returns true if it was the last one.
    fn give_back(&self) -> bool {
        match self {
            Self::Opening(opening) => opening.give_back(),
            Self::End(end) => {
                end.references.set(end.references.get() - 1);
                end.references.get() == 0
            }
            Self::Listener(_) => false,
        }
    }
}

#[derive(Debug)]
struct Descriptor {
    held: HeldFile,
    close_on_exec: bool,
}

/// The tracked descriptors of a process, or of several processes that share them.
#[derive(Debug, Default)]
pub struct RecordedFiles {
    descriptors: BTreeMap<i32, Descriptor>,
}

impl RecordedFiles {
    /// Returns the target of a descriptor.
    pub fn get(&self, number: i32) -> Option<&HeldFile> {
        Some(&self.descriptors.get(&number)?.held)
    }

    /// Returns the open file description of a descriptor.
    pub fn opening(&self, number: i32) -> Option<Rc<RecordedOpening>> {
        match self.get(number)? {
            HeldFile::Opening(opening) => Some(Rc::clone(opening)),
            _ => None,
        }
    }

    /// Sets the target of a descriptor. Returns the previous target if this was its last
    /// descriptor.
    pub fn insert(&mut self, number: i32, held: HeldFile, close_on_exec: bool) -> Option<HeldFile> {
        held.take();
        let old = self.remove(number);
        let new = Descriptor { held, close_on_exec };
        self.descriptors.insert(number, new);
        old
    }

    /// Closes a descriptor. Returns its target if this was its last descriptor.
    pub fn remove(&mut self, number: i32) -> Option<HeldFile> {
        let held = self.descriptors.remove(&number)?.held;
        held.give_back().then_some(held)
    }

    /// Sets whether a descriptor is closed when its process executes another program.
    pub fn set_close_on_exec(&mut self, number: i32, close_on_exec: bool) {
        if let Some(descriptor) = self.descriptors.get_mut(&number) {
            descriptor.close_on_exec = close_on_exec;
        }
    }

    /// Returns the descriptors in a range.
    pub fn numbers(&self, first: i32, last: i32) -> Vec<i32> {
        let numbers = self.descriptors.range(first..=last.max(first));
        numbers.map(|(number, _)| *number).collect()
    }

    /// Returns the descriptors that are closed on exec.
    pub fn closed_by_exec(&self) -> Vec<i32> {
        let closed = self.descriptors.iter().filter(|(_, d)| d.close_on_exec);
        closed.map(|(number, _)| *number).collect()
    }

    /// Copies the descriptors for a new process.
    pub fn copy(&self) -> Self {
        let copy = |(number, descriptor): (&i32, &Descriptor)| {
            descriptor.held.take();
            let copy = Descriptor {
                held: descriptor.held.clone(),
                close_on_exec: descriptor.close_on_exec,
            };
            (*number, copy)
        };
        Self { descriptors: self.descriptors.iter().map(copy).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_descriptor_closes_wherever_its_copies_are() {
        let opening = RecordedOpening::new(HandleId(0), PathId::TOP, Default::default(), false);
        let held = HeldFile::Opening(Rc::new(opening));
        let mut parent = RecordedFiles::default();
        assert!(parent.insert(3, held.clone(), true).is_none());
        assert!(parent.insert(4, held, false).is_none());
        let mut child = parent.copy();
        assert_eq!(child.closed_by_exec(), [3]);
        assert!(child.remove(3).is_none());
        assert!(parent.remove(3).is_none());
        assert!(parent.remove(3).is_none(), "it is closed already");
        assert!(parent.remove(4).is_none());
        assert!(matches!(child.remove(4), Some(HeldFile::Opening(_))));
    }
}
