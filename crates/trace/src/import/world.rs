//! What lay in the directory before and afterwards, as far as a program's calls tell: what succeeds where nothing was made
//! was there already.

use std::collections::HashMap;

use crate::paths::{PathId, Paths};
use crate::trace::{Entry, EntryKind};

/// A file, directory or link, whatever its names are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node(usize);

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file, or something of which nobody has said what it is.
    File,
    Directory,
    Symlink(Vec<u8>),
    Pipe,
}

#[derive(Clone, Debug)]
struct Known {
    kind: Kind,
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
enum There {
    Nothing,
    Node(Node),
}

/// What lies in the directory.
#[derive(Debug)]
pub struct World {
    nodes: Vec<Known>,
    there: HashMap<PathId, There>,
    children: HashMap<PathId, Vec<PathId>>,
    /// What permissions new files are denied.
    pub mask: u16,
}

impl World {
    /// A directory of which nothing is known.
    pub fn new() -> Self {
        let mut world = Self {
            nodes: Vec::new(),
            there: HashMap::new(),
            children: HashMap::new(),
            mask: 0o022,
        };
        let top = world.add(Kind::Directory, 0o755, Some(PathId::TOP));
        world.there.insert(PathId::TOP, There::Node(top));
        world
    }

    fn add(&mut self, kind: Kind, mode: u16, origin: Option<PathId>) -> Node {
        self.nodes.push(Known {
            kind,
            size: 0,
            mode,
            origin,
            perhaps: None,
            size_before: 0,
            mode_before: mode,
        });
        Node(self.nodes.len() - 1)
    }

    fn place(&mut self, paths: &Paths, path: PathId, there: There) {
        if self.there.insert(path, there).is_none()
            && let Some(parent) = paths.parent(path)
        {
            self.children.entry(parent).or_default().push(path);
        }
    }

    /// What is known to be at a path.
    pub fn at(&self, path: PathId) -> Option<Node> {
        match self.there.get(&path) {
            Some(There::Node(node)) => Some(*node),
            _ => None,
        }
    }

    /// Whether it is known that nothing is there.
    pub fn is_absent(&self, path: PathId) -> bool {
        self.there.get(&path) == Some(&There::Nothing)
    }

    /// Something is there, as a call has shown; it was before where no call has made it. None where that cannot be.
    pub fn exists(&mut self, paths: &mut Paths, path: PathId, kind: Kind) -> Option<Node> {
        if let Some(node) = self.at(path) {
            if kind == Kind::Directory && self.nodes[node.0].kind == Kind::File {
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
        let mode = if kind == Kind::Directory {
            0o755
        } else {
            0o644
        };
        let node = self.add(kind, mode, Some(origin));
        self.place(paths, path, There::Node(node));
        Some(node)
    }

    /// Where something that is at a path now would have lain before: directories may have been renamed since.
    fn origin_of(&mut self, paths: &mut Paths, path: PathId) -> Option<PathId> {
        let parent = paths.parent(path)?;
        let directory = self.exists(paths, parent, Kind::Directory)?;
        let origin = self.nodes[directory.0].origin?;
        let name = paths.name(path)?.to_vec();
        Some(paths.join(origin, &name))
    }

    /// Nothing was there, as a call has shown.
    pub fn missing(&mut self, paths: &Paths, path: PathId) {
        if !self.there.contains_key(&path) {
            self.place(paths, path, There::Nothing);
        }
    }

    /// Something was made there. None where something is there already, or its directory is not.
    pub fn make(&mut self, paths: &mut Paths, path: PathId, kind: Kind, mode: u16) -> Option<Node> {
        if self.at(path).is_some() {
            return None;
        }
        self.exists(paths, paths.parent(path)?, Kind::Directory)?;
        let mode = match kind {
            Kind::Symlink(_) => 0o777,
            _ => mode & !self.mask & 0o7777,
        };
        let node = self.add(kind, mode, None);
        self.place(paths, path, There::Node(node));
        Some(node)
    }

    /// A file was opened that is made where it is not there. What is not known to be there is made.
    pub fn open_or_make(&mut self, paths: &mut Paths, path: PathId, mode: u16) -> Option<Node> {
        if let Some(node) = self.at(path) {
            return Some(node);
        }
        let may_have_been = !self.there.contains_key(&path);
        let origin = self.origin_of(paths, path).filter(|_| may_have_been);
        let node = self.make(paths, path, Kind::File, mode)?;
        self.nodes[node.0].perhaps = origin;
        Some(node)
    }

    /// A file without a name.
    pub fn nameless(&mut self, mode: u16) -> Node {
        self.add(Kind::File, mode & !self.mask & 0o7777, None)
    }

    /// What was there is there no more.
    pub fn remove(&mut self, paths: &Paths, path: PathId) {
        self.place(paths, path, There::Nothing);
    }

    /// A further name.
    pub fn link(&mut self, paths: &mut Paths, node: Node, to: PathId) {
        if let Some(parent) = paths.parent(to) {
            let _ = self.exists(paths, parent, Kind::Directory);
        }
        self.place(paths, to, There::Node(node));
    }

    /// Everything at and below a path gets another name.
    pub fn rename(&mut self, paths: &mut Paths, from: PathId, to: PathId, exchange: bool) {
        let first = self.take(from);
        let second = self.take(to);
        if exchange {
            self.put(paths, from, second);
        } else {
            self.place(paths, from, There::Nothing);
        }
        self.put(paths, to, first);
    }

    /// All below a path by the names from there on.
    fn take(&mut self, top: PathId) -> Vec<(Vec<PathId>, There)> {
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
                    .map(|there| std::mem::replace(there, There::Nothing)),
                false => self.there.remove(&path),
            };
            taken.extend(there.map(|there| (way, there)));
        }
        taken
    }

    fn put(&mut self, paths: &mut Paths, top: PathId, taken: Vec<(Vec<PathId>, There)>) {
        for (way, there) in taken {
            let path = way.iter().fold(top, |at, child| {
                let name = paths.name(*child).unwrap_or_default().to_vec();
                paths.join(at, &name)
            });
            self.place(paths, path, there);
        }
    }

    /// The size as it is known.
    pub fn size(&self, node: Node) -> u64 {
        self.nodes[node.0].size
    }

    /// The file is so large by now.
    pub fn grow(&mut self, node: Node, size: u64) {
        let node = &mut self.nodes[node.0];
        node.size = node.size.max(size);
    }

    /// The file has this size from now on.
    pub fn resize(&mut self, node: Node, size: u64) {
        self.nodes[node.0].size = size;
    }

    /// A call has shown that the file has at least this size: the rest of it lay there before.
    pub fn seen_size(&mut self, node: Node, size: u64) {
        let node = &mut self.nodes[node.0];
        if size > node.size {
            node.origin = node.origin.or(node.perhaps);
            node.size_before = size;
            node.size = size;
        }
    }

    /// A call has shown what it is, and its permissions.
    pub fn seen(&mut self, node: Node, kind: Kind, mode: u16) {
        let node = &mut self.nodes[node.0];
        if node.kind == Kind::File {
            node.kind = kind;
        }
        if node.origin.is_some() && node.mode == node.mode_before {
            node.mode_before = mode;
        }
        node.mode = mode;
    }

    /// Its text is this.
    pub fn seen_text(&mut self, node: Node, text: Vec<u8>) {
        self.nodes[node.0].kind = Kind::Symlink(text);
    }

    /// Its permissions are these from now on.
    pub fn change_mode(&mut self, node: Node, mode: u16) {
        self.nodes[node.0].mode = mode & 0o7777;
    }

    /// What it is.
    pub fn kind(&self, node: Node) -> &Kind {
        &self.nodes[node.0].kind
    }

    /// What lay there before.
    pub fn before(&self) -> Vec<Entry> {
        let nodes = self
            .nodes
            .iter()
            .filter_map(|node| Some((node.origin?, node)));
        let nodes = nodes.filter(|(origin, _)| *origin != PathId::TOP);
        let mut entries: Vec<Entry> = nodes
            .map(|(path, node)| Entry {
                path,
                kind: entry_kind(node, node.size_before),
                mode: node.mode_before,
            })
            .collect();
        entries.sort_by_key(|entry| entry.path);
        entries
    }

    /// What lies there now.
    pub fn after(&self) -> Vec<Entry> {
        let mut there: Vec<(PathId, Node)> = self
            .there
            .iter()
            .filter(|(path, _)| **path != PathId::TOP)
            .filter_map(|(path, there)| match there {
                There::Node(node) => Some((*path, *node)),
                There::Nothing => None,
            })
            .collect();
        there.sort_by_key(|(path, _)| *path);
        let mut first: HashMap<Node, PathId> = HashMap::new();
        let entry = |(path, node): (PathId, Node)| {
            let known = &self.nodes[node.0];
            let original = *first.entry(node).or_insert(path);
            Entry {
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

fn entry_kind(node: &Known, size: u64) -> EntryKind {
    match &node.kind {
        Kind::File => EntryKind::File { size },
        Kind::Directory => EntryKind::Directory,
        Kind::Symlink(text) => EntryKind::Symlink(text.clone()),
        Kind::Pipe => EntryKind::Pipe,
    }
}
