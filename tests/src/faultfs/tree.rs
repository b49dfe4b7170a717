//! Files and directories of the fault driver in memory. This module injects no faults.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::content::Content;

/// Error number of the kernel.
pub type FaultErrno = i32;

/// Number of the top directory, as required by FUSE.
pub const ROOT: u64 = 1;

/// Type and content of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File(Content),
    /// A directory: node numbers by name.
    Directory(BTreeMap<Vec<u8>, u64>),
    /// A symbolic link and its target.
    Symlink(Vec<u8>),
}

/// Owner and permissions of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOwner {
    /// Permission bits.
    pub mode: u16,
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// A file, directory or symbolic link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// Type and content.
    pub kind: NodeKind,
    /// Owner and permissions.
    pub owner: FileOwner,
    /// Number of names of the node.
    pub links: u32,
    /// Number of open handles.
    pub opened: u32,
    /// Time of the last write.
    pub modified: SystemTime,
}

impl TreeNode {
    /// Creates a node with one name.
    pub fn new(kind: NodeKind, owner: FileOwner) -> Self {
        Self { kind, owner, links: 1, opened: 0, modified: SystemTime::now() }
    }
}

/// All nodes of a filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<u64, TreeNode>,
    next: u64,
}

impl Default for Tree {
    fn default() -> Self {
        let owner = FileOwner { mode: 0o755, uid: 0, gid: 0 };
        let root = TreeNode::new(NodeKind::Directory(BTreeMap::new()), owner);
        Self::from_nodes(BTreeMap::from([(ROOT, root)]))
    }
}

impl Tree {
    /// Creates a tree from existing nodes.
    pub fn from_nodes(nodes: BTreeMap<u64, TreeNode>) -> Self {
        let next = nodes.last_key_value().map_or(ROOT, |(&last, _)| last) + 1;
        Self { nodes, next }
    }

    /// Returns all nodes by number.
    pub const fn nodes(&self) -> &BTreeMap<u64, TreeNode> {
        &self.nodes
    }

    /// Returns the space that all files occupy, in bytes.
    pub fn space(&self) -> u64 {
        let space = |node: &TreeNode| match &node.kind {
            NodeKind::File(content) => content.space(),
            NodeKind::Directory(_) | NodeKind::Symlink(_) => 0,
        };
        self.nodes.values().map(space).sum()
    }

    /// Returns a node.
    ///
    /// # Errors
    /// Returns `ENOENT` if the number is unknown.
    pub fn node(&self, number: u64) -> Result<&TreeNode, FaultErrno> {
        self.nodes.get(&number).ok_or(libc::ENOENT)
    }

    /// Returns a node for changes.
    ///
    /// # Errors
    /// Returns `ENOENT` if the number is unknown.
    pub fn node_mut(&mut self, number: u64) -> Result<&mut TreeNode, FaultErrno> {
        self.nodes.get_mut(&number).ok_or(libc::ENOENT)
    }

    /// Returns the content of a regular file.
    ///
    /// # Errors
    /// Returns `EISDIR` if the node is not a regular file, `ENOENT` if it does not exist.
    pub fn content(&self, number: u64) -> Result<&Content, FaultErrno> {
        match &self.node(number)?.kind {
            NodeKind::File(content) => Ok(content),
            NodeKind::Directory(_) | NodeKind::Symlink(_) => Err(libc::EISDIR),
        }
    }

    /// Returns the content of a regular file for changes and sets the modification time to now.
    ///
    /// # Errors
    /// Returns the errors of [`Tree::content`].
    pub fn content_mut(&mut self, number: u64) -> Result<&mut Content, FaultErrno> {
        let node = self.node_mut(number)?;
        node.modified = SystemTime::now();
        match &mut node.kind {
            NodeKind::File(content) => Ok(content),
            NodeKind::Directory(_) | NodeKind::Symlink(_) => Err(libc::EISDIR),
        }
    }

    /// Returns the entries of a directory.
    ///
    /// # Errors
    /// Returns `ENOTDIR` if the node is not a directory.
    pub fn entries(&self, number: u64) -> Result<&BTreeMap<Vec<u8>, u64>, FaultErrno> {
        match &self.node(number)?.kind {
            NodeKind::Directory(entries) => Ok(entries),
            NodeKind::File(_) | NodeKind::Symlink(_) => Err(libc::ENOTDIR),
        }
    }

    fn entries_mut(&mut self, number: u64) -> Result<&mut BTreeMap<Vec<u8>, u64>, FaultErrno> {
        let node = self.node_mut(number)?;
        node.modified = SystemTime::now();
        match &mut node.kind {
            NodeKind::Directory(entries) => Ok(entries),
            NodeKind::File(_) | NodeKind::Symlink(_) => Err(libc::ENOTDIR),
        }
    }

    /// Returns the node with this name.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`.
    pub fn look_up(&self, parent: u64, name: &[u8]) -> Result<u64, FaultErrno> {
        self.entries(parent)?.get(name).copied().ok_or(libc::ENOENT)
    }

    /// Adds a new node with a name.
    ///
    /// # Errors
    /// `EEXIST`, `ENOENT`, `ENOTDIR`.
    pub fn add(&mut self, parent: u64, name: &[u8], node: TreeNode) -> Result<u64, FaultErrno> {
        let number = self.next;
        self.name(parent, name, number)?;
        self.nodes.insert(number, node);
        self.next += 1;
        Ok(number)
    }

    /// Adds another name to a node.
    ///
    /// # Errors
    /// `EEXIST`, `ENOENT`, `ENOTDIR`.
    pub fn link(&mut self, number: u64, parent: u64, name: &[u8]) -> Result<(), FaultErrno> {
        self.node(number)?;
        self.name(parent, name, number)?;
        self.node_mut(number)?.links += 1;
        Ok(())
    }

    fn name(&mut self, parent: u64, name: &[u8], number: u64) -> Result<(), FaultErrno> {
        let entries = self.entries_mut(parent)?;
        if entries.contains_key(name) {
            return Err(libc::EEXIST);
        }
        entries.insert(name.to_vec(), number);
        Ok(())
    }

    /// Removes a name. Also removes the node if this was its last name and the node is not open.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`, `ENOTEMPTY`.
    pub fn remove(&mut self, parent: u64, name: &[u8]) -> Result<(), FaultErrno> {
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
    pub fn rename(&mut self, from: (u64, &[u8]), to: (u64, &[u8])) -> Result<(), FaultErrno> {
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

    /// Increments the open count of a file.
    ///
    /// # Errors
    /// `ENOENT`.
    pub fn open(&mut self, number: u64) -> Result<(), FaultErrno> {
        self.node_mut(number)?.opened += 1;
        Ok(())
    }

    /// Closes a file opened with [`Tree::open`].
    pub fn close(&mut self, number: u64) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.opened -= 1;
        }
        self.forget_unused(number);
    }

    fn forget_unused(&mut self, number: u64) {
        if self.nodes.get(&number).is_some_and(|node| node.links == 0 && node.opened == 0) {
            self.nodes.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> TreeNode {
        let owner = FileOwner { mode: 0o644, uid: 0, gid: 0 };
        TreeNode::new(NodeKind::File(Content::default()), owner)
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
