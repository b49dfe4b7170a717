//! Entries of the directory before and after, inferred from the calls of a program: if a call
//! succeeds on a path that the program has not created, the path already existed.

use std::collections::HashMap;

use crate::paths::{PathId, PathInterner};
use crate::trace::{TracedKind, TreeEntry};

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

/// Known contents of the directory.
#[derive(Debug)]
pub struct FsModel {
    nodes: Vec<KnownAttributes>,
    there: HashMap<PathId, PathState>,
    children: HashMap<PathId, Vec<PathId>>,
    /// True if all entries before the first operation are known.
    complete: bool,
}

impl FsModel {
    /// Creates a directory with unknown contents.
    pub fn new() -> Self {
        let mut world = Self {
            nodes: Vec::new(),
            there: HashMap::new(),
            children: HashMap::new(),
            complete: false,
        };
        let top = world.add(InodeType::Directory, 0o755, Some(PathId::TOP));
        world.there.insert(PathId::TOP, PathState::Present(top));
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
                    if let Some(there) = world.there.get(first).copied() {
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
        if self.there.insert(path, there).is_none()
            && let Some(parent) = paths.parent(path)
        {
            self.children.entry(parent).or_default().push(path);
        }
    }

    /// Returns the node that is known to be at a path.
    pub fn inode_at(&self, path: PathId) -> Option<Inode> {
        match self.there.get(&path) {
            Some(PathState::Present(node)) => Some(*node),
            _ => None,
        }
    }

    /// Returns true if the path is known not to exist.
    pub fn is_absent(&self, path: PathId) -> bool {
        self.there.get(&path) == Some(&PathState::Absent)
    }

    /// Records that a path exists. Unless a call has created it, it already existed before the
    /// first operation. Returns `None` if it cannot exist.
    pub fn exists(
        &mut self,
        paths: &mut PathInterner,
        path: PathId,
        kind: InodeType,
    ) -> Option<Inode> {
        if let Some(node) = self.inode_at(path) {
            if kind == InodeType::Directory && self.nodes[node.0].kind == InodeType::File {
                self.nodes[node.0].kind = kind;
                self.nodes[node.0].mode = 0o755;
                self.nodes[node.0].mode_before = 0o755;
            }
            return Some(node);
        }
        let origin = match self.complete {
            true => None,
            false if self.is_absent(path) => return None,
            false => Some(self.origin_of(paths, path)?),
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
        if !self.there.contains_key(&path) {
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
        if self.inode_at(path).is_some() && !self.complete {
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
        if let Some(node) = self.inode_at(path) {
            return Some(node);
        }
        let may_have_been = !self.there.contains_key(&path);
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
    pub fn rename(&mut self, paths: &mut PathInterner, from: PathId, to: PathId, exchange: bool) {
        let first = self.take(from);
        let second = self.take(to);
        if exchange {
            self.put(paths, from, second);
        } else {
            self.place(paths, from, PathState::Absent);
        }
        self.put(paths, to, first);
    }

    /// Removes a path and everything below it. Returns each path as the names below `top`, with its
    /// state.
    fn take(&mut self, top: PathId) -> Vec<(Vec<PathId>, PathState)> {
        let mut taken = Vec::new();
        let mut left = vec![(Vec::new(), top)];
        while let Some((way, path)) = left.pop() {
            for child in self.children.remove(&path).unwrap_or_default() {
                left.push(([&way[..], &[child]].concat(), child));
            }
            let there = match way.is_empty() {
                // The top stays a known name of its directory.
                true => self
                    .there
                    .get_mut(&path)
                    .map(|there| std::mem::replace(there, PathState::Absent)),
                false => self.there.remove(&path),
            };
            taken.extend(there.map(|there| (way, there)));
        }
        taken
    }

    fn put(&mut self, paths: &mut PathInterner, top: PathId, taken: Vec<(Vec<PathId>, PathState)>) {
        for (way, there) in taken {
            let path = way.iter().fold(top, |at, child| {
                let name = paths.name(*child).unwrap_or_default().to_vec();
                paths.intern_child(at, &name)
            });
            self.place(paths, path, there);
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
    pub fn after(&self) -> Vec<TreeEntry> {
        let mut there: Vec<(PathId, Inode)> = self
            .there
            .iter()
            .filter(|(path, _)| **path != PathId::TOP)
            .filter_map(|(path, there)| match there {
                PathState::Present(node) => Some((*path, *node)),
                PathState::Absent => None,
            })
            .collect();
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
