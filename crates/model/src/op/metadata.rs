//! Metadata operations on each entry of a set.

use serde::{Deserialize, Serialize};

use super::keys::{choice, flag, name, size, threads};
use super::{
    FsChange, FsState, KeyError, KeySource, ObjectKind, Op, OpExecutor, OpInfo, OpName,
    WorkEstimate,
};
use crate::{Bytes, Metric, WorkloadCategory};

/// The order in which names are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TraversalOrder {
    /// In the order of creation.
    Sequential,
    /// Shuffled with the cell's seed.
    Random,
}

/// Metadata operation on each entry of a file set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum MetadataAction {
    /// Open the entry for reading and close it.
    Open,
    /// Read its attributes.
    Stat {
        /// Whether it is also read if it has content, like Bonnie++ does.
        read: bool,
    },
    /// List each directory of the set once. Each name found counts as an operation.
    Readdir,
    /// Rename it.
    Rename {
        /// Whether the new name is in another directory.
        across: bool,
    },
    /// Create a hard link to it; the links are a new set.
    Link {
        /// Name of the new set.
        to: String,
    },
    /// Create a symbolic link to it; the links are a new set.
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
    /// Truncate or extend it to a size.
    Truncate {
        /// The new size.
        size: Bytes,
    },
    /// Remove it: `unlink`, or `rmdir` for a set of directories.
    Remove {
        /// Whether its directory is fsynced afterwards, like `-b` of Bonnie++.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fsync: bool,
    },
}

/// Perform a metadata operation on each entry of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metadata {
    /// The set.
    pub set: String,
    /// Operation on each entry.
    #[serde(flatten)]
    pub action: MetadataAction,
    /// The order.
    pub order: TraversalOrder,
    /// Number of threads. Each processes its share of the entries.
    pub threads: u32,
}

/// Keys of every action, plus the additional keys of some.
macro_rules! keys {
    ($($more:literal),*) => { &["set", "order", "threads", $($more,)*] };
}

fn read(keys: &dyn KeySource, action: MetadataAction) -> Result<Op, KeyError> {
    Ok(Op::Metadata(Metadata {
        set: name(keys, "set")?,
        action,
        order: order(keys, "order")?,
        threads: threads(keys, "threads")?,
    }))
}

/// Reads an order: sequential or random.
pub(super) fn order(keys: &dyn KeySource, key: &'static str) -> Result<TraversalOrder, KeyError> {
    let words = [("sequential", TraversalOrder::Sequential), ("random", TraversalOrder::Random)];
    choice(keys, key, &words)
}

impl OpInfo for Metadata {
    fn op_names() -> &'static [OpName] {
        &[
            OpName { name: "open", keys: keys!(), read: |keys| read(keys, MetadataAction::Open) },
            OpName {
                name: "stat",
                keys: keys!("read"),
                read: |t| read(t, MetadataAction::Stat { read: flag(t, "read")? }),
            },
            OpName {
                name: "readdir",
                keys: keys!(),
                read: |keys| read(keys, MetadataAction::Readdir),
            },
            OpName {
                name: "rename",
                keys: keys!("across"),
                read: |keys| {
                    let across = flag(keys, "across")?;
                    read(keys, MetadataAction::Rename { across })
                },
            },
            OpName {
                name: "link",
                keys: keys!("to"),
                read: |keys| {
                    let to = name(keys, "to")?;
                    read(keys, MetadataAction::Link { to })
                },
            },
            OpName {
                name: "symlink",
                keys: keys!("to"),
                read: |keys| {
                    let to = name(keys, "to")?;
                    read(keys, MetadataAction::Symlink { to })
                },
            },
            OpName { name: "chmod", keys: keys!(), read: |keys| read(keys, MetadataAction::Chmod) },
            OpName {
                name: "setxattr",
                keys: keys!("size"),
                read: |keys| {
                    let size = size(keys, "size")?;
                    read(keys, MetadataAction::SetXattr { size })
                },
            },
            OpName {
                name: "truncate",
                keys: keys!("size"),
                read: |keys| {
                    let size = keys.size_from("size", 0)?;
                    read(keys, MetadataAction::Truncate { size })
                },
            },
            OpName {
                name: "delete",
                keys: keys!("fsync"),
                read: |keys| {
                    let fsync = flag(keys, "fsync")?;
                    read(keys, MetadataAction::Remove { fsync })
                },
            },
        ]
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let set = || self.set.clone();
        let there = match &self.action {
            MetadataAction::Remove { .. } => files.remove(ObjectKind::Set, &self.set),
            _ => files.find(ObjectKind::Set, &self.set),
        };
        let mut work = WorkEstimate::new(0, 0, there.entries);
        match &self.action {
            MetadataAction::Open
            | MetadataAction::Readdir
            | MetadataAction::Stat { read: false } => {}
            MetadataAction::Stat { read: true } => work = work.with_read(Bytes(there.bytes)),
            MetadataAction::Remove { fsync } => {
                work = work.with_syncs(there.entries * u64::from(*fsync));
            }
            MetadataAction::Link { to } | MetadataAction::Symlink { to } => {
                files.add(ObjectKind::Set, to, there.entries, 0);
            }
            MetadataAction::Chmod | MetadataAction::SetXattr { .. } => {
                files.change(FsChange::Overwritten(ObjectKind::Set, set()));
            }
            &MetadataAction::Rename { across } => {
                files.change(FsChange::Renamed { set: set(), across });
            }
            &MetadataAction::Truncate { size } => {
                files.change(FsChange::Resized { set: set(), size });
            }
        }
        work
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.visit(self)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(match self.action {
            MetadataAction::Link { .. }
            | MetadataAction::Symlink { .. }
            | MetadataAction::Remove { .. } => WorkloadCategory::ManyFiles,
            _ => WorkloadCategory::Names,
        })
    }

    fn primary_metric(&self) -> Metric {
        Metric::Rate
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn on_hosts(&self, hosts: u32) -> Option<Op> {
        let makes_set =
            matches!(self.action, MetadataAction::Link { .. } | MetadataAction::Symlink { .. });
        let threads = self.threads.saturating_mul(hosts);
        (!makes_set).then(|| Op::Metadata(Self { threads, ..self.clone() }))
    }
}
