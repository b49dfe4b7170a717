//! Checks that a million files need no more memory than a few. Must be the only test of its
//! program, because the peak memory of the process (VmHWM) is taken as that of the engine.

use std::fs;
use std::path::Path;

use model::{
    Bytes, Create, EntryKind, FileSharing, Metadata, MetadataAction, Nanos, Op, SyncAtEnd,
    TraversalOrder,
};
use workload::{CellWorkspace, PhaseMeter, ThreadStats, perform};

const FILES: u64 = 1_000_000;
const THREADS: u32 = 2;

/// Maximum memory of the process, in KiB.
const MOST: u64 = 32 << 10;

/// Returns the peak memory of this process, in KiB; proc_pid_status(5).
fn held_at_most() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn operations(ws: &mut CellWorkspace, op: &Op, at_most: Option<Nanos>) -> u64 {
    let mut stats = ThreadStats::new(at_most, Default::default(), PhaseMeter::start(None, None));
    perform(op, SyncAtEnd::Call, ws, &mut stats).unwrap();
    stats.operations
}

#[test]
fn a_million_files_are_not_held_in_memory() {
    // Memory of tmpfs files belongs to the kernel, not to the process.
    let place = tempfile::tempdir_in(Path::new("/dev/shm")).unwrap();
    let mut ws = CellWorkspace::new(place.path(), 1);
    let create = Op::Create(Create {
        set: "set".into(),
        kind: EntryKind::File,
        entries: FILES,
        directories: 1,
        depth: 1,
        size: Bytes(0),
        spread: model::op::SizeDistribution::Fixed,
        order: TraversalOrder::Random,
        fsync: false,
        fsync_directory: false,
        threads: THREADS,
        sharing: FileSharing::Shared,
    });
    let visit = |action| {
        Op::Metadata(Metadata {
            set: "set".into(),
            action,
            order: TraversalOrder::Random,
            threads: THREADS,
        })
    };
    let rename = visit(MetadataAction::Rename { across: false });
    assert_eq!(operations(&mut ws, &create, None), FILES);
    // Renames a part of the files; the set records which ones without a list.
    operations(&mut ws, &rename, Some(Nanos(50_000_000)));
    for action in [
        MetadataAction::Stat { read: true },
        MetadataAction::Readdir,
        MetadataAction::Remove { fsync: false },
    ] {
        let op = visit(action);
        assert_eq!(operations(&mut ws, &op, None), FILES, "{op:?}");
    }
    let held = held_at_most();
    assert!(held < MOST, "{held} KiB");
}
