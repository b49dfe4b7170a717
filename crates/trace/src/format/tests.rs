//! Tests that traces survive encoding and decoding, and that damage is detected.

use model::Nanos;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::paths::{PathId, PathInterner};
use crate::trace::{
    Errno, HandleId, OpenFlags, SyncEvent, Syscall, SyscallResult, TraceHeader, TraceRecord,
    TracedKind, TreeEntry,
};

/// Number of paths, which entries and operations refer to.
const PATHS: u32 = 20;

fn path() -> impl Strategy<Value = PathId> {
    (0..=PATHS).prop_map(PathId)
}

fn paths() -> impl Strategy<Value = PathInterner> {
    vec(any::<prop::sample::Index>(), PATHS as usize).prop_map(|parents| {
        let mut paths = PathInterner::default();
        for (number, parent) in parents.iter().enumerate() {
            let parent = PathId(u32::try_from(parent.index(paths.len())).unwrap());
            paths.intern_child(parent, format!("name {number}").as_bytes());
        }
        paths
    })
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(1..=u8::MAX, 0..10)
}

fn entry() -> impl Strategy<Value = TreeEntry> {
    let kind = prop_oneof![
        any::<u64>().prop_map(|size| TracedKind::File { size }),
        Just(TracedKind::Directory),
        text().prop_map(TracedKind::Symlink),
        path().prop_map(TracedKind::Link),
        Just(TracedKind::Pipe),
    ];
    (path(), kind, any::<u16>()).prop_map(|(path, kind, mode)| TreeEntry { path, kind, mode })
}

/// Generates calls of every number in the file, with random parts.
fn call() -> impl Strategy<Value = Syscall> {
    let numbers: Vec<u8> = (0..=u8::MAX).filter(|n| calls::default_for(*n).is_some()).collect();
    let parts = (path(), path(), any::<[u32; 2]>(), any::<[u64; 3]>(), text(), any::<bool>());
    (prop::sample::select(numbers), parts).prop_map(|(number, parts)| {
        let (one, another, [small, opened], [offset, length, size], name, flag) = parts;
        let handle = HandleId(small);
        let mode = small as u16;
        match calls::default_for(number).unwrap() {
            Syscall::Open { .. } => Syscall::Open {
                path: one,
                flags: OpenFlags(small),
                mode,
                handle: flag.then_some(HandleId(opened)),
            },
            Syscall::Write { .. } => Syscall::Write { handle, offset, length },
            Syscall::Rename { .. } => {
                Syscall::Rename { from: one, to: another, flags: small as u8 }
            }
            Syscall::Symlink { .. } => Syscall::Symlink { text: name, path: one },
            Syscall::SetAttribute { .. } => {
                Syscall::SetAttribute { path: one, name, length: small }
            }
            Syscall::CopyRange { .. } => Syscall::CopyRange {
                from: handle,
                to: HandleId(opened),
                from_offset: offset,
                to_offset: size,
                length,
                clone: flag,
            },
            Syscall::TruncateHandle { .. } => Syscall::TruncateHandle { handle, size },
            Syscall::MakeDirectory { .. } => Syscall::MakeDirectory { path: one, mode },
            Syscall::Stat { .. } => Syscall::Stat { path: one, follow: flag },
            Syscall::Order(_) => Syscall::Order(SyncEvent::Send { message: small }),
            default_for => default_for,
        }
    })
}

fn operation() -> impl Strategy<Value = TraceRecord> {
    let outcome = prop_oneof![
        any::<u64>().prop_map(SyscallResult::Ok),
        Just(SyscallResult::Ok(0)),
        any::<u16>().prop_map(|number| SyscallResult::Err(Errno(number))),
    ];
    let times = any::<[u64; 2]>().prop_map(|times| times.map(Nanos));
    (any::<[u32; 2]>(), times, call(), outcome).prop_map(
        |([process, thread], [began, took], call, outcome)| TraceRecord {
            process,
            thread,
            began,
            duration: took,
            call,
            outcome,
        },
    )
}

fn trace() -> impl Strategy<Value = Trace> {
    let entries = || vec(entry(), 0..10);
    (paths(), entries(), vec(operation(), 0..60), entries(), ".*").prop_map(
        |(paths, before, operations, after, word)| Trace {
            header: TraceHeader {
                command: vec!["make".into(), word],
                recorder: "a test".into(),
                elsewhere: 7,
                ..TraceHeader::default()
            },
            paths,
            before,
            operations,
            after,
        },
    )
}

/// Returns the columns of an encoded trace, in which tests change bytes.
fn columns(trace: &Trace) -> Vec<u8> {
    open(&trace.encode().unwrap()).unwrap()
}

proptest! {
    #[test]
    fn encoding_and_decoding_restores_the_trace(trace in trace()) {
        let file = trace.encode().unwrap();
        prop_assert_eq!(&Trace::decode(&file).unwrap(), &trace);
        prop_assert_eq!(trace.encode().unwrap(), file);
    }

    #[test]
    fn rejects_damaged_files(trace in trace(), at: prop::sample::Index, bit in 0_u8..8) {
        let mut file = trace.encode().unwrap();
        let cut = at.index(file.len());
        prop_assert!(Trace::decode(&file[..cut]).is_err());
        file[cut] ^= 1_u8 << bit;
        prop_assert!(Trace::decode(&file).is_err());
    }

    /// A written trace can be read, with any names that an importer found.
    #[test]
    fn any_names_are_written_or_refused(
        mut trace in trace(),
        names in vec(vec(any::<u8>(), 0..6), 1..4),
        repeated in prop_oneof![Just(1), Just(4096), 0..5_000_usize],
    ) {
        let path = trace.paths.intern_child(PathId::TOP, &names[0].repeat(repeated));
        for name in &names[1..] {
            trace.paths.intern_child(path, name);
        }
        let text = names.concat();
        trace.before.push(TreeEntry { path, kind: TracedKind::Symlink(text), mode: 0o777 });
        match trace.encode() {
            Ok(file) => prop_assert_eq!(Trace::decode(&file).unwrap(), trace),
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
        }
    }

    /// Random columns either give a trace that survives encoding and decoding, or an error.
    #[test]
    fn any_columns_are_read_or_refused(
        trace in trace(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut columns = columns(&trace);
        for (at, byte) in changes {
            let at = at.index(columns.len());
            columns[at] = byte;
        }
        if let Ok(read) = Trace::decode(&envelope(&columns)) {
            prop_assert_eq!(Trace::decode(&read.encode().unwrap()).unwrap(), read);
        }
    }

    #[test]
    fn any_bytes_are_no_trace(bytes: Vec<u8>) {
        prop_assert!(Trace::decode(&bytes).is_err());
        prop_assert!(Trace::decode(&[&MAGIC[..], &VERSION.to_le_bytes(), &bytes].concat()).is_err());
        let _ = Trace::decode(&envelope(&bytes));
    }
}

/// Creates a trace like that of a compiler: files are opened, read or written in pieces, and
/// closed.
fn typical(files: u32) -> Trace {
    let mut trace = Trace::default();
    let mut clock = 0;
    for file in 0..files {
        let path = trace.paths.intern(format!("src/part{}/file{file}.c", file % 50).as_bytes());
        let handle = HandleId(file);
        let length = 4096 + u64::from(file % 97);
        let flags = OpenFlags(OpenFlags::CREATE | 1);
        let open = Syscall::Open { path, flags, mode: 0o644, handle: Some(handle) };
        let write = |offset| Syscall::Write { handle, offset, length };
        let calls = [
            Syscall::Stat { path, follow: true },
            open,
            write(0),
            write(length),
            Syscall::Close { handle },
        ];
        for (number, call) in calls.into_iter().enumerate() {
            // Times are not predictable.
            clock += u64::from(file.wrapping_mul(2_654_435_761) >> 15) + number as u64;
            trace.operations.push(TraceRecord {
                process: file / 8,
                thread: file / 8,
                began: Nanos(clock),
                duration: Nanos(clock % 40_000),
                outcome: SyscallResult::Ok(calls::expected(&call)),
                call,
            });
        }
    }
    trace
}

#[test]
fn operations_take_few_bytes() {
    let trace = typical(2_000);
    let each = trace.encode().unwrap().len() as f64 / trace.operations.len() as f64;
    assert!(each < 20.0, "{each} bytes for each operation");
    let plain = columns(&trace).len() as f64 / trace.operations.len() as f64;
    assert!(plain < 20.0, "{plain} bytes for each operation before zstd");
}

#[test]
fn names_that_no_file_has_are_not_written() {
    let with = |name: &[u8]| {
        let mut trace = Trace::default();
        trace.paths.intern_child(PathId::TOP, name);
        trace.encode().map_err(|error| error.to_string())
    };
    assert!(with(&[b'x'; 4096]).is_ok());
    let error = with(&[b'x'; 4097]).unwrap_err();
    let expected = "no file has the name \"xxxxxxxxxxxxxxxxxxxx\" (4097 bytes): record it again";
    assert_eq!(error, expected);
    for name in [&b""[..], b".", b"..", b"a/b", b"a\0b"] {
        assert!(with(name).is_err(), "{}", name.escape_ascii());
    }
}

#[test]
fn call_numbers_are_unique() {
    for number in 0..=u8::MAX {
        if let Some(call) = calls::default_for(number) {
            assert_eq!(calls::number(&call), number);
        }
    }
}

#[test]
fn rejects_newer_formats_in_one_line() {
    let mut file = Trace::default().encode().unwrap();
    file[8] = 2;
    let error = Trace::decode(&file).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the trace has format 2, and this fsarena reads up to 1: take a newer fsarena"
    );
}

/// A small file that would expand to a large size is rejected before the memory is allocated.
#[test]
fn rejects_traces_that_exceed_the_memory_limit() {
    let bomb = envelope(&vec![0; usize::try_from(MAX_BYTES).unwrap() + 1]);
    assert!(bomb.len() < 100_000);
    assert_eq!(Trace::decode(&bomb), Err(DecodeError::TooLarge));
    let file = Trace::default().encode().unwrap();
    assert!(Trace::decode(&[&file[..], b"more"].concat()).is_err());
}
