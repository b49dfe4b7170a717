//! Files with traces: as they are, and as if their checksum were right.

use model::Nanos;
use trace::{
    Call, Entry, EntryKind, HandleId, OpenFlags, Operation, Order, Outcome, PathId, Trace,
};

use crate::property::is_one_line;

/// A whole file, and the columns of one.
pub fn run(input: &[u8]) {
    read(input);
    read(&trace::envelope(input));
}

fn read(file: &[u8]) {
    match Trace::decode(file) {
        Err(error) => is_one_line(&error),
        Ok(trace) => assert_eq!(Trace::decode(&trace.encode()).as_ref(), Ok(&trace)),
    }
}

/// A small trace as a file, and what is in its envelope.
pub fn seeds() -> Vec<Vec<u8>> {
    let file = sample().encode();
    let inside = &file[trace::MAGIC.len() + 2..file.len() - 8];
    let columns = zstd::decode_all(inside).expect("it was just compressed");
    vec![file, columns]
}

fn sample() -> Trace {
    let mut trace = Trace::default();
    let path = trace.paths.intern(b"src/main.c");
    trace.before.push(Entry {
        path: trace.paths.parent(path).unwrap_or_default(),
        kind: EntryKind::Directory,
        mode: 0o755,
    });
    let handle = HandleId(0);
    let calls = [
        Call::Open {
            path,
            flags: OpenFlags(OpenFlags::CREATE | 1),
            mode: 0o644,
            handle: Some(handle),
        },
        Call::Write {
            handle,
            offset: 0,
            length: 4096,
        },
        Call::Close { handle },
        Call::Symlink {
            text: b"main.c".to_vec(),
            path: PathId(1),
        },
        Call::Order(Order::Starts { thread: 1 }),
    ];
    trace.operations = calls
        .into_iter()
        .map(|call| Operation {
            process: 0,
            thread: 0,
            began: Nanos(5),
            took: Nanos(7),
            call,
            outcome: Outcome::Done(0),
        })
        .collect();
    trace
}
