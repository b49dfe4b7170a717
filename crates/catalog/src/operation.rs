//! The operations that a phase may name, and the keys that each of them takes.

use model::{Bytes, Feature, Op, Order};

use crate::CatalogError;
use crate::document::{Table, Value};

/// A word for `op`, its keys, and how it is read from them.
pub(crate) struct Operation {
    /// The word.
    pub word: &'static str,
    /// The keys that belong to it, beside those of every phase.
    pub keys: &'static [&'static str],
    read: fn(&Table<'_>) -> Result<Op, CatalogError>,
}

/// The largest count a data file may ask for: far above all use, far below an overflow.
const MANY: u64 = 1 << 32;

/// The largest number of bytes per request: one buffer of it is held for each thread.
const LARGEST_BLOCK: Bytes = Bytes::mib(1024);

/// Reads the `op` of a phase and gives the keys that it takes.
pub(crate) fn find(value: &Value<'_>) -> Result<&'static Operation, CatalogError> {
    let words: Vec<(&str, &'static Operation)> = OPERATIONS.iter().map(|o| (o.word, o)).collect();
    value.word(&words)
}

impl Operation {
    /// Reads the operation from a phase's table.
    pub fn read(&self, phase: &Table<'_>) -> Result<Op, CatalogError> {
        (self.read)(phase)
    }
}

fn name(t: &Table<'_>, key: &'static str) -> Result<String, CatalogError> {
    t.need(key)?.name()
}

fn size(t: &Table<'_>, key: &'static str) -> Result<Bytes, CatalogError> {
    t.need(key)?.size()
}

fn count(t: &Table<'_>, key: &'static str) -> Result<u64, CatalogError> {
    t.need(key)?.count(1..MANY)
}

fn block(t: &Table<'_>) -> Result<Bytes, CatalogError> {
    let value = t.need("block")?;
    let block = value.size()?;
    if block > LARGEST_BLOCK {
        return Err(value.wrong(&format!("at most {LARGEST_BLOCK}")));
    }
    Ok(block)
}

fn order(t: &Table<'_>) -> Result<Order, CatalogError> {
    let words = [("sequential", Order::Sequential), ("random", Order::Random)];
    t.need("order")?.word(&words)
}

fn feature(t: &Table<'_>) -> Result<Feature, CatalogError> {
    t.need("feature")?
        .word(&Feature::ALL.map(|f| (f.name(), f)))
}

fn threads(t: &Table<'_>) -> Result<u32, CatalogError> {
    let threads = t.need("threads")?.count(1..1025)?;
    Ok(u32::try_from(threads).unwrap_or(1))
}

const fn operation(
    word: &'static str,
    keys: &'static [&'static str],
    read: fn(&Table<'_>) -> Result<Op, CatalogError>,
) -> Operation {
    Operation { word, keys, read }
}

/// Every operation.
pub(crate) const OPERATIONS: [Operation; 23] = [
    operation("mkfs", &[], |_| Ok(Op::Mkfs)),
    operation("mount", &[], |_| Ok(Op::Mount)),
    operation("unmount", &[], |_| Ok(Op::Unmount)),
    operation("fsck", &[], |_| Ok(Op::Fsck)),
    operation("capacity", &[], |_| Ok(Op::Capacity)),
    operation("probe", &["feature"], |t| {
        Ok(Op::Probe {
            feature: feature(t)?,
        })
    }),
    operation("write", &["file", "size", "block"], |t| {
        Ok(Op::Write {
            file: name(t, "file")?,
            size: size(t, "size")?,
            block: block(t)?,
        })
    }),
    operation("rewrite", &["file", "block"], |t| {
        Ok(Op::Rewrite {
            file: name(t, "file")?,
            block: block(t)?,
        })
    }),
    operation("read", &["file", "block", "verify"], |t| {
        Ok(Op::Read {
            file: name(t, "file")?,
            block: block(t)?,
            verify: t.read("verify", |v| v.flag())?.unwrap_or(false),
        })
    }),
    operation(
        "seek",
        &["file", "block", "operations", "threads", "write_share"],
        |t| {
            Ok(Op::Seek {
                file: name(t, "file")?,
                block: block(t)?,
                operations: count(t, "operations")?,
                threads: threads(t)?,
                write_share: t.need("write_share")?.share()?,
            })
        },
    ),
    operation("write-chars", &["file", "size"], |t| {
        Ok(Op::WriteChars {
            file: name(t, "file")?,
            size: size(t, "size")?,
        })
    }),
    operation("read-chars", &["file"], |t| {
        Ok(Op::ReadChars {
            file: name(t, "file")?,
        })
    }),
    operation(
        "create",
        &["set", "files", "directories", "size", "order", "fsync"],
        |t| {
            Ok(Op::Create {
                set: name(t, "set")?,
                files: count(t, "files")?,
                directories: count(t, "directories")?,
                size: t.need("size")?.size_from(0)?,
                order: order(t)?,
                fsync: t.need("fsync")?.flag()?,
            })
        },
    ),
    operation("stat", &["set", "order"], |t| {
        Ok(Op::Stat {
            set: name(t, "set")?,
            order: order(t)?,
        })
    }),
    operation("delete", &["set", "order"], |t| {
        Ok(Op::Delete {
            set: name(t, "set")?,
            order: order(t)?,
        })
    }),
    operation(
        "plant-tree",
        &[
            "tree",
            "files",
            "directories",
            "bytes",
            "smallest",
            "largest",
        ],
        |t| {
            Ok(Op::PlantTree {
                tree: name(t, "tree")?,
                files: count(t, "files")?,
                directories: count(t, "directories")?,
                bytes: size(t, "bytes")?,
                smallest: size(t, "smallest")?,
                largest: size(t, "largest")?,
            })
        },
    ),
    operation("copy-tree", &["from", "to", "block"], |t| {
        Ok(Op::CopyTree {
            from: name(t, "from")?,
            to: name(t, "to")?,
            block: block(t)?,
        })
    }),
    operation("list-tree", &["tree"], |t| {
        Ok(Op::ListTree {
            tree: name(t, "tree")?,
        })
    }),
    operation("find-in-tree", &["tree"], |t| {
        Ok(Op::FindInTree {
            tree: name(t, "tree")?,
        })
    }),
    operation("verify-tree", &["tree"], |t| {
        Ok(Op::VerifyTree {
            tree: name(t, "tree")?,
        })
    }),
    operation("remove-tree", &["tree"], |t| {
        Ok(Op::RemoveTree {
            tree: name(t, "tree")?,
        })
    }),
    operation("copy-file", &["from", "to", "block"], |t| {
        Ok(Op::CopyFile {
            from: name(t, "from")?,
            to: name(t, "to")?,
            block: block(t)?,
        })
    }),
    operation("remove-file", &["file"], |t| {
        Ok(Op::RemoveFile {
            file: name(t, "file")?,
        })
    }),
];
