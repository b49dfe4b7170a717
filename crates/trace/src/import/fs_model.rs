//! What lay in the directory before and afterwards, as far as a program's calls tell: what succeeds where nothing was made
//! was there already.

use std::collections::HashMap;

use crate::paths::{PathId, PathInterner};
use crate::trace::{EntryKind, TreeEntry};

/// A file, directory or link, whatever its names are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inode(usize);

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InodeType {
    /// A file, or something of which nobody has said what it is.
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
    /// Where it lay before, where it did.
    origin: Option<PathId>,
    /// Where it would have lain, had an `open` that might have made it not done so.
    perhaps: Option<PathId>,
    size_before: u64,
    mode_before: u16,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathState {
    Absent,
    Present(Inode),
}

/// What lies in the directory.
#[derive(Debug)]
pub struct FsModel {
    nodes: Vec<KnownAttributes>,
    there: HashMap<PathId, PathState>,
    children: HashMap<PathId, Vec<PathId>>,
    /// What permissions new files are denied.
    pub mask: u16,
}

impl FsModel {
    /// A directory of which nothing is known.
    pub fn new() -> Self {
        let mut world = Self {
            nodes: Vec::new(),
            there: HashMap::new(),
            children: HashMap::new(),
            mask: 0o022,
        };
        let top = world.add(InodeType::Directory, 0o755, Some(PathId::TOP));
        world.there.insert(PathId::TOP, PathState::Present(top));
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

    /// What is known to be at a path.
    pub fn inode_at(&self, path: PathId) -> Option<Inode> {
        match self.there.get(&path) {
            Some(PathState::Present(node)) => Some(*node),
            _ => None,
        }
    }

    /// Whether it is known that nothing is there.
    pub fn is_absent(&self, path: PathId) -> bool {
        self.there.get(&path) == Some(&PathState::Absent)
    }

    /// Something is there, as a call has shown; it was before where no call has made it. None where that cannot be.
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
        if self.is_absent(path) {
            return None;
        }
        let origin = self.origin_of(paths, path)?;
        let mode = if kind == InodeType::Directory {
            0o755
        } else {
            0o644
        };
        let node = self.add(kind, mode, Some(origin));
        self.place(paths, path, PathState::Present(node));
        Some(node)
    }

    /// Where something that is at a path now would have lain before: directories may have been renamed since.
    fn origin_of(&mut self, paths: &mut PathInterner, path: PathId) -> Option<PathId> {
        let parent = paths.parent(path)?;
        let directory = self.exists(paths, parent, InodeType::Directory)?;
        let origin = self.nodes[directory.0].origin?;
        let name = paths.name(path)?.to_vec();
        Some(paths.intern_child(origin, &name))
    }

    /// Nothing was there, as a call has shown.
    pub fn observe_absent(&mut self, paths: &PathInterner, path: PathId) {
        if !self.there.contains_key(&path) {
            self.place(paths, path, PathState::Absent);
        }
    }

    /// Something was made there. None where something is there already, or its directory is not.
    pub fn make(
        &mut self,
        paths: &mut PathInterner,
        path: PathId,
        kind: InodeType,
        mode: u16,
    ) -> Option<Inode> {
        if self.inode_at(path).is_some() {
            return None;
        }
        self.exists(paths, paths.parent(path)?, InodeType::Directory)?;
        let mode = match kind {
            InodeType::Symlink(_) => 0o777,
            _ => mode & !self.mask & 0o7777,
        };
        let node = self.add(kind, mode, None);
        self.place(paths, path, PathState::Present(node));
        Some(node)
    }

    /// A file was opened that is made where it is not there. What is not known to be there is made.
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

    /// A file without a name.
    pub fn add_anonymous(&mut self, mode: u16) -> Inode {
        self.add(InodeType::File, mode & !self.mask & 0o7777, None)
    }

    /// What was there is there no more.
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

    /// Everything at and below a path gets another name.
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

    /// All below a path by the names from there on.
    fn take(&mut self, top: PathId) -> Vec<(Vec<PathId>, PathState)> {
        let mut taken = Vec::new();
        let mut left = vec![(Vec::new(), top)];
        while let Some((way, path)) = left.pop() {
            for child in self.children.remove(&path).unwrap_or_default() {
                left.push(([&way[..], &[child]].concat(), child));
            }
            let there = match way.is_empty() {
                // It stays one of its directory's names.
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

    /// The size as it is known.
    pub fn size(&self, node: Inode) -> u64 {
        self.nodes[node.0].size
    }

    /// The file is so large by now.
    pub fn grow(&mut self, node: Inode, size: u64) {
        let node = &mut self.nodes[node.0];
        node.size = node.size.max(size);
    }

    /// The file has this size from now on.
    pub fn resize(&mut self, node: Inode, size: u64) {
        self.nodes[node.0].size = size;
    }

    /// A call has shown that the file has at least this size: the rest of it lay there before.
    pub fn observe_size(&mut self, node: Inode, size: u64) {
        let node = &mut self.nodes[node.0];
        if size > node.size {
            node.origin = node.origin.or(node.perhaps);
            node.size_before = size;
            node.size = size;
        }
    }

    /// A call has shown what it is, and its permissions.
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

    /// Its text is this.
    pub fn observe_link_target(&mut self, node: Inode, text: Vec<u8>) {
        self.nodes[node.0].kind = InodeType::Symlink(text);
    }

    /// Its permissions are these from now on.
    pub fn change_mode(&mut self, node: Inode, mode: u16) {
        self.nodes[node.0].mode = mode & 0o7777;
    }

    /// What it is.
    pub fn kind(&self, node: Inode) -> &InodeType {
        &self.nodes[node.0].kind
    }

    /// What lay there before.
    pub fn before(&self) -> Vec<TreeEntry> {
        let nodes = self
            .nodes
            .iter()
            .filter_map(|node| Some((node.origin?, node)));
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

    /// What lies there now.
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
                    false => EntryKind::Link(original),
                },
                mode: known.mode,
            }
        };
        there.into_iter().map(entry).collect()
    }
}

fn entry_kind(node: &KnownAttributes, size: u64) -> EntryKind {
    match &node.kind {
        InodeType::File => EntryKind::File { size },
        InodeType::Directory => EntryKind::Directory,
        InodeType::Symlink(text) => EntryKind::Symlink(text.clone()),
        InodeType::Pipe => EntryKind::Pipe,
    }
}
