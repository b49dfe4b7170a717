//! Tests that import logs of other programs.

use super::*;
use crate::trace::{Errno, HandleId, SyncEvent, Syscall, SyscallResult, TracedKind, TreeEntry};

/// A shell runs `mkdir d; cd d; echo hello >f; mv f g; cat g ../old`, and a child exits in between.
const SHELL: &str = r#"
10 100.000000 openat(AT_FDCWD</w>, "../etc/passwd", O_RDONLY) = 3</etc/passwd> <0.000001>
10 100.000100 mkdir("d", 0777) = 0 <0.000010>
10 100.000200 mkdir("d", 0777) = -1 EEXIST (File exists) <0.000010>
10 100.000300 chdir("d") = 0 <0.000010>
10 100.000400 openat(AT_FDCWD</w/d>, "f", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</w/d/f> <0.000010>
10 100.000500 dup2(3</w/d/f>, 1</dev/pts/0>) = 1</w/d/f> <0.000010>
10 100.000600 close(3</w/d/f>) = 0 <0.000010>
10 100.000700 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD <unfinished ...>
11 100.000800 write(1</w/d/f>, "hello\n", 6) = 6 <0.000010>
10 100.000850 <... clone resumed>, child_tidptr=0x7f) = 11 <0.000150>
11 100.000900 write(1</w/d/f>, "more", 4) = 4 <0.000010>
11 100.001000 +++ exited with 0 +++
10 100.001100 wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 11 <0.000010>
10 100.001200 rename("f", "/w/d/g") = 0 <0.000010>
10 100.001300 newfstatat(AT_FDCWD</w/d>, "../old", {st_mode=S_IFREG|0640, st_size=700, ...}, 0) = 0 <0.000010>
10 100.001400 unlink("nothing") = -1 ENOENT (No such file or directory) <0.000010>
10 100.001500 read(0<pipe:[5]>, "x", 1) = 1 <0.000010>
10 100.001600 +++ exited with 0 +++
"#;

fn text_of(operations: &[crate::TraceRecord]) -> Vec<String> {
    let outcome = |outcome| match outcome {
        SyscallResult::Ok(0) => String::new(),
        SyscallResult::Ok(count) => format!(" {count}"),
        SyscallResult::Err(Errno(number)) => format!(" failed {number}"),
    };
    let line =
        |o: &crate::TraceRecord| format!("{} {}{}", o.thread, o.call.name(), outcome(o.outcome));
    operations.iter().map(line).collect()
}

#[test]
fn a_shell_is_understood() {
    let trace = import(SHELL.as_bytes(), ImportFormat::Strace, None).unwrap();
    assert_eq!(
        text_of(&trace.operations),
        [
            "0 mkdir",
            "0 mkdir failed 17",
            "0 open",
            "0 order",
            "1 write 6",
            "1 write 4",
            "0 order",
            "0 rename",
            "0 stat",
            "0 unlink failed 2",
            "0 close",
        ]
    );
    assert_eq!(trace.operations[3].call, Syscall::Order(SyncEvent::Spawn { thread: 1 }));
    assert_eq!(trace.operations[6].call, Syscall::Order(SyncEvent::Join { thread: 1 }));
    // The child continues at the parent's position, because the descriptor is a copy.
    let second = Syscall::Write { handle: HandleId(0), offset: 6, length: 4 };
    assert_eq!(trace.operations[5].call, second);
    let shown = |entries: &[TreeEntry]| -> Vec<(String, TracedKind, u16)> {
        let name = |entry: &TreeEntry| String::from_utf8(trace.paths.full(entry.path)).unwrap();
        entries.iter().map(|e| (name(e), e.kind.clone(), e.mode)).collect()
    };
    let old = ("old".to_owned(), TracedKind::File { size: 700 }, 0o640);
    assert_eq!(shown(&trace.before), std::slice::from_ref(&old));
    let mut after = shown(&trace.after);
    after.sort_by(|a, b| a.0.cmp(&b.0));
    let d = ("d".to_owned(), TracedKind::Directory, 0o755);
    let g = ("d/g".to_owned(), TracedKind::File { size: 10 }, 0o644);
    assert_eq!(after, [d, g, old]);
    assert_eq!(trace.header.elsewhere, 1);
}

/// Returns the text of the operations of a log of calls in `/w`, each a process, a time and a call.
fn imported(lines: &[&str]) -> Vec<String> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    text_of(&import(text.as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap().operations)
}

#[test]
fn the_last_descriptor_closes_wherever_its_copies_are() {
    let operations = imported(&[
        "1 1.0 open(\"/w/a\", O_RDWR|O_CREAT|O_CLOEXEC, 0666) = 3</w/a>",
        "1 2.0 dup(3</w/a>) = 4</w/a>",
        "1 3.0 dup2(4</w/a>, 9) = 9</w/a>",
        "1 3.1 dup2(9</w/a>, 9</w/a>) = 9</w/a>",
        "1 4.0 fork() = 2",
        "1 5.0 close(4</w/a>) = 0",
        "1 6.0 close_range(9</w/a>, 4294967295, 0) = 0",
        "2 7.0 execve(\"/bin/x\", [\"x\"], 0x1 /* 1 vars */) = 0",
        "2 7.1 close(4</w/a>) = 0",
        "1 8.0 close(3</w/a>) = 0",
        "1 8.1 sync() = 0",
        "2 9.0 +++ exited with 0 +++",
    ]);
    assert_eq!(operations, ["0 open", "0 order", "0 sync", "1 close"]);
}

#[test]
fn sends_only_new_messages_and_delivers_each_once() {
    let (act, send) = ("sync() = 0", "write(4<pipe:[5]>, \"\", 1) = 1");
    let (receive, wait) = ("read(3<pipe:[5]>, \"\", 1) = 1", "read(3<pipe:[5]>, <unfinished ...>");
    let started = ["1 1.0 fork() = 2".to_owned(), "1 1.1 fork() = 3".to_owned()];
    let calls = [
        (1, send),
        (1, act),
        (1, send),
        (1, send),
        (2, receive),
        (2, act),
        (2, receive),
        (3, wait),
        (1, act),
        (1, "write(4<pipe:[5]>, \"\", 1 <unfinished ...>"),
        (3, "<... read resumed>\"\", 1) = 1"),
        (3, act),
        (1, "<... write resumed>) = 1"),
        (2, receive),
        (2, act),
        (1, "write(6<UNIX-STREAM:[8->9]>, \"\", 1) = 1"),
        (3, "recvfrom(7<UNIX-STREAM:[9->8,\"/w/s\"]>, \"\", 1, 0, NULL, NULL) = 1"),
        (3, act),
    ];
    let calls = (2..).zip(calls).map(|(at, (task, call))| format!("{task} {at}.0 {call}"));
    let lines: Vec<String> = started.into_iter().chain(calls).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let trace = import(lines.join("\n").as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    let shown = trace.operations.iter().map(|o| match &o.call {
        Syscall::Order(SyncEvent::Send { message }) => format!("{} sends {message}", o.thread),
        Syscall::Order(SyncEvent::Receive { message }) => format!("{} gets {message}", o.thread),
        Syscall::Order(_) => format!("{} starts", o.thread),
        call => format!("{} {}", o.thread, call.name()),
    });
    let expected = [
        "0 starts",
        "0 starts",
        "0 sync",
        "0 sends 0",
        "1 gets 0",
        "1 sync",
        "0 sync",
        "0 sends 1",
        "2 gets 1",
        "2 sync",
        "1 gets 1",
        "1 sync",
        "0 sends 2",
        "2 gets 2",
        "2 sync",
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[test]
fn the_end_of_a_pipe_is_a_message_of_its_last_writer() {
    for end in ["exit_group(0) = ?", "close(4<pipe:[5]> <unfinished ...>"] {
        let operations = imported(&[
            "1 1.0 pipe2([3<pipe:[5]>, 4<pipe:[5]>], 0) = 0",
            "1 1.1 fork() = 2",
            "1 1.2 close(4<pipe:[5]>) = 0",
            "1 1.3 read(3<pipe:[5]>, <unfinished ...>",
            "2 2.0 sync() = 0",
            &format!("2 3.0 {end}"),
            "1 3.1 <... read resumed>\"\", 1) = 0",
            "2 3.2 +++ exited with 0 +++",
            "1 3.3 sync() = 0",
        ]);
        assert_eq!(operations, ["0 order", "1 sync", "1 order", "0 order", "0 sync"], "{end}");
    }
}

/// Both parents are in `fork` when the first call of a child is shown.
#[test]
fn a_child_belongs_to_the_parent_that_gets_its_number() {
    let operations = imported(&[
        "1 1.0 fork() = 2",
        "1 2.0 open(\"/w/a\", O_RDWR|O_CREAT, 0666) = 3</w/a>",
        "1 3.0 fork( <unfinished ...>",
        "2 3.1 fork( <unfinished ...>",
        "4 3.2 write(3</w/a>, \"\", 5) = 5",
        "2 3.3 <... fork resumed>) = 5",
        "1 3.4 <... fork resumed>) = 4",
        "4 3.5 +++ exited with 0 +++",
        "1 3.6 wait4(4, NULL, 0, NULL) = 4",
        "1 4.0 close(3</w/a>) = 0",
    ]);
    assert_eq!(operations, ["0 open", "0 order", "1 write 5", "0 order", "0 close"]);
}

#[test]
fn a_child_that_ends_before_its_parent_continues_is_one_process() {
    let operations = imported(&[
        "1 1.0 open(\"/w/a\", O_RDWR|O_CREAT|O_CLOEXEC, 0666) = 3</w/a>",
        "1 2.0 vfork( <unfinished ...>",
        "2 3.0 write(3</w/a>, \"\", 5) = 5",
        "2 3.1 +++ exited with 0 +++",
        "1 4.0 <... vfork resumed>) = 2",
        "1 4.1 wait4(-1, NULL, 0, NULL) = 2",
        "1 4.2 close(3</w/a>) = 0",
    ]);
    assert_eq!(operations, ["0 open", "0 order", "1 write 5", "0 order", "0 close"]);
}

/// A file that appears with 7 bytes.
struct Moved;

impl Surroundings for Moved {
    fn link(&mut self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn file(&self, path: &[u8]) -> Option<(u64, u16)> {
        (path == b"/w/new").then_some((7, 0o600))
    }
}

#[test]
fn a_recording_knows_the_tree_before_it() {
    let mut start = RecordingStart { below: b"/w".to_vec(), ..RecordingStart::default() };
    for (name, kind) in [("old", TracedKind::File { size: 5 }), ("pipe", TracedKind::Pipe)] {
        let path = start.paths.intern(name.as_bytes());
        start.before.push(TreeEntry { path, kind, mode: 0o640 });
    }
    let before = start.before.clone();
    let mut importer = StraceImporter::recording(start, Box::new(Moved));
    let lines = [
        "open(\"/w/old\", O_WRONLY|O_APPEND) = 3</w/old>",
        "write(3</w/old>, \"\", 2) = 2",
        "open(\"/w/pipe\", O_WRONLY) = 4</w/pipe>",
        "write(4</w/pipe>, \"\", 1) = 1",
        "rename(\"/tmp/x\", \"/w/new\") = 0",
        "stat(\"/w/appeared\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0",
    ];
    for (at, line) in (1..).zip(lines) {
        importer.line(format!("1 {at}.0 {line}").as_bytes()).unwrap();
    }
    let trace = importer.finish(Some(Vec::new()));
    let expected =
        ["0 open", "0 write 2", "0 open", "0 write 7", "0 close", "0 stat"].map(str::to_owned);
    assert_eq!(text_of(&trace.operations), expected);
    let appended = Syscall::Write { handle: HandleId(0), offset: 5, length: 2 };
    assert_eq!(trace.operations[1].call, appended);
    assert_eq!((trace.before, trace.after), (before, Vec::new()));
}

#[test]
fn each_process_has_its_umask_and_owners_are_changed_as_the_flag_says() {
    let text = "1 1.0 fork() = 2\n\
                1 2.0 umask(077) = 022\n\
                2 3.0 mkdir(\"/w/two\", 0777) = 0\n\
                1 4.0 mkdir(\"/w/one\", 0777) = 0\n\
                1 5.0 fchownat(AT_FDCWD</w>, \"one\", 0, 0, AT_SYMLINK_NOFOLLOW) = 0\n";
    let trace = import(text.as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    let modes: Vec<u16> = trace.after.iter().map(|entry| entry.mode).collect();
    assert_eq!(modes, [0o755, 0o700]);
    let last = &trace.operations.last().unwrap().call;
    assert!(matches!(last, Syscall::ChangeOwner { follow: false, .. }), "{last:?}");
}

#[test]
fn renamed_files_existed_before_under_the_old_name() {
    let text = "1 1.0 rename(\"/w/a\", \"/w/b\") = 0 <0.1>\n\
                1 2.0 open(\"/w/b/file\", O_RDONLY) = 3</w/b/file> <0.1>\n\
                1 3.0 read(3</w/b/file>, \"\"..., 100) = 42 <0.1>\n";
    let trace = import(text.as_bytes(), ImportFormat::Strace, Some(b"/w/")).unwrap();
    let names = |entries: &[TreeEntry]| -> Vec<String> {
        entries.iter().map(|e| String::from_utf8(trace.paths.full(e.path)).unwrap()).collect()
    };
    assert_eq!(names(&trace.before), ["a", "a/file"]);
    assert_eq!(names(&trace.after), ["b", "b/file"]);
    assert_eq!(trace.before[1].kind, TracedKind::File { size: 42 });
}

/// Tasks that share their directories (`CLONE_FS`) also share the umask; other children have a copy.
#[test]
fn each_process_has_its_own_umask() {
    let text = r#"
1 1.0 umask(022) = 022 <0.1>
1 2.0 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 2 <0.1>
1 3.0 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_THREAD) = 3 <0.1>
2 4.0 umask(077) = 022 <0.1>
2 5.0 openat(AT_FDCWD</w>, "secret", O_WRONLY|O_CREAT, 0666) = 3</w/secret> <0.1>
1 6.0 openat(AT_FDCWD</w>, "public", O_WRONLY|O_CREAT, 0666) = 3</w/public> <0.1>
3 7.0 umask(002) = 022 <0.1>
1 8.0 mkdir("/w/shared", 0777) = 0 <0.1>
"#;
    let trace = import(text.as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    let asked: Vec<u16> = trace
        .operations
        .iter()
        .filter_map(|operation| match operation.call {
            Syscall::Open { mode, .. } | Syscall::MakeDirectory { mode, .. } => Some(mode),
            _ => None,
        })
        .collect();
    assert_eq!(asked, [0o600, 0o644, 0o775]);
    let modes: Vec<u16> = trace.after.iter().map(|entry| entry.mode).collect();
    assert_eq!(modes, asked);
}

#[test]
fn change_of_owner_follows_a_link_unless_its_flag_forbids_it() {
    let text = r#"
1 1.0 fchownat(AT_FDCWD</w>, "link", 0, 0, AT_SYMLINK_NOFOLLOW) = 0 <0.1>
1 2.0 fchownat(AT_FDCWD</w>, "link", 0, 0, 0) = 0 <0.1>
1 3.0 openat(AT_FDCWD</w>, "file", O_RDONLY) = 3</w/file> <0.1>
1 4.0 fchownat(3</w/file>, "", 0, 0, AT_EMPTY_PATH) = 0 <0.1>
"#;
    let trace = import(text.as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    let follow: Vec<Option<bool>> = trace
        .operations
        .iter()
        .filter_map(|operation| match operation.call {
            Syscall::ChangeOwner { follow, .. } => Some(Some(follow)),
            Syscall::ChangeOwnerHandle { handle: HandleId(0) } => Some(None),
            _ => None,
        })
        .collect();
    assert_eq!(follow, [Some(false), Some(true), None]);
}

#[test]
fn an_iolog_of_either_version_is_read() {
    let second = "fio version 2 iolog\n/t/a add\n/t/a open\n/t/a write 4096 4096\nwait 50\n/t/a read 0 8192\n/t/a sync 0 0\n/t/a close\n";
    let third = "fio version 3 iolog\n0 /t/a add\n0 /t/a open\n1 /t/a write 4096 4096\n2 /t/a read 0 8192\n3 /t/a sync 0 0\n3 /t/a close\n";
    for (text, read_at) in [(second, 50_000), (third, 2_000)] {
        assert_eq!(detect_format(text.as_bytes()), ImportFormat::Iolog);
        let trace = import(text.as_bytes(), ImportFormat::Iolog, Some(b"/t")).unwrap();
        let expected = ["0 open", "0 write 4096", "0 read 8192", "0 fsync", "0 close"];
        assert_eq!(text_of(&trace.operations), expected);
        assert_eq!(trace.operations[2].began.0, read_at);
        assert_eq!(trace.before[0].kind, TracedKind::File { size: 8192 });
        assert_eq!(trace.before, trace.after);
        assert_eq!(trace.paths.full(trace.before[0].path), b"a");
    }
}

#[test]
fn rejects_invalid_logs_with_the_line_number() {
    let error = |text: &str| {
        import(text.as_bytes(), detect_format(text.as_bytes()), None).unwrap_err().to_string()
    };
    assert!(error("").starts_with("line 1: there is nothing in it"));
    assert!(error("\n\nhello world\n").starts_with("line 3: "));
    assert!(error("fio version 2 iolog\n/t/a read 0\n").starts_with("line 2: "));
    assert!(error("fio version 2 iolog\n/t/a open\n").contains("not added before"));
    assert!(error("fio version 2 iolog\n/../a add\n").contains("`..`"));
    assert!(error("1 1.0 sync() = 0 <0.1>\n").contains("give --below DIR"));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(cut in 0_usize..1600, with: Vec<u8>) {
        let text = SHELL.as_bytes();
        let cut = cut.min(text.len());
        let text = [&text[..cut], &with, &text[cut..]].concat();
        for format in [ImportFormat::Strace, ImportFormat::Iolog] {
            if let Ok(trace) = import(&text, format, None) {
                let file = trace.encode().unwrap();
                proptest::prop_assert_eq!(crate::Trace::decode(&file).unwrap(), trace);
            }
        }
    }

    #[test]
    fn what_is_imported_is_written_and_read_or_refused(name in "[a-z/.\\x01]{1,9}", times in 1_usize..1_500) {
        let name = name.repeat(times);
        let iolog = format!("fio version 2 iolog\n/{name} add\n/{name} open\n/{name} close\n");
        let strace = format!(
            "1 1.0 openat(AT_FDCWD</w>, \"{name}\", O_RDWR|O_CREAT, 0644) = 3</w/{name}> <0.1>\n\
             1 1.1 symlink(\"{name}\", \"b\") = 0 <0.1>\n"
        );
        for (text, format) in [(iolog, ImportFormat::Iolog), (strace, ImportFormat::Strace)] {
            let Ok(trace) = import(text.as_bytes(), format, None) else { continue };
            match trace.encode() {
                Ok(file) => proptest::prop_assert_eq!(crate::Trace::decode(&file).unwrap(), trace),
                Err(error) => proptest::prop_assert_eq!(error.to_string().lines().count(), 1),
            }
        }
    }
}

/// Returns the error line of an import of these lines.
fn refused(lines: impl Iterator<Item = String>) -> String {
    let text: Vec<String> = lines.collect();
    import(text.join("\n").as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap_err().to_string()
}

#[test]
fn processes_share_the_descriptors_that_none_of_them_changes() {
    const COPIES: usize = 20_000;
    let open = "1 1.0 openat(AT_FDCWD, \"/w/a\", O_RDWR|O_CREAT, 0666) = 3".to_owned();
    let copies = (4..COPIES).map(|copy| format!("1 1.1 dup2(3, {copy}) = {copy}"));
    let all = || [open.clone()].into_iter().chain(copies.clone());
    let clone = |child: usize| format!("1 1.9 clone(child_stack=NULL, flags=SIGCHLD) = {child}");
    let children = (0..COPIES).map(|child| clone(2 + child));
    let ends = (0..COPIES).map(|child| format!("{} 2.0 +++ exited with 0 +++", 2 + child));
    let text: Vec<String> = all().chain(children.clone()).chain(ends).collect();
    let trace = import(text.join("\n").as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    assert_eq!(text_of(&trace.operations), ["0 open"], "the first process has the file open");
    let changes = (0..COPIES).map(|child| format!("{} 2.0 close(3) = 0", 2 + child));
    let refused = refused(all().chain(children).chain(changes));
    assert!(refused.contains("copy more than 16000000 descriptors"), "{refused}");
}

#[test]
fn many_threads_without_a_known_parent_are_read() {
    const THREADS: usize = 200_000;
    let text: Vec<String> =
        (1..THREADS).map(|task| format!("{task} 1.0 read(3, <unfinished ...>")).collect();
    let trace = import(text.join("\n").as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    assert_eq!(trace.operations, []);
}

/// Two unfinished calls start threads, so that the lines of their children have to wait.
#[test]
fn a_long_chain_of_threads_waits_for_its_first_parent() {
    const THREADS: usize = 100_000;
    let begin = ["1 1.0 mkdir(\"/w/d\", 0777) = 0", "1 1.1 clone(flags=SIGCHLD <unfinished ...>"];
    let other = "9000001 1.0 fork( <unfinished ...>";
    let chain = (2..THREADS).map(|task| format!("{task} 1.2 fork() = {}", task + 1));
    let last = [format!("{THREADS} 1.3 sync() = 0"), "1 1.4 <... clone resumed>) = 2".into()];
    let begin = [begin[0], other, begin[1]].map(str::to_owned);
    let text: Vec<String> = begin.into_iter().chain(chain).chain(last).collect();
    let trace = import(text.join("\n").as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    let starts = trace.operations.iter().filter(|one| matches!(one.call, Syscall::Order(_)));
    assert_eq!(starts.count(), THREADS - 1);
}

#[test]
fn a_renamed_directory_takes_its_entries_along() {
    const FILES: usize = 2000;
    const RENAMES: usize = 2000;
    let made = (0..FILES).map(|n| format!("1 1.1 mknod(\"/w/0/{n}\", S_IFREG|0644) = 0"));
    let moved = (0..RENAMES).map(|n| format!("1 1.2 rename(\"/w/{n}\", \"/w/{}\") = 0", n + 1));
    let first = "1 1.0 mkdir(\"/w/0\", 0777) = 0".to_owned();
    let text: Vec<String> = [first].into_iter().chain(made).chain(moved).collect();
    let trace = import(text.join("\n").as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    assert_eq!(trace.after.len(), 1 + FILES);
    let last = trace.paths.clone().intern(format!("{RENAMES}/7").as_bytes());
    assert!(trace.after.iter().any(|entry| entry.path == last));
    assert!(trace.paths.len() < 2 * (FILES + RENAMES), "{} paths", trace.paths.len());
}

#[test]
fn paths_that_the_kernel_refuses_are_no_names_and_directories_have_a_longest_path() {
    let long = format!("1 1.0 mkdir(\"/w/{}\", 0777) = 0", "a/".repeat(2_000_000));
    let trace = import(long.as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    assert_eq!((trace.operations.len(), trace.paths.len()), (0, 1));
    let deeper = format!("1 1.0 chdir(\"{}\") = 0", "a/".repeat(1000));
    let refused = refused(std::iter::repeat_n(deeper, 9));
    assert_eq!(refused, "line 3: a path has more than 4096 bytes; record other files");
    let iolog = format!("fio version 2 iolog\n/{} add\n", "a/".repeat(2_000_000));
    let refused = import(iolog.as_bytes(), ImportFormat::Iolog, None).unwrap_err().to_string();
    assert_eq!(refused, "line 2: a path of more than 4096 bytes");
}

/// Each reader receives from every sender, but only once.
#[test]
fn messages_that_were_received_before_are_not_examined_again() {
    let sent = (1..3000)
        .map(|task| format!("{task} 1.0 sync() = 0\n{task} 1.1 write(1<pipe:[5]>, \"x\", 1) = 1"));
    let read = (0..100_000).map(|_| "9000 1.2 read(0<pipe:[5]>, \"x\", 1) = 1".to_owned());
    let end = ["9000 1.3 sync() = 0".to_owned()];
    let text: Vec<String> = sent.chain(read).chain(end).collect();
    let trace = import(text.join("\n").as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    assert_eq!(trace.operations.len(), 3 * 2999 + 1);
}

#[test]
fn a_thread_is_not_replaced_by_itself() {
    let text = "5 1.0 sync() = 0\n5 1.1 +++ superseded by execve in pid 5 +++\n";
    let trace = import(text.as_bytes(), ImportFormat::Strace, Some(b"/w")).unwrap();
    assert_eq!(trace.operations.len(), 1);
}
