//! What the phases of a cell have made so far: files, sets of files, trees; and where.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::error::OpError;
use crate::ops::Removed;
use crate::pattern::{BLOCK, Origin, Pattern, file_id};
use crate::set::{FileSet, PathBuffer};
use crate::shape::TreeShape;

/// A file as it was last written.
#[derive(Clone, Debug)]
pub struct FileState {
    /// Size in bytes.
    pub size: u64,
    /// Identity and generation of its blocks.
    pub origin: Origin,
    /// Its size before the last append.
    pub before_append: u64,
    /// Blocks (in units of the stamp's 4 KiB) that a random write has brought one generation further.
    pub ahead: HashSet<u64>,
}

impl FileState {
    /// A file that was just written under this name.
    pub fn new(name: &str, size: u64) -> Self {
        Self {
            size,
            before_append: size,
            origin: Origin {
                file: file_id(name),
                generation: 1,
            },
            ahead: HashSet::new(),
        }
    }

    /// The origin that the block at an offset carries now.
    pub fn origin_at(&self, offset: u64) -> Origin {
        let ahead = self.ahead.contains(&(offset / BLOCK as u64));
        Origin {
            generation: self.origin.generation + u32::from(ahead),
            ..self.origin
        }
    }
}

/// A tree made by planting or by copying.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Its directories and files.
    pub shape: TreeShape,
    /// The name under which it was first written; a copy's blocks carry it, too.
    pub planted_as: String,
}

/// The directory in which a cell works, and what is in it.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    seed: u64,
    pattern: Option<Pattern>,
    pub(crate) files: BTreeMap<String, FileState>,
    pub(crate) sets: BTreeMap<String, FileSet>,
    pub(crate) trees: BTreeMap<String, Tree>,
    /// Files and trees that the last removal of that name took away, to make them again.
    pub(crate) removed_files: BTreeMap<String, FileState>,
    pub(crate) removed_trees: BTreeMap<String, Tree>,
    pub(crate) removed_sets: BTreeMap<String, Removed>,
    /// Sets that this filesystem cannot hold, and what it said.
    pub(crate) impossible_sets: BTreeMap<String, String>,
}

impl Workspace {
    /// An empty workspace in a directory that exists.
    pub fn new(root: &Path, seed: u64) -> Self {
        Self {
            root: root.to_owned(),
            seed,
            pattern: None,
            files: BTreeMap::new(),
            sets: BTreeMap::new(),
            trees: BTreeMap::new(),
            removed_files: BTreeMap::new(),
            removed_trees: BTreeMap::new(),
            removed_sets: BTreeMap::new(),
            impossible_sets: BTreeMap::new(),
        }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The seed of the cell.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The path of a name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Every file with content, for asking the kernel to forget it.
    pub fn content_files(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let files = self.files.keys().map(|name| self.path(name));
        let trees = self.trees.iter().flat_map(|(name, tree)| {
            let top = self.path(name);
            tree.shape.files.iter().map(move |f| top.join(&f.path))
        });
        let sets = self.sets.values().filter(|set| set.has_content());
        let in_sets = sets.flat_map(|set| {
            let mut path = PathBuffer::new(&set.top);
            (0..set.len()).map(move |position| {
                set.write_path(&set.entry(position), &mut path);
                path.path().to_owned()
            })
        });
        files.chain(trees).chain(in_sets)
    }

    /// The pattern, made once and long enough for requests of so many bytes.
    pub(crate) fn pattern(&mut self, longest_request: usize) -> Pattern {
        let fits = self
            .pattern
            .as_ref()
            .is_some_and(|p| p.reach() >= longest_request);
        if !fits {
            self.pattern = Some(Pattern::new(self.seed, longest_request));
        }
        self.pattern.clone().expect("made above")
    }

    /// A file of an earlier phase.
    pub(crate) fn file(&self, name: &str) -> Result<&FileState, OpError> {
        self.files.get(name).ok_or_else(|| missing("file", name))
    }

    /// A set of an earlier phase.
    pub(crate) fn set(&self, name: &str) -> Result<&FileSet, OpError> {
        match (self.sets.get(name), self.impossible_sets.get(name)) {
            (Some(set), _) => Ok(set),
            (None, Some(said)) => Err(OpError::Unsupported {
                reason: format!("the set `{name}` could not be made: {said}"),
            }),
            (None, None) => Err(missing("set", name)),
        }
    }

    /// A tree of an earlier phase.
    pub(crate) fn tree(&self, name: &str) -> Result<&Tree, OpError> {
        self.trees.get(name).ok_or_else(|| missing("tree", name))
    }
}

fn missing(kind: &str, name: &str) -> OpError {
    OpError::Missing {
        what: format!("the {kind} `{name}`"),
    }
}
