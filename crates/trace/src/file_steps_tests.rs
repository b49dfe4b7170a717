//! Steps of traces that are made call by call.

use model::Nanos;
use proptest::prelude::*;

use super::*;
use crate::trace::{Errno, TraceRecord};

const DIRECTORY: OpenFlags = OpenFlags(OpenFlags::DIRECTORY);
const CREATE: OpenFlags = OpenFlags(OpenFlags::CREATE | 1);

/// A trace that is made call by call.
#[derive(Default)]
struct MadeTrace {
    trace: Trace,
}

impl MadeTrace {
    fn path(&mut self, path: &str) -> PathId {
        self.trace.paths.intern(path.as_bytes())
    }

    fn before(&mut self, path: &str, kind: TracedKind) -> &mut Self {
        let path = self.path(path);
        self.trace.before.push(TreeEntry { path, kind, mode: 0o644 });
        self
    }

    fn returned(&mut self, call: Syscall, outcome: SyscallResult) -> &mut Self {
        let record = TraceRecord {
            process: 0,
            thread: 0,
            began: Nanos(0),
            duration: Nanos(0),
            call,
            outcome,
        };
        self.trace.operations.push(record);
        self
    }

    fn call(&mut self, call: Syscall) -> &mut Self {
        self.returned(call, SyscallResult::Ok(0))
    }

    fn open(&mut self, path: &str, flags: OpenFlags, handle: u32) -> &mut Self {
        let path = self.path(path);
        self.call(Syscall::Open { path, flags, mode: 0o644, handle: Some(HandleId(handle)) })
    }

    fn write(&mut self, handle: u32, offset: u64, length: u64) -> &mut Self {
        let call = Syscall::Write { handle: HandleId(handle), offset, length };
        self.returned(call, SyscallResult::Ok(length))
    }

    fn fsync(&mut self, handle: u32) -> &mut Self {
        self.call(Syscall::Sync { handle: HandleId(handle), data_only: false })
    }

    fn rename(&mut self, from: &str, to: &str, flags: u8) -> &mut Self {
        let (from, to) = (self.path(from), self.path(to));
        self.call(Syscall::Rename { from, to, flags })
    }

    fn unlink(&mut self, path: &str) -> &mut Self {
        let path = self.path(path);
        self.call(Syscall::Unlink { path })
    }

    fn steps(&self) -> TraceSteps {
        file_steps(&self.trace).expect("the trace has steps")
    }
}

fn texts(steps: &[FileStep]) -> Vec<String> {
    steps.iter().map(ToString::to_string).collect()
}

#[test]
fn delivery_of_a_message_becomes_its_steps() {
    let mut recording = MadeTrace::default();
    recording
        .before("Maildir", TracedKind::Directory)
        .before("Maildir/tmp", TracedKind::Directory)
        .before("Maildir/new", TracedKind::Directory)
        .before("Maildir/log", TracedKind::File { size: 9000 })
        .before("other", TracedKind::File { size: 1 })
        .open("Maildir/tmp/1", CREATE, 0)
        .write(0, 0, 3000)
        .write(0, 3000, 3000)
        .fsync(0)
        .rename("Maildir/tmp/1", "Maildir/new/1", 0)
        .open("Maildir/new", DIRECTORY, 1)
        .fsync(1)
        .open("Maildir/log", OpenFlags(1), 2)
        .write(2, 9000, 100)
        .write(2, 9100, 5000)
        .fsync(2);
    let steps = recording.steps();
    let prepared =
        ["mkdir Maildir", "mkdir Maildir/tmp", "mkdir Maildir/new", "write Maildir/log 3"];
    assert_eq!(texts(&steps.prepare), prepared);
    assert_eq!(
        texts(&steps.steps),
        [
            "write Maildir/tmp/1 2",
            "fsync Maildir/tmp/1",
            "rename Maildir/tmp/1 Maildir/new/1",
            "fsync Maildir/new",
            "write-at Maildir/log 2 2",
            "fsync Maildir/log",
        ]
    );
    assert!(steps.omitted.is_empty());
}

#[test]
fn syncs_follow_a_file_through_its_names() {
    let mut recording = MadeTrace::default();
    recording
        .before("a", TracedKind::Directory)
        .before("a/file", TracedKind::File { size: 4096 })
        .open("a/file", OpenFlags(1), 0)
        .rename("a", "b", 0)
        .write(0, 0, 1)
        .fsync(0)
        .unlink("b/file")
        .write(0, 0, 1)
        .fsync(0);
    let steps = recording.steps();
    assert_eq!(
        texts(&steps.steps),
        ["rename a b", "write-at b/file 0 1", "fsync b/file", "unlink b/file"]
    );
    assert_eq!(steps.omitted, BTreeMap::from([("write", 1), ("fsync", 1)]));
}

#[test]
fn synchronous_and_unnamed_files_keep_their_syncs() {
    let mut recording = MadeTrace::default();
    let sync = OpenFlags(CREATE.0 | OpenFlags::DATA_SYNC);
    let unnamed = OpenFlags(OpenFlags::TEMPORARY | OpenFlags::DIRECTORY | 1);
    recording.open("log", sync, 0).write(0, 0, 10).open("", unnamed, 1).write(1, 0, 8192);
    let to = recording.path("made");
    recording.call(Syscall::LinkHandle { handle: HandleId(1), to }).fsync(1);
    let expected = ["write log 1", "fdatasync log", "write made 2", "fsync made"];
    assert_eq!(texts(&recording.steps().steps), expected);
}

#[test]
fn names_that_no_step_can_have_are_replaced() {
    let mut recording = MadeTrace::default();
    recording
        .open(".git", CREATE, 0)
        .open("two words", CREATE, 1)
        .open("two\nwords", CREATE, 2)
        .unlink(".git");
    let steps = recording.steps().steps;
    assert_eq!(
        texts(&steps),
        ["write _1.git 0", "write _2twowords 0", "write _3twowords 0", "unlink _1.git"]
    );
}

#[test]
fn calls_that_failed_have_no_step() {
    let mut recording = MadeTrace::default();
    let path = recording.path("d");
    let call = Syscall::MakeDirectory { path, mode: 0o755 };
    recording.returned(call.clone(), SyscallResult::Err(Errno(28))).call(call).unlink("missing");
    assert_eq!(texts(&recording.steps().steps), ["mkdir d"]);
}

#[test]
fn a_trace_without_steps_names_the_reason() {
    let error = |recording: &MadeTrace| file_steps(&recording.trace).unwrap_err().to_string();
    let mut reads = MadeTrace::default();
    reads.before("a", TracedKind::File { size: 1 }).open("a", OpenFlags(0), 0).fsync(0);
    assert!(error(&reads).contains("it changes no file"));
    let mut large = MadeTrace::default();
    large.open("a", CREATE, 0).write(0, 4 << 20, 1);
    assert_eq!(error(&large), "`a` has more than 4 MiB; record a run with smaller files");
    let mut exchange = MadeTrace::default();
    exchange
        .before("a", TracedKind::File { size: 1 })
        .before("b", TracedKind::File { size: 1 })
        .rename("a", "b", RENAME_EXCHANGE);
    assert!(error(&exchange).starts_with("it exchanges `a` with another name"));
    let mut long = MadeTrace::default();
    for number in 0..=FileStep::MAX_STEPS {
        long.open(&format!("f{number}"), CREATE, 0);
    }
    assert!(error(&long).starts_with("it has more than 1024 changes and syncs"));
}

proptest! {
    /// Steps of any calls name only objects that exist, so none of them can fail for want of one.
    #[test]
    fn every_step_finds_its_names(calls in proptest::collection::vec((0..9_u8, 0..6_u8, 0..6_u8), 1..60)) {
        let mut recording = MadeTrace::default();
        recording.before("d0", TracedKind::Directory).before("f0", TracedKind::File { size: 5000 });
        for (at, (kind, a, b)) in calls.into_iter().enumerate() {
            let name = |n: u8| if n.is_multiple_of(2) { format!("f{n}") } else { format!("d0/f{n}") };
            let handle = at as u32;
            match kind {
                0..=2 => { recording.open(&name(a), CREATE, handle); }
                3 => { recording.write(u32::from(b), u64::from(a) * 3000, 2500); }
                4 => { recording.fsync(u32::from(a)); }
                5 => { recording.rename(&name(a), &name(b), 0); }
                6 => { recording.unlink(&name(a)); }
                7 => {
                    let (from, to) = (recording.path(&name(a)), recording.path(&name(b)));
                    recording.call(Syscall::Link { from, to });
                }
                _ => {
                    let call = Syscall::TruncateHandle { handle: HandleId(u32::from(a)), size: u64::from(b) * 4000 };
                    recording.call(call);
                }
            }
        }
        let Ok(found) = file_steps(&recording.trace) else { return Ok(()) };
        let mut files = std::collections::BTreeSet::new();
        for step in found.prepare.iter().chain(&found.steps) {
            prop_assert_eq!(step.to_string().parse::<FileStep>(), Ok(step.clone()));
            match step {
                FileStep::Mkdir(_) | FileStep::Sync => {}
                FileStep::Write(path, _) => { prop_assert!(files.insert(path.clone())); }
                FileStep::Rename(from, to) => {
                    prop_assert!(files.remove(from));
                    files.insert(to.clone());
                }
                FileStep::Link(from, to) => {
                    prop_assert!(files.contains(from));
                    files.insert(to.clone());
                }
                FileStep::Unlink(path) => { prop_assert!(files.remove(path)); }
                step => {
                    let path = step.paths().next().expect("a path").to_owned();
                    prop_assert!(files.contains(&path), "{}", step);
                }
            }
        }
    }
}
