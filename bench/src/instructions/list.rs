//! The list of comparisons, as data.

use model::{
    AccessPattern, Bytes, CacheState, Exec, Io, IoEngine, MetadataAction, Op, Phase,
    ProgramRequirements, SyncAtEnd, TraversalOrder,
};

use super::count::CountScope;
use crate::bench::bonnie_files;
use crate::comparison::Goal;
use crate::plan::{create, each, ending, phase, write};

/// Sides that do the same work on one filesystem.
pub struct InstructionComparison {
    /// Name for `--only`.
    pub name: &'static str,
    /// Name of the filesystem in the catalog.
    pub filesystem: &'static str,
    /// Number of operations in the first guest. The second guest does twice as many.
    pub operations: fn(Scale) -> u64,
    /// Programs to compare.
    pub sides: Vec<CountedSide>,
    /// Results to compare.
    pub rows: Vec<InstructionRow>,
}

/// A program in the comparison.
pub struct CountedSide {
    /// Its name.
    pub name: &'static str,
    /// Programs that the side needs in a guest, out of the available ones.
    pub programs: &'static [&'static str],
    /// Phases to run in a guest for a number of operations.
    pub phases: fn(u64) -> Vec<Phase>,
    /// System calls that begin a new part.
    pub parts: CountScope,
    /// Names of the parts that grow with the number of operations, in order. Later parts are
    /// ignored.
    pub results: &'static [&'static str],
}

/// A row of the table.
pub struct InstructionRow {
    /// Human-readable title.
    pub title: &'static str,
    /// Our side, and the results to add up.
    pub ours: (&'static str, &'static [&'static str]),
    /// Other side, and the results to add up.
    pub peer: (&'static str, &'static [&'static str]),
    /// Required ratio of the instructions in programs, engine to peer.
    pub target: Option<Goal>,
}

/// Numbers of operations.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    reads: u64,
    /// Number of files, a multiple of bonnie++'s unit.
    files: u64,
}

impl Scale {
    /// Scale for published results.
    pub const FULL: Self = Self { reads: 20_000, files: 8 * BONNIE_UNIT };
    /// Smallest scale that exercises all code.
    pub const SMOKE: Self = Self { reads: 2000, files: BONNIE_UNIT };
}

/// Unit in which bonnie++ counts files.
const BONNIE_UNIT: u64 = 1024;
const BLOCK: Bytes = Bytes::kib(4);
const SIZE: Bytes = Bytes::mib(16);
const FILE: &str = "file";
const DEPTH: u32 = 32;

/// Numbers of system calls (`<asm/unistd_64.h>`).
const MKDIR: u32 = 83;
const RMDIR: u32 = 84;
const UNLINK: u32 = 87;
const GETRUSAGE: u32 = 98;
const NEWFSTATAT: u32 = 262;

/// Call that delimits a timed part. The engine, fio and the loop all read their processor usage
/// before and after it.
const METERED: CountScope = CountScope::Each(GETRUSAGE);

const OURS: &str = "fsarena";
const FIO: &str = "fio";
const BONNIE: &str = "bonnie++";
const FS_MARK: &str = "fs_mark";
const LOOP: &str = "C loop";
const LIKE_FS_MARK: &str = "fsarena like fs_mark";

/// Returns the programs that the peers need in a guest.
pub fn programs() -> ProgramRequirements {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    ProgramRequirements {
        packages: names(&["fio", "bonnie++", "fsmark", "coreutils", "dash"]),
        programs: names(&[FIO, "bonnie++", "fs_mark", "sh", "mkdir", "install"]),
        // fio is linked against a Ceph library, which needs this library.
        files: names(&["usr/lib/x86_64-linux-gnu/ceph/*"]),
    }
}

/// Returns the programs that one side needs.
pub fn programs_of(side: &CountedSide) -> ProgramRequirements {
    let mut programs = programs();
    programs.programs.retain(|name| side.programs.contains(&name.as_str()));
    if !side.programs.contains(&FIO) {
        programs.files.clear();
    }
    programs
}

/// Every comparison.
pub fn comparisons() -> Vec<InstructionComparison> {
    vec![random_read(), bare_loop(), uring(), files("tmpfs"), files("ext4")]
}

fn side(
    name: &'static str,
    programs: &'static [&'static str],
    phases: fn(u64) -> Vec<Phase>,
) -> CountedSide {
    CountedSide { name, programs, phases, parts: METERED, results: &["read"] }
}

fn row(title: &'static str, peer: &'static str, most: Option<f64>) -> InstructionRow {
    InstructionRow {
        title,
        ours: (OURS, &["read"]),
        peer: (peer, &["read"]),
        target: most.map(Goal::AtMost),
    }
}

fn prepared(measured: Phase) -> Vec<Phase> {
    let file = write("prepare", FILE, SIZE, Bytes::mib(1));
    vec![ending(SyncAtEnd::Fsync, file), measured]
}

fn command(command: String) -> Phase {
    phase("peer", Op::Exec(Exec::new(command)))
}

fn reading(operations: u64) -> Io {
    Io { operations: Some(operations), ..Io::new(FILE, AccessPattern::RandomRead, BLOCK) }
}

/// Returns a phase of fio with offsets drawn with replacement, like those of the engine, and with
/// all latencies recorded.
fn fio(operations: u64, more: &str) -> Vec<Phase> {
    let (block, size) = (BLOCK.0, SIZE.0);
    let all = operations * block;
    prepared(command(format!(
        "fio --name=job --thread --norandommap --invalidate=0 --allow_file_create=0 --filename={FILE} --rw=randread \
         --bs={block} --size={size} --io_size={all} {more}"
    )))
}

const CACHED: &str = "4 KiB cached random read";

fn cached(operations: u64) -> Vec<Phase> {
    prepared(phase("read", Op::Io(reading(operations))))
}

fn random_read() -> InstructionComparison {
    InstructionComparison {
        name: "random-read",
        filesystem: "tmpfs",
        operations: |scale| scale.reads,
        sides: vec![side(OURS, &[], cached), side("fio", &[FIO], |n| fio(n, "--ioengine=psync"))],
        rows: vec![row(CACHED, "fio", Some(0.25))],
    }
}

fn bare_loop() -> InstructionComparison {
    let looped = |n: u64| {
        let line = format!("install $ARCHIVES/loop . && ./loop {FILE} 0 1 {n}");
        prepared(command(format!("sh -c '{line}'")))
    };
    InstructionComparison {
        name: "loop",
        filesystem: "tmpfs",
        operations: |scale| scale.reads,
        sides: vec![side(OURS, &[], cached), side(LOOP, &["sh", "install"], looped)],
        rows: vec![row(CACHED, LOOP, None)],
    }
}

fn uring() -> InstructionComparison {
    let title = "4 KiB O_DIRECT random read, io_uring, depth 32";
    let ours = |n: u64| {
        let io = Io { engine: IoEngine::IoUring, depth: DEPTH, ..reading(n) };
        prepared(Phase { cache: CacheState::Direct, ..phase("read", Op::Io(io)) })
    };
    let plain = |n: u64| fio(n, "--ioengine=io_uring --direct=1 --iodepth=32");
    let fixed = |n: u64| fio(n, "--ioengine=io_uring --direct=1 --iodepth=32 --fixedbufs");
    InstructionComparison {
        name: "io_uring",
        filesystem: "ext4",
        operations: |scale| scale.reads,
        sides: vec![
            side(OURS, &[], ours),
            side("fio", &[FIO], plain),
            side("fio fixedbufs", &[FIO], fixed),
        ],
        rows: vec![row(title, "fio", Some(0.25)), row(title, "fio fixedbufs", Some(0.25))],
    }
}

fn files(filesystem: &'static str) -> InstructionComparison {
    // bonnie++ looks up its user, which a guest does not have.
    let bonnie = |n: u64| {
        let units = n / BONNIE_UNIT;
        vec![command(format!(
            "sh -c 'echo root:x:0:0::/:/bin/sh > /etc/passwd && echo root:x:0: > /etc/group && \
             exec bonnie++ -q -u root -m bench -d . -s 0 -n {units} -f'"
        ))]
    };
    let fs_mark = |n: u64| {
        let line = format!("mkdir fs_mark && exec fs_mark -s 0 -S 0 -t 1 -v -n {n} -d fs_mark");
        vec![command(format!("sh -c '{line}'"))]
    };
    let looped = |n: u64| {
        let line = format!("install $ARCHIVES/loop . && ./loop files {n}");
        vec![command(format!("sh -c '{line}'"))]
    };
    InstructionComparison {
        name: "files",
        filesystem,
        operations: |scale| scale.files,
        sides: vec![
            CountedSide {
                name: OURS,
                programs: &[],
                phases: |n| bonnie_files(n, "set", TraversalOrder::Sequential, ""),
                parts: METERED,
                results: &["create", "stat", "delete"],
            },
            CountedSide {
                name: BONNIE,
                programs: &["sh", "bonnie++"],
                phases: bonnie,
                parts: CountScope::Calls(&[MKDIR, NEWFSTATAT, UNLINK, RMDIR]),
                results: &["names", "create", "stat", "delete"],
            },
            CountedSide {
                name: LIKE_FS_MARK,
                programs: &[],
                phases: |n| {
                    let remove = each("delete", "set", REMOVE, TraversalOrder::Sequential);
                    vec![create("create", "set", n, TraversalOrder::Random), remove]
                },
                parts: METERED,
                results: &["create", "delete"],
            },
            CountedSide {
                name: FS_MARK,
                programs: &["sh", "mkdir", "fs_mark"],
                phases: fs_mark,
                // bonnie++ creates its directory and removes files. The agent reads processor usage
                // (getrusage) afterwards.
                parts: CountScope::Calls(&[MKDIR, UNLINK, GETRUSAGE]),
                results: &["create", "delete"],
            },
            CountedSide {
                name: LOOP,
                programs: &["sh", "install"],
                phases: looped,
                parts: METERED,
                results: &["names", "create", "stat", "delete"],
            },
        ],
        rows: vec![
            of_files("create, empty files", (OURS, CREATE), (BONNIE, CREATE)),
            of_files("stat, empty files", (OURS, STAT), (BONNIE, STAT)),
            of_files("delete, empty files", (OURS, DELETE), (BONNIE, DELETE)),
            beside_loop("create, empty files", CREATE),
            beside_loop("stat, empty files", STAT),
            beside_loop("delete, empty files", DELETE),
            of_files(
                "name, create, stat, delete, empty files",
                (OURS, &["create", "stat", "delete"]),
                (BONNIE, &["names", "create", "stat", "delete"]),
            ),
            of_files("create, empty files", (LIKE_FS_MARK, CREATE), (FS_MARK, CREATE)),
            of_files("delete, empty files", (LIKE_FS_MARK, DELETE), (FS_MARK, DELETE)),
        ],
    }
}

const CREATE: &[&str] = &["create"];
const STAT: &[&str] = &["stat"];
const DELETE: &[&str] = &["delete"];
const REMOVE: MetadataAction = MetadataAction::Remove { fsync: false };

/// Compares with the lower bound for a program that reads the clock for each file. The loop creates
/// its file names in advance, as bonnie++ does.
fn beside_loop(title: &'static str, step: &'static [&'static str]) -> InstructionRow {
    InstructionRow { target: None, ..of_files(title, (OURS, step), (LOOP, step)) }
}

fn of_files(
    title: &'static str,
    ours: (&'static str, &'static [&'static str]),
    peer: (&'static str, &'static [&'static str]),
) -> InstructionRow {
    InstructionRow { title, ours, peer, target: Some(Goal::AtMost(0.6)) }
}
