//! Checks that random writes to a file of 100 GiB need no more memory than a small file. Must be
//! the only test of its program, because the peak memory of the process (VmHWM) is taken as that of
//! the engine.

use std::fs;
use std::path::Path;

use model::{AccessPattern, Bytes, Io, IoEngine, Op, Sparse, SyncAtEnd};
use workload::{CellWorkspace, PhaseMeter, ThreadStats, perform};

const SIZE: Bytes = Bytes(100 << 30);
const WRITES: u64 = 300_000;

/// Maximum memory of the process, in KiB.
const MOST: u64 = 32 << 10;

/// Returns the peak memory of this process, in KiB; proc_pid_status(5).
fn held_at_most() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn operations(ws: &mut CellWorkspace, op: &Op) -> ThreadStats {
    let mut stats = ThreadStats::new(None, Default::default(), PhaseMeter::start(None, None));
    perform(op, SyncAtEnd::Call, ws, &mut stats).unwrap();
    stats
}

#[test]
fn a_sparse_file_of_any_size_is_not_held_in_memory() {
    // Data written to tmpfs is memory of the kernel, not of the process.
    let place = tempfile::tempdir_in(Path::new("/dev/shm")).unwrap();
    let mut ws = CellWorkspace::new(place.path(), 1);
    let sparse = Op::Sparse(Sparse { file: "f".into(), size: SIZE });
    operations(&mut ws, &sparse);
    let random = |access, operations| {
        Op::Io(Io {
            operations: Some(operations),
            threads: 4,
            verify: true,
            ..Io::new("f", access, Bytes::kib(4))
        })
    };
    operations(&mut ws, &random(AccessPattern::RandomWrite, WRITES));
    // Most of the file is a hole and is compared with zeros.
    let read = operations(&mut ws, &random(AccessPattern::RandomRead, WRITES));
    assert_eq!(read.verified, WRITES * 4096);
    operations(&mut ws, &random(AccessPattern::RandomMix { read_share: 0.5 }, WRITES));
    let Op::Io(job) = random(AccessPattern::Seek { write_share: 0.1 }, WRITES) else {
        unreachable!("it is a job")
    };
    let engine = IoEngine::IoUring;
    let deep = Io { engine, depth: 32, ..job };
    operations(&mut ws, &Op::Io(deep));
    let held = held_at_most();
    println!("{held} KiB");
    assert!(held < MOST, "{held} KiB");
}
