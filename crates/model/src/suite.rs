//! Suites, tests and phases, as resolved for one profile: no placeholder is left in them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Access, Axis, Bytes, Feature, Io, Metric, Nanos, Sharing, StreamUnit, SweepPoint};

/// An ordered list of tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suite {
    /// The word that names it.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The published comparison or program it follows.
    pub source: String,
    /// Its tests, in the order in which they run.
    pub tests: Vec<Test>,
}

/// A sequence of phases on one freshly made filesystem: the unit that a cell runs.
///
/// mkfs and mount before the phases, unmount and check after them, are part of every test and are
/// recorded as steps; a test that measures them names them as phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Test {
    /// The word that names it, unique over all suites.
    pub name: String,
    /// The suite it belongs to.
    pub suite: String,
    /// One line for people.
    pub title: String,
    /// Why the figures mean something, and what they leave out.
    pub rationale: String,
    /// Space that must be free for it.
    pub space: Bytes,
    /// Its place in a sweep, where it is one point of one.
    #[serde(default)]
    pub sweep: Option<SweepPoint>,
    /// Its phases.
    pub phases: Vec<Phase>,
}

impl Test {
    /// Whether the test makes and mounts the filesystem itself, as phases of its own.
    pub fn makes_filesystem(&self) -> bool {
        self.phases.iter().any(|p| p.op == Op::Mkfs)
    }

    /// How many disks it runs over, where it is a point of a sweep that says so.
    pub fn disks(&self) -> Option<u32> {
        let disks = self.sweep.as_ref()?.at.get(&Axis::Disks)?;
        u32::try_from(*disks).ok()
    }

    /// The same test as a point of a sweep over disks: of a sweep of its own, or of one with an axis more.
    #[must_use]
    pub fn over_disks(&self, disks: u32) -> Self {
        let (axis, value) = (Axis::Disks, u64::from(disks));
        let sweep = self.sweep.clone();
        let sign = if sweep.is_some() { ',' } else { ':' };
        let mut point = sweep.unwrap_or_else(|| SweepPoint {
            of: self.name.clone(),
            at: BTreeMap::new(),
        });
        point.at.insert(axis, value);
        Self {
            name: format!("{}-{}", self.name, axis.short(value)),
            title: format!("{}{sign} {axis} {}", self.title, axis.show(value)),
            sweep: Some(point),
            ..self.clone()
        }
    }
}

/// One measured thing of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// The word that names it, unique in its test.
    pub name: String,
    /// The cache state that is brought about before the phase begins.
    pub cache: CacheState,
    /// Where the phase ends.
    pub ends: End,
    /// No new operation begins after this time; the figure is then a rate over what was done.
    pub at_most: Option<Nanos>,
    /// When and how often it is repeated because it ended too soon; once and no more where absent.
    #[serde(default)]
    pub scaling: Option<Scaling>,
    /// What is done.
    pub op: Op,
}

/// When a phase is repeated: it ends too soon to be timed once, or its passes differ too much.
///
/// Passes are added until all of them together took long enough and the 95 % interval of their mean
/// is narrow enough, or until a limit is reached; a single pass that took long enough is enough. They
/// are samples inside one round, never rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scaling {
    /// Timed part of all passes together, at least.
    pub at_least: Nanos,
    /// Half the width of the interval as a share of the mean, at most.
    pub width: f64,
    /// Passes, at most.
    pub passes: u32,
    /// No pass begins after this time since the first began, preparations and all.
    pub limit: Nanos,
}

/// What the page cache held when a figure was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// Unmounted, caches dropped, mounted again.
    Cold,
    /// As the phase before left it.
    Warm,
    /// The page cache was passed by.
    Direct,
    /// The kernel was asked to forget the data (`posix_fadvise`); metadata may still be cached.
    Advised,
    /// No file is read or written: mkfs, mount, fsck.
    None,
}

impl fmt::Display for CacheState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Direct => "direct",
            Self::Advised => "advised",
            Self::None => "none",
        })
    }
}

/// What is still inside the timed part when a phase ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The last system call returned; data may be in memory only.
    Call,
    /// `fsync` of the file returned.
    Fsync,
    /// `syncfs` of the filesystem returned.
    Syncfs,
}

/// The order in which names are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As they were made.
    Sequential,
    /// Shuffled by the cell's seed.
    Random,
}

/// What a set is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// Files.
    #[default]
    File,
    /// Directories.
    Directory,
}

/// Many files or directories to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Create {
    /// Name of the set, by which later phases find the entries.
    pub set: String,
    /// What they are.
    #[serde(default)]
    pub kind: EntryKind,
    /// How many, over all threads.
    pub entries: u64,
    /// Directories they are spread over; with a directory for each thread, so many for each.
    pub directories: u64,
    /// Directories inside each other, from the top of the set to the entries.
    #[serde(default = "Create::flat")]
    pub depth: u32,
    /// Size of each file.
    pub size: Bytes,
    /// Whether names are made in order or at random.
    pub order: Order,
    /// Whether each file is fsynced before the next.
    pub fsync: bool,
    /// Whether the directory of each file is fsynced behind it, as Bonnie++'s `-b` does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fsync_directory: bool,
    /// Threads, each with its share of the entries.
    pub threads: u32,
    /// Whether threads share the directories.
    pub sharing: Sharing,
}

impl Create {
    const fn flat() -> u32 {
        1
    }
}

/// What is done with each entry of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Open it for reading and close it.
    Open,
    /// Ask for its attributes.
    Stat {
        /// Whether it is also read where it has content, as Bonnie++ does.
        read: bool,
    },
    /// List the directories of the set, each once; an operation for each name found.
    Readdir,
    /// Give it another name.
    Rename {
        /// Whether the new name is in another directory.
        across: bool,
    },
    /// Make a hard link to it; the links are a new set.
    Link {
        /// Name of the new set.
        to: String,
    },
    /// Make a symbolic link to it; the links are a new set.
    Symlink {
        /// Name of the new set.
        to: String,
    },
    /// Change its permissions.
    Chmod,
    /// Set an extended attribute.
    SetXattr {
        /// Size of the attribute's value.
        size: Bytes,
    },
    /// Set its size.
    Truncate {
        /// The new size.
        size: Bytes,
    },
    /// Remove it: `unlink`, or `rmdir` where the set is one of directories.
    Remove {
        /// Whether its directory is fsynced behind it, as Bonnie++'s `-b` does.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fsync: bool,
    },
}

/// An operation of a phase. Words are fio's where fio has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Op {
    /// Make the filesystem.
    Mkfs,
    /// Mount it.
    Mount,
    /// Unmount it.
    Unmount,
    /// Check it with its own checker, read-only, unmounted.
    Fsck,
    /// Ask how much of the device is left to files (`statfs`).
    Capacity,
    /// Try a feature.
    Probe {
        /// The feature to try.
        feature: Feature,
    },
    /// Read and write one file, or one for each thread.
    Io(Io),
    /// Write a new file through a user-space buffer, as the C library's streams do.
    WriteStream {
        /// Name of the file.
        file: String,
        /// Size of the file.
        size: Bytes,
        /// What is handed over at a time.
        unit: StreamUnit,
    },
    /// Read a file through a user-space buffer.
    ReadStream {
        /// Name of the file.
        file: String,
        /// What is taken at a time.
        unit: StreamUnit,
    },
    /// Make a file whose space is set aside and not written (`fallocate`).
    Preallocate {
        /// Name of the file.
        file: String,
        /// Its size.
        size: Bytes,
    },
    /// Make a file that is one hole (`ftruncate`).
    Sparse {
        /// Name of the file.
        file: String,
        /// Its size.
        size: Bytes,
    },
    /// Make many files or directories.
    Create(Create),
    /// Do something with each entry of a set.
    Metadata {
        /// The set.
        set: String,
        /// What is done with each entry.
        #[serde(flatten)]
        action: Action,
        /// The order.
        order: Order,
        /// Threads, each with its share of the entries.
        threads: u32,
    },
    /// Write a tree of directories and files whose content is made in memory.
    PlantTree {
        /// Name of the tree's top directory.
        tree: String,
        /// Number of files.
        files: u64,
        /// Number of directories.
        directories: u64,
        /// Bytes in all files together.
        bytes: Bytes,
        /// Size of the smallest file.
        smallest: Bytes,
        /// Size of the largest file.
        largest: Bytes,
    },
    /// Copy a tree from the campaign's source, all of it, into the filesystem; where there is no source, write a tree
    /// like this whose content is made in memory.
    CopyTreeIn {
        /// Name of the tree's top directory.
        tree: String,
        /// Number of files.
        files: u64,
        /// Number of directories.
        directories: u64,
        /// Bytes in all files together.
        bytes: Bytes,
        /// Size of the smallest file.
        smallest: Bytes,
        /// Size of the largest file.
        largest: Bytes,
        /// Bytes per request.
        block: Bytes,
    },
    /// Copy a tree within the filesystem.
    CopyTree {
        /// The tree to copy.
        from: String,
        /// Name of the copy.
        to: String,
        /// Bytes per request.
        block: Bytes,
    },
    /// List a tree with the attributes of every entry, as `ls -lR` does.
    ListTree {
        /// The tree.
        tree: String,
    },
    /// Look for a name in a tree, as `find -name` does.
    FindInTree {
        /// The tree.
        tree: String,
    },
    /// Read every file of a tree and compare it with what was written.
    VerifyTree {
        /// The tree.
        tree: String,
    },
    /// Remove a tree, as `rm -r` does.
    RemoveTree {
        /// The tree.
        tree: String,
    },
    /// Copy the largest file of the campaign's source into the filesystem; where there is no source, write a file
    /// whose content is made in memory.
    CopyFileIn {
        /// Name of the file.
        file: String,
        /// Its size.
        size: Bytes,
        /// Bytes per request.
        block: Bytes,
    },
    /// Copy a file within the filesystem by reading and writing.
    CopyFile {
        /// The file to copy.
        from: String,
        /// Name of the copy.
        to: String,
        /// Bytes per request.
        block: Bytes,
    },
    /// Remove one file.
    RemoveFile {
        /// Name of the file.
        file: String,
    },
}

impl Op {
    /// The figure by which the tables judge this operation.
    pub const fn headline(&self) -> Metric {
        match self {
            Self::Io(io) => match io.access {
                Access::Seek { .. } => Metric::Rate,
                _ if io.access.is_random() => Metric::Rate,
                _ => Metric::Throughput,
            },
            Self::WriteStream { .. } | Self::ReadStream { .. } | Self::CopyFileIn { .. } => {
                Metric::Throughput
            }
            Self::Create(_) | Self::Metadata { .. } => Metric::Rate,
            Self::Capacity => Metric::Capacity,
            Self::Probe { .. } => Metric::Supported,
            Self::Mkfs
            | Self::Mount
            | Self::Unmount
            | Self::Fsck
            | Self::PlantTree { .. }
            | Self::CopyTreeIn { .. }
            | Self::CopyTree { .. }
            | Self::ListTree { .. }
            | Self::FindInTree { .. }
            | Self::VerifyTree { .. }
            | Self::RemoveTree { .. }
            | Self::CopyFile { .. }
            | Self::RemoveFile { .. }
            | Self::Preallocate { .. }
            | Self::Sparse { .. } => Metric::Elapsed,
        }
    }

    /// What the tables show of this operation, the headline first. Random I/O has its throughput beside it:
    /// operations of several request sizes are no common measure.
    pub fn shown(&self) -> impl Iterator<Item = Metric> {
        let is_random = matches!(self, Self::Io(io) if io.access.is_random());
        std::iter::once(self.headline()).chain(is_random.then_some(Metric::Throughput))
    }

    /// Whether it does nothing but read what is there: a warm cache can serve all of it.
    pub const fn only_reads(&self) -> bool {
        match self {
            Self::Io(io) => match io.access {
                // What has a share of writes may write nothing at all.
                Access::RandomMix { .. } | Access::Seek { .. } => false,
                access => access.reads() && !access.writes(),
            },
            Self::Metadata { action, .. } => {
                matches!(action, Action::Open | Action::Stat { .. } | Action::Readdir)
            }
            Self::ReadStream { .. }
            | Self::ListTree { .. }
            | Self::FindInTree { .. }
            | Self::VerifyTree { .. } => true,
            _ => false,
        }
    }

    /// Whether it copies from the campaign's source, where there is one.
    pub const fn copies_in(&self) -> bool {
        matches!(self, Self::CopyTreeIn { .. } | Self::CopyFileIn { .. })
    }

    /// Whether the operation is one of making, mounting or checking, done by a program of the catalog.
    pub const fn is_command(&self) -> bool {
        matches!(self, Self::Mkfs | Self::Mount | Self::Unmount | Self::Fsck)
    }
}
