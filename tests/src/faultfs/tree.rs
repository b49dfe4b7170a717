//! The files and directories of the fault driver, in memory. No fault is made here.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::content::Content;

/// An error number of the kernel.
pub type Errno = i32;

/// Number of the top directory, as FUSE demands.
pub const ROOT: u64 = 1;

/// Type and content of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File(Content),
    /// A directory: names and the nodes they stand for.
    Directory(BTreeMap<Vec<u8>, u64>),
    /// A symbolic link and its target.
    Symlink(Vec<u8>),
}

/// Owner and permissions of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Permission bits.
    pub mode: u16,
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// A file, directory or symbolic link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Type and content.
    pub kind: Kind,
    /// Owner and permissions.
    pub owner: Owner,
    /// Names that stand for it.
    pub links: u32,
    /// Times it is open now.
    pub opened: u32,
    /// When it was last written.
    pub modified: SystemTime,
}

impl Node {
    /// A node with one name.
    pub fn new(kind: Kind, owner: Owner) -> Self {
        Self {
            kind,
            owner,
            links: 1,
            opened: 0,
            modified: SystemTime::now(),
        }
    }
}

/// All nodes of a filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<u64, Node>,
    next: u64,
}

impl Default for Tree {
    fn default() -> Self {
        let owner = Owner {
            mode: 0o755,
            uid: 0,
            gid: 0,
        };
        let root = Node::new(Kind::Directory(BTreeMap::new()), owner);
        Self::from_nodes(BTreeMap::from([(ROOT, root)]))
    }
}

impl Tree {
    /// A tree of nodes that were read from somewhere.
    pub fn from_nodes(nodes: BTreeMap<u64, Node>) -> Self {
        let next = nodes.last_key_value().map_or(ROOT, |(&last, _)| last) + 1;
        Self { nodes, next }
    }

    /// Every node by its number.
    pub const fn nodes(&self) -> &BTreeMap<u64, Node> {
        &self.nodes
    }

    /// Bytes that all files take.
    pub fn space(&self) -> u64 {
        let space = |node: &Node| match &node.kind {
            Kind::File(content) => content.space(),
            Kind::Directory(_) | Kind::Symlink(_) => 0,
        };
        self.nodes.values().map(space).sum()
    }

    /// Returns a node.
    ///
    /// # Errors
    /// Returns `ENOENT` if the number is unknown.
    pub fn node(&self, number: u64) -> Result<&Node, Errno> {
        self.nodes.get(&number).ok_or(libc::ENOENT)
    }

    /// Returns a node for changes.
    ///
    /// # Errors
    /// Returns `ENOENT` if the number is unknown.
    pub fn node_mut(&mut self, number: u64) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&number).ok_or(libc::ENOENT)
    }

    /// Returns the content of a regular file.
    ///
    /// # Errors
    /// Returns `EISDIR` if the node is not a regular file, `ENOENT` if it does not exist.
    pub fn content(&self, number: u64) -> Result<&Content, Errno> {
        match &self.node(number)?.kind {
            Kind::File(content) => Ok(content),
            Kind::Directory(_) | Kind::Symlink(_) => Err(libc::EISDIR),
        }
    }

    /// The content of a regular file, to change it; its time of change becomes now.
    ///
    /// # Errors
    /// As [`Tree::content`].
    pub fn content_mut(&mut self, number: u64) -> Result<&mut Content, Errno> {
        let node = self.node_mut(number)?;
        node.modified = SystemTime::now();
        match &mut node.kind {
            Kind::File(content) => Ok(content),
            Kind::Directory(_) | Kind::Symlink(_) => Err(libc::EISDIR),
        }
    }

    /// Returns the entries of a directory.
    ///
    /// # Errors
    /// Returns `ENOTDIR` if the node is not a directory.
    pub fn entries(&self, number: u64) -> Result<&BTreeMap<Vec<u8>, u64>, Errno> {
        match &self.node(number)?.kind {
            Kind::Directory(entries) => Ok(entries),
            Kind::File(_) | Kind::Symlink(_) => Err(libc::ENOTDIR),
        }
    }

    fn entries_mut(&mut self, number: u64) -> Result<&mut BTreeMap<Vec<u8>, u64>, Errno> {
        let node = self.node_mut(number)?;
        node.modified = SystemTime::now();
        match &mut node.kind {
            Kind::Directory(entries) => Ok(entries),
            Kind::File(_) | Kind::Symlink(_) => Err(libc::ENOTDIR),
        }
    }

    /// The node that a name stands for.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`.
    pub fn look_up(&self, parent: u64, name: &[u8]) -> Result<u64, Errno> {
        self.entries(parent)?.get(name).copied().ok_or(libc::ENOENT)
    }

    /// Puts a new node under a name.
    ///
    /// # Errors
    /// `EEXIST`, `ENOENT`, `ENOTDIR`.
    pub fn add(&mut self, parent: u64, name: &[u8], node: Node) -> Result<u64, Errno> {
        let number = self.next;
        self.name(parent, name, number)?;
        self.nodes.insert(number, node);
        self.next += 1;
        Ok(number)
    }

    /// Gives a node one more name.
    ///
    /// # Errors
    /// `EEXIST`, `ENOENT`, `ENOTDIR`.
    pub fn link(&mut self, number: u64, parent: u64, name: &[u8]) -> Result<(), Errno> {
        self.node(number)?;
        self.name(parent, name, number)?;
        self.node_mut(number)?.links += 1;
        Ok(())
    }

    fn name(&mut self, parent: u64, name: &[u8], number: u64) -> Result<(), Errno> {
        let entries = self.entries_mut(parent)?;
        if entries.contains_key(name) {
            return Err(libc::EEXIST);
        }
        entries.insert(name.to_vec(), number);
        Ok(())
    }

    /// Removes a name, and the node with its last name when it is not open.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`, `ENOTEMPTY`.
    pub fn remove(&mut self, parent: u64, name: &[u8]) -> Result<(), Errno> {
        let number = self.look_up(parent, name)?;
        if self.entries(number).is_ok_and(|e| !e.is_empty()) {
            return Err(libc::ENOTEMPTY);
        }
        self.entries_mut(parent)?.remove(name);
        self.node_mut(number)?.links -= 1;
        self.forget_unused(number);
        Ok(())
    }

    /// Renames an entry, replacing an existing target.
    ///
    /// # Errors
    /// Returns `ENOENT`, `ENOTDIR` or `ENOTEMPTY`.
    pub fn rename(&mut self, from: (u64, &[u8]), to: (u64, &[u8])) -> Result<(), Errno> {
        let number = self.look_up(from.0, from.1)?;
        match self.look_up(to.0, to.1) {
            Ok(replaced) if replaced == number => return Ok(()),
            Ok(_) => self.remove(to.0, to.1)?,
            Err(libc::ENOENT) => {}
            Err(error) => return Err(error),
        }
        self.entries_mut(to.0)?.insert(to.1.to_vec(), number);
        self.entries_mut(from.0)?.remove(from.1);
        Ok(())
    }

    /// Counts an open file.
    ///
    /// # Errors
    /// `ENOENT`.
    pub fn open(&mut self, number: u64) -> Result<(), Errno> {
        self.node_mut(number)?.opened += 1;
        Ok(())
    }

    /// Ends what [`Tree::open`] began.
    pub fn close(&mut self, number: u64) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.opened -= 1;
        }
        self.forget_unused(number);
    }

    fn forget_unused(&mut self, number: u64) {
        if self
            .nodes
            .get(&number)
            .is_some_and(|node| node.links == 0 && node.opened == 0)
        {
            self.nodes.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Node {
        let owner = Owner {
            mode: 0o644,
            uid: 0,
            gid: 0,
        };
        Node::new(Kind::File(Content::default()), owner)
    }

    #[test]
    fn a_file_lives_until_its_last_name_and_handle_are_closed() {
        let mut tree = Tree::default();
        let number = tree.add(ROOT, b"a", file()).unwrap();
        tree.link(number, ROOT, b"b").unwrap();
        tree.open(number).unwrap();
        tree.remove(ROOT, b"a").unwrap();
        tree.remove(ROOT, b"b").unwrap();
        assert!(tree.node(number).is_ok(), "still open");
        tree.close(number);
        assert_eq!(tree.node(number), Err(libc::ENOENT));
    }

    #[test]
    fn renaming_replaces_an_existing_file() {
        let mut tree = Tree::default();
        let number = tree.add(ROOT, b"a", file()).unwrap();
        let other = tree.add(ROOT, b"b", file()).unwrap();
        tree.rename((ROOT, b"a"), (ROOT, b"b")).unwrap();
        assert_eq!(tree.look_up(ROOT, b"b"), Ok(number));
        assert_eq!(tree.look_up(ROOT, b"a"), Err(libc::ENOENT));
        assert!(tree.node(other).is_err());
    }
}
