//! Something done with each entry of a set.

use serde::{Deserialize, Serialize};

use super::keys::{choice, flag, name, size, threads};
use super::{Change, KeyError, Keys, Kind, Op, Operation, Stage, Things, Word, Work};
use crate::{Bytes, Group, Metric};

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

/// Do something with each entry of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metadata {
    /// The set.
    pub set: String,
    /// What is done with each entry.
    #[serde(flatten)]
    pub action: Action,
    /// The order.
    pub order: Order,
    /// Threads, each with its share of the entries.
    pub threads: u32,
}

/// Keys of every action, and those that some have beside them.
macro_rules! keys {
    ($($more:literal),*) => { &["set", "order", "threads", $($more,)*] };
}

fn read(keys: &dyn Keys, action: Action) -> Result<Op, KeyError> {
    Ok(Op::Metadata(Metadata {
        set: name(keys, "set")?,
        action,
        order: order(keys, "order")?,
        threads: threads(keys, "threads")?,
    }))
}

/// In order or at random.
pub(super) fn order(keys: &dyn Keys, key: &'static str) -> Result<Order, KeyError> {
    let words = [("sequential", Order::Sequential), ("random", Order::Random)];
    choice(keys, key, &words)
}

impl Operation for Metadata {
    fn words() -> &'static [Word] {
        &[
            Word {
                name: "open",
                keys: keys!(),
                read: |keys| read(keys, Action::Open),
            },
            Word {
                name: "stat",
                keys: keys!("read"),
                read: |t| {
                    read(
                        t,
                        Action::Stat {
                            read: flag(t, "read")?,
                        },
                    )
                },
            },
            Word {
                name: "readdir",
                keys: keys!(),
                read: |keys| read(keys, Action::Readdir),
            },
            Word {
                name: "rename",
                keys: keys!("across"),
                read: |keys| {
                    let across = flag(keys, "across")?;
                    read(keys, Action::Rename { across })
                },
            },
            Word {
                name: "link",
                keys: keys!("to"),
                read: |keys| {
                    let to = name(keys, "to")?;
                    read(keys, Action::Link { to })
                },
            },
            Word {
                name: "symlink",
                keys: keys!("to"),
                read: |keys| {
                    let to = name(keys, "to")?;
                    read(keys, Action::Symlink { to })
                },
            },
            Word {
                name: "chmod",
                keys: keys!(),
                read: |keys| read(keys, Action::Chmod),
            },
            Word {
                name: "setxattr",
                keys: keys!("size"),
                read: |keys| {
                    let size = size(keys, "size")?;
                    read(keys, Action::SetXattr { size })
                },
            },
            Word {
                name: "truncate",
                keys: keys!("size"),
                read: |keys| {
                    let size = keys.size_from("size", 0)?;
                    read(keys, Action::Truncate { size })
                },
            },
            Word {
                name: "delete",
                keys: keys!("fsync"),
                read: |keys| {
                    let fsync = flag(keys, "fsync")?;
                    read(keys, Action::Remove { fsync })
                },
            },
        ]
    }

    fn follow(&self, things: &mut Things) -> Work {
        let set = || self.set.clone();
        let there = match &self.action {
            Action::Remove { .. } => things.remove(Kind::Set, &self.set),
            _ => things.find(Kind::Set, &self.set),
        };
        let mut work = Work::new(0, 0, there.entries);
        match &self.action {
            Action::Open | Action::Readdir | Action::Stat { read: false } => {}
            Action::Stat { read: true } => work = work.with_read(Bytes(there.bytes)),
            Action::Remove { fsync } => work = work.with_syncs(there.entries * u64::from(*fsync)),
            Action::Link { to } | Action::Symlink { to } => {
                things.make(Kind::Set, to, there.entries, 0);
            }
            Action::Chmod | Action::SetXattr { .. } => {
                things.change(Change::InPlace(Kind::Set, set()));
            }
            &Action::Rename { across } => things.change(Change::Renamed { set: set(), across }),
            &Action::Truncate { size } => things.change(Change::Resized { set: set(), size }),
        }
        work
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.visit(self)
    }

    fn group(&self) -> Option<Group> {
        Some(match self.action {
            Action::Link { .. } | Action::Symlink { .. } | Action::Remove { .. } => {
                Group::ManyFiles
            }
            _ => Group::Names,
        })
    }

    fn primary_metric(&self) -> Metric {
        Metric::Rate
    }

    fn threads(&self) -> u32 {
        self.threads
    }
}
