//! Performs and undoes operations on files, one module per family of operations.

mod copy;
mod copy_in;
mod data;
mod executor;
#[cfg(test)]
mod hosts_tests;
mod job;
#[cfg(test)]
mod job_tests;
mod mix;
mod occupy;
mod open_file;
#[cfg(test)]
mod open_file_tests;
mod probe;
mod read_files;
mod replay;
mod sets;
mod stream;
mod tree;
mod undo;

use model::{CacheState, Op, SyncAtEnd};

use crate::error::OpError;
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;
use executor::PhaseExecutor;

pub(crate) use mix::RoleTotals;
pub use mix::role_result;
pub use probe::probe;
pub(crate) use sets::RemovedSet;
pub use undo::undo;

/// Path of data to the disk, common to all operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoMode {
    /// Work included at the end of the timed part.
    pub ends: SyncAtEnd,
    /// Whether data bypasses the page cache (`O_DIRECT`).
    pub direct: bool,
}

impl From<SyncAtEnd> for IoMode {
    /// Creates a mode that uses the page cache.
    fn from(ends: SyncAtEnd) -> Self {
        Self { ends, direct: false }
    }
}

/// Performs an operation on files.
///
/// # Errors
/// Returns the first error; work finished before it stays in the statistics. Returns
/// [`OpError::Unsupported`] for operations that belong to the agent: steps of the volume (mkfs,
/// mount, unmount, fsck) and feature probes.
pub fn perform(
    op: &Op,
    setting: impl Into<IoMode>,
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
) -> Result<(), OpError> {
    let setting = setting.into();
    if setting.direct && !op.info().allowed_caches().contains(&CacheState::Direct) {
        return Err(OpError::Unsupported {
            reason: "only requests on a file can pass the page cache by".into(),
        });
    }
    let mut executor = PhaseExecutor::new(ws, stats, setting);
    op.perform(&mut executor)?;
    executor.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::corruption::CorruptionKind;
    use model::{
        AccessPattern, Bytes, CacheState, CopyFile, CopyTree, Create, EntryKind, FileSharing,
        FindInTree, GenerateTree, Io, LatencyBucket, ListTree, Metadata, MetadataAction, Nanos,
        Phase, PhaseResult, ReadStream, RemoveTree, StreamUnit, TraversalOrder, TreeSpec,
        VerifyTree, WriteStream,
    };
    use std::fs;
    use std::os::unix::fs::FileExt;

    fn run(ws: &mut CellWorkspace, op: &Op) -> Result<ThreadStats, OpError> {
        let mut stats =
            ThreadStats::new(None, Default::default(), crate::PhaseMeter::start(None, None));
        perform(op, SyncAtEnd::Syncfs, ws, &mut stats).map(|()| stats)
    }

    fn write() -> Op {
        Op::Io(Io {
            size: Some(Bytes(100_000)),
            ..Io::new("f", AccessPattern::Write, Bytes::kib(8))
        })
    }

    fn verify() -> Op {
        Op::Io(Io { verify: true, ..Io::new("f", AccessPattern::Read, Bytes::kib(64)) })
    }

    fn create(files: u64, directories: u64, size: u64, order: TraversalOrder, fsync: bool) -> Op {
        Op::Create(Create {
            set: "set".into(),
            kind: EntryKind::File,
            entries: files,
            directories,
            depth: 1,
            size: Bytes(size),
            spread: Default::default(),
            order,
            fsync,
            fsync_directory: false,
            threads: 1,
            sharing: FileSharing::Shared,
        })
    }

    fn stat(order: TraversalOrder) -> Op {
        Op::Metadata(Metadata {
            set: "set".into(),
            action: MetadataAction::Stat { read: true },
            order,
            threads: 1,
        })
    }

    fn corruption(outcome: Result<ThreadStats, OpError>) -> CorruptionKind {
        match outcome.unwrap_err() {
            OpError::Corrupt { corruption, .. } => corruption.kind,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_file_can_be_verified_after_every_kind_of_write() {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 3);
        let seek = Op::Io(Io {
            operations: Some(50),
            threads: 3,
            ..Io::new("f", AccessPattern::Seek { write_share: 0.5 }, Bytes::kib(8))
        });
        let rewrite = Op::Io(Io::new("f", AccessPattern::Rewrite, Bytes::kib(16)));
        for op in [write(), seek.clone(), rewrite, seek] {
            run(&mut ws, &op).unwrap();
            let stats = run(&mut ws, &verify()).unwrap();
            assert_eq!(stats.bytes, 100_000);
        }
    }

    /// Each file is opened and closed once, and no request includes the time of these calls.
    #[test]
    fn every_opening_and_closing_is_counted_by_itself() {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 3);
        let own = |access, size| {
            Op::Io(Io {
                size,
                threads: 3,
                sharing: FileSharing::Own,
                ..Io::new("own", access, Bytes::kib(8))
            })
        };
        let all = Op::Io(Io {
            include_open_close: true,
            ..Io::new("f", AccessPattern::Read, Bytes::kib(8))
        });
        let unit = StreamUnit::Record(Bytes::kib(4));
        let file = || "stream".to_owned();
        let size = Bytes(20_000);
        for (op, files) in [
            (write(), 1),
            (all, 1),
            (own(AccessPattern::Write, Some(size)), 3),
            (own(AccessPattern::Read, None), 3),
            (Op::WriteStream(WriteStream { file: file(), size, unit }), 1),
            (Op::ReadStream(ReadStream { file: file(), unit }), 1),
        ] {
            let mut result = PhaseResult::not_run(&Phase {
                name: "phase".into(),
                cache: CacheState::Warm,
                sync_at_end: SyncAtEnd::Syncfs,
                at_most: None,
                scaling: None,
                step: None,
                needs: None,
                from_next_host: false,
                op: op.clone(),
            });
            let mut stats = run(&mut ws, &op).unwrap();
            stats.finish(&mut result);
            let counted = |buckets: &[LatencyBucket]| buckets.iter().map(|b| b.1).sum::<u64>();
            let of_files = (counted(&result.open), counted(&result.close));
            assert_eq!(of_files, (files, files), "{op:?}");
            assert_eq!(counted(&result.latency), result.operations, "{op:?}");
        }
    }

    #[test]
    fn damage_to_a_file_is_found_and_named() {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 3);
        run(&mut ws, &write()).unwrap();
        let file = fs::File::options().write(true).open(place.path().join("f")).unwrap();
        file.write_all_at(&[0; 4096], 8192).unwrap();
        assert_eq!(corruption(run(&mut ws, &verify())), CorruptionKind::Zeroed);
        file.set_len(50_000).unwrap();
        file.write_all_at(&[0], 60_000).unwrap();
        file.set_len(4096).unwrap();
        assert_eq!(
            corruption(run(&mut ws, &verify())),
            CorruptionKind::Short { expected: 100_000 }
        );
    }

    #[test]
    fn a_set_of_files_is_created_read_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 3);
        for order in [TraversalOrder::Sequential, TraversalOrder::Random] {
            let create = create(30, 4, 10, order, true);
            assert_eq!(run(&mut ws, &create).unwrap().bytes_written, 300);
            let stats = run(&mut ws, &stat(order)).unwrap();
            assert_eq!((stats.operations, stats.bytes), (30, 300));
            let delete = Op::Metadata(Metadata {
                set: "set".into(),
                action: MetadataAction::Remove { fsync: false },
                order,
                threads: 1,
            });
            run(&mut ws, &delete).unwrap();
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_phase_cut_short_leaves_a_set_that_later_phases_can_use() {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 3);
        let create = create(30, 1, 0, TraversalOrder::Sequential, false);
        let mut stats = ThreadStats::new(
            Some(Nanos(0)),
            Default::default(),
            crate::PhaseMeter::start(None, None),
        );
        perform(&create, SyncAtEnd::Call, &mut ws, &mut stats).unwrap();
        assert!(stats.time_limited);
        assert_eq!(stats.operations, 1);
        assert_eq!(run(&mut ws, &stat(TraversalOrder::Random)).unwrap().operations, 1);
    }

    #[test]
    fn a_tree_is_copied_listed_found_verified_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 3);
        let tree = || "tree".to_owned();
        let plant = Op::GenerateTree(GenerateTree {
            tree: tree(),
            spec: TreeSpec {
                files: 40,
                directories: 10,
                bytes: Bytes(400_000),
                smallest: Bytes(100),
                largest: Bytes(200_000),
            },
        });
        assert_eq!(run(&mut ws, &plant).unwrap().bytes_written, 400_000);
        let copy =
            Op::CopyTree(CopyTree { from: tree(), to: "copy".into(), block: Bytes::kib(64) });
        run(&mut ws, &copy).unwrap();
        run(&mut ws, &Op::VerifyTree(VerifyTree { tree: "copy".into() })).unwrap();
        assert_eq!(run(&mut ws, &Op::ListTree(ListTree { tree: tree() })).unwrap().operations, 50);
        run(&mut ws, &Op::FindInTree(FindInTree { tree: tree() })).unwrap();

        let lost = ws.content_files().find(|p| p.starts_with(ws.path("tree"))).unwrap();
        fs::remove_file(lost).unwrap();
        let error = run(&mut ws, &Op::ListTree(ListTree { tree: tree() })).unwrap_err();
        assert!(matches!(error, OpError::WrongEntries { expected: 50, found: 49, .. }), "{error}");

        run(&mut ws, &Op::RemoveTree(RemoveTree { tree: tree() })).unwrap();
        run(&mut ws, &Op::RemoveTree(RemoveTree { tree: "copy".into() })).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn characters_are_the_same_bytes_as_blocks() {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 3);
        let unit = StreamUnit::Char;
        let put = Op::WriteStream(WriteStream { file: "f".into(), size: Bytes(10_001), unit });
        assert_eq!(run(&mut ws, &put).unwrap().bytes, 10_001);
        assert_eq!(
            run(&mut ws, &Op::ReadStream(ReadStream { file: "f".into(), unit })).unwrap().bytes,
            10_001
        );
        run(&mut ws, &verify()).unwrap();
        let copy =
            Op::CopyFile(CopyFile { from: "f".into(), to: "g".into(), block: Bytes::kib(4) });
        run(&mut ws, &copy).unwrap();
        let verify_copy =
            Op::Io(Io { verify: true, ..Io::new("g", AccessPattern::Read, Bytes::kib(4)) });
        run(&mut ws, &verify_copy).unwrap();
    }

    #[test]
    fn a_phase_without_its_file_reports_the_missing_file() {
        let place = tempfile::tempdir().unwrap();
        let error = run(&mut CellWorkspace::new(place.path(), 3), &verify()).unwrap_err();
        assert_eq!(error.to_string(), "the file `f` was not made by an earlier phase");
    }
}
