//! `fsarena-bench bench`: the list of speed comparisons between the engine and its peers.

use model::{
    AccessPattern, Bytes, CacheState, Io, IoEngine, MetadataAction, Phase, SyncAtEnd,
    TraversalOrder,
};

use crate::comparison::{
    ComparisonRow, ComparisonUnit, Competitor, Goal, PeerBenchmark, PeerReference, Quantity, Runner,
};
use crate::peers::{bonnie, boot, dd, fio, fsmark, loop_c};
use crate::plan::{BenchScale, create, each, ending, for_seconds, phase, remove, write};
use crate::scratch::FsType;

const OURS: &str = "fsarena";
const FILE: &str = "file";
const FRESH: &str = "fresh";
const BLOCK: Bytes = Bytes::kib(4);
const LARGE: Bytes = Bytes::mib(1);
const THREADS: u32 = 8;
const DEPTH: u32 = 32;

/// Returns all comparisons of speed, and the boot time of a guest.
pub fn contests(scale: BenchScale) -> Vec<PeerBenchmark> {
    vec![
        random_read(scale),
        uring(scale),
        sequential(scale),
        files(scale, FsType::Tmpfs),
        files(scale, FsType::Ext4),
        scaling(scale),
        verifying(scale),
        booting(),
    ]
}

fn side(name: &'static str, runner: Runner) -> Competitor {
    Competitor { name, runner }
}

fn rate(side: &'static str, result: &str) -> Quantity {
    Quantity::Rate(side, result.to_owned())
}

fn row(
    title: &str,
    unit: ComparisonUnit,
    result: &str,
    peer: &'static str,
    target: Goal,
) -> ComparisonRow {
    ComparisonRow {
        title: title.to_owned(),
        unit,
        ours: rate(OURS, result),
        against: PeerReference::Peer(rate(peer, result)),
        target,
    }
}

/// fio job for random reads of cached data.
fn cached_job(scale: BenchScale, result: &'static str, threads: u32) -> fio::FioBenchJob {
    fio::FioBenchJob {
        result,
        rw: "randread",
        ioengine: "psync",
        block: BLOCK,
        file: FILE,
        size: scale.cached,
        seconds: Some(scale.seconds),
        threads,
        own: false,
        fresh: false,
        last: false,
        cold: false,
        more: Vec::new(),
    }
}

fn cached_phase(scale: BenchScale, name: &str, threads: u32) -> Phase {
    let io = Io { threads, ..Io::new(FILE, AccessPattern::RandomRead, BLOCK) };
    for_seconds(scale.seconds, name, io)
}

fn random_read(scale: BenchScale) -> PeerBenchmark {
    let result = "random-read";
    let looped = loop_c::CLoopRun { result, file: FILE, seconds: scale.seconds, threads: 1 };
    let title = "4 KiB cached random read, 1 thread";
    PeerBenchmark {
        name: result.to_owned(),
        scratch: FsType::Tmpfs,
        memory: None,
        prepare: vec![write("prepare", FILE, scale.cached, LARGE)],
        sides: vec![
            side(OURS, Runner::Engine(vec![cached_phase(scale, result, 1)])),
            side("fio", Runner::Fio(vec![cached_job(scale, result, 1)])),
            side("C loop", Runner::Loop(vec![looped])),
        ],
        rows: vec![
            row(title, ComparisonUnit::Operations, result, "fio", Goal::AtLeast(1.25)),
            row(title, ComparisonUnit::Operations, result, "C loop", Goal::AtLeast(0.9)),
        ],
    }
}

fn uring(scale: BenchScale) -> PeerBenchmark {
    let result = "io_uring";
    let job = |more: &[&str]| fio::FioBenchJob {
        ioengine: "io_uring",
        size: scale.streamed,
        more: [&["--direct=1", "--iodepth=32"], more]
            .concat()
            .iter()
            .map(|&s| s.to_owned())
            .collect(),
        ..cached_job(scale, result, 1)
    };
    let io = Io {
        engine: IoEngine::IoUring,
        depth: DEPTH,
        ..Io::new(FILE, AccessPattern::RandomRead, BLOCK)
    };
    let phase = Phase { cache: CacheState::Direct, ..for_seconds(scale.seconds, result, io) };
    let title = "4 KiB O_DIRECT random read, io_uring, depth 32";
    let compare = |peer: &'static str| {
        let cost = ComparisonRow {
            title: format!("{title}: processor time per operation"),
            unit: ComparisonUnit::Seconds,
            ours: Quantity::Processor(OURS, result.to_owned()),
            against: PeerReference::Peer(Quantity::Processor(peer, result.to_owned())),
            target: Goal::AtMost(1.0),
        };
        [row(title, ComparisonUnit::Operations, result, peer, Goal::AtLeast(1.0)), cost]
    };
    PeerBenchmark {
        name: result.to_owned(),
        scratch: FsType::Ext4,
        memory: None,
        prepare: vec![ending(SyncAtEnd::Fsync, write("prepare", FILE, scale.streamed, LARGE))],
        sides: vec![
            side(OURS, Runner::Engine(vec![phase])),
            side("fio", Runner::Fio(vec![job(&[])])),
            side("fio fixedbufs", Runner::Fio(vec![job(&["--fixedbufs"])])),
        ],
        rows: [compare("fio"), compare("fio fixedbufs")].concat(),
    }
}

fn sequential(scale: BenchScale) -> PeerBenchmark {
    let job = |result, rw, file, fresh| fio::FioBenchJob {
        result,
        rw,
        block: LARGE,
        file,
        size: scale.streamed,
        seconds: None,
        fresh,
        last: fresh,
        ..cached_job(scale, result, 1)
    };
    let copy = |result, file, write| dd::DdRun { result, file, block: LARGE, write };
    let read = phase("read", model::Op::Io(Io::new(FILE, AccessPattern::Read, LARGE)));
    let (reading, writing) = ("1 MiB sequential read", "1 MiB sequential write");
    let wanted = Goal::AtLeast(1.0);
    PeerBenchmark {
        name: "sequential".to_owned(),
        scratch: FsType::Tmpfs,
        memory: None,
        prepare: vec![write("prepare", FILE, scale.streamed, LARGE)],
        sides: vec![
            side(
                OURS,
                Runner::Engine(vec![
                    read,
                    write("write", FRESH, scale.streamed, LARGE),
                    remove(FRESH),
                ]),
            ),
            side(
                "fio",
                Runner::Fio(vec![
                    job("read", "read", FILE, false),
                    job("write", "write", FRESH, true),
                ]),
            ),
            side(
                "dd",
                Runner::Dd(vec![
                    copy("read", FILE, None),
                    copy("write", FRESH, Some(scale.streamed)),
                ]),
            ),
        ],
        rows: vec![
            row(reading, ComparisonUnit::Bytes, "read", "fio", wanted),
            row(reading, ComparisonUnit::Bytes, "read", "dd", wanted),
            row(writing, ComparisonUnit::Bytes, "write", "fio", wanted),
            row(writing, ComparisonUnit::Bytes, "write", "dd", wanted),
        ],
    }
}

/// Returns bonnie++'s phases for empty files, named like the results of [`bonnie`].
pub fn bonnie_files(files: u64, set: &str, order: TraversalOrder, suffix: &str) -> Vec<Phase> {
    let name = |word: &str| format!("{word}{suffix}");
    let look = MetadataAction::Stat { read: true };
    vec![
        ending(SyncAtEnd::Syncfs, create(&name("create"), set, files, order)),
        each(&name("stat"), set, look, order),
        ending(
            SyncAtEnd::Syncfs,
            each(&name("delete"), set, MetadataAction::Remove { fsync: false }, order),
        ),
    ]
}

fn files(scale: BenchScale, scratch: FsType) -> PeerBenchmark {
    let thousands = match scratch {
        FsType::Tmpfs => scale.files_in_memory,
        _ => scale.files,
    };
    let count = thousands * 1024;
    let like_bonnie = bonnie_files(count, "bonnie", TraversalOrder::Sequential, "");
    // Without syncs, fs_mark ends with its last call. Its names are random.
    let like_fs_mark = vec![
        create("create", "fs-mark", count, TraversalOrder::Random),
        each(
            "delete",
            "fs-mark",
            MetadataAction::Remove { fsync: false },
            TraversalOrder::Sequential,
        ),
    ];
    let bonnie = bonnie::BonnieRun::files(thousands);
    let ours_again = "fsarena like fs_mark";
    let against = |ours, peer, result: &str| ComparisonRow {
        title: format!("{result}, empty files"),
        unit: ComparisonUnit::Operations,
        ours: rate(ours, result),
        against: PeerReference::Peer(rate(peer, result)),
        target: Goal::AtLeast(1.0),
    };
    PeerBenchmark {
        name: "files".to_owned(),
        scratch,
        memory: None,
        prepare: Vec::new(),
        sides: vec![
            side(OURS, Runner::Engine(like_bonnie)),
            side("bonnie++", Runner::Bonnie(bonnie)),
            side(ours_again, Runner::Engine(like_fs_mark)),
            side("fs_mark", Runner::FsMark(fsmark::FsMarkRun { files: count })),
        ],
        rows: vec![
            against(OURS, "bonnie++", "create"),
            against(OURS, "bonnie++", "stat"),
            against(OURS, "bonnie++", "delete"),
            against(ours_again, "fs_mark", "create"),
            against(ours_again, "fs_mark", "delete"),
        ],
    }
}

fn scaling(scale: BenchScale) -> PeerBenchmark {
    let growth = |side| Quantity::Growth(side, "one".to_owned(), "many".to_owned());
    PeerBenchmark {
        name: "scaling".to_owned(),
        scratch: FsType::Tmpfs,
        memory: None,
        prepare: vec![write("prepare", FILE, scale.cached, LARGE)],
        sides: vec![
            side(
                OURS,
                Runner::Engine(vec![
                    cached_phase(scale, "one", 1),
                    cached_phase(scale, "many", THREADS),
                ]),
            ),
            side(
                "fio",
                Runner::Fio(vec![cached_job(scale, "one", 1), cached_job(scale, "many", THREADS)]),
            ),
        ],
        rows: vec![ComparisonRow {
            title: "4 KiB cached random read: 8 threads by 1".to_owned(),
            unit: ComparisonUnit::Times,
            ours: growth(OURS),
            against: PeerReference::Peer(growth("fio")),
            target: Goal::AtLeast(0.95),
        }],
    }
}

fn verifying(scale: BenchScale) -> PeerBenchmark {
    let read = |name: &str, verify| {
        let io = Io { verify, ..Io::new(FILE, AccessPattern::Read, LARGE) };
        phase(name, model::Op::Io(io))
    };
    let fixed = |title: &str, ours| ComparisonRow {
        title: title.to_owned(),
        unit: ComparisonUnit::Bytes,
        ours,
        against: PeerReference::Fixed(2e9),
        target: Goal::AtLeast(1.0),
    };
    PeerBenchmark {
        name: "verify".to_owned(),
        scratch: FsType::Tmpfs,
        memory: None,
        prepare: vec![write("prepare", FILE, scale.streamed, LARGE)],
        sides: vec![side(OURS, Runner::Engine(vec![read("read", false), read("verified", true)]))],
        rows: vec![
            fixed(
                "verified 1 MiB read, per core",
                Quantity::PerCore(OURS, "verified".to_owned(), LARGE.0 as f64),
            ),
            fixed(
                "its checking alone, per core",
                Quantity::Surplus(OURS, ["read".to_owned(), "verified".to_owned()], LARGE.0 as f64),
            ),
        ],
    }
}

fn booting() -> PeerBenchmark {
    let result = "boot";
    PeerBenchmark {
        name: "guest-boot".to_owned(),
        scratch: FsType::Tmpfs,
        memory: None,
        prepare: Vec::new(),
        sides: vec![side(OURS, Runner::Boot(boot::BootBenchmark { result }))],
        rows: vec![ComparisonRow {
            title: "boot of an emulated guest".to_owned(),
            unit: ComparisonUnit::Seconds,
            ours: Quantity::Time(OURS, result.to_owned()),
            against: PeerReference::Fixed(4.0),
            target: Goal::AtMost(1.0),
        }],
    }
}
