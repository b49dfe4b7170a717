//! Sharing, in-kernel copying, deallocating, zeroing and collapsing of file space, on real
//! filesystems.

use std::fs;
use std::path::Path;

use model::op::FallocateMode;
use model::{AccessPattern, Bytes, CopyFileRange, Fallocate, Io, Op, Reflink, SyncAtEnd};

use crate::error::OpError;
use crate::measure::thread_stats::ThreadStats;
use crate::mounted::Mounted;
use crate::ops::{perform, undo};
use crate::workspace::CellWorkspace;

const SIZE: u64 = 1 << 20;
const BLOCK: Bytes = Bytes::kib(64);

fn run(ws: &mut CellWorkspace, op: impl Into<Op>) -> Result<ThreadStats, OpError> {
    let mut stats =
        ThreadStats::new(None, Default::default(), crate::PhaseMeter::start(None, None));
    perform(&op.into(), SyncAtEnd::Fsync, ws, &mut stats).map(|()| stats)
}

/// Performs an operation, undoes it, and performs it again.
fn again(ws: &mut CellWorkspace, op: impl Into<Op>) -> Result<ThreadStats, OpError> {
    let op = op.into();
    run(ws, op.clone())?;
    undo(&op, ws)?;
    run(ws, op)
}

fn write(ws: &mut CellWorkspace, file: &str) {
    let write = Io { size: Some(Bytes(SIZE)), ..Io::new(file, AccessPattern::Write, BLOCK) };
    run(ws, write).unwrap();
}

/// Verifies the whole content of a file.
fn verify(ws: &mut CellWorkspace, file: &str) -> u64 {
    let read = Io { verify: true, ..Io::new(file, AccessPattern::Read, BLOCK) };
    run(ws, read).unwrap().bytes
}

fn space(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).unwrap().blocks() * 512
}

fn reflink() -> Reflink {
    Reflink { from: "f".into(), to: "clone".into() }
}

fn copy() -> CopyFileRange {
    CopyFileRange { from: "f".into(), to: "copy".into(), block: Bytes::kib(256) }
}

fn change(mode: FallocateMode, size: u64) -> Fallocate {
    Fallocate { file: "f".into(), mode, size: Some(Bytes(size)), block: Some(BLOCK) }
}

#[test]
fn the_kernel_copies_a_file_byte_by_byte_and_again() {
    let place = tempfile::tempdir().unwrap();
    let mut ws = CellWorkspace::new(place.path(), 3);
    write(&mut ws, "f");
    let stats = again(&mut ws, copy()).unwrap();
    assert_eq!((stats.operations, stats.bytes_written), (4, SIZE));
    assert_eq!(verify(&mut ws, "copy"), SIZE);
}

#[test]
fn space_can_be_punched_zeroed_and_collapsed_with_verified_content() {
    let filesystem = Mounted::new(&["mkfs.ext4", "-q"]);
    let top = filesystem.top();
    let mut ws = CellWorkspace::new(&top, 3);
    let kept = Fallocate { file: "kept".into(), ..change(FallocateMode::KeepSize, SIZE) };
    assert_eq!(again(&mut ws, kept).unwrap().operations, 16);
    let path = top.join("kept");
    assert_eq!((fs::metadata(&path).unwrap().len(), space(&path)), (0, SIZE));
    let new = Fallocate::preallocate("new", Bytes(SIZE));
    assert_eq!(again(&mut ws, new).unwrap().operations, 1);
    assert_eq!(verify(&mut ws, "new"), SIZE);

    write(&mut ws, "f");
    let path = top.join("f");
    again(&mut ws, change(FallocateMode::PunchHole, SIZE / 2)).unwrap();
    assert_eq!((verify(&mut ws, "f"), space(&path)), (SIZE, SIZE / 2));
    again(&mut ws, change(FallocateMode::ZeroRange, SIZE / 4 * 3)).unwrap();
    assert_eq!(verify(&mut ws, "f"), SIZE);
    let stats = again(&mut ws, change(FallocateMode::CollapseRange, SIZE / 4)).unwrap();
    assert_eq!(stats.operations, 4);
    assert_eq!(verify(&mut ws, "f"), SIZE / 4 * 3);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, [&bytes[4096..], &bytes[..4096]].concat()).unwrap();
    let read = Io { verify: true, ..Io::new("f", AccessPattern::Read, BLOCK) };
    assert!(matches!(run(&mut ws, read), Err(OpError::Corrupt { .. })));
}

#[test]
fn a_clone_has_equal_content_and_does_not_share_later_writes() {
    let filesystem = Mounted::new(&["mkfs.xfs", "-q", "-m", "reflink=1"]);
    let mut ws = CellWorkspace::new(&filesystem.top(), 3);
    write(&mut ws, "f");
    assert_eq!(again(&mut ws, reflink()).unwrap().operations, 1);
    run(&mut ws, Io::new("clone", AccessPattern::Overwrite, BLOCK)).unwrap();
    for file in ["f", "clone"] {
        assert_eq!(verify(&mut ws, file), SIZE);
    }
}

#[test]
fn unsupported_clone_reports_its_errno_and_skips_dependent_phases() {
    let filesystem = Mounted::new(&["mkfs.ext4", "-q"]);
    let mut ws = CellWorkspace::new(&filesystem.top(), 3);
    write(&mut ws, "f");
    let refused = |outcome: Result<ThreadStats, OpError>| match outcome {
        Err(OpError::Unsupported { reason }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(run(&mut ws, reflink())), "FICLONE: EOPNOTSUPP");
    let read = Io::new("clone", AccessPattern::Read, BLOCK);
    assert!(refused(run(&mut ws, read)).contains("`clone` could not be made"));
    assert!(!filesystem.top().join("clone").exists());
}

/// Checksums of the remaining content are computed after the timed part.
#[test]
fn recording_the_file_state_is_not_timed() {
    let place = tempfile::tempdir().unwrap();
    let mut ws = CellWorkspace::new(place.path(), 3);
    write(&mut ws, "f");
    let stats = run(&mut ws, copy()).unwrap();
    let timed = stats.elapsed();
    assert!(timed.0 > 0, "the timed part has ended when a file is finished");
}

#[test]
fn only_a_refusal_is_unsupported() {
    let place = tempfile::tempdir().unwrap();
    let mut ws = CellWorkspace::new(place.path(), 3);
    write(&mut ws, "f");
    fs::remove_file(place.path().join("f")).unwrap();
    let error = run(&mut ws, reflink()).unwrap_err();
    assert!(matches!(error, OpError::System { .. }), "{error}");
}
