//! Trace files, unchanged or with a corrected checksum, and logs of other programs.

use model::Nanos;
use trace::{
    HandleId, ImportFormat, OpenFlags, PathId, SyncEvent, Syscall, SyscallResult, Trace,
    TraceRecord, TracedKind, TreeEntry,
};

use crate::property::is_one_line;

/// Parses the input as a whole trace file, as columns of one, and as a trace of strace or fio.
pub fn run(input: &[u8]) {
    read(input);
    read(&trace::envelope(input));
    for format in [ImportFormat::Strace, ImportFormat::Iolog] {
        match trace::import(input, format, None) {
            Err(error) => is_one_line(&error),
            Ok(trace) => match trace.encode() {
                Err(error) => is_one_line(&error),
                Ok(file) => assert_eq!(Trace::decode(&file).as_ref(), Ok(&trace)),
            },
        }
    }
}

fn read(file: &[u8]) {
    match Trace::decode(file) {
        Err(error) => is_one_line(&error),
        Ok(trace) => {
            let again = trace.encode().expect("it was read");
            assert_eq!(Trace::decode(&again).as_ref(), Ok(&trace));
        }
    }
}

const STRACE: &[u8] = b"\
7 1.000 openat(AT_FDCWD</w>, \"a\\x41\", O_RDWR|O_CREAT, 0644) = 3</w/aA> <0.1>
7 1.001 clone(flags=CLONE_FILES <unfinished ...>
8 1.002 dup2(3</w/aA>, 4) = 4</w/aA> <0.1>
7 1.003 <... clone resumed>) = 8 <0.1>
8 1.004 pwrite64(4</w/aA>, \"x\"..., 10, 5) = 10 <0.1>
8 1.005 +++ exited with 0 +++
7 1.006 wait4(-1, NULL, 0, NULL) = 8 <0.1>
7 1.007 rename(\"aA\", \"d/e\") = 0 <0.1>
7 1.008 newfstatat(AT_FDCWD</w>, \"d\", {st_mode=S_IFDIR|0755, st_size=9, ...}, 0) = 0 <0.1>
";
const IOLOG: &[u8] =
    b"fio version 3 iolog\n1 /a add\n1 /a open\n2 /a write 0 9\n3 /a sync 0 0\n4 /a close\n";

/// Returns a small trace file, the columns in its envelope, and logs.
pub fn seeds() -> Vec<Vec<u8>> {
    let file = sample().encode().expect("its names are short");
    let inside = &file[trace::MAGIC.len() + 2..file.len() - 8];
    let columns = zstd::decode_all(inside).expect("it was just compressed");
    vec![file, columns, STRACE.to_vec(), IOLOG.to_vec()]
}

fn sample() -> Trace {
    let mut trace = Trace::default();
    let path = trace.paths.intern(b"src/main.c");
    trace.before.push(TreeEntry {
        path: trace.paths.parent(path).unwrap_or_default(),
        kind: TracedKind::Directory,
        mode: 0o755,
    });
    let handle = HandleId(0);
    let calls = [
        Syscall::Open {
            path,
            flags: OpenFlags(OpenFlags::CREATE | 1),
            mode: 0o644,
            handle: Some(handle),
        },
        Syscall::Write { handle, offset: 0, length: 4096 },
        Syscall::Close { handle },
        Syscall::Symlink { text: b"main.c".to_vec(), path: PathId(1) },
        Syscall::Order(SyncEvent::Spawn { thread: 1 }),
    ];
    trace.operations = calls
        .into_iter()
        .map(|call| TraceRecord {
            process: 0,
            thread: 0,
            began: Nanos(5),
            duration: Nanos(7),
            call,
            outcome: SyscallResult::Ok(0),
        })
        .collect();
    trace
}
