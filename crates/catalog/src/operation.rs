//! The operations that a phase may name, and the keys that each of them takes.

use model::{
    Access, Action, Bytes, Create, EntryKind, Feature, Io, IoEngine, Op, Order, Sharing, StreamUnit,
};

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

/// Threads; one where nothing is said.
fn threads(t: &Table<'_>) -> Result<u32, CatalogError> {
    let threads = t.read("threads", |v| v.count(1..1025))?.unwrap_or(1);
    Ok(u32::try_from(threads).unwrap_or(1))
}

/// Directories inside each other; one where nothing is said.
fn depth(t: &Table<'_>) -> Result<u32, CatalogError> {
    let depth = t.read("depth", |v| v.count(1..65))?.unwrap_or(1);
    Ok(u32::try_from(depth).unwrap_or(1))
}

fn sharing(t: &Table<'_>) -> Result<Sharing, CatalogError> {
    let words = [("shared", Sharing::Shared), ("own", Sharing::Own)];
    Ok(t.read("sharing", |v| v.word(&words))?.unwrap_or_default())
}

/// Keys of every data operation.
const IO: [&str; 13] = [
    "file",
    "block",
    "align",
    "size",
    "operations",
    "engine",
    "iodepth",
    "threads",
    "sharing",
    "fsync",
    "rate",
    "verify",
    "include_open_close",
];

/// Keys of what is done with each entry of a set.
const SET: [&str; 3] = ["set", "order", "threads"];

fn io(t: &Table<'_>, access: Access) -> Result<Op, CatalogError> {
    let lengthens = matches!(access, Access::Write | Access::Append);
    let io = Io {
        file: name(t, "file")?,
        access,
        block: block(t)?,
        align: t.read("align", |v| v.size())?,
        size: if lengthens {
            Some(size(t, "size")?)
        } else {
            t.read("size", |v| v.size())?
        },
        operations: t.read("operations", |v| v.count(1..MANY))?,
        engine: t
            .read("engine", |v| v.word(&IoEngine::ALL.map(|e| (e.name(), e))))?
            .unwrap_or_default(),
        depth: queue_depth(t)?,
        threads: threads(t)?,
        sharing: sharing(t)?,
        fsync: t.read("fsync", |v| v.count(0..MANY))?.unwrap_or(0),
        rate: t.read("rate", |v| v.count(1..MANY))?,
        verify: t.read("verify", |v| v.flag())?.unwrap_or(false),
        include_open_close: t.read("include_open_close", |v| v.flag())?.unwrap_or(false),
    };
    Ok(Op::Io(io))
}

fn queue_depth(t: &Table<'_>) -> Result<u32, CatalogError> {
    let depth = t.read("iodepth", |v| v.count(1..4097))?.unwrap_or(1);
    Ok(u32::try_from(depth).unwrap_or(1))
}

fn write_stream(t: &Table<'_>, unit: StreamUnit) -> Result<Op, CatalogError> {
    Ok(Op::WriteStream {
        file: name(t, "file")?,
        size: size(t, "size")?,
        unit,
    })
}

fn read_stream(t: &Table<'_>, unit: StreamUnit) -> Result<Op, CatalogError> {
    Ok(Op::ReadStream {
        file: name(t, "file")?,
        unit,
    })
}

fn metadata(t: &Table<'_>, action: Action) -> Result<Op, CatalogError> {
    Ok(Op::Metadata {
        set: name(t, "set")?,
        action,
        order: order(t)?,
        threads: threads(t)?,
    })
}

/// The keys with one more.
const fn with<const N: usize, const M: usize>(
    keys: [&'static str; N],
    one_more: &'static str,
) -> [&'static str; M] {
    assert!(M == N + 1);
    let mut all = [one_more; M];
    let mut i = 0;
    while i < N {
        all[i] = keys[i];
        i += 1;
    }
    all
}

const fn operation(
    word: &'static str,
    keys: &'static [&'static str],
    read: fn(&Table<'_>) -> Result<Op, CatalogError>,
) -> Operation {
    Operation { word, keys, read }
}

/// Every operation.
pub(crate) static OPERATIONS: &[Operation] = &[
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
    operation("write", &IO, |t| io(t, Access::Write)),
    operation("overwrite", &IO, |t| io(t, Access::Overwrite)),
    operation("rewrite", &IO, |t| io(t, Access::Rewrite)),
    operation("append", &IO, |t| io(t, Access::Append)),
    operation("read", &IO, |t| io(t, Access::Read)),
    operation("read-backward", &IO, |t| io(t, Access::ReadBackward)),
    operation("read-stride", &with::<13, 14>(IO, "stride"), |t| {
        let stride = size(t, "stride")?;
        io(t, Access::ReadStride { stride })
    }),
    operation("random-read", &IO, |t| io(t, Access::RandomRead)),
    operation("random-write", &IO, |t| io(t, Access::RandomWrite)),
    operation("random-mix", &with::<13, 14>(IO, "read_share"), |t| {
        let read_share = t.need("read_share")?.share()?;
        io(t, Access::RandomMix { read_share })
    }),
    operation("record-rewrite", &IO, |t| io(t, Access::RecordRewrite)),
    operation("seek", &with::<13, 14>(IO, "write_share"), |t| {
        let write_share = t.need("write_share")?.share()?;
        io(t, Access::Seek { write_share })
    }),
    operation("write-chars", &["file", "size"], |t| {
        write_stream(t, StreamUnit::Char)
    }),
    operation("read-chars", &["file"], |t| {
        read_stream(t, StreamUnit::Char)
    }),
    operation("write-lines", &["file", "size"], |t| {
        write_stream(t, StreamUnit::Line)
    }),
    operation("read-lines", &["file"], |t| {
        read_stream(t, StreamUnit::Line)
    }),
    operation("write-stream", &["file", "size", "block"], |t| {
        write_stream(t, StreamUnit::Record(block(t)?))
    }),
    operation("read-stream", &["file", "block"], |t| {
        read_stream(t, StreamUnit::Record(block(t)?))
    }),
    operation("preallocate", &["file", "size"], |t| {
        Ok(Op::Preallocate {
            file: name(t, "file")?,
            size: size(t, "size")?,
        })
    }),
    operation("sparse", &["file", "size"], |t| {
        Ok(Op::Sparse {
            file: name(t, "file")?,
            size: size(t, "size")?,
        })
    }),
    operation(
        "create",
        &[
            "set",
            "files",
            "directories",
            "depth",
            "size",
            "order",
            "fsync",
            "fsync_directory",
            "threads",
            "sharing",
        ],
        |t| {
            Ok(Op::Create(Create {
                set: name(t, "set")?,
                kind: EntryKind::File,
                entries: count(t, "files")?,
                directories: count(t, "directories")?,
                depth: depth(t)?,
                size: t.need("size")?.size_from(0)?,
                order: order(t)?,
                fsync: t.need("fsync")?.flag()?,
                fsync_directory: t.read("fsync_directory", |v| v.flag())?.unwrap_or(false),
                threads: threads(t)?,
                sharing: sharing(t)?,
            }))
        },
    ),
    operation(
        "mkdir",
        &[
            "set",
            "entries",
            "directories",
            "depth",
            "order",
            "threads",
            "sharing",
        ],
        |t| {
            Ok(Op::Create(Create {
                set: name(t, "set")?,
                kind: EntryKind::Directory,
                entries: count(t, "entries")?,
                directories: count(t, "directories")?,
                depth: depth(t)?,
                size: Bytes(0),
                order: order(t)?,
                fsync: false,
                fsync_directory: false,
                threads: threads(t)?,
                sharing: sharing(t)?,
            }))
        },
    ),
    operation("open", &SET, |t| metadata(t, Action::Open)),
    operation("stat", &with::<3, 4>(SET, "read"), |t| {
        let read = t.read("read", |v| v.flag())?.unwrap_or(false);
        metadata(t, Action::Stat { read })
    }),
    operation("readdir", &SET, |t| metadata(t, Action::Readdir)),
    operation("rename", &with::<3, 4>(SET, "across"), |t| {
        let across = t.read("across", |v| v.flag())?.unwrap_or(false);
        metadata(t, Action::Rename { across })
    }),
    operation("link", &with::<3, 4>(SET, "to"), |t| {
        let to = name(t, "to")?;
        metadata(t, Action::Link { to })
    }),
    operation("symlink", &with::<3, 4>(SET, "to"), |t| {
        let to = name(t, "to")?;
        metadata(t, Action::Symlink { to })
    }),
    operation("chmod", &SET, |t| metadata(t, Action::Chmod)),
    operation("setxattr", &with::<3, 4>(SET, "size"), |t| {
        let size = size(t, "size")?;
        metadata(t, Action::SetXattr { size })
    }),
    operation("truncate", &with::<3, 4>(SET, "size"), |t| {
        let size = t.need("size")?.size_from(0)?;
        metadata(t, Action::Truncate { size })
    }),
    operation("delete", &with::<3, 4>(SET, "fsync"), |t| {
        let fsync = t.read("fsync", |v| v.flag())?.unwrap_or(false);
        metadata(t, Action::Remove { fsync })
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
    operation(
        "copy-tree-in",
        &[
            "tree",
            "files",
            "directories",
            "bytes",
            "smallest",
            "largest",
            "block",
        ],
        |t| {
            Ok(Op::CopyTreeIn {
                tree: name(t, "tree")?,
                files: count(t, "files")?,
                directories: count(t, "directories")?,
                bytes: size(t, "bytes")?,
                smallest: size(t, "smallest")?,
                largest: size(t, "largest")?,
                block: block(t)?,
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
    operation("copy-file-in", &["file", "size", "block"], |t| {
        Ok(Op::CopyFileIn {
            file: name(t, "file")?,
            size: size(t, "size")?,
            block: block(t)?,
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
