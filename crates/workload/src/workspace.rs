//! Files, sets of files and trees that the phases of a cell have created, with their locations.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Bytes, DataKind, Exec, ReportedValue, UnsetAttributes};
use sys::memory;

use crate::data::expected_content::ExpectedFile;
use crate::data::pattern::{BLOCK, Pattern};
use crate::data::shape::TreeLayout;
use crate::error::OpError;
use crate::files::mixed::DynamicFileSet;
use crate::files::path_buffer::PathBuffer;
use crate::files::set::FileSet;
use crate::ops::{RemovedSet, RoleTotals};
use crate::source::ScannedSource;

/// Memory that a cell needs in addition to the buffers of its requests: for the agent, and for pages
/// of the page cache and their writeback.
const MEMORY_RESERVE: Bytes = Bytes::mib(32);

/// A planted or copied tree.
#[derive(Clone, Debug)]
pub struct PlantedTree {
    /// Directories and files.
    pub shape: TreeLayout,
    /// Name under which the tree was first written; blocks of copies contain the same name.
    pub planted_as: String,
    /// Checksums of the files in their order, if the tree was copied from a source.
    pub copied: Option<Arc<[u64]>>,
}

/// Facts from the output of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandFacts {
    /// Attributes that an unpacking command could not set.
    pub unset: Option<UnsetAttributes>,
    /// Printed values, in the order of [`Exec::prints`].
    pub values: Vec<ReportedValue>,
}

/// Runner for the commands of phases, with the permissions that the environment of the engine
/// allows.
pub trait CommandRunner: fmt::Debug + Send + Sync {
    /// Runs a command in a directory until it exits, and calls `begin` right before it starts.
    /// Returns what its output contains.
    ///
    /// # Errors
    /// Returns [`OpError::Unsupported`] if the program is missing and [`OpError::Command`] if it
    /// fails.
    fn run(
        &self,
        exec: &Exec,
        directory: &Path,
        begin: &mut dyn FnMut(),
    ) -> Result<CommandFacts, OpError>;
}

/// Working directory of a cell with its contents.
#[derive(Debug)]
pub struct CellWorkspace {
    root: PathBuf,
    seed: u64,
    /// Content of the files that it writes.
    data: DataKind,
    pattern: Option<Pattern>,
    /// Limit of the memory of the cell, if any.
    memory_limit: Option<Bytes>,
    /// Source of copies from another disk, if any.
    pub(crate) source: Option<Arc<ScannedSource>>,
    /// Runner of commands, if available.
    pub(crate) programs: Option<Arc<dyn CommandRunner>>,
    pub(crate) files: BTreeMap<String, ExpectedFile>,
    pub(crate) sets: BTreeMap<String, FileSet>,
    /// Sets that a mix has changed.
    pub(crate) mixed: BTreeMap<String, DynamicFileSet>,
    /// Bytes in the log of each role that has one.
    pub(crate) logs: BTreeMap<String, u64>,
    /// Work of each role of the last mix.
    pub(crate) roles: BTreeMap<String, RoleTotals>,
    pub(crate) trees: BTreeMap<String, PlantedTree>,
    /// Files and trees that the last removal of each name deleted, kept to recreate them.
    pub(crate) removed_files: BTreeMap<String, ExpectedFile>,
    pub(crate) removed_trees: BTreeMap<String, PlantedTree>,
    pub(crate) removed_sets: BTreeMap<String, RemovedSet>,
    /// Files that this filesystem cannot create, with its error message.
    pub(crate) impossible_files: BTreeMap<String, String>,
    /// Trees that this filesystem cannot store, with its error message.
    impossible_trees: BTreeMap<String, String>,
    /// Sets that this filesystem cannot store, with its error message.
    pub(crate) impossible_sets: BTreeMap<String, String>,
}

impl CellWorkspace {
    /// Creates an empty workspace in an existing directory.
    pub fn new(root: &Path, seed: u64) -> Self {
        Self {
            root: root.to_owned(),
            seed,
            data: DataKind::default(),
            pattern: None,
            memory_limit: None,
            source: None,
            programs: None,
            files: BTreeMap::new(),
            sets: BTreeMap::new(),
            mixed: BTreeMap::new(),
            logs: BTreeMap::new(),
            roles: BTreeMap::new(),
            trees: BTreeMap::new(),
            removed_files: BTreeMap::new(),
            removed_trees: BTreeMap::new(),
            removed_sets: BTreeMap::new(),
            impossible_files: BTreeMap::new(),
            impossible_trees: BTreeMap::new(),
            impossible_sets: BTreeMap::new(),
        }
    }

    /// Adds another disk as the source of copies.
    #[must_use]
    pub fn with_source(self, source: ScannedSource) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// Adds a runner of commands.
    #[must_use]
    pub fn with_programs(self, programs: Arc<dyn CommandRunner>) -> Self {
        Self { programs: Some(programs), ..self }
    }

    /// Sets the content of the files that are written.
    #[must_use]
    pub fn with_data(self, data: DataKind) -> Self {
        Self { data, pattern: None, ..self }
    }

    /// Returns the content of the files that are written.
    pub(crate) const fn data(&self) -> DataKind {
        self.data
    }

    /// Adds the limit of the memory of the cell.
    #[must_use]
    pub fn with_memory_limit(self, memory_limit: Option<Bytes>) -> Self {
        Self { memory_limit, ..self }
    }

    /// Returns the source, if the cell has one.
    pub fn source(&self) -> Option<&ScannedSource> {
        self.source.as_deref()
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the seed of the cell.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the path of a name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Iterates over all files with content, so that their cached pages can be dropped.
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
        let mixed = self.mixed.values().flat_map(|mixed| {
            let mut path = PathBuffer::new(&mixed.set.top);
            mixed.files().iter().map(move |slot| {
                mixed.set.write_path(&slot.entry, &mut path);
                path.path().to_owned()
            })
        });
        files.chain(trees).chain(in_sets).chain(mixed)
    }

    /// Returns a pattern for requests of up to `longest_request` bytes. Only its random data is
    /// kept, so that long requests take memory only while they run.
    pub(crate) fn pattern(&mut self, longest_request: usize) -> Pattern {
        let (data, seed) = (self.data, self.seed);
        let pattern = self.pattern.get_or_insert_with(|| Pattern::of_kind(data, seed, BLOCK));
        pattern.with_reach(longest_request)
    }

    /// Returns an error if buffers do not fit the available memory.
    pub(crate) fn require_memory(&self, request: u64, buffers: u64) -> Result<(), OpError> {
        let is_tried = |limit: Bytes| buffers <= limit.0;
        if buffers <= MEMORY_RESERVE.0 && self.memory_limit.is_none_or(is_tried) {
            return Ok(());
        }
        let free = memory::available().unwrap_or(Bytes(u64::MAX));
        let limit = self.memory_limit.unwrap_or(Bytes(u64::MAX)).min(free);
        if buffers.saturating_add(MEMORY_RESERVE.0) <= limit.0 {
            return Ok(());
        }
        let which = match limit == free {
            true => "available memory",
            false => "memory limit",
        };
        Err(OpError::Unsupported {
            reason: format!(
                "requests of {} need {} of buffers and {MEMORY_RESERVE} in addition; the {which} \
                 is {limit}",
                Bytes(request),
                Bytes(buffers)
            ),
        })
    }

    /// Returns a file of an earlier phase.
    pub(crate) fn file(&self, name: &str) -> Result<&ExpectedFile, OpError> {
        match (self.files.get(name), self.impossible_files.get(name)) {
            (Some(file), _) => Ok(file),
            (None, Some(said)) => Err(OpError::Unsupported {
                reason: format!("the file `{name}` could not be made: {said}"),
            }),
            (None, None) => Err(missing("file", name)),
        }
    }

    /// Returns the state of a file to copy. If the file could not be created, its copy is marked as
    /// impossible too.
    pub(crate) fn file_to_copy(&mut self, from: &str, to: &str) -> Result<ExpectedFile, OpError> {
        let found = self.file(from).cloned();
        if let Err(OpError::Unsupported { reason }) = &found {
            self.discard_failed_file(to, reason);
        }
        found
    }

    /// Returns the name of a file, if it exists, and the names of its per-thread files.
    pub(crate) fn thread_files(&self, name: &str) -> Vec<String> {
        let own = (0..).map(|thread| thread_file_name(name, thread));
        std::iter::once(name.to_owned())
            .filter(|name| self.files.contains_key(name))
            .chain(own.take_while(|name| self.files.contains_key(name)))
            .collect()
    }

    /// Marks a file as impossible to create and removes its remains.
    pub(crate) fn discard_failed_file(&mut self, name: &str, said: &str) {
        // Fails if the file was never created.
        let _ = std::fs::remove_file(self.path(name));
        self.impossible_files.insert(name.to_owned(), said.to_owned());
    }

    /// Marks a tree as impossible to create and removes its remains.
    pub(crate) fn discard_failed_tree(&mut self, name: &str, said: &str) {
        // Fails if no entry of the tree was created.
        let _ = std::fs::remove_dir_all(self.path(name));
        self.impossible_trees.insert(name.to_owned(), said.to_owned());
    }

    /// Returns a set of an earlier phase.
    pub(crate) fn set(&self, name: &str) -> Result<&FileSet, OpError> {
        match (self.sets.get(name), self.impossible_sets.get(name)) {
            (Some(set), _) => Ok(set),
            (None, Some(said)) => Err(OpError::Unsupported {
                reason: format!("the set `{name}` could not be made: {said}"),
            }),
            (None, None) => Err(missing("set", name)),
        }
    }

    /// Returns a tree of an earlier phase.
    pub(crate) fn tree(&self, name: &str) -> Result<&PlantedTree, OpError> {
        match (self.trees.get(name), self.impossible_trees.get(name)) {
            (Some(tree), _) => Ok(tree),
            (None, Some(said)) => Err(OpError::Unsupported {
                reason: format!("the tree `{name}` could not be made: {said}"),
            }),
            (None, None) => Err(missing("tree", name)),
        }
    }
}

/// Returns the name of the separate file of a thread.
pub(crate) fn thread_file_name(name: &str, thread: u32) -> String {
    format!("{name}.{thread}")
}

fn missing(kind: &str, name: &str) -> OpError {
    OpError::Missing { what: format!("the {kind} `{name}`") }
}
