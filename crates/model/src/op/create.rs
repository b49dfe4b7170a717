//! Creates many files or directories.

use serde::{Deserialize, Serialize};

use super::io::sharing;
use super::keys::{choice, count, count_up_to, flag, name, optional, threads};
use super::metadata::order;
use super::{
    FileSharing, FsState, KeyError, KeySource, ObjectKind, Op, OpExecutor, OpInfo, OpName,
    TraversalOrder, WorkEstimate,
};
use crate::{Bytes, Metric, WorkloadCategory};

/// Kind of the entries of a set.
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

/// Distribution of file sizes around their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SizeDistribution {
    /// All sizes are equal.
    #[default]
    Fixed,
    /// A gamma distribution of shape 1.5, the default of filebench (`gamma=1500`).
    Gamma,
    /// A log-normal distribution with σ = 1: more small files, and a few large ones.
    LogNormal,
}

impl SizeDistribution {
    /// Returns true if all sizes are equal.
    pub const fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed)
    }
}

/// Create many files or directories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Create {
    /// Name of the set, by which later phases refer to the entries.
    pub set: String,
    /// Kind of the entries.
    #[serde(default)]
    pub kind: EntryKind,
    /// Number of entries over all threads.
    pub entries: u64,
    /// Number of directories that contain the entries. With a directory for each thread, the number
    /// for each thread.
    pub directories: u64,
    /// Number of nested directories from the top of the set to the entries.
    #[serde(default = "Create::flat")]
    pub depth: u32,
    /// Size of each file, or the mean size if sizes vary.
    pub size: Bytes,
    /// Distribution of the sizes.
    #[serde(default, skip_serializing_if = "SizeDistribution::is_fixed")]
    pub spread: SizeDistribution,
    /// Whether names are created in order or at random.
    pub order: TraversalOrder,
    /// Whether each file is fsynced before the next.
    pub fsync: bool,
    /// Whether the directory of each file is fsynced after the file, like `-b` of Bonnie++.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fsync_directory: bool,
    /// Number of threads. Each creates its share of the entries.
    pub threads: u32,
    /// Whether threads share the directories.
    pub sharing: FileSharing,
}

impl Create {
    const fn flat() -> u32 {
        1
    }
}

const SPREADS: [(&str, SizeDistribution); 3] = [
    ("fixed", SizeDistribution::Fixed),
    ("gamma", SizeDistribution::Gamma),
    ("log-normal", SizeDistribution::LogNormal),
];

/// Reads the common keys of files and directories.
fn read(keys: &dyn KeySource, kind: EntryKind, entries: &'static str) -> Result<Create, KeyError> {
    Ok(Create {
        set: name(keys, "set")?,
        kind,
        entries: count(keys, entries)?,
        directories: count(keys, "directories")?,
        depth: count_up_to(keys, "depth", 64)?,
        size: Bytes(0),
        spread: SizeDistribution::Fixed,
        order: order(keys, "order")?,
        fsync: false,
        fsync_directory: false,
        threads: threads(keys, "threads")?,
        sharing: sharing(keys, "sharing")?,
    })
}

impl OpInfo for Create {
    fn op_names() -> &'static [OpName] {
        &[
            OpName {
                name: "create",
                keys: &[
                    "set",
                    "files",
                    "directories",
                    "depth",
                    "size",
                    "spread",
                    "order",
                    "fsync",
                    "fsync_directory",
                    "threads",
                    "sharing",
                ],
                read: |keys| {
                    Ok(Op::Create(Create {
                        size: keys.size_from("size", 0)?,
                        spread: optional(keys, "spread", |keys, key| choice(keys, key, &SPREADS))?
                            .unwrap_or_default(),
                        fsync: keys.flag("fsync")?,
                        fsync_directory: flag(keys, "fsync_directory")?,
                        ..read(keys, EntryKind::File, "files")?
                    }))
                },
            },
            OpName {
                name: "mkdir",
                keys: &["set", "entries", "directories", "depth", "order", "threads", "sharing"],
                read: |keys| read(keys, EntryKind::Directory, "entries").map(Op::Create),
            },
        ]
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let bytes = self.entries.saturating_mul(self.size.0);
        files.add(ObjectKind::Set, &self.set, self.entries, bytes);
        let syncs = u64::from(self.fsync) + u64::from(self.fsync_directory);
        WorkEstimate::new(0, bytes, self.entries).with_syncs(self.entries.saturating_mul(syncs))
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.create(self)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(match self.fsync {
            true => WorkloadCategory::Durable,
            false => WorkloadCategory::ManyFiles,
        })
    }

    fn primary_metric(&self) -> Metric {
        Metric::Rate
    }

    fn on_hosts(&self, hosts: u32) -> Option<Op> {
        Some(Op::Create(Self {
            entries: self.entries.saturating_mul(hosts.into()),
            threads: self.threads.saturating_mul(hosts),
            ..self.clone()
        }))
    }

    fn check(&self) -> Result<(), String> {
        match self.directories > self.entries {
            true => Err(format!(
                "{} directories are more than {} entries",
                self.directories, self.entries
            )),
            false => Ok(()),
        }
    }

    fn threads(&self) -> u32 {
        self.threads
    }
}
