//! Tests of data operations on real files: each access with each engine leaves the content that
//! verification expects, and every change made outside fsarena is detected and classified.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use model::{
    AccessPattern, Bytes, FileSharing, Io, IoEngine, IoFlag, Nanos, Op, ReadStream, RemoveFile,
    Sparse, StreamUnit, SyncAtEnd, WriteStream,
};
use proptest::prelude::*;

use crate::data::corruption::CorruptionKind;
use crate::error::OpError;
use crate::measure::meter::PhaseMeter;
use crate::measure::thread_stats::ThreadStats;
use crate::ops::{IoMode, perform, undo};
use crate::workspace::CellWorkspace;

struct JobScratch {
    directory: tempfile::TempDir,
    ws: CellWorkspace,
}

impl JobScratch {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ws = CellWorkspace::new(directory.path(), 3);
        Self { directory, ws }
    }

    /// Creates the workspace on the disk of this crate, because `/tmp` may be in memory and lack
    /// direct I/O.
    fn on_disk() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let ws = CellWorkspace::new(directory.path(), 3);
        Self { directory, ws }
    }

    fn attempt(
        &mut self,
        op: &Op,
        mode: IoMode,
        at_most: Option<Nanos>,
    ) -> Result<ThreadStats, OpError> {
        let mut stats = ThreadStats::new(at_most, Arc::default(), PhaseMeter::start(None, None));
        perform(op, mode, &mut self.ws, &mut stats).map(|()| stats)
    }

    fn io(&mut self, job: Io) -> Result<ThreadStats, OpError> {
        self.attempt(&Op::Io(job), SyncAtEnd::Fsync.into(), None)
    }

    fn verify(&mut self, name: &str) -> Result<ThreadStats, OpError> {
        self.io(Io { verify: true, ..Io::new(name, AccessPattern::Read, Bytes::kib(64)) })
    }

    fn write(&mut self, size: u64) {
        self.io(write("f", size, 8192)).unwrap();
    }

    fn damage(&mut self) -> CorruptionKind {
        match self.verify("f").unwrap_err() {
            OpError::Corrupt { corruption, .. } => corruption.kind,
            other => panic!("{other}"),
        }
    }

    fn file(&self) -> File {
        let path = self.directory.path().join("f");
        File::options().read(true).write(true).open(path).unwrap()
    }
}

fn write(name: &str, size: u64, block: u64) -> Io {
    Io { size: Some(Bytes(size)), ..Io::new(name, AccessPattern::Write, Bytes(block)) }
}

const ENGINES: [IoEngine; 3] = [IoEngine::Psync, IoEngine::Mmap, IoEngine::IoUring];

fn accesses() -> impl Strategy<Value = AccessPattern> {
    prop_oneof![
        Just(AccessPattern::Overwrite),
        Just(AccessPattern::Rewrite),
        Just(AccessPattern::Append),
        Just(AccessPattern::Read),
        Just(AccessPattern::ReadBackward),
        (1u64..100_000).prop_map(|s| AccessPattern::ReadStride { stride: Bytes(s) }),
        Just(AccessPattern::RandomRead),
        Just(AccessPattern::RandomWrite),
        Just(AccessPattern::RandomMix { read_share: 0.5 }),
        Just(AccessPattern::RecordRewrite),
        Just(AccessPattern::Seek { write_share: 0.5 }),
    ]
}

prop_compose! {
    /// Generates jobs on the file `f`, or on separate files of two threads.
    fn jobs(sharing: FileSharing)(
        access in accesses(),
        block in prop_oneof![
            Just(512u64), Just(100), Just(4096), Just(4097), Just(8192), Just(65_536), 1u64..50_000
        ],
        align in proptest::option::of(prop_oneof![Just(512u64), Just(4096), 1u64..9000]),
        size in proptest::option::of(1u64..150_000),
        operations in proptest::option::of(1u64..60),
        engine in prop::sample::select(&ENGINES[..]),
        depth in 1u32..20,
        threads in 1u32..4,
        fsync in 0u64..4,
        rate in proptest::option::of(Just(1_000_000u64)),
    ) -> Io {
        let append = access == AccessPattern::Append;
        Io {
            align: align.map(Bytes),
            size: if append { Some(Bytes(size.unwrap_or(9_000).min(30_000))) } else { size.map(Bytes) },
            operations: operations.or((block < 512).then_some(50)),
            engine,
            depth: if engine == IoEngine::IoUring && !append { depth } else { 1 },
            threads: match (sharing, append) {
                (FileSharing::Own, _) => 2,
                (FileSharing::Shared, true) => 1,
                (FileSharing::Shared, false) => threads,
            },
            sharing,
            fsync,
            rate,
            verify: true,
            ..Io::new("f", access, Bytes(block))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_sequence_of_jobs_leaves_the_expected_content(
        own: bool,
        first in 0usize..4,
        size in 1u64..200_000,
        block in prop_oneof![Just(100u64), Just(4096), Just(4097), Just(131_072)],
        sequence in proptest::collection::vec((jobs(FileSharing::Shared), jobs(FileSharing::Own)), 1..6),
    ) {
        let mut place = JobScratch::new();
        let sharing = if own { FileSharing::Own } else { FileSharing::Shared };
        let engine = ENGINES[first % ENGINES.len()];
        let made = Io {
            threads: if own { 2 } else { 1 + first as u32 },
            sharing,
            engine,
            ..write("f", size, block)
        };
        if first == 3 && !own {
            let sparse = Op::Sparse(Sparse { file: "f".into(), size: Bytes(size) });
            place.attempt(&sparse, SyncAtEnd::Call.into(), None).unwrap();
        } else {
            place.io(made).unwrap();
        }
        for (shared, own_files) in sequence {
            let job = if own { own_files } else { shared };
            let word = format!("{job:?}");
            let stats = place.io(job.clone());
            prop_assert!(stats.is_ok(), "{word}: {}", stats.unwrap_err());
            let stats = stats.unwrap();
            let wrote = stats.bytes_written > 0;
            prop_assert!(job.access.writes() || !wrote);
            prop_assert!(job.access.reads() == (stats.verified > 0) || job.access.writes());
            let names: &[&str] = if own { &["f.0", "f.1"] } else { &["f"] };
            for name in names {
                let verified = place.verify(name);
                prop_assert!(verified.is_ok(), "after {word}: {}", verified.unwrap_err());
                let length = fs::metadata(place.directory.path().join(name)).unwrap().len();
                prop_assert_eq!(verified.unwrap().verified, length);
            }
        }
    }
}

#[test]
fn every_engine_makes_the_same_file() {
    let mut files = Vec::new();
    for engine in ENGINES {
        for threads in [1, 3] {
            let mut place = JobScratch::new();
            let change = |access, block| Io {
                operations: Some(40),
                threads,
                engine,
                ..Io::new("f", access, Bytes(block))
            };
            let all = Io { threads, engine, ..write("f", 1_000_001, 65_536) };
            place.io(all).unwrap();
            place.io(change(AccessPattern::RandomWrite, 8192)).unwrap();
            place.io(change(AccessPattern::Rewrite, 4096)).unwrap();
            if threads == 1 {
                files.push(fs::read(place.directory.path().join("f")).unwrap());
            }
        }
    }
    assert!(files.iter().all(|f| *f == files[0] && f.len() == 1_000_001));
}

#[test]
fn damage_to_a_file_is_found_and_named() {
    let mut place = JobScratch::new();
    place.write(100_000);
    let file = place.file();
    let mut blocks = vec![0; 3 * 4096];
    file.read_exact_at(&mut blocks, 4096).unwrap();
    let restore = |file: &File| file.write_all_at(&blocks, 4096).unwrap();

    file.write_all_at(&[0; 4096], 8192).unwrap();
    assert_eq!(place.damage(), CorruptionKind::Zeroed);
    restore(&file);

    let flipped = blocks[5000] ^ 16;
    file.write_all_at(&[flipped], 9096).unwrap();
    let expected = CorruptionKind::BitFlip { at: 9096, expected: blocks[5000], found: flipped };
    assert_eq!(place.damage(), expected);
    restore(&file);

    file.write_all_at(&blocks[..4096], 8192).unwrap();
    assert_eq!(place.damage(), CorruptionKind::Misplaced { belongs: 4096 });
    restore(&file);

    file.write_all_at(&blocks[..512], 8192 + 512).unwrap();
    assert_eq!(place.damage(), CorruptionKind::Torn);
    restore(&file);

    place.io(write("other", 100_000, 4096)).unwrap();
    let other = fs::read(place.directory.path().join("other")).unwrap();
    file.write_all_at(&other[8192..12_288], 8192).unwrap();
    assert!(matches!(place.damage(), CorruptionKind::OtherFile { .. }));
    restore(&file);

    place.io(Io::new("f", AccessPattern::Overwrite, Bytes(4096))).unwrap();
    file.write_all_at(&blocks[4096..8192], 8192).unwrap();
    assert_eq!(place.damage(), CorruptionKind::Stale { expected: 2, found: 1 });
    place.io(Io::new("f", AccessPattern::Overwrite, Bytes(4096))).unwrap();
    place.verify("f").unwrap();

    file.set_len(4096).unwrap();
    assert_eq!(place.damage(), CorruptionKind::Short { expected: 100_000 });
}

#[test]
fn a_lost_random_write_is_found_by_every_engine() {
    for engine in ENGINES {
        let mut place = JobScratch::new();
        place.write(1 << 20);
        let before = fs::read(place.directory.path().join("f")).unwrap();
        let random =
            Io { operations: Some(1), ..Io::new("f", AccessPattern::RandomWrite, Bytes(4096)) };
        place.io(random).unwrap();
        fs::write(place.directory.path().join("f"), before).unwrap();
        for access in [AccessPattern::Read, AccessPattern::ReadBackward] {
            let job = Io { verify: true, engine, ..Io::new("f", access, Bytes(16_384)) };
            let error = place.io(job).unwrap_err();
            assert!(error.to_string().contains("generation 1 instead of 2"), "{error}");
        }
    }
}

#[test]
fn a_file_cut_off_is_short_for_every_engine() {
    for engine in ENGINES {
        let mut place = JobScratch::new();
        place.write(100_000);
        place.file().set_len(50_000).unwrap();
        let job = Io { engine, ..Io::new("f", AccessPattern::Read, Bytes(8192)) };
        let error = place.io(job).unwrap_err();
        assert!(error.to_string().ends_with("ends at offset 50000 instead of 100000"), "{error}");
    }
}

#[test]
fn holes_read_as_zeros_until_they_are_written() {
    let mut place = JobScratch::new();
    let sparse = Op::Sparse(Sparse { file: "f".into(), size: Bytes::mib(8) });
    place.attempt(&sparse, SyncAtEnd::Call.into(), None).unwrap();
    place.verify("f").unwrap();
    let random =
        Io { operations: Some(9), ..Io::new("f", AccessPattern::RandomWrite, Bytes(4096)) };
    place.io(random).unwrap();
    place.verify("f").unwrap();
    let unaligned =
        Io { operations: Some(9), ..Io::new("f", AccessPattern::RandomWrite, Bytes(5000)) };
    place.io(unaligned).unwrap();
    place.verify("f").unwrap();
    place.file().write_all_at(&[1], 5 << 20).unwrap();
    assert!(place.verify("f").is_err());
}

#[test]
fn a_job_cut_short_leaves_a_file_that_can_be_verified() {
    for engine in ENGINES {
        for threads in [1, 2] {
            let mut place = JobScratch::new();
            let none_left = Some(Nanos(0));
            let job = Io { threads, engine, ..write("f", 100_000, 5000) };
            let stats = place.attempt(&Op::Io(job), SyncAtEnd::Call.into(), none_left).unwrap();
            assert!(stats.time_limited && stats.operations == u64::from(threads), "{engine}");
            place.verify("f").unwrap();
            let over = Io { engine, ..Io::new("f", AccessPattern::Rewrite, Bytes(1000)) };
            place.attempt(&Op::Io(over), SyncAtEnd::Call.into(), none_left).unwrap();
            place.verify("f").unwrap();
        }
    }
}

#[test]
fn an_append_can_be_undone() {
    for engine in ENGINES {
        let mut place = JobScratch::new();
        place.write(10_000);
        let append = Op::Io(Io {
            size: Some(Bytes(7_000)),
            engine,
            ..Io::new("f", AccessPattern::Append, Bytes(3000))
        });
        for _ in 0..2 {
            place.attempt(&append, SyncAtEnd::Call.into(), None).unwrap();
            assert_eq!(place.verify("f").unwrap().bytes, 17_000);
            undo(&append, &mut place.ws).unwrap();
            assert_eq!(place.verify("f").unwrap().bytes, 10_000);
        }
    }
}

#[test]
fn files_of_threads_are_removed_and_made_again_together() {
    let mut place = JobScratch::new();
    let own = |job| Io { threads: 3, sharing: FileSharing::Own, ..job };
    place.io(own(write("f", 9_000, 4096))).unwrap();
    let remove = Op::RemoveFile(RemoveFile { file: "f".into() });
    for _ in 0..2 {
        let stats = place.attempt(&remove, SyncAtEnd::Call.into(), None).unwrap();
        assert_eq!(stats.operations, 3);
        assert_eq!(fs::read_dir(place.directory.path()).unwrap().count(), 0);
        undo(&remove, &mut place.ws).unwrap();
    }
    let job = Io { verify: true, ..Io::new("f", AccessPattern::Read, Bytes(4096)) };
    assert_eq!(place.io(own(job)).unwrap().verified, 27_000);
}

#[test]
fn streams_of_every_unit_are_the_same_bytes() {
    let units = [StreamUnit::Char, StreamUnit::Line, StreamUnit::Record(Bytes(1000))];
    let mut place = JobScratch::new();
    for (i, unit) in units.into_iter().enumerate() {
        let file = format!("f{i}");
        let (size, name) = (Bytes(100_001), file.clone());
        let put = Op::WriteStream(WriteStream { file, size, unit });
        assert_eq!(place.attempt(&put, SyncAtEnd::Fsync.into(), None).unwrap().bytes, 100_001);
        place.verify(&name).unwrap();
        for unit in units {
            let get = Op::ReadStream(ReadStream { file: name.clone(), unit });
            let stats = place.attempt(&get, SyncAtEnd::Call.into(), None).unwrap();
            assert_eq!(stats.bytes, 100_001);
        }
    }
}

#[test]
fn null_engine_performs_no_io_and_counts_operations() {
    let mut place = JobScratch::new();
    let job = |access| Io {
        size: Some(Bytes::mib(1)),
        engine: IoEngine::Null,
        verify: true,
        ..Io::new("f", access, Bytes(4096))
    };
    for access in [AccessPattern::Write, AccessPattern::RandomRead, AccessPattern::Rewrite] {
        let stats = place.io(job(access)).unwrap();
        assert_eq!((stats.operations, stats.bytes, stats.verified), (256, 1 << 20, 0));
    }
    assert_eq!(fs::read_dir(place.directory.path()).unwrap().count(), 0);
}

#[test]
fn invalid_combinations_are_unsupported_with_a_reason() {
    let mut place = JobScratch::new();
    place.write(100_000);
    let direct = IoMode { ends: SyncAtEnd::Call, direct: true };
    let mapped = Io { engine: IoEngine::Mmap, ..Io::new("f", AccessPattern::Read, Bytes(4096)) };
    let deep = Io { depth: 2, ..Io::new("f", AccessPattern::Read, Bytes(4096)) };
    let together =
        Io { threads: 2, size: Some(Bytes(10)), ..Io::new("f", AccessPattern::Append, Bytes(1)) };
    for (job, mode, word) in [
        (mapped, direct, "page cache"),
        (deep, SyncAtEnd::Call.into(), "io_uring"),
        (together, SyncAtEnd::Call.into(), "any order"),
    ] {
        let error = place.attempt(&Op::Io(job), mode, None).unwrap_err();
        assert!(
            matches!(&error, OpError::Unsupported { reason } if reason.contains(word)),
            "{error}"
        );
    }
}

#[test]
fn flagged_requests_are_as_good_as_others_or_refused() {
    let mut place = JobScratch::on_disk();
    for engine in [IoEngine::Psync, IoEngine::IoUring] {
        for flag in IoFlag::ALL {
            for direct in [false, true] {
                let mode = IoMode { ends: SyncAtEnd::Call, direct };
                let name = format!("{}-{flag}-{direct}", engine.name());
                let made = Io { engine, flag: Some(flag), ..write(&name, 1 << 18, 8192) };
                match place.attempt(&Op::Io(made), mode, None) {
                    Err(OpError::Unsupported { reason }) => {
                        assert!(reason.contains("refused: E") || reason.contains("io_uring"));
                        assert!(flag.is_of_request() || direct, "{reason}");
                        continue;
                    }
                    other => other.map(drop).unwrap(),
                }
                let access = AccessPattern::RandomWrite;
                let changed =
                    Io { engine, flag: Some(flag), ..Io::new(&name, access, Bytes(4096)) };
                place.attempt(&Op::Io(changed), mode, None).unwrap();
                let verified = place.verify(&name).unwrap();
                assert_eq!(verified.verified, 1 << 18, "{name}");
            }
        }
    }
    assert!(fs::read_dir(place.directory.path()).unwrap().flatten().all(|entry| {
        entry.file_name().to_string_lossy().contains('-') && entry.file_name() != "flag-trial"
    }));
}

#[test]
fn direct_requests_are_as_good_as_others_or_refused() {
    let mut place = JobScratch::on_disk();
    let direct = IoMode { ends: SyncAtEnd::Call, direct: true };
    for engine in ENGINES.into_iter().filter(|e| *e != IoEngine::Mmap) {
        let name = engine.name();
        let job = Io { engine, ..write(name, 1 << 20, 65_536) };
        match place.attempt(&Op::Io(job), direct, None) {
            Err(OpError::Unsupported { reason }) => {
                assert!(reason.contains("O_DIRECT"), "{reason}");
                let later = place.verify(name).unwrap_err();
                assert!(matches!(later, OpError::Unsupported { .. }), "{later}");
                continue;
            }
            other => other.map(drop).unwrap(),
        }
        for access in [
            AccessPattern::RandomWrite,
            AccessPattern::Seek { write_share: 0.5 },
            AccessPattern::Read,
        ] {
            let job = Io { engine, verify: true, ..Io::new(name, access, Bytes(4096)) };
            place.attempt(&Op::Io(job), direct, None).unwrap();
            place.verify(name).unwrap();
        }
        let odd = Io { engine, ..Io::new(name, AccessPattern::Read, Bytes(100)) };
        let error = place.attempt(&Op::Io(odd), direct, None).unwrap_err();
        assert!(error.to_string().contains("multiples of"), "{error}");
    }
}

#[test]
fn open_loop_reports_its_offered_rate() {
    let mut place = JobScratch::new();
    place.write(1 << 20);
    for engine in ENGINES {
        let depth = if engine == IoEngine::IoUring { 8 } else { 1 };
        let job = Io {
            rate: Some(1_000_000),
            operations: Some(1000),
            threads: 2,
            depth,
            engine,
            ..Io::new("f", AccessPattern::RandomRead, Bytes(512))
        };
        let stats = place.io(job).unwrap();
        assert_eq!((stats.operations, stats.offered_rate), (1000, Some(1_000_000)));
    }
}

#[test]
fn requests_whose_buffers_do_not_fit_the_memory_are_unsupported_with_the_sum() {
    let mut place = JobScratch::new();
    place.ws =
        CellWorkspace::new(place.directory.path(), 3).with_memory_limit(Some(Bytes::mib(100)));
    let large = |access| Io { size: Some(Bytes::mib(64)), ..Io::new("f", access, Bytes::mib(64)) };
    place.io(large(AccessPattern::Write)).unwrap();
    let both = place.io(large(AccessPattern::Rewrite)).unwrap_err();
    let OpError::Unsupported { reason } = both else { panic!("{both}") };
    assert_eq!(
        reason,
        "requests of 64 MiB need 129.0 MiB of buffers and 32 MiB in addition; the memory limit is \
         100 MiB"
    );
    place.io(large(AccessPattern::Read)).unwrap();
    let stream = |unit| Op::from(WriteStream { file: "s".into(), size: Bytes::mib(80), unit });
    let record = StreamUnit::Record(Bytes::mib(80));
    let failed = place.attempt(&stream(record), SyncAtEnd::Call.into(), None).unwrap_err();
    assert!(matches!(failed, OpError::Unsupported { .. }), "{failed}");
    // Small buffers are tried, unless they alone exceed the limit.
    let small = |limit| {
        let ws = CellWorkspace::new(place.directory.path(), 3);
        ws.with_memory_limit(Some(Bytes::mib(limit))).require_memory(24 << 20, 24 << 20)
    };
    assert!(small(24).is_ok() && matches!(small(23), Err(OpError::Unsupported { .. })));
    let read = Op::from(ReadStream { file: "s".into(), unit: StreamUnit::Record(Bytes::mib(1)) });
    let failed = place.attempt(&read, SyncAtEnd::Call.into(), None).unwrap_err();
    assert!(matches!(failed, OpError::Unsupported { .. }), "{failed}");
}
