//! What a phase moves: bytes and operations of one pass, as far as the plan alone tells.
//!
//! Time limits and filesystems that refuse make it less; what a filesystem does of its own accord
//! (journals, metadata) is not in it.

use std::collections::BTreeMap;
use std::ops::{Add, Mul};

use model::{Access, Action, Bytes, Io, IoEngine, Op, Sharing, StreamUnit, Test};
use serde::{Deserialize, Serialize};

/// Bytes between program and filesystem, and operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
    /// Operations.
    pub operations: u64,
    /// Operations that wait for an fsync of their own.
    pub syncs: u64,
}

impl Work {
    const fn new(read: u64, written: u64, operations: u64) -> Self {
        Self {
            read: Bytes(read),
            written: Bytes(written),
            operations,
            syncs: 0,
        }
    }

    const fn with_syncs(self, syncs: u64) -> Self {
        Self { syncs, ..self }
    }

    /// The same with so many bytes read.
    pub const fn with_read(self, read: Bytes) -> Self {
        Self { read, ..self }
    }

    /// Bytes either way.
    pub const fn moved(self) -> Bytes {
        Bytes(self.read.0.saturating_add(self.written.0))
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(
            self.read.0.saturating_add(other.read.0),
            self.written.0.saturating_add(other.written.0),
            self.operations.saturating_add(other.operations),
        )
        .with_syncs(self.syncs.saturating_add(other.syncs))
    }
}

impl Mul<u64> for Work {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self::new(
            self.read.0.saturating_mul(times),
            self.written.0.saturating_mul(times),
            self.operations.saturating_mul(times),
        )
        .with_syncs(self.syncs.saturating_mul(times))
    }
}

/// What lies on the filesystem while a test is followed.
#[derive(Clone, Copy, Debug, Default)]
struct Thing {
    entries: u64,
    bytes: u64,
}

/// The work of each phase of a test, in order.
pub(crate) fn of_phases(test: &Test) -> Vec<Work> {
    let mut things = Things::default();
    let phases = test.phases.iter();
    phases.map(|phase| things.follow(&phase.op)).collect()
}

#[derive(Default)]
struct Things(BTreeMap<String, Thing>);

impl Things {
    fn get(&self, name: &str) -> Thing {
        self.0.get(name).copied().unwrap_or_default()
    }

    fn make(&mut self, name: &str, entries: u64, bytes: u64) -> Thing {
        let thing = Thing { entries, bytes };
        self.0.insert(name.to_owned(), thing);
        thing
    }

    fn follow(&mut self, op: &Op) -> Work {
        match op {
            Op::Io(io) => self.io(io),
            Op::WriteStream { file, size, unit } => {
                self.make(file, 1, size.0);
                Work::new(0, size.0, units(size.0, *unit))
            }
            Op::ReadStream { file, unit } => {
                let size = self.get(file).bytes;
                Work::new(size, 0, units(size, *unit))
            }
            Op::Preallocate { file, size } | Op::Sparse { file, size } => {
                self.make(file, 1, size.0);
                Work::new(0, 0, 1)
            }
            Op::Create(create) => {
                let bytes = create.entries.saturating_mul(create.size.0);
                self.make(&create.set, create.entries, bytes);
                let syncs = u64::from(create.fsync) + u64::from(create.fsync_directory);
                Work::new(0, bytes, create.entries).with_syncs(create.entries.saturating_mul(syncs))
            }
            Op::Metadata { set, action, .. } => self.metadata(set, action),
            Op::PlantTree {
                tree,
                files,
                directories,
                bytes,
                ..
            } => {
                self.make(tree, files + directories, bytes.0);
                Work::new(0, bytes.0, files + directories)
            }
            Op::CopyTreeIn {
                tree,
                files,
                directories,
                bytes,
                ..
            } => {
                self.make(tree, files + directories, bytes.0);
                Work::new(0, bytes.0, files + directories)
            }
            Op::CopyFileIn { file, size, block } => {
                self.make(file, 1, size.0);
                Work::new(0, size.0, size.0.div_ceil(block.0.max(1)))
            }
            Op::CopyTree { from, to, .. } => {
                let tree = self.get(from);
                self.make(to, tree.entries, tree.bytes);
                Work::new(tree.bytes, tree.bytes, tree.entries)
            }
            Op::ListTree { tree } | Op::FindInTree { tree } | Op::RemoveTree { tree } => {
                Work::new(0, 0, self.get(tree).entries)
            }
            Op::VerifyTree { tree } => {
                let tree = self.get(tree);
                Work::new(tree.bytes, 0, tree.entries)
            }
            Op::CopyFile { from, to, block } => {
                let size = self.get(from).bytes;
                self.make(to, 1, size);
                Work::new(size, size, size.div_ceil(block.0.max(1)))
            }
            Op::RemoveFile { .. }
            | Op::Mkfs
            | Op::Mount
            | Op::Unmount
            | Op::Fsck
            | Op::Capacity
            | Op::Probe { .. } => Work::new(0, 0, 1),
        }
    }

    fn io(&mut self, io: &Io) -> Work {
        let files = match io.sharing {
            Sharing::Shared => 1,
            Sharing::Own => u64::from(io.threads),
        };
        let there = self.get(&io.file).bytes;
        let asked = io.size.map(|size| size.0.saturating_mul(files));
        let size = asked.unwrap_or(there);
        match io.access {
            Access::Write => _ = self.make(&io.file, files, size),
            Access::Append => _ = self.make(&io.file, files, there.saturating_add(size)),
            _ => {}
        }
        let block = io.block.0.max(1);
        let operations = io.operations.unwrap_or(size.div_ceil(block));
        let bytes = match io.operations {
            Some(operations) => operations.saturating_mul(block),
            None => size,
        };
        if io.engine == IoEngine::Null {
            return Work::new(0, 0, operations);
        }
        let share = |share: f64| (bytes as f64 * share) as u64;
        let work = match io.access {
            Access::Rewrite => Work::new(bytes, bytes, operations),
            Access::Seek { write_share } => Work::new(bytes, share(write_share), operations),
            Access::RandomMix { read_share } => {
                let read = share(read_share);
                Work::new(read, bytes - read.min(bytes), operations)
            }
            access if access.writes() => Work::new(0, bytes, operations),
            _ => Work::new(bytes, 0, operations),
        };
        let writes = work.written.0.div_ceil(block);
        work.with_syncs(writes.checked_div(io.fsync).unwrap_or(0))
    }

    fn metadata(&mut self, set: &str, action: &Action) -> Work {
        let thing = self.get(set);
        if let Action::Link { to } | Action::Symlink { to } = action {
            self.make(to, thing.entries, 0);
        }
        let read = match action {
            Action::Stat { read: true } => thing.bytes,
            _ => 0,
        };
        let syncs = match action {
            Action::Remove { fsync: true } => thing.entries,
            _ => 0,
        };
        Work::new(read, 0, thing.entries).with_syncs(syncs)
    }
}

/// Operations of a stream: what is handed over, a line taken for 64 bytes.
fn units(size: u64, unit: StreamUnit) -> u64 {
    match unit {
        StreamUnit::Char => size,
        StreamUnit::Line => size.div_ceil(64),
        StreamUnit::Record(bytes) => size.div_ceil(bytes.0.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use model::{Create, EntryKind, Order};

    use super::*;

    fn job(access: Access) -> Io {
        Io::new("f", access, Bytes::kib(8))
    }

    #[test]
    fn a_file_is_followed_through_its_phases() {
        let mut things = Things::default();
        let write = Io {
            size: Some(Bytes::mib(1)),
            ..job(Access::Write)
        };
        let mut next = |io: Io| {
            let work = things.follow(&Op::Io(io));
            (work.read.0 >> 10, work.written.0 >> 10, work.operations)
        };
        assert_eq!(next(write), (0, 1024, 128));
        assert_eq!(next(job(Access::Rewrite)), (1024, 1024, 128));
        let append = Io {
            size: Some(Bytes::mib(1)),
            ..job(Access::Append)
        };
        assert_eq!(next(append), (0, 1024, 128));
        assert_eq!(next(job(Access::Read)), (2048, 0, 256));
        let few = Io {
            operations: Some(10),
            ..job(Access::Seek { write_share: 0.5 })
        };
        assert_eq!(next(few), (80, 40, 10));
        let mixed = Io {
            operations: Some(100),
            ..job(Access::RandomMix { read_share: 0.75 })
        };
        assert_eq!(next(mixed), (600, 200, 100));
        let nothing = Io {
            engine: IoEngine::Null,
            ..job(Access::Read)
        };
        assert_eq!(next(nothing), (0, 0, 256));
        let synced = Io {
            operations: Some(9),
            fsync: 2,
            ..job(Access::RandomWrite)
        };
        assert_eq!(things.follow(&Op::Io(synced)).syncs, 4);
    }

    #[test]
    fn threads_with_files_of_their_own_multiply() {
        let io = Io {
            size: Some(Bytes::mib(1)),
            threads: 4,
            sharing: Sharing::Own,
            ..job(Access::Write)
        };
        let work = Things::default().follow(&Op::Io(io));
        assert_eq!(work.written, Bytes::mib(4));
    }

    #[test]
    fn a_set_is_as_large_as_it_was_made() {
        let mut things = Things::default();
        let create = Op::Create(Create {
            set: "s".into(),
            kind: EntryKind::File,
            entries: 10,
            directories: 1,
            depth: 1,
            size: Bytes(100),
            order: Order::Random,
            fsync: true,
            fsync_directory: true,
            threads: 1,
            sharing: Sharing::Shared,
        });
        assert_eq!(
            things.follow(&create),
            Work::new(0, 1000, 10).with_syncs(20)
        );
        let stat = |read| Op::Metadata {
            set: "s".into(),
            action: Action::Stat { read },
            order: Order::Random,
            threads: 1,
        };
        assert_eq!(things.follow(&stat(true)), Work::new(1000, 0, 10));
        assert_eq!(things.follow(&stat(false)), Work::new(0, 0, 10));
        let remove = Op::Metadata {
            set: "s".into(),
            action: Action::Remove { fsync: true },
            order: Order::Random,
            threads: 1,
        };
        assert_eq!(things.follow(&remove), Work::new(0, 0, 10).with_syncs(10));
    }
}
