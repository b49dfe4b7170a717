//! Sharing, in-kernel copying, deallocating, zeroing and collapsing of file space, on real
//! filesystems.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use model::op::FallocateMode;
use model::{AccessPattern, Bytes, CopyFileRange, Fallocate, Io, Op, Reflink, SyncAtEnd};
use tempfile::TempDir;

use crate::error::OpError;
use crate::measure::thread_stats::ThreadStats;
use crate::ops::{perform, undo};
use crate::workspace::CellWorkspace;

const SIZE: u64 = 1 << 20;
const BLOCK: Bytes = Bytes::kib(64);

fn run(ws: &mut CellWorkspace, op: impl Into<Op>) -> Result<ThreadStats, OpError> {
    let mut tally =
        ThreadStats::new(None, Default::default(), crate::PhaseMeter::start(None, None));
    perform(&op.into(), SyncAtEnd::Fsync, ws, &mut tally).map(|()| tally)
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

/// A filesystem on an in-memory image; unmounted on drop.
struct Mounted {
    place: TempDir,
}

impl Mounted {
    /// Returns `None` if this machine cannot create or mount the filesystem.
    fn new(mkfs: &[&str]) -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let image = place.path().join("image");
        File::create(&image).unwrap().set_len(320 << 20).unwrap();
        let done = |command: &mut Command| command.output().is_ok_and(|o| o.status.success());
        let mounted = Self { place };
        fs::create_dir(mounted.top()).unwrap();
        let made = done(Command::new(mkfs[0]).args(&mkfs[1..]).arg(&image));
        let loop_mount = ["-o", "loop"];
        let mount = || done(Command::new("mount").args(loop_mount).arg(&image).arg(mounted.top()));
        (made && mount()).then_some(mounted)
    }

    fn top(&self) -> PathBuf {
        self.place.path().join("mnt")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Fails if it is not mounted.
        let _ = Command::new("umount").arg(self.top()).output();
    }
}

#[test]
fn the_kernel_copies_a_file_byte_by_byte_and_again() {
    let place = tempfile::tempdir().unwrap();
    let mut ws = CellWorkspace::new(place.path(), 3);
    write(&mut ws, "f");
    let tally = again(&mut ws, copy()).unwrap();
    assert_eq!((tally.operations, tally.bytes_written), (4, SIZE));
    assert_eq!(verify(&mut ws, "copy"), SIZE);
}

#[test]
fn space_can_be_punched_zeroed_and_collapsed_with_verified_content() {
    let Some(filesystem) = Mounted::new(&["mkfs.ext4", "-q"]) else {
        return eprintln!("no ext4 can be mounted here");
    };
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
    let tally = again(&mut ws, change(FallocateMode::CollapseRange, SIZE / 4)).unwrap();
    assert_eq!(tally.operations, 4);
    assert_eq!(verify(&mut ws, "f"), SIZE / 4 * 3);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, [&bytes[4096..], &bytes[..4096]].concat()).unwrap();
    let read = Io { verify: true, ..Io::new("f", AccessPattern::Read, BLOCK) };
    assert!(matches!(run(&mut ws, read), Err(OpError::Corrupt { .. })));
}

#[test]
fn a_clone_has_equal_content_and_does_not_share_later_writes() {
    let Some(filesystem) = Mounted::new(&["mkfs.xfs", "-q", "-m", "reflink=1"]) else {
        return eprintln!("no XFS can be mounted here");
    };
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
    let Some(filesystem) = Mounted::new(&["mkfs.ext4", "-q"]) else {
        return eprintln!("no ext4 can be mounted here");
    };
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
    let tally = run(&mut ws, copy()).unwrap();
    let timed = tally.elapsed();
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
