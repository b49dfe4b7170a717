//! Suites, tests and phases, as resolved for one profile: no placeholder is left in them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Feature, Metric, Nanos};

/// An ordered list of tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Its phases.
    pub phases: Vec<Phase>,
}

impl Test {
    /// Whether the test makes and mounts the filesystem itself, as phases of its own.
    pub fn makes_filesystem(&self) -> bool {
        self.phases.iter().any(|p| p.op == Op::Mkfs)
    }
}

/// One measured thing of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The word that names it, unique in its test.
    pub name: String,
    /// The cache state that is brought about before the phase begins.
    pub cache: CacheState,
    /// Where the phase ends.
    pub ends: End,
    /// No new operation begins after this time; the figure is then a rate over what was done.
    pub at_most: Option<Nanos>,
    /// What is done.
    pub op: Op,
}

/// What the page cache held when a figure was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As they were made.
    Sequential,
    /// Shuffled by the cell's seed.
    Random,
}

/// An operation of a phase. Words are fio's where fio has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
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
    /// Write a new file front to back.
    Write {
        /// Name of the file.
        file: String,
        /// Size of the file.
        size: Bytes,
        /// Bytes per request.
        block: Bytes,
    },
    /// Read each block, change it, write it back in place.
    Rewrite {
        /// Name of the file.
        file: String,
        /// Bytes per request.
        block: Bytes,
    },
    /// Read a file front to back.
    Read {
        /// Name of the file.
        file: String,
        /// Bytes per request.
        block: Bytes,
        /// Whether every byte is compared with what was written.
        #[serde(default)]
        verify: bool,
    },
    /// Read blocks at random offsets, from several threads, and write some of them back.
    Seek {
        /// Name of the file.
        file: String,
        /// Bytes per request.
        block: Bytes,
        /// Number of seeks over all threads.
        operations: u64,
        /// Seeking threads.
        threads: u32,
        /// Share of the blocks that are written back, 0 … 1.
        write_share: f64,
    },
    /// Write a new file a byte at a time through a user-space buffer, as `putc` does.
    WriteChars {
        /// Name of the file.
        file: String,
        /// Size of the file.
        size: Bytes,
    },
    /// Read a file a byte at a time through a user-space buffer, as `getc` does.
    ReadChars {
        /// Name of the file.
        file: String,
    },
    /// Make many files.
    Create {
        /// Name of the set, by which later phases find the files.
        set: String,
        /// How many.
        files: u64,
        /// Directories they are spread over.
        directories: u64,
        /// Size of each.
        size: Bytes,
        /// Whether names are made in order or at random.
        order: Order,
        /// Whether each file is fsynced before the next.
        fsync: bool,
    },
    /// `stat` each file of a set, and read it where it has content.
    Stat {
        /// The set.
        set: String,
        /// The order.
        order: Order,
    },
    /// Delete each file of a set.
    Delete {
        /// The set.
        set: String,
        /// The order.
        order: Order,
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
            Self::Write { .. }
            | Self::Rewrite { .. }
            | Self::Read { .. }
            | Self::WriteChars { .. }
            | Self::ReadChars { .. } => Metric::Throughput,
            Self::Seek { .. } | Self::Create { .. } | Self::Stat { .. } | Self::Delete { .. } => {
                Metric::Rate
            }
            Self::Capacity => Metric::Capacity,
            Self::Probe { .. } => Metric::Supported,
            Self::Mkfs
            | Self::Mount
            | Self::Unmount
            | Self::Fsck
            | Self::PlantTree { .. }
            | Self::CopyTree { .. }
            | Self::ListTree { .. }
            | Self::FindInTree { .. }
            | Self::VerifyTree { .. }
            | Self::RemoveTree { .. }
            | Self::CopyFile { .. }
            | Self::RemoveFile { .. } => Metric::Elapsed,
        }
    }

    /// Whether the operation is one of making, mounting or checking, done by a program of the catalog.
    pub const fn is_command(&self) -> bool {
        matches!(self, Self::Mkfs | Self::Mount | Self::Unmount | Self::Fsck)
    }
}
