//! `fsarena-bench agreement`: checks that the engine measures the same as its peers, with equal
//! parameters and equal cache state. This module contains only the list of comparisons.

use model::{
    AccessPattern, Bytes, FileSharing, Io, Op, Phase, ReadStream, RemoveFile, StreamUnit,
    SyncAtEnd, TraversalOrder, WriteStream,
};

use crate::bench::bonnie_files;
use crate::comparison::{
    ComparisonRow, ComparisonUnit, Competitor, Goal, PeerBenchmark, PeerReference, Quantity, Runner,
};
use crate::peers::{bonnie, fio, iozone};
use crate::plan::{BenchScale, cold, ending, phase, remove, write};
use crate::scratch::FsType;

const OURS: &str = "fsarena";
const FILE: &str = "file";
/// Two results agree if they differ by at most 10 %.
const SAME: Goal = Goal::Within(0.1);
/// bonnie++'s requests.
const CHUNK: Bytes = Bytes::kib(8);
/// Size of small requests. With larger ones, bonnie++ reads a file from memory in less than half a
/// second and gives no result.
const SMALL_CHUNK: Bytes = Bytes::kib(1);
const SEEKERS: u32 = 5;
const RECORD: Bytes = Bytes::kib(64);
/// Distance between requests in IOzone: 17 records.
const STRIDE: Bytes = Bytes::kib(17 * 64);
const TIOBENCH_THREADS: u32 = 4;
const PAGE: Bytes = Bytes::kib(4);
/// Memory limit. Files larger than this are read from the device. Once the cache is full, it reuses
/// its own pages, so that a virtual machine does not have to fetch pages from its host.
const MEMORY: Bytes = Bytes::mib(128);

/// Returns all comparisons of measured results.
pub fn contests(scale: BenchScale) -> Vec<PeerBenchmark> {
    [FsType::Ext4, FsType::Xfs, FsType::Btrfs]
        .into_iter()
        .flat_map(move |scratch| {
            [
                bonnie_block(scale, scratch),
                bonnie_warm(scale, scratch),
                bonnie_small(scale, scratch),
                iozone(scale, scratch),
                iozone_cold(scale, scratch),
                tiobench(scale, scratch),
                same_file(scale, scratch),
            ]
        })
        .collect()
}

fn side(name: &'static str, runner: Runner) -> Competitor {
    Competitor { name, runner }
}

fn row(result: &str, words: &str, unit: ComparisonUnit, peer: &'static str) -> ComparisonRow {
    ComparisonRow {
        title: words.to_owned(),
        unit,
        ours: Quantity::Rate(OURS, result.to_owned()),
        against: PeerReference::Peer(Quantity::Rate(peer, result.to_owned())),
        target: SAME,
    }
}

fn data(name: &str, io: Io) -> Phase {
    phase(name, Op::Io(io))
}

fn synced(phase: Phase) -> Phase {
    ending(SyncAtEnd::Fsync, phase)
}

/// Includes opening and closing of the file in the measured time. IOzone's `-c` includes only
/// closing; the additional open happens once per file.
fn with_close(mut phase: Phase) -> Phase {
    if let Op::Io(io) = &mut phase.op {
        io.include_open_close = true;
    }
    phase
}

fn bonnie_block(scale: BenchScale, scratch: FsType) -> PeerBenchmark {
    let access = |name: &str, access| data(name, Io::new(FILE, access, CHUNK));
    let byte = Bytes(1);
    let chars = [
        synced(write("write-chars", FILE, scale.chars, byte)),
        synced(data("read-chars", Io::new(FILE, AccessPattern::Read, byte))),
        remove(FILE),
    ];
    let blocks = [
        synced(write("write", FILE, scale.bonnie, CHUNK)),
        synced(access("rewrite", AccessPattern::Rewrite)),
        remove(FILE),
    ];
    let run = bonnie::BonnieRun {
        chars_mib: Some(scale.chars.0 >> 20),
        ..bonnie::BonnieRun::large(scale.bonnie, CHUNK)
    };
    let peer = "bonnie++";
    let bytes = |result, words| row(result, words, ComparisonUnit::Bytes, peer);
    PeerBenchmark {
        name: "bonnie-block".to_owned(),
        scratch,
        memory: None,
        prepare: Vec::new(),
        sides: vec![
            side(OURS, Runner::Engine([&chars[..], &blocks[..]].concat())),
            side(peer, Runner::Bonnie(run)),
        ],
        rows: vec![
            bytes("write-chars", "bonnie: write, a byte a call"),
            bytes("write", "bonnie: block write"),
            bytes("rewrite", "bonnie: rewrite"),
            bytes("read-chars", "bonnie: read, a byte a call"),
        ],
    }
}

/// bonnie++ with cached data. Requests are small and seeks are numerous, so that each phase lasts
/// long enough for a result.
fn bonnie_warm(scale: BenchScale, scratch: FsType) -> PeerBenchmark {
    let access = |name: &str, access| data(name, Io::new(FILE, access, SMALL_CHUNK));
    let seek = Io {
        operations: Some(scale.seeks),
        threads: SEEKERS,
        ..Io::new(FILE, AccessPattern::Seek { write_share: 0.1 }, SMALL_CHUNK)
    };
    let ours = vec![
        synced(write("write", FILE, scale.bonnie, SMALL_CHUNK)),
        synced(access("rewrite", AccessPattern::Rewrite)),
        synced(access("read", AccessPattern::Read)),
        synced(data("seek", seek)),
        remove(FILE),
    ];
    let run = bonnie::BonnieRun {
        seeks: scale.seeks,
        seekers: SEEKERS,
        ..bonnie::BonnieRun::large(scale.bonnie, SMALL_CHUNK)
    };
    let peer = "bonnie++";
    PeerBenchmark {
        name: "bonnie-warm".to_owned(),
        scratch,
        memory: None,
        prepare: Vec::new(),
        sides: vec![side(OURS, Runner::Engine(ours)), side(peer, Runner::Bonnie(run))],
        rows: vec![
            row("read", "bonnie: block read, warm, 1 KiB", ComparisonUnit::Bytes, peer),
            row("seek", "bonnie: seeks, warm, 1 KiB", ComparisonUnit::Operations, peer),
        ],
    }
}

fn bonnie_small(scale: BenchScale, scratch: FsType) -> PeerBenchmark {
    let files = scale.files * 1024;
    let phases = [
        bonnie_files(files, "sequential", TraversalOrder::Sequential, ""),
        bonnie_files(files, "random", TraversalOrder::Random, "-random"),
    ];
    let run = bonnie::BonnieRun::files(scale.files);
    let peer = "bonnie++";
    let rows = ["", "-random"].into_iter().flat_map(|suffix| {
        ["create", "stat", "delete"].map(|word| {
            let result = format!("{word}{suffix}");
            row(&result, &format!("bonnie: {result}"), ComparisonUnit::Operations, peer)
        })
    });
    PeerBenchmark {
        name: "bonnie-files".to_owned(),
        scratch,
        memory: None,
        prepare: Vec::new(),
        sides: vec![side(OURS, Runner::Engine(phases.concat())), side(peer, Runner::Bonnie(run))],
        rows: rows.collect(),
    }
}

fn iozone(scale: BenchScale, scratch: FsType) -> PeerBenchmark {
    let access = |name: &str, access| data(name, Io::new(FILE, access, RECORD));
    let stream = "stream".to_owned();
    let unit = StreamUnit::Record(RECORD);
    let fread = Op::ReadStream(ReadStream { file: stream.clone(), unit });
    let fwrite = Op::WriteStream(WriteStream { file: stream, size: scale.streamed, unit });
    let ours = [
        synced(write("write", FILE, scale.streamed, RECORD)),
        synced(access("overwrite", AccessPattern::Overwrite)),
        cold(access("read", AccessPattern::Read)),
        access("reread", AccessPattern::Read),
        access("random-read", AccessPattern::RandomRead),
        synced(access("random-write", AccessPattern::RandomWrite)),
        access("read-backward", AccessPattern::ReadBackward),
        access("read-stride", AccessPattern::ReadStride { stride: STRIDE }),
        synced(access("record-rewrite", AccessPattern::RecordRewrite)),
        synced(phase("fwrite", fwrite)),
        cold(phase("fread", fread.clone())),
        phase("refread", fread),
        remove(FILE),
        remove("stream"),
    ]
    .map(with_close)
    .to_vec();
    let run = iozone_run(
        scale,
        &[
            (0, false),
            (1, true),
            (2, false),
            (3, false),
            (5, false),
            (4, false),
            (6, false),
            (7, true),
        ],
    );
    let peer = IOZONE;
    let bytes = iozone_row;
    let operations = |(result, words): (&str, &str)| ComparisonRow {
        ours: Quantity::Scaled(OURS, result.to_owned(), RECORD.0 as f64),
        ..bytes((result, words))
    };
    let rows = [
        bytes(("write", "write")),
        bytes(("overwrite", "rewrite (overwrite)")),
        bytes(("reread", "reread, warm")),
        operations(("random-read", "random read, warm")),
        operations(("random-write", "random write")),
        bytes(("read-backward", "backward read, warm")),
        bytes(("read-stride", "stride read, warm")),
        bytes(("record-rewrite", "record rewrite")),
        bytes(("fwrite", "fwrite")),
        bytes(("refread", "fread again, warm")),
    ];
    PeerBenchmark {
        name: "iozone".to_owned(),
        scratch,
        memory: None,
        prepare: Vec::new(),
        sides: vec![side(OURS, Runner::Engine(ours)), side(peer, Runner::Iozone(run))],
        rows: rows.to_vec(),
    }
}

const IOZONE: &str = "IOzone";

/// Returns a run of IOzone tests, given by number and by whether caches are dropped before the
/// test.
fn iozone_run(scale: BenchScale, tests: &[(u32, bool)]) -> iozone::IozoneRun {
    let step = |&(test, cold): &(u32, bool)| iozone::IozoneStep { test, cold, flags: &[] };
    iozone::IozoneRun {
        files: ["iozone", "iozone-stream"],
        size: scale.streamed,
        record: RECORD,
        tests: tests.iter().map(step).collect(),
        flags: &["-e", "-c"],
    }
}

fn iozone_row((result, words): (&str, &str)) -> ComparisonRow {
    ComparisonRow {
        title: format!("IOzone: {words}"),
        ..row(result, words, ComparisonUnit::Bytes, IOZONE)
    }
}

/// IOzone reading from the device.
fn iozone_cold(scale: BenchScale, scratch: FsType) -> PeerBenchmark {
    let unit = StreamUnit::Record(RECORD);
    let [file, stream] = [FILE, "stream"].map(str::to_owned);
    let fwrite = Op::WriteStream(WriteStream { file: stream.clone(), size: scale.streamed, unit });
    let ours = [
        synced(write("write", &file, scale.streamed, RECORD)),
        cold(data("read", Io::new(&file, AccessPattern::Read, RECORD))),
        synced(phase("fwrite", fwrite)),
        cold(phase("fread", Op::ReadStream(ReadStream { file: stream, unit }))),
        remove(&file),
        remove("stream"),
    ]
    .map(with_close)
    .to_vec();
    let run = iozone_run(scale, &[(0, false), (1, true), (6, false), (7, true)]);
    PeerBenchmark {
        name: "iozone-cold".to_owned(),
        scratch,
        memory: Some(MEMORY),
        prepare: Vec::new(),
        sides: vec![side(OURS, Runner::Engine(ours)), side(IOZONE, Runner::Iozone(run))],
        rows: [("read", "read, cold"), ("fread", "fread, cold")].map(iozone_row).to_vec(),
    }
}

/// Common fio options: no access hint to the kernel, as fsarena gives none, and hence the same
/// readahead; a different sequence of offsets in each run.
fn job(
    result: &'static str,
    rw: &'static str,
    file: &'static str,
    size: Bytes,
) -> fio::FioBenchJob {
    fio::FioBenchJob {
        result,
        rw,
        ioengine: "psync",
        block: PAGE,
        file,
        size,
        seconds: None,
        threads: 1,
        own: false,
        fresh: false,
        last: false,
        cold: false,
        more: vec!["--fadvise_hint=0".to_owned(), "--end_fsync=1".to_owned()],
    }
}

fn tiobench(scale: BenchScale, scratch: FsType) -> PeerBenchmark {
    let own = |access| Io {
        threads: TIOBENCH_THREADS,
        sharing: FileSharing::Own,
        size: Some(scale.tiobench),
        ..Io::new("tiobench", access, PAGE)
    };
    let random = |access| Io {
        operations: Some(scale.tiobench_random * u64::from(TIOBENCH_THREADS)),
        ..own(access)
    };
    let ours = vec![
        synced(data("write", own(AccessPattern::Write))),
        synced(data("random-write", random(AccessPattern::RandomWrite))),
        cold(data("read", own(AccessPattern::Read))),
        cold(data("random-read", random(AccessPattern::RandomRead))),
        phase("remove", Op::RemoveFile(RemoveFile { file: "tiobench".to_owned() })),
    ];
    let threads = |result, rw| fio::FioBenchJob {
        threads: TIOBENCH_THREADS,
        own: true,
        ..job(result, rw, "fio", scale.tiobench)
    };
    let some = |result, rw| {
        let mut job = threads(result, rw);
        job.more.push(format!("--number_ios={}", scale.tiobench_random));
        job
    };
    let theirs = vec![
        fio::FioBenchJob { fresh: true, ..threads("write", "write") },
        some("random-write", "randwrite"),
        fio::FioBenchJob { cold: true, ..threads("read", "read") },
        fio::FioBenchJob { cold: true, last: true, ..some("random-read", "randread") },
    ];
    let peer = "fio";
    let line = |result, words, unit| row(result, words, unit, peer);
    PeerBenchmark {
        name: "tiobench".to_owned(),
        scratch,
        memory: Some(MEMORY),
        prepare: Vec::new(),
        sides: vec![side(OURS, Runner::Engine(ours)), side(peer, Runner::Fio(theirs))],
        rows: vec![
            line("write", "tiobench: write, 4 threads", ComparisonUnit::Bytes),
            line("random-write", "tiobench: random write, 4 threads", ComparisonUnit::Operations),
            line("read", "tiobench: read, 4 threads, cold", ComparisonUnit::Bytes),
            line(
                "random-read",
                "tiobench: random read, 4 threads, cold",
                ComparisonUnit::Operations,
            ),
        ],
    }
}

/// Returns a comparison in which both sides read one file, so that the layout is equal.
fn same_file(scale: BenchScale, scratch: FsType) -> PeerBenchmark {
    let block = Bytes::mib(1);
    let read = cold(data("read", Io::new(FILE, AccessPattern::Read, block)));
    let job = |more: &str| fio::FioBenchJob {
        block,
        cold: true,
        more: vec![more.to_owned()],
        ..job("read", "read", FILE, scale.streamed)
    };
    let plain = "fio";
    let hinted = "fio, with its hints";
    PeerBenchmark {
        name: "same-file".to_owned(),
        scratch,
        memory: Some(MEMORY),
        prepare: vec![synced(write("prepare", FILE, scale.streamed, block))],
        sides: vec![
            side(OURS, Runner::Engine(vec![read])),
            side(plain, Runner::Fio(vec![job("--fadvise_hint=0")])),
            side(hinted, Runner::Fio(vec![job("--fadvise_hint=1")])),
        ],
        rows: [plain, hinted]
            .map(|peer| row("read", "one file, read cold, 1 MiB", ComparisonUnit::Bytes, peer))
            .to_vec(),
    }
}
