//! Entries of the directory before and after, inferred from the calls of a program: if a call
//! succeeds on a path that the program has not created, the path already existed.

use std::collections::{BTreeMap, HashMap};

use crate::paths::{PathId, PathInterner};
use crate::trace::{TracedKind, TreeEntry};

/// Place of the directory itself among the entries.
const TOP: usize = 0;

/// A file, directory or link, independent of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inode(usize);

/// Kind of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InodeType {
    /// A file, or an entry of unknown kind.
    File,
    Directory,
    Symlink(Vec<u8>),
    Pipe,
}

#[derive(Clone, Debug)]
struct KnownAttributes {
    kind: InodeType,
    size: u64,
    mode: u16,
    /// Path before the first operation, if the node already existed.
    origin: Option<PathId>,
    /// Path before the first operation if the node already existed, in cases in which an `open` may
    /// have created it.
    perhaps: Option<PathId>,
    size_before: u64,
    mode_before: u16,
}

/// Known state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathState {
    Absent,
    Present(Inode),
}

/// An entry of the tree. An entry that is renamed takes everything below it along.
#[derive(Debug, Default)]
struct Slot {
    state: Option<PathState>,
    children: BTreeMap<Box<[u8]>, usize>,
}

/// Known contents of the directory.
#[derive(Debug)]
pub struct FsModel {
    nodes: Vec<KnownAttributes>,
    /// All entries; the first is the directory itself.
    slots: Vec<Slot>,
    /// Entry of each path, valid if its number is the number of directory renames so far.
    found: Vec<(u32, usize)>,
    renames: u32,
    /// True if all entries before the first operation are known.
    complete: bool,
}

impl FsModel {
    /// Creates a directory with unknown contents.
    pub fn new() -> Self {
        let mut world = Self {
            nodes: Vec::new(),
            slots: vec![Slot::default()],
            found: vec![(1, TOP)],
            renames: 1,
            complete: false,
        };
        let top = world.add(InodeType::Directory, 0o755, Some(PathId::TOP));
        world.slots[TOP].state = Some(PathState::Present(top));
        world
    }

    /// Creates a directory with these entries. All other entries appear later.
    pub fn with_entries(paths: &PathInterner, entries: &[TreeEntry]) -> Self {
        let mut world = Self { complete: true, ..Self::new() };
        for entry in entries {
            let (kind, size) = match &entry.kind {
                TracedKind::File { size } => (InodeType::File, *size),
                TracedKind::Directory => (InodeType::Directory, 0),
                TracedKind::Symlink(text) => (InodeType::Symlink(text.clone()), 0),
                TracedKind::Pipe => (InodeType::Pipe, 0),
                TracedKind::Link(first) => {
                    if let Some(there) = world.state(paths, *first) {
                        world.place(paths, entry.path, there);
                    }
                    continue;
                }
            };
            let node = world.add(kind, entry.mode, None);
            world.nodes[node.0].size = size;
            world.place(paths, entry.path, PathState::Present(node));
        }
        world
    }

    /// Returns the entry of a path, and adds unknown entries on the way to it.
    fn slot(&mut self, paths: &PathInterner, path: PathId) -> usize {
        let mut below = Vec::new();
        let mut at = path;
        let mut slot = loop {
            match (self.found.get(at.0 as usize), paths.parent(at)) {
                (Some((renames, slot)), _) if *renames == self.renames => break *slot,
                (_, None) => break TOP,
                (_, Some(parent)) => {
                    below.push(at);
                    at = parent;
                }
            }
        };
        for path in below.into_iter().rev() {
            let name = paths.name(path).unwrap_or_default();
            slot = match self.slots[slot].children.get(name) {
                Some(child) => *child,
                None => {
                    self.slots.push(Slot::default());
                    let child = self.slots.len() - 1;
                    self.slots[slot].children.insert(name.into(), child);
                    child
                }
            };
            let at = path.0 as usize;
            if self.found.len() <= at {
                self.found.resize(at + 1, (0, TOP));
            }
            self.found[at] = (self.renames, slot);
        }
        slot
    }

    fn state(&mut self, paths: &PathInterner, path: PathId) -> Option<PathState> {
        let slot = self.slot(paths, path);
        self.slots[slot].state
    }

    fn add(&mut self, kind: InodeType, mode: u16, origin: Option<PathId>) -> Inode {
        self.nodes.push(KnownAttributes {
            kind,
            size: 0,
            mode,
            origin,
            perhaps: None,
            size_before: 0,
            mode_before: mode,
        });
        Inode(self.nodes.len() - 1)
    }

    fn place(&mut self, paths: &PathInterner, path: PathId, there: PathState) {
        let slot = self.slot(paths, path);
        self.slots[slot].state = Some(there);
    }

    /// Returns the node that is known to be at a path.
    pub fn inode_at(&mut self, paths: &PathInterner, path: PathId) -> Option<Inode> {
        match self.state(paths, path) {
            Some(PathState::Present(node)) => Some(node),
            _ => None,
        }
    }

    /// Records that a path exists. Unless a call has created it, it already existed before the
    /// first operation. Returns `None` if it cannot exist.
    pub fn exists(
        &mut self,
        paths: &mut PathInterner,
        path: PathId,
        kind: InodeType,
    ) -> Option<Inode> {
        if let Some(node) = self.inode_at(paths, path) {
            if kind == InodeType::Directory && self.nodes[node.0].kind == InodeType::File {
                self.nodes[node.0].kind = kind;
                self.nodes[node.0].mode = 0o755;
                self.nodes[node.0].mode_before = 0o755;
            }
            return Some(node);
        }
        let origin = match self.complete {
            true => None,
            false => {
                let may_exist = self.state(paths, path).is_none();
                Some(may_exist.then(|| self.origin_of(paths, path))??)
            }
        };
        let mode = if kind == InodeType::Directory { 0o755 } else { 0o644 };
        let node = self.add(kind, mode, origin);
        self.place(paths, path, PathState::Present(node));
        Some(node)
    }

    /// Returns the path before the first operation of an entry that is now at a path. The two
    /// differ if directories have been renamed since.
    fn origin_of(&mut self, paths: &mut PathInterner, path: PathId) -> Option<PathId> {
        let parent = paths.parent(path)?;
        let directory = self.exists(paths, parent, InodeType::Directory)?;
        let origin = self.nodes[directory.0].origin?;
        let name = paths.name(path)?.to_vec();
        Some(paths.intern_child(origin, &name))
    }

    /// Records that a path did not exist.
    pub fn observe_absent(&mut self, paths: &PathInterner, path: PathId) {
        if self.state(paths, path).is_none() {
            self.place(paths, path, PathState::Absent);
        }
    }

    /// Records that a call created an entry. Returns `None` if the path already exists or its
    /// directory does not.
    pub fn make(
        &mut self,
        paths: &mut PathInterner,
        path: PathId,
        kind: InodeType,
        mode: u16,
    ) -> Option<Inode> {
        if self.inode_at(paths, path).is_some() && !self.complete {
            return None;
        }
        self.exists(paths, paths.parent(path)?, InodeType::Directory)?;
        let node = self.add(kind, mode, None);
        self.place(paths, path, PathState::Present(node));
        Some(node)
    }

    /// Records a successful `open` with `O_CREAT`. If the file is not known to exist, it is
    /// created.
    pub fn open_or_make(
        &mut self,
        paths: &mut PathInterner,
        path: PathId,
        mode: u16,
    ) -> Option<Inode> {
        if let Some(node) = self.inode_at(paths, path) {
            return Some(node);
        }
        let may_have_been = self.state(paths, path).is_none();
        let origin = self.origin_of(paths, path).filter(|_| may_have_been);
        let node = self.make(paths, path, InodeType::File, mode)?;
        self.nodes[node.0].perhaps = origin;
        Some(node)
    }

    /// Adds an unnamed file.
    pub fn add_anonymous(&mut self, mode: u16) -> Inode {
        self.add(InodeType::File, mode, None)
    }

    /// Records that a path was removed.
    pub fn remove(&mut self, paths: &PathInterner, path: PathId) {
        self.place(paths, path, PathState::Absent);
    }

    /// A further name.
    pub fn link(&mut self, paths: &mut PathInterner, node: Inode, to: PathId) {
        if let Some(parent) = paths.parent(to) {
            let _ = self.exists(paths, parent, InodeType::Directory);
        }
        self.place(paths, to, PathState::Present(node));
    }

    /// Renames a path and everything below it.
    pub fn rename(&mut self, paths: &PathInterner, from: PathId, to: PathId, exchange: bool) {
        let first = self.take(paths, from);
        let second = self.take(paths, to);
        match exchange {
            true => self.put(paths, from, second),
            false => self.place(paths, from, PathState::Absent),
        }
        self.put(paths, to, first);
    }

    /// Removes a path and everything below it. The path stays a known name of its directory.
    fn take(&mut self, paths: &PathInterner, path: PathId) -> Slot {
        let slot = self.slot(paths, path);
        let state = self.slots[slot].state.map(|_| PathState::Absent);
        let taken = std::mem::replace(&mut self.slots[slot], Slot { state, ..Slot::default() });
        // The entries below have other paths now.
        self.renames += u32::from(!taken.children.is_empty());
        taken
    }

    fn put(&mut self, paths: &PathInterner, path: PathId, taken: Slot) {
        if taken.state.is_some() || !taken.children.is_empty() {
            let slot = self.slot(paths, path);
            self.renames += u32::from(!self.slots[slot].children.is_empty());
            self.slots[slot] = taken;
        }
    }

    /// Returns the known size.
    pub fn size(&self, node: Inode) -> u64 {
        self.nodes[node.0].size
    }

    /// Records that the file has at least this size after a write.
    pub fn grow(&mut self, node: Inode, size: u64) {
        let node = &mut self.nodes[node.0];
        node.size = node.size.max(size);
    }

    /// Sets the size of the file.
    pub fn resize(&mut self, node: Inode, size: u64) {
        self.nodes[node.0].size = size;
    }

    /// Records that a call has shown a minimum size. If the known size is smaller, the file already
    /// had this size before the first operation.
    pub fn observe_size(&mut self, node: Inode, size: u64) {
        let node = &mut self.nodes[node.0];
        if size > node.size {
            node.origin = node.origin.or(node.perhaps);
            node.size_before = size;
            node.size = size;
        }
    }

    /// Records the type and the permissions that a call has shown.
    pub fn observe_type(&mut self, node: Inode, kind: InodeType, mode: u16) {
        let node = &mut self.nodes[node.0];
        if node.kind == InodeType::File {
            node.kind = kind;
        }
        if node.origin.is_some() && node.mode == node.mode_before {
            node.mode_before = mode;
        }
        node.mode = mode;
    }

    /// Sets the target of a symbolic link.
    pub fn observe_link_target(&mut self, node: Inode, text: Vec<u8>) {
        self.nodes[node.0].kind = InodeType::Symlink(text);
    }

    /// Sets the permissions.
    pub fn change_mode(&mut self, node: Inode, mode: u16) {
        self.nodes[node.0].mode = mode & 0o7777;
    }

    /// Returns the kind of a node.
    pub fn kind(&self, node: Inode) -> &InodeType {
        &self.nodes[node.0].kind
    }

    /// Returns the entries before the first operation.
    pub fn before(&self) -> Vec<TreeEntry> {
        let nodes = self.nodes.iter().filter_map(|node| Some((node.origin?, node)));
        let nodes = nodes.filter(|(origin, _)| *origin != PathId::TOP);
        let mut entries: Vec<TreeEntry> = nodes
            .map(|(path, node)| TreeEntry {
                path,
                kind: entry_kind(node, node.size_before),
                mode: node.mode_before,
            })
            .collect();
        entries.sort_by_key(|entry| entry.path);
        entries
    }

    /// Returns the current entries.
    pub fn after(&self, paths: &mut PathInterner) -> Vec<TreeEntry> {
        let mut there: Vec<(PathId, Inode)> = Vec::new();
        let mut left = vec![(PathId::TOP, TOP)];
        while let Some((path, slot)) = left.pop() {
            for (name, child) in &self.slots[slot].children {
                if let Some(PathState::Present(node)) = self.slots[*child].state {
                    let path = paths.intern_child(path, name);
                    there.push((path, node));
                    left.push((path, *child));
                }
            }
        }
        there.sort_by_key(|(path, _)| *path);
        let mut first: HashMap<Inode, PathId> = HashMap::new();
        let entry = |(path, node): (PathId, Inode)| {
            let known = &self.nodes[node.0];
            let original = *first.entry(node).or_insert(path);
            TreeEntry {
                path,
                kind: match original == path {
                    true => entry_kind(known, known.size),
                    false => TracedKind::Link(original),
                },
                mode: known.mode,
            }
        };
        there.into_iter().map(entry).collect()
    }
}

fn entry_kind(node: &KnownAttributes, size: u64) -> TracedKind {
    match &node.kind {
        InodeType::File => TracedKind::File { size },
        InodeType::Directory => TracedKind::Directory,
        InodeType::Symlink(text) => TracedKind::Symlink(text.clone()),
        InodeType::Pipe => TracedKind::Pipe,
    }
}
