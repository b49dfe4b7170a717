//! Short constructors for phases of the engine, for the lists of comparisons.

use model::{
    AccessPattern, Bytes, CacheState, Create, EntryKind, FileSharing, Io, Metadata, MetadataAction,
    Nanos, Op, Phase, RemoveFile, SyncAtEnd, TraversalOrder,
};

/// Sizes and durations of the comparisons.
#[derive(Clone, Copy, Debug)]
pub struct BenchScale {
    /// File for random reads from the cache. It is larger than processor caches and small enough
    /// for every machine.
    pub cached: Bytes,
    /// File for sequential reads and writes.
    pub streamed: Bytes,
    /// Size of bonnie++'s large file.
    pub bonnie: Bytes,
    /// Number of seeks in memory in the large file, so many that bonnie++ can measure them.
    pub seeks: u64,
    /// Bytes that bonnie++ writes and reads one at a time.
    pub chars: Bytes,
    /// Number of empty files, in bonnie++'s unit of 1024, so many that bonnie++ can measure every
    /// phase.
    pub files: u64,
    /// Empty files on a filesystem in memory, in bonnie++'s unit of 1024.
    pub files_in_memory: u64,
    /// Size of the file of each tiobench thread.
    pub tiobench: Bytes,
    /// Number of random requests of each tiobench thread.
    pub tiobench_random: u64,
    /// Duration of phases with a time limit, in seconds.
    pub seconds: u64,
}

impl BenchScale {
    /// Scale for published results.
    pub const FULL: Self = Self {
        cached: Bytes::mib(256),
        streamed: Bytes::mib(1024),
        bonnie: Bytes::mib(2048),
        seeks: 2_000_000,
        chars: Bytes::mib(2),
        files: 384,
        files_in_memory: 512,
        tiobench: Bytes::mib(256),
        tiobench_random: 4000,
        seconds: 2,
    };
    /// Smallest scale that exercises all code.
    pub const SMOKE: Self = Self {
        cached: Bytes::mib(8),
        streamed: Bytes::mib(8),
        bonnie: Bytes::mib(64),
        seeks: 2000,
        chars: Bytes::mib(1),
        files: 1,
        files_in_memory: 1,
        tiobench: Bytes::mib(4),
        tiobench_random: 40,
        seconds: 1,
    };
}

/// Creates a phase on cached data that ends with its last call.
pub fn phase(name: &str, op: Op) -> Phase {
    Phase {
        name: name.to_owned(),
        cache: CacheState::Warm,
        sync_at_end: SyncAtEnd::Call,
        at_most: None,
        scaling: None,
        step: None,
        needs: None,
        from_next_host: false,
        op,
    }
}

/// Returns a phase that writes a new file sequentially.
pub fn write(name: &str, file: &str, size: Bytes, block: Bytes) -> Phase {
    let io = Io { size: Some(size), ..Io::new(file, AccessPattern::Write, block) };
    phase(name, Op::Io(io))
}

/// Returns a phase that removes a file.
pub fn remove(file: &str) -> Phase {
    phase("remove", Op::RemoveFile(RemoveFile { file: file.to_owned() }))
}

/// Creates a phase with a fixed duration.
pub fn for_seconds(seconds: u64, name: &str, io: Io) -> Phase {
    Phase {
        at_most: Some(Nanos::from_secs(seconds)),
        ..phase(name, Op::Io(Io { operations: Some(ENDLESS), ..io }))
    }
}

/// Number of operations that no machine reaches within the time limit of a phase.
const ENDLESS: u64 = 1 << 32;

/// Returns the phase with another sync at its end.
pub fn ending(ends: SyncAtEnd, phase: Phase) -> Phase {
    Phase { sync_at_end: ends, ..phase }
}

/// Returns the phase with dropped caches before it.
pub fn cold(phase: Phase) -> Phase {
    Phase { cache: CacheState::Cold, ..phase }
}

/// Returns a phase that creates empty files in one directory.
pub fn create(name: &str, set: &str, files: u64, order: TraversalOrder) -> Phase {
    phase(
        name,
        Op::Create(Create {
            set: set.to_owned(),
            kind: EntryKind::File,
            entries: files,
            directories: 1,
            depth: 1,
            size: Bytes(0),
            spread: model::op::SizeDistribution::Fixed,
            order,
            fsync: false,
            fsync_directory: false,
            threads: 1,
            sharing: FileSharing::Shared,
        }),
    )
}

/// Returns a phase that runs an action on each file of a set.
pub fn each(name: &str, set: &str, action: MetadataAction, order: TraversalOrder) -> Phase {
    phase(name, Op::Metadata(Metadata { set: set.to_owned(), action, order, threads: 1 }))
}
