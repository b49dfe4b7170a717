//! `fsarena trace record`: operations of real commands below a directory, compared with their known
//! operations and with strace.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use end_to_end::{CommandOutput, program, succeed};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tempfile::TempDir;
use trace::{Errno, PathId, SyncEvent, Syscall, SyscallResult, Trace, TraceRecord, TracedKind};

/// All kinds of calls, and their expected recording.
const CALLS: &str = include_str!("calls.c");
const CALLS_RECORDED: &str = include_str!("calls.txt");

/// A directory to record, and another one outside it.
struct RecordingPlace {
    directory: TempDir,
}

impl RecordingPlace {
    fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("fsarena-record-").tempdir();
        let place = Self { directory: directory.unwrap() };
        fs::create_dir(place.top()).unwrap();
        place
    }

    fn top(&self) -> PathBuf {
        self.beside("top")
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the recorder of this command, which runs in the recorded directory.
    fn recorder<S: AsRef<std::ffi::OsStr>>(&self, command: &[S]) -> Command {
        let mut recorder = Command::new(program::fsarena());
        recorder.args(["trace", "record", "--output"]);
        recorder.arg(self.beside("out.trace")).arg("--").args(command);
        recorder.current_dir(self.top());
        recorder
    }

    fn trace(&self) -> Trace {
        Trace::decode(&fs::read(self.beside("out.trace")).unwrap()).unwrap()
    }

    /// Records a shell script. Returns the trace and the output of the recorder.
    fn shell(&self, script: &str) -> (Trace, CommandOutput) {
        let ended = CommandOutput::from(self.recorder(&["sh", "-c", script]).output().unwrap());
        (self.trace(), ended)
    }

    /// Compiles a C program outside the recorded directory.
    fn compiled(&self, source: &str) -> PathBuf {
        let (code, program) = (self.beside("program.c"), self.beside("program"));
        fs::write(&code, source).unwrap();
        succeed(Command::new("gcc").args(["-O1", "-w", "-o"]).arg(&program).arg(&code));
        program
    }
}

/// Returns the debug text of a call, with paths instead of path numbers.
fn named(trace: &Trace, call: &Syscall) -> String {
    let text = format!("{call:?}");
    let mut parts = text.split("PathId(");
    let mut named = parts.next().unwrap().to_owned();
    for part in parts {
        let (number, rest) = part.split_once(')').unwrap();
        let path = trace.paths.full(PathId(number.parse().unwrap()));
        named += &format!("{}{rest}", String::from_utf8(path).unwrap());
    }
    named
}

fn path(trace: &Trace, operation: &TraceRecord) -> String {
    let first = operation.call.paths()[0];
    let bytes = first.map(|path| trace.paths.full(path)).unwrap_or_default();
    String::from_utf8(bytes).unwrap()
}

/// Returns the first operation with this name and path, and its position.
#[track_caller]
fn find<'a>(trace: &'a Trace, call: &str, on: &str) -> (usize, &'a TraceRecord) {
    let is_it = |o: &&TraceRecord| o.call.name() == call && path(trace, o) == on;
    let mut found = trace.operations.iter().enumerate();
    let found = found.find(|(_, o)| is_it(o));
    found.unwrap_or_else(|| panic!("no {call} of {on}"))
}

#[test]
fn each_kind_of_call_is_recorded_once_with_its_path_place_length_and_result() {
    let place = RecordingPlace::new();
    let program = place.compiled(CALLS);
    CommandOutput::from(place.recorder(&[program]).output().unwrap()).assert_code(0);
    let trace = place.trace();
    let shown = trace.operations.iter().map(|operation| {
        let call = named(&trace, &operation.call);
        format!("{} {call} {:?}\n", operation.thread, operation.outcome)
    });
    let shown: String = shown.collect();
    assert_eq!(shown, CALLS_RECORDED);
    let unseen = &trace.header.limitations;
    assert!(unseen.iter().any(|limit| limit.starts_with("Files were mapped")), "{unseen:?}");
    let modes: Vec<_> = trace.after.iter().map(|e| (path_of(&trace, e.path), e.mode)).collect();
    assert!(modes.contains(&("d".to_owned(), 0o755)), "{modes:?}");
    let link = trace.after.iter().find(|e| path_of(&trace, e.path) == "d/hh").unwrap();
    assert!(matches!(link.kind, TracedKind::Link(_)), "{link:?}");
}

fn path_of(trace: &Trace, path: PathId) -> String {
    String::from_utf8(trace.paths.full(path)).unwrap()
}

#[test]
fn only_files_whose_real_path_is_below_the_directory_are_recorded() {
    let place = RecordingPlace::new();
    fs::create_dir(place.beside("other")).unwrap();
    symlink("../top", place.beside("other/in")).unwrap();
    symlink(place.beside("other"), place.top().join("out")).unwrap();
    symlink("one", place.top().join("two")).unwrap();
    fs::write(place.top().join("one"), "1").unwrap();
    let script = "cd ../other; : >not; : >in/a; : >../top/b; cd in; : >c; : >../not2; cat two; : >out/not3; \
                  cat out/in/one";
    let (trace, ended) = place.shell(script);
    assert_eq!(ended.assert_code(0).stdout, "11");
    let opened = trace.operations.iter().filter(|o| o.call.name() == "open");
    let opened: Vec<_> = opened.map(|operation| path(&trace, operation)).collect();
    assert_eq!(opened, ["a", "b", "c", "two", "one"]);
    assert!(trace.header.elsewhere > 10, "{:?}", trace.header);
    assert_eq!(trace.before.len(), 3);
    assert_eq!(trace.after.len(), 6);
}

#[test]
fn files_that_the_command_inherits_open_are_recorded() {
    let place = RecordingPlace::new();
    let output = fs::File::create(place.top().join("said")).unwrap();
    let mut recorder = place.recorder(&["sh", "-c", "echo 1; echo 22"]);
    assert!(recorder.stdout(output).status().unwrap().success());
    let trace = place.trace();
    // A shell may call stat on its working directory.
    let written = trace.operations.iter().filter(|o| o.call.name() != "stat");
    let calls: Vec<_> = written.map(|o| named(&trace, &o.call)).collect();
    let expected = [
        "Open { path: said, flags: OpenFlags(1), mode: 0, handle: Some(HandleId(0)) }",
        "Write { handle: HandleId(0), offset: 0, length: 2 }",
        "Write { handle: HandleId(0), offset: 2, length: 3 }",
        "Close { handle: HandleId(0) }",
    ];
    assert_eq!(calls, expected);
}

#[test]
fn a_pipe_a_start_and_a_wait_order_processes() {
    let place = RecordingPlace::new();
    let (trace, ended) = place.shell("(echo x >a; echo go) | (read go; cat a >b); cat b >c");
    ended.assert_code(0);
    let operations = &trace.operations;
    let order = |wanted: &dyn Fn(&SyncEvent) -> bool, from: usize| {
        let is_it = |o: &TraceRecord| matches!(&o.call, Syscall::Order(order) if wanted(order));
        from + operations[from..].iter().position(is_it).expect("an order")
    };
    let (written, writer) = find(&trace, "open", "a");
    let sends = order(&|order| matches!(order, SyncEvent::Send { .. }), written);
    assert_eq!(operations[sends].thread, writer.thread);
    let Syscall::Order(SyncEvent::Send { message }) = operations[sends].call else {
        unreachable!("it was looked for")
    };
    let receives = order(&|order| *order == SyncEvent::Receive { message }, sends);
    let (made, maker) = find(&trace, "open", "b");
    let reader = operations[receives].thread;
    // `cat` is a child of the shell that has read the pipe, or replaces that shell.
    let starts = SyncEvent::Spawn { thread: maker.thread };
    let is_child = operations[receives..made]
        .iter()
        .any(|o| o.thread == reader && o.call == Syscall::Order(starts));
    assert!(reader == maker.thread || is_child);
    let awaits = order(&|order| *order == SyncEvent::Join { thread: reader }, made);
    let (last, _) = find(&trace, "open", "c");
    assert!(awaits < last);
}

#[test]
fn a_command_that_fails_is_recorded_and_its_exit_code_passed_on() {
    let place = RecordingPlace::new();
    let (trace, ended) = place.shell("cat missing; mkdir -p d; mkdir d; exit 7");
    ended.assert_code(7);
    let (_, open) = find(&trace, "open", "missing");
    assert_eq!(open.outcome, SyscallResult::Err(Errno(2)));
    let made = trace.operations.iter().filter(|o| o.call.name() == "mkdir");
    let made: Vec<_> = made.map(|operation| operation.outcome).collect();
    assert_eq!(made, [SyscallResult::Ok(0), SyscallResult::Err(Errno(17))]);
    place.shell("kill -9 $$").1.assert_code(128 + 9);
    let none =
        CommandOutput::from(place.recorder(&["no-such-program"]).output().unwrap()).assert_code(2);
    assert_eq!(
        none.stderr,
        "fsarena: cannot run no-such-program: No such file or directory; check the path\n"
    );
}

#[test]
fn a_ctrl_c_is_the_commands_and_the_trace_is_written() {
    let place = RecordingPlace::new();
    let script = "trap 'echo x >caught; exit 5' INT; echo ready; while :; do sleep 0.02; done";
    let mut recorder = place.recorder(&["sh", "-c", script]);
    let mut recorder = recorder.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(recorder.stdout.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    killpg(Pid::from_raw(recorder.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(recorder.wait().unwrap().code(), Some(5));
    find(&place.trace(), "open", "caught");
}

#[test]
fn background_processes_of_a_command_are_recorded_to_their_end() {
    let place = RecordingPlace::new();
    let script = "(while [ ! -e go ]; do sleep 0.02; done; echo x >late) & exit 3";
    let mut recorder = place.recorder(&["sh", "-c", script]);
    let mut recorder = recorder.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(recorder.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.starts_with("The command has ended; "), "{line}");
    fs::write(place.top().join("go"), "").unwrap();
    assert_eq!(recorder.wait().unwrap().code(), Some(3));
    find(&place.trace(), "open", "late");
}

#[test]
fn sigterm_ends_a_recording_with_processes_that_the_command_leaves_behind() {
    let place = RecordingPlace::new();
    let mut recorder = place.recorder(&["sh", "-c", "sleep 600 & echo ready; wait"]);
    let mut recorder = recorder.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(recorder.stdout.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    kill(Pid::from_raw(recorder.id().cast_signed()), Signal::SIGTERM).unwrap();
    // Would take ten minutes if the process that is left were awaited.
    assert_eq!(recorder.wait().unwrap().code(), Some(128 + 15));
    assert!(!place.trace().operations.is_empty());
}

#[test]
fn a_killed_recorder_leaves_no_processes() {
    let place = RecordingPlace::new();
    let mut recorder = place.recorder(&["sh", "-c", "echo $$; sleep 600 & wait"]);
    let mut recorder = recorder.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(recorder.stdout.take().unwrap());
    let mut shell = String::new();
    said.read_line(&mut shell).unwrap();
    let shell = Pid::from_raw(shell.trim().parse().unwrap());
    while sys::process::children(shell).is_empty() {
        std::thread::yield_now();
    }
    let mut family: Vec<_> = sys::process::descendants(shell).iter().map(|p| p.pid).collect();
    assert_eq!(family.len(), 2);
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    // Wait for the processes to end. A stopped process would not be woken, and the test would hang
    // until its limit.
    while let Some(last) = family.last() {
        match kill(*last, None) {
            Ok(()) if !is_zombie(*last) => std::thread::yield_now(),
            _ => drop(family.pop()),
        }
    }
}

fn is_zombie(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    sys::process::parse(&stat).is_none_or(|process| process.state == 'Z')
}

/// Script that creates a tree, packs, unpacks, copies, links, renames and removes it, with names
/// below the directory only.
const WORK: &str = "mkdir -p tree/a/b && for i in 1 2 3 4 5 6 7 8; do seq $i >tree/a/b/f$i; done; tar cf t.tar tree && \
                    mkdir u && tar xf t.tar -C u && cp -r u v && ln v/tree/a/b/f1 hard && ln -s hard soft && cat soft && \
                    mv v w && ls -lR w && find u -name 'f*' && touch w/new && chmod 600 w/new && cat missing; rm -r u w";

/// Names of calls in a trace and the corresponding calls of strace, limited to calls that both
/// count equally. Descriptors are copied by the shell.
const ALIKE: &[(&str, &[&str])] = &[
    ("open", &["open", "openat", "creat"]),
    ("read", &["read", "pread64"]),
    ("write", &["write", "pwrite64"]),
    ("stat", &["stat", "lstat", "newfstatat", "statx"]),
    ("fstat", &["fstat"]),
    ("mkdir", &["mkdir", "mkdirat"]),
    ("unlink", &["unlink", "unlinkat"]),
    ("rmdir", &["rmdir"]),
    ("rename", &["rename", "renameat", "renameat2"]),
    ("link", &["link", "linkat"]),
    ("symlink", &["symlink", "symlinkat"]),
    ("readlink", &["readlink", "readlinkat"]),
    ("access", &["access", "faccessat", "faccessat2"]),
    ("chmod", &["chmod", "fchmodat", "fchmodat2"]),
    ("fchmod", &["fchmod"]),
    ("utimensat", &["utimensat"]),
    ("copy_file_range", &["copy_file_range"]),
];

/// Counts the calls in strace's output for files below a directory, by their names in a trace.
fn counted(strace: &str, top: &str) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for line in strace.lines().filter(|line| !line.contains("resumed>")) {
        let (_, call) = line.split_once(' ').unwrap();
        let Some((name, arguments)) = call.trim_start().split_once('(') else {
            continue;
        };
        let Some((kind, _)) = ALIKE.iter().find(|(_, names)| names.contains(&name)) else {
            continue;
        };
        let text = arguments.split('"').nth(1).filter(|_| !arguments.contains("<pipe"));
        let by_name = text.filter(|_| !["read", "write"].contains(kind));
        let is_below = match by_name {
            // tar uses these paths for its directories.
            Some(text) if text.starts_with("/proc/self/fd/") => true,
            Some(text) if text.starts_with('/') => text.starts_with(top),
            Some(text) if !text.is_empty() => {
                !arguments.contains('<') || arguments.contains(&format!("<{top}"))
            }
            _ => arguments.split(',').next().unwrap().contains(&format!("<{top}")),
        };
        let kind = match *kind {
            "unlink" if arguments.contains("AT_REMOVEDIR") => "rmdir",
            "stat" if text == Some("") => "fstat",
            "utimensat" if arguments.contains(", NULL, ") => "futimens",
            kind => kind,
        };
        *counts.entry(kind).or_default() += u64::from(is_below);
    }
    counts.retain(|kind, count| *count > 0 && *kind != "futimens");
    counts
}

#[test]
fn strace_counts_the_same_calls_below_the_directory() {
    let place = RecordingPlace::new();
    let (trace, ended) = place.shell(WORK);
    ended.assert_code(0);
    let mut recorded: BTreeMap<&str, u64> = BTreeMap::new();
    for operation in &trace.operations {
        *recorded.entry(operation.call.name()).or_default() += 1;
    }
    recorded.retain(|name, _| ALIKE.iter().any(|(kind, _)| kind == name));
    for left in fs::read_dir(place.top()).unwrap() {
        let left = left.unwrap().path();
        match left.is_dir() {
            true => fs::remove_dir_all(left).unwrap(),
            false => fs::remove_file(left).unwrap(),
        }
    }
    let text = place.beside("strace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-qq", "-s", "4096", "-o"]).arg(&text);
    succeed(strace.args(["sh", "-c", WORK]).current_dir(place.top()));
    let top = place.top().canonicalize().unwrap();
    let counted = counted(&fs::read_to_string(&text).unwrap(), top.to_str().unwrap());
    assert_eq!(recorded, counted);
    assert!(recorded["open"] > 40 && recorded["stat"] > 40, "{recorded:?}");
}

#[test]
fn a_recorded_tree_is_listed_before_and_after() {
    let place = RecordingPlace::new();
    fs::write(place.top().join("kept"), "12345").unwrap();
    fs::hard_link(place.top().join("kept"), place.top().join("too")).unwrap();
    let (trace, _) =
        place.shell("truncate -s 1M sparse; echo x >>kept; ln -s kept l; mkfifo p; rm too");
    let shown = |entries: &[trace::TreeEntry]| -> Vec<String> {
        let text = |e: &trace::TreeEntry| format!("{} {:?}", path_of(&trace, e.path), e.kind);
        entries.iter().map(text).collect()
    };
    assert_eq!(shown(&trace.before)[0], "kept File { size: 5 }");
    assert!(matches!(trace.before[1].kind, TracedKind::Link(_)));
    let expected = [
        "kept File { size: 7 }",
        "l Symlink([107, 101, 112, 116])",
        "p Pipe",
        "sparse File { size: 1048576 }",
    ];
    assert_eq!(shown(&trace.after), expected);
    assert!(!trace.header.system.is_empty() && trace.header.recorder.starts_with("fsarena "));
    let (_, write) =
        trace.operations.iter().enumerate().find(|(_, o)| o.call.name() == "write").unwrap();
    let Syscall::Write { offset, length, .. } = write.call else {
        unreachable!("it was looked for")
    };
    assert_eq!((offset, length), (5, 2), "what is added goes to the end");
}

#[test]
fn a_machine_without_strace_is_reported_with_the_fix() {
    let place = RecordingPlace::new();
    let mut recorder = place.recorder(&["make"]);
    let ended = recorder.env("PATH", place.top()).output().unwrap();
    let ended = CommandOutput::from(ended).assert_code(3);
    let expected = "fsarena: cannot record make: strace is not installed; apt install strace\n";
    assert_eq!(ended.stderr, expected);
}

#[test]
fn an_unreadable_directory_is_reported_in_one_line() {
    let mut recorder = Command::new(program::fsarena());
    recorder.args(["trace", "record", "-o", "x", "--below", "/missing", "--", "true"]);
    let ended = CommandOutput::from(recorder.output().unwrap()).assert_code(2);
    let (said, lines) = (&ended.stderr, ended.stderr.lines().count());
    assert!(said.starts_with("fsarena: cannot read /missing: ") && lines == 1, "{said}");
}
