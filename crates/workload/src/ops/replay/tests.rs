//! Replays on the filesystem of temporary files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use model::{Op, ReplaySpeed};
use trace::{
    Errno, OpenFlags, PathId, SyncEvent, SyscallResult, TraceRecord, TracedKind, TreeEntry,
};

use super::*;
use crate::PhaseMeter;

/// Builds a trace call by call.
#[derive(Default)]
struct Script {
    trace: Trace,
    clock: u64,
}

impl Script {
    fn path(&mut self, path: &str) -> PathId {
        self.trace.paths.intern(path.as_bytes())
    }

    fn before(&mut self, path: &str, kind: TracedKind) {
        let path = self.path(path);
        let mode = if kind == TracedKind::Directory { 0o755 } else { 0o644 };
        self.trace.before.push(TreeEntry { path, kind, mode });
    }

    fn after(&mut self, path: &str, kind: TracedKind, mode: u16) {
        let path = self.path(path);
        self.trace.after.push(TreeEntry { path, kind, mode });
    }

    fn call(&mut self, thread: u32, call: Syscall, outcome: SyscallResult) {
        self.clock += 1000;
        self.trace.operations.push(TraceRecord {
            process: thread,
            thread,
            began: Nanos(self.clock),
            duration: Nanos(500),
            call,
            outcome,
        });
    }

    fn done(&mut self, thread: u32, call: Syscall) {
        self.call(thread, call, SyscallResult::Ok(0));
    }

    fn open(&mut self, thread: u32, path: &str, handle: u32) {
        let path = self.path(path);
        let flags = OpenFlags(OpenFlags::CREATE | 2);
        let handle = Some(HandleId(handle));
        self.done(thread, Syscall::Open { path, flags, mode: 0o666, handle });
    }

    fn mkdir(&mut self, thread: u32, path: &str) {
        let path = self.path(path);
        self.done(thread, Syscall::MakeDirectory { path, mode: 0o777 });
    }

    fn op(&self) -> Op {
        Op::Replay(Replay {
            trace: "t".into(),
            into: "t".into(),
            pace: ReplaySpeed::Closed,
            speed: None,
            group: None,
            facts: None,
            data: Some(BASE64_STANDARD.encode(self.trace.encode().unwrap())),
        })
    }

    fn play(&self) -> (tempfile::TempDir, Result<ThreadStats, OpError>) {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 3);
        let mut stats = ThreadStats::new(None, Arc::default(), PhaseMeter::start(None, None));
        let outcome = crate::perform(&self.op(), SyncAtEnd::Syncfs, &mut ws, &mut stats);
        (place, outcome.map(|()| stats))
    }

    fn fails(&self) -> String {
        self.play().1.unwrap_err().to_string()
    }
}

/// Builds a trace of all features of a Linux filesystem, in two threads.
fn everything() -> Script {
    let mut s = Script::default();
    s.before("d", TracedKind::Directory);
    s.before("d/old", TracedKind::File { size: 10_000 });
    s.before("d/link", TracedKind::Symlink(b"old".to_vec()));
    s.open(0, "d/new", 0);
    let handle = HandleId(0);
    for (offset, length) in [(0, 5000), (5000, 9_000_000), (100, 0)] {
        s.call(0, Syscall::Write { handle, offset, length }, SyscallResult::Ok(length));
    }
    s.done(0, Syscall::Order(SyncEvent::Spawn { thread: 1 }));
    s.call(1, Syscall::Read { handle, offset: 0, length: 100 }, SyscallResult::Ok(100));
    s.mkdir(1, "e");
    s.mkdir(1, "e/f");
    s.open(0, "e/f/g", 1);
    let second = HandleId(1);
    s.done(0, Syscall::TruncateHandle { handle: second, size: 12_345 });
    s.call(
        0,
        Syscall::MappedWrite { handle: second, offset: 4096, length: 4096 },
        SyscallResult::Ok(4096),
    );
    s.call(
        0,
        Syscall::MappedRead { handle: second, offset: 0, length: 9000 },
        SyscallResult::Ok(9000),
    );
    s.done(0, Syscall::MappedSync { handle: second, offset: 0, length: 9000 });
    s.done(0, Syscall::SyncRange { handle: second, offset: 0, length: 0 });
    s.done(0, Syscall::Advise { handle: second, offset: 0, length: 0, advice: 4 });
    s.done(0, Syscall::Lock { handle: second });
    s.done(0, Syscall::ChangeModeHandle { handle: second, mode: 0o600 });
    s.done(0, Syscall::SetTimesHandle { handle: second });
    s.done(0, Syscall::ChangeOwnerHandle { handle: second });
    s.done(0, Syscall::StatHandle { handle: second });
    s.done(0, Syscall::Sync { handle: second, data_only: true });
    s.done(0, Syscall::Close { handle: second });
    let (old, link, gone) = (s.path("d/old"), s.path("d/link"), s.path("gone"));
    s.done(1, Syscall::Stat { path: link, follow: true });
    s.call(1, Syscall::Stat { path: gone, follow: true }, SyscallResult::Err(Errno(2)));
    s.done(1, Syscall::ReadLink { path: link });
    s.done(1, Syscall::Access { path: old, mode: 4 });
    s.done(1, Syscall::Truncate { path: old, size: 77 });
    s.done(1, Syscall::SetTimes { path: old, follow: true });
    s.done(1, Syscall::ChangeMode { path: old, mode: 0o640 });
    s.done(1, Syscall::StatFilesystem);
    s.done(1, Syscall::SyncAll);
    let (hard, soft, pipe) = (s.path("e/hard"), s.path("e/soft"), s.path("e/pipe"));
    s.done(1, Syscall::Link { from: old, to: hard });
    s.done(1, Syscall::Symlink { text: b"/etc/passwd".to_vec(), path: soft });
    s.done(1, Syscall::MakePipe { path: pipe, mode: 0o600 });
    let (from, to) = (s.path("e"), s.path("h"));
    s.done(1, Syscall::Rename { from, to, flags: 0 });
    let top = s.path("h");
    let flags = OpenFlags(OpenFlags::DIRECTORY);
    s.done(0, Syscall::Open { path: top, flags, mode: 0, handle: Some(HandleId(2)) });
    s.call(0, Syscall::List { handle: HandleId(2) }, SyscallResult::Ok(4));
    s.done(0, Syscall::Close { handle: HandleId(2) });
    s.done(0, Syscall::Unlink { path: link });
    s.after("d", TracedKind::Directory, 0o755);
    s.after("d/old", TracedKind::File { size: 77 }, 0o640);
    s.after("d/new", TracedKind::File { size: 9_005_000 }, 0o644);
    s.after("h", TracedKind::Directory, 0o755);
    s.after("h/f", TracedKind::Directory, 0o755);
    s.after("h/f/g", TracedKind::File { size: 12_345 }, 0o600);
    s.after("h/hard", TracedKind::Link(old), 0o640);
    s.after("h/soft", TracedKind::Symlink(b"/etc/passwd".to_vec()), 0o777);
    s.after("h/pipe", TracedKind::Pipe, 0o600);
    s
}

#[test]
fn everything_is_done_again_and_counted() {
    let script = everything();
    let (place, outcome) = script.play();
    let stats = outcome.unwrap();
    let orders = script.trace.operations.iter();
    let orders = orders.filter(|o| matches!(o.call, Syscall::Order(_))).count();
    assert_eq!(stats.operations as usize, script.trace.operations.len() - orders);
    assert_eq!(stats.bytes_written, 9_005_000 + 4096);
    assert_eq!(stats.bytes - stats.bytes_written, 100 + 9000);
    let soft = fs::read_link(place.path().join("t/h/soft")).unwrap();
    assert_eq!(soft.to_str(), Some("_etc_passwd"), "no link leads out");
}

/// Permissions with the umask, as earlier imports have them, give the same tree as without it.
#[test]
fn each_process_creates_files_with_its_own_umask() {
    let mut s = Script::default();
    s.open(0, "public", 0);
    s.open(1, "secret", 1);
    s.mkdir(1, "vault");
    s.after("public", TracedKind::File { size: 0 }, 0o644);
    s.after("secret", TracedKind::File { size: 0 }, 0o600);
    s.after("vault", TracedKind::Directory, 0o700);
    let (place, outcome) = s.play();
    outcome.unwrap();
    for (name, mode) in [("public", 0o644), ("secret", 0o600), ("vault", 0o700)] {
        let made = fs::metadata(place.path().join("t").join(name)).unwrap();
        assert_eq!(made.permissions().mode() & 0o777, mode, "{name}");
    }
}

#[test]
fn a_different_final_tree_is_a_failure() {
    let mut script = everything();
    script.trace.after.pop();
    assert!(script.fails().ends_with("h/pipe should not exist"), "{}", script.fails());
    script.after("h/pipe", TracedKind::File { size: 0 }, 0o600);
    assert!(script.fails().ends_with("h/pipe is of another kind"));
    script.trace.after.pop();
    script.after("h/pipe", TracedKind::Pipe, 0o640);
    assert!(script.fails().contains("permissions 600 instead of 640"));
    script.after("more", TracedKind::Directory, 0o755);
    script.trace.after[2].kind = TracedKind::File { size: 1 };
    assert!(script.fails().ends_with("d/new has 9005000 bytes instead of 1"));
}

#[test]
fn a_different_result_is_reported_with_its_call() {
    let mut script = Script::default();
    script.mkdir(0, "a");
    let (a, b) = (script.path("a"), script.path("b"));
    script.call(0, Syscall::RemoveDirectory { path: a }, SyscallResult::Err(Errno(39)));
    assert_eq!(
        script.fails(),
        "operation 2 of the trace, rmdir of a: success instead of ENOTEMPTY"
    );
    script.trace.operations.pop();
    script.done(0, Syscall::Rename { from: b, to: a, flags: 0 });
    assert_eq!(
        script.fails(),
        "operation 2 of the trace, rename of b to a: ENOENT instead of success"
    );
    script.trace.operations.pop();
    script.call(0, Syscall::Unlink { path: b }, SyscallResult::Err(Errno(13)));
    assert_eq!(script.fails(), "operation 2 of the trace, unlink of b: ENOENT instead of EACCES");
}

#[test]
fn a_failure_in_one_thread_ends_all() {
    let mut script = Script::default();
    script.mkdir(0, "a");
    script.done(0, Syscall::Order(SyncEvent::Spawn { thread: 1 }));
    script.mkdir(1, "a");
    script.done(1, Syscall::Order(SyncEvent::Send { message: 0 }));
    script.done(0, Syscall::Order(SyncEvent::Receive { message: 0 }));
    script.mkdir(0, "b");
    assert!(script.fails().ends_with("mkdir of a: EEXIST instead of success"));
}

#[test]
fn a_replay_can_be_done_again() {
    let script = everything();
    let place = tempfile::tempdir().unwrap();
    let mut ws = CellWorkspace::new(place.path(), 3);
    for _ in 0..2 {
        let mut stats = ThreadStats::new(None, Arc::default(), PhaseMeter::start(None, None));
        crate::perform(&script.op(), SyncAtEnd::Call, &mut ws, &mut stats).unwrap();
        crate::undo(&script.op(), &mut ws).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}

#[test]
fn an_invalid_trace_is_refused() {
    let mut script = Script::default();
    script.done(0, Syscall::Close { handle: HandleId(7) });
    assert!(script.fails().ends_with("openings are not numbered from 0"));
    let mut replay = Script::default().op();
    if let Op::Replay(replay) = &mut replay {
        replay.data = None;
    }
    let place = tempfile::tempdir().unwrap();
    let mut ws = CellWorkspace::new(place.path(), 3);
    let mut stats = ThreadStats::new(None, Arc::default(), PhaseMeter::start(None, None));
    let error = crate::perform(&replay, SyncAtEnd::Call, &mut ws, &mut stats).unwrap_err();
    assert_eq!(error.to_string(), "the trace `t` was not made by an earlier phase");
}

#[test]
fn the_pace_of_the_recording_is_kept() {
    let mut script = Script::default();
    script.mkdir(0, "a");
    script.clock = 40_000_000;
    script.mkdir(0, "b");
    for name in ["a", "b"] {
        script.after(name, TracedKind::Directory, 0o755);
    }
    let place = tempfile::tempdir().unwrap();
    let mut ws = CellWorkspace::new(place.path(), 3);
    let mut stats = ThreadStats::new(None, Arc::default(), PhaseMeter::start(None, None));
    let Op::Replay(mut replay) = script.op() else { unreachable!() };
    replay.pace = ReplaySpeed::Scaled;
    replay.speed = Some(2.0);
    crate::perform(&Op::Replay(replay), SyncAtEnd::Call, &mut ws, &mut stats).unwrap();
    assert!(stats.elapsed() >= Nanos(20_000_000), "{:?}", stats.elapsed());
    let mode = fs::metadata(place.path().join("t/a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}
