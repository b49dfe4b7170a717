//! Paths below the recorded directory. Each name is stored once per parent.

use std::collections::HashMap;

/// A path below the recorded directory; 0 is the directory itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

impl PathId {
    /// The recorded directory.
    pub const TOP: Self = Self(0);
}

/// All paths of a trace. A path consists of its parent and its last name. Parents precede their
/// entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathInterner {
    /// Parent and last name of each path except the top.
    nodes: Vec<(PathId, Box<[u8]>)>,
    known: HashMap<(PathId, Box<[u8]>), PathId>,
}

impl PathInterner {
    /// Returns the path of a name in a directory, and adds it if it is new.
    pub fn intern_child(&mut self, parent: PathId, name: &[u8]) -> PathId {
        let key = (parent, Box::from(name));
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        self.nodes.push(key.clone());
        let id = PathId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.known.insert(key, id);
        id
    }

    /// Returns the path of a name in a directory, if known.
    pub fn find(&self, parent: PathId, name: &[u8]) -> Option<PathId> {
        self.known.get(&(parent, Box::from(name))).copied()
    }

    /// Returns the path of names separated by `/`, starting from the top. Ignores `.` and empty
    /// names.
    pub fn intern(&mut self, path: &[u8]) -> PathId {
        let names = path.split(|letter| *letter == b'/');
        names
            .filter(|name| !name.is_empty() && *name != b".")
            .fold(PathId::TOP, |parent, name| self.intern_child(parent, name))
    }

    /// Returns the parent directory of a path, or `None` for the top.
    pub fn parent(&self, path: PathId) -> Option<PathId> {
        self.node(path).map(|(parent, _)| *parent)
    }

    /// Returns the last name of a path, or `None` for the top.
    pub fn name(&self, path: PathId) -> Option<&[u8]> {
        self.node(path).map(|(_, name)| &**name)
    }

    /// Returns the whole path below the top, with names separated by `/`. The top itself is empty.
    pub fn full(&self, path: PathId) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = path;
        while let Some((parent, name)) = self.node(at) {
            names.push(&**name);
            at = *parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// Returns the number of paths, including the top.
    pub fn len(&self) -> usize {
        self.nodes.len() + 1
    }

    /// Returns true if the only path is the top.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns all paths except the top, parents first.
    pub fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (1..=u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(PathId)
    }

    fn node(&self, path: PathId) -> Option<&(PathId, Box<[u8]>)> {
        let index = (path.0 as usize).checked_sub(1)?;
        self.nodes.get(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_paths_come_back() {
        let mut paths = PathInterner::default();
        let file = paths.intern(b"src/./lib//a.c");
        assert_eq!(paths.intern(b"/src/lib/a.c"), file);
        assert_eq!(paths.full(file), b"src/lib/a.c");
        assert_eq!(paths.name(file), Some(&b"a.c"[..]));
        let parent = paths.parent(file).unwrap();
        assert_eq!(paths.full(parent), b"src/lib");
        assert_eq!((paths.len(), paths.full(PathId::TOP)), (4, Vec::new()));
        assert!(paths.ids().all(|id| paths.parent(id).unwrap() < id));
    }
}
