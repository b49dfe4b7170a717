//! Files during a walk through a trace: the file of each name, and the operations that touched its
//! bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use super::clocks::Dependency;
use super::resource::{AccessMode, Resource, ResourceAccess};
use crate::paths::{PathId, PathInterner};
use crate::trace::{RENAME_EXCHANGE, TracedKind, TreeEntry};

/// A file, independent of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(usize);

/// All files of a trace.
#[derive(Debug)]
pub struct FileTable {
    /// The file of each path.
    named: Vec<Option<FileId>>,
    data: Vec<ByteRangeAccess>,
    /// Child paths of each path.
    children: Vec<Vec<PathId>>,
}

/// Operations that touched the bytes of a file, by range.
#[derive(Debug, Default)]
struct ByteRangeAccess {
    /// Ranges by start offset, each with its end. They do not overlap.
    pieces: BTreeMap<u64, (u64, Resource)>,
}

impl FileTable {
    /// Creates the state before the first operation.
    pub fn new(paths: &PathInterner, before: &[TreeEntry]) -> Self {
        let mut children = vec![Vec::new(); paths.len()];
        for path in paths.ids() {
            let parent = paths.parent(path).unwrap_or_default();
            children[parent.0 as usize].push(path);
        }
        let mut files = Self { named: vec![None; paths.len()], data: Vec::new(), children };
        for entry in before {
            let file = match entry.kind {
                TracedKind::Link(other) => files.file_or_new(other),
                _ => files.new_anonymous(),
            };
            files.name(entry.path, Some(file));
        }
        files
    }

    /// Returns the file of a name.
    pub fn file(&self, path: PathId) -> Option<FileId> {
        self.named[path.0 as usize]
    }

    /// Returns the file of a path, and creates it if it does not exist.
    pub fn file_or_new(&mut self, path: PathId) -> FileId {
        let file = self.file(path).unwrap_or_else(|| self.new_anonymous());
        self.name(path, Some(file));
        file
    }

    /// A new file.
    pub fn new_anonymous(&mut self) -> FileId {
        self.data.push(ByteRangeAccess::default());
        FileId(self.data.len() - 1)
    }

    /// Sets the file of a name.
    pub fn name(&mut self, path: PathId, file: Option<FileId>) {
        self.named[path.0 as usize] = file;
    }

    /// Records that a name was removed.
    pub fn unlink(&mut self, path: PathId) {
        self.name(path, None);
    }

    /// Adds another name to a file.
    pub fn link(&mut self, from: PathId, to: PathId) {
        let file = self.file_or_new(from);
        self.name(to, Some(file));
    }

    /// Renames a path and everything below it.
    pub fn rename(&mut self, paths: &PathInterner, from: PathId, to: PathId, flags: u8) {
        let mut taken = Vec::new();
        self.take(from, to, paths, &mut taken);
        if flags & RENAME_EXCHANGE != 0 {
            self.take(to, from, paths, &mut taken);
        }
        self.unlink(to);
        for (path, file) in taken {
            self.name(path, file);
        }
    }

    fn take(
        &mut self,
        from: PathId,
        to: PathId,
        paths: &PathInterner,
        taken: &mut Vec<(PathId, Option<FileId>)>,
    ) {
        let mut pairs = vec![(from, to)];
        while let Some((from, to)) = pairs.pop() {
            taken.push((to, self.named[from.0 as usize].take()));
            for child in &self.children[from.0 as usize] {
                let name = paths.name(*child).unwrap_or_default();
                match paths.find(to, name) {
                    Some(other) => pairs.push((*child, other)),
                    None => self.named[child.0 as usize] = None,
                }
            }
        }
    }

    /// Records a change of the size, which modifies the whole file.
    pub fn resize(&mut self, file: FileId, here: ResourceAccess, waits: &mut Vec<Dependency>) {
        self.touch(file, 0..u64::MAX, AccessMode::Modify, here, waits);
    }

    /// Records an access to bytes of a file. Concurrent operations were not ordered.
    pub fn touch(
        &mut self,
        file: FileId,
        range: Range<u64>,
        touch: AccessMode,
        here: ResourceAccess,
        waits: &mut Vec<Dependency>,
    ) {
        let pieces = &mut self.data[file.0].pieces;
        split(pieces, range.start);
        split(pieces, range.end);
        let mut at = range.start;
        let mut gaps = Vec::new();
        for (begin, (end, resource)) in pieces.range_mut(range.clone()) {
            if *begin > at {
                gaps.push(at..*begin);
            }
            resource.record_access_unless_concurrent(touch, here, waits);
            at = *end;
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        if touch == AccessMode::Modify {
            replace(pieces, range, here);
            return;
        }
        for gap in gaps {
            let mut resource = Resource::default();
            resource.record_access(touch, here, &mut Vec::new());
            pieces.insert(gap.start, (gap.end, resource));
        }
    }
}

/// Splits the piece that contains an offset.
fn split(pieces: &mut BTreeMap<u64, (u64, Resource)>, at: u64) {
    let within = pieces.range_mut(..at).next_back().filter(|(_, (end, _))| *end > at);
    if let Some((_, (end, resource))) = within {
        let behind = (std::mem::replace(end, at), resource.clone());
        pieces.insert(at, behind);
    }
}

/// Records a change of a whole range, which becomes one piece. Later operations wait for this
/// change and for all operations concurrent with it.
fn replace(pieces: &mut BTreeMap<u64, (u64, Resource)>, range: Range<u64>, here: ResourceAccess) {
    let within: Vec<u64> = pieces.range(range.clone()).map(|(begin, _)| *begin).collect();
    let mut all = Resource::default();
    all.record_access(AccessMode::Modify, here, &mut Vec::new());
    for begin in within {
        if let Some((_, piece)) = pieces.remove(&begin) {
            all.join(piece);
        }
    }
    if !range.is_empty() {
        pieces.insert(range.start, (range.end, all));
    }
}
