//! Data operations: like a job of fio, with fio's terms if fio has one.

use serde::{Deserialize, Serialize};

use super::keys::{
    MAX_COUNT, block, choice, count, count_up_to, flag, name, optional, size, threads,
};
use super::{
    FILE_SYNC_MODES, FsChange, FsState, KeyError, KeySource, ObjectKind, Op, OpExecutor, OpInfo,
    OpName, OpUnit, WorkEstimate,
};
use crate::{Bytes, CacheState, Metric, SyncAtEnd, WorkloadCategory};

/// Requests on one file, or on one file per thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Io {
    /// Name of the file, or the prefix of the names if each thread has its own file.
    pub file: String,
    /// Kind and order of the requests.
    pub access: AccessPattern,
    /// Bytes per request (`bs`).
    pub block: Bytes,
    /// Alignment of offsets (`blockalign`) [default: the block size].
    #[serde(default)]
    pub align: Option<Bytes>,
    /// Size of each file to write or, in an existing file, of the range at its start (`size`)
    /// [default: the whole file].
    #[serde(default)]
    pub size: Option<Bytes>,
    /// Requests over all threads (`number_ios`), with independent random offsets. If absent, the
    /// number that the size contains, with each block used once in random access (`randommap`).
    #[serde(default)]
    pub operations: Option<u64>,
    /// Interface to the file (`ioengine`).
    #[serde(default)]
    pub engine: IoEngine,
    /// Concurrent requests per thread (`iodepth`); more than one requires `io_uring`.
    #[serde(default = "one")]
    pub depth: u32,
    /// Threads (`numjobs`).
    #[serde(default = "one")]
    pub threads: u32,
    /// Whether threads share the file.
    #[serde(default)]
    pub sharing: FileSharing,
    /// Whether threads that share the file take its blocks in turn (IOR's segments), instead of one
    /// contiguous part each.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interleaved: bool,
    /// Number of writes of a thread between two fsyncs (`fsync`); 0 for never.
    #[serde(default)]
    pub fsync: u64,
    /// Flag of the file or of each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<IoFlag>,
    /// Arrivals per second over all threads (`rate_iops`): the open loop. If absent, requests start
    /// as fast as the filesystem completes them: the closed loop.
    #[serde(default)]
    pub rate: Option<u64>,
    /// Whether the data that was read is verified.
    #[serde(default)]
    pub verify: bool,
    /// Whether the time of the phase includes opening and closing the file; for one thread only.
    /// Both are timed separately in either case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_open_close: bool,
}

impl Io {
    /// Returns the simplest job: one thread, one request at a time, with `pread` and `pwrite`.
    pub fn new(file: &str, access: AccessPattern, block: Bytes) -> Self {
        Self {
            file: file.to_owned(),
            access,
            block,
            align: None,
            size: None,
            operations: None,
            engine: IoEngine::Psync,
            depth: 1,
            threads: 1,
            sharing: FileSharing::Shared,
            interleaved: false,
            fsync: 0,
            flag: None,
            rate: None,
            verify: false,
            include_open_close: false,
        }
    }

    /// Returns true if each write, or every few, waits until its data is durable.
    fn waits_for_writes(&self) -> bool {
        let syncs = self.fsync > 0 || self.flag.is_some_and(IoFlag::syncs);
        syncs && self.access.writes()
    }
}

const fn one() -> u32 {
    1
}

/// Kind and order of the requests of a data operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AccessPattern {
    /// Writes a new file, front to back.
    Write,
    /// Sequentially over existing data: IOzone's "rewrite".
    Overwrite,
    /// Reads each block, changes it and writes it back in place: Bonnie++'s "rewrite".
    Rewrite,
    /// Appends to an existing file (`O_APPEND`).
    Append,
    /// Reads front to back.
    Read,
    /// Reads back to front: IOzone's "backward read".
    ReadBackward,
    /// Reads blocks at a fixed distance to the end, and then the blocks between them: IOzone's
    /// "stride read".
    ReadStride {
        /// Distance between the starts of consecutive requests.
        stride: Bytes,
    },
    /// Reads at random offsets.
    RandomRead,
    /// Writes at random offsets.
    RandomWrite,
    /// Mixed reads and writes at random offsets.
    RandomMix {
        /// Share of the requests that are reads, 0 … 1.
        read_share: f64,
    },
    /// Writes the same block repeatedly: IOzone's "record rewrite".
    RecordRewrite,
    /// Reads at random offsets and writes some of the blocks back with changes: Bonnie++'s "seeks".
    Seek {
        /// Share of the blocks that are written back, 0 … 1.
        write_share: f64,
    },
}

impl AccessPattern {
    /// Returns true if any request writes.
    pub const fn writes(self) -> bool {
        !matches!(
            self,
            Self::Read | Self::ReadBackward | Self::ReadStride { .. } | Self::RandomRead
        )
    }

    /// Returns true if any request reads.
    pub const fn reads(self) -> bool {
        !matches!(
            self,
            Self::Write | Self::Overwrite | Self::Append | Self::RandomWrite | Self::RecordRewrite
        )
    }

    /// Returns true if offsets are random.
    pub const fn is_random(self) -> bool {
        matches!(
            self,
            Self::RandomRead | Self::RandomWrite | Self::RandomMix { .. } | Self::Seek { .. }
        )
    }

    /// Returns the name in data files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Overwrite => "overwrite",
            Self::Rewrite => "rewrite",
            Self::Append => "append",
            Self::Read => "read",
            Self::ReadBackward => "read-backward",
            Self::ReadStride { .. } => "read-stride",
            Self::RandomRead => "random-read",
            Self::RandomWrite => "random-write",
            Self::RandomMix { .. } => "random-mix",
            Self::RecordRewrite => "record-rewrite",
            Self::Seek { .. } => "seek",
        }
    }
}

crate::named_enum! {
    /// Interface of the program to the file. The cache state of the phase determines whether the
    /// page cache is bypassed (`O_DIRECT`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum IoEngine {
        /// `pread` and `pwrite`.
        #[default]
        Psync = "psync",
        /// Copies to and from a shared mapping.
        Mmap = "mmap",
        /// Linux' submission and completion rings, with registered buffers.
        IoUring = "io_uring",
        /// Performs no I/O: measures the overhead of fsarena itself.
        Null = "null",
    }
}

crate::named_enum! {
    /// Flag of an open file (`O_`, open(2)) or of each request (`RWF_`, pwritev2(2)). fio has
    /// `sync=sync`, `sync=dsync`, `atomic=1` and `uncached=1`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum IoFlag {
        /// Each write waits until its data and all attributes of the file are durable.
        OSync = "O_SYNC",
        /// Each write waits until its data can be read after a power cut.
        ODsync = "O_DSYNC",
        /// As `O_DSYNC`, for single writes.
        RwfDsync = "RWF_DSYNC",
        /// After a power cut, the file has each write completely or not at all.
        RwfAtomic = "RWF_ATOMIC",
        /// The page cache drops the data as soon as the request and its writeback are finished.
        RwfDontcache = "RWF_DONTCACHE",
    }
}

impl IoFlag {
    /// Returns true if each write waits until it is durable.
    pub const fn syncs(self) -> bool {
        matches!(self, Self::OSync | Self::ODsync | Self::RwfDsync)
    }

    /// Returns true if many filesystems lack it. Such phases compare ways to write, and not
    /// filesystems.
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::RwfAtomic | Self::RwfDontcache)
    }

    /// Returns true if each request has the flag, and not the open file.
    pub const fn is_of_request(self) -> bool {
        !matches!(self, Self::OSync | Self::ODsync)
    }
}

crate::named_enum! {
    /// Whether threads share an object or have separate ones.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum FileSharing {
        /// One file, or one directory, for all threads.
        #[default]
        Shared = "shared",
        /// One file or directory per thread.
        Own = "own",
    }
}

/// Keys of every data operation, plus the additional keys of some.
macro_rules! keys {
    ($($more:literal),*) => {
        &[
            "file", "block", "align", "size", "operations", "engine", "iodepth", "threads", "sharing",
            "interleaved", "fsync", "flag", "rate", "verify", "include_open_close", $($more,)*
        ]
    };
}

/// Returns the word of a data operation without additional keys.
const fn plain(name: &'static str, read: fn(&dyn KeySource) -> Result<Op, KeyError>) -> OpName {
    OpName { name, keys: keys!(), read }
}

fn read(t: &dyn KeySource, access: AccessPattern) -> Result<Op, KeyError> {
    let lengthens = matches!(access, AccessPattern::Write | AccessPattern::Append);
    Ok(Op::Io(Io {
        file: name(t, "file")?,
        access,
        block: block(t, "block")?,
        align: optional(t, "align", size)?,
        size: match lengthens {
            true => Some(size(t, "size")?),
            false => optional(t, "size", size)?,
        },
        operations: optional(t, "operations", count)?,
        engine: optional(t, "engine", |t, key| choice(t, key, &IoEngine::WORDS))?
            .unwrap_or_default(),
        depth: count_up_to(t, "iodepth", 4096)?,
        threads: threads(t, "threads")?,
        sharing: sharing(t, "sharing")?,
        interleaved: flag(t, "interleaved")?,
        fsync: optional(t, "fsync", |t, key| t.count(key, 0..MAX_COUNT))?.unwrap_or(0),
        flag: optional(t, "flag", |t, key| choice(t, key, &IoFlag::WORDS))?,
        rate: optional(t, "rate", count)?,
        verify: flag(t, "verify")?,
        include_open_close: flag(t, "include_open_close")?,
    }))
}

/// Reads whether threads share a file; they do by default.
pub(super) fn sharing(t: &dyn KeySource, key: &'static str) -> Result<FileSharing, KeyError> {
    Ok(optional(t, key, |t, key| choice(t, key, &FileSharing::WORDS))?.unwrap_or_default())
}

impl OpInfo for Io {
    fn op_names() -> &'static [OpName] {
        const {
            &[
                plain("write", |t| read(t, AccessPattern::Write)),
                plain("overwrite", |t| read(t, AccessPattern::Overwrite)),
                plain("rewrite", |t| read(t, AccessPattern::Rewrite)),
                plain("append", |t| read(t, AccessPattern::Append)),
                plain("read", |t| read(t, AccessPattern::Read)),
                plain("read-backward", |t| read(t, AccessPattern::ReadBackward)),
                OpName {
                    name: "read-stride",
                    keys: keys!("stride"),
                    read: |t| {
                        let stride = size(t, "stride")?;
                        read(t, AccessPattern::ReadStride { stride })
                    },
                },
                plain("random-read", |t| read(t, AccessPattern::RandomRead)),
                plain("random-write", |t| read(t, AccessPattern::RandomWrite)),
                OpName {
                    name: "random-mix",
                    keys: keys!("read_share"),
                    read: |t| {
                        let read_share = t.share("read_share")?;
                        read(t, AccessPattern::RandomMix { read_share })
                    },
                },
                plain("record-rewrite", |t| read(t, AccessPattern::RecordRewrite)),
                OpName {
                    name: "seek",
                    keys: keys!("write_share"),
                    read: |t| {
                        let write_share = t.share("write_share")?;
                        read(t, AccessPattern::Seek { write_share })
                    },
                },
            ]
        }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let size = self.follow_file(files);
        let block = self.block.0.max(1);
        let operations = self.operations.unwrap_or(size.div_ceil(block));
        let bytes = match self.operations {
            Some(operations) => operations.saturating_mul(block),
            None => size,
        };
        if self.engine == IoEngine::Null {
            files.mark_unchanged();
            return WorkEstimate::new(0, 0, operations);
        }
        let share = |share: f64| (bytes as f64 * share) as u64;
        let work = match self.access {
            AccessPattern::Rewrite => WorkEstimate::new(bytes, bytes, operations),
            AccessPattern::Seek { write_share } => {
                WorkEstimate::new(bytes, share(write_share), operations)
            }
            AccessPattern::RandomMix { read_share } => {
                let read = share(read_share);
                WorkEstimate::new(read, bytes - read.min(bytes), operations)
            }
            access if access.writes() => WorkEstimate::new(0, bytes, operations),
            _ => WorkEstimate::new(bytes, 0, operations),
        };
        let writes = work.written.0.div_ceil(block);
        let per_sync = if self.flag.is_some_and(IoFlag::syncs) { 1 } else { self.fsync };
        work.with_syncs(writes.checked_div(per_sync).unwrap_or(0))
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.job(self)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(match self.access {
            _ if self.engine == IoEngine::Null => return None,
            _ if self.flag.is_some_and(IoFlag::is_optional) => return None,
            _ if self.waits_for_writes() => WorkloadCategory::Durable,
            AccessPattern::Write
            | AccessPattern::Overwrite
            | AccessPattern::Rewrite
            | AccessPattern::Append => WorkloadCategory::StreamWrite,
            AccessPattern::Read
            | AccessPattern::ReadBackward
            | AccessPattern::ReadStride { .. } => WorkloadCategory::StreamRead,
            AccessPattern::RandomMix { read_share } if read_share > 0.5 => {
                WorkloadCategory::RandomRead
            }
            AccessPattern::RandomRead | AccessPattern::Seek { .. } => WorkloadCategory::RandomRead,
            AccessPattern::RandomWrite
            | AccessPattern::RecordRewrite
            | AccessPattern::RandomMix { .. } => WorkloadCategory::RandomWrite,
        })
    }

    /// A shared file grows with the number of hosts, so that each host has the same work.
    fn on_hosts(&self, hosts: u32) -> Option<Op> {
        let times = |count: u64| count.saturating_mul(hosts.into());
        let size = match self.sharing {
            FileSharing::Shared => self.size.map(|size| Bytes(times(size.0))),
            FileSharing::Own => self.size,
        };
        Some(Op::Io(Self {
            size,
            operations: self.operations.map(times),
            rate: self.rate.map(times),
            threads: self.threads.saturating_mul(hosts),
            ..self.clone()
        }))
    }

    fn primary_metric(&self) -> Metric {
        match self.access.is_random() {
            true => Metric::Rate,
            false => Metric::Throughput,
        }
    }

    /// Random I/O reports its throughput in addition, because operations of different request sizes
    /// are not comparable.
    fn secondary_metrics(&self) -> Option<Metric> {
        self.access.is_random().then_some(Metric::Throughput)
    }

    fn each(&self) -> OpUnit {
        match self.engine {
            IoEngine::Null => OpUnit::Nothing,
            _ => OpUnit::Request,
        }
    }

    fn allowed_caches(&self) -> &'static [CacheState] {
        match self.engine {
            IoEngine::Mmap => &[CacheState::Cold, CacheState::Warm, CacheState::FadviseDontNeed],
            _ => &[
                CacheState::Cold,
                CacheState::Warm,
                CacheState::Direct,
                CacheState::FadviseDontNeed,
            ],
        }
    }

    fn allowed_ends(&self) -> &'static [SyncAtEnd] {
        FILE_SYNC_MODES
    }

    fn check(&self) -> Result<(), String> {
        let word = self.access.name();
        if let Some(size) = self.size
            && self.block > size
        {
            return Err(format!("`block` ({}) is above `size` ({size})", self.block));
        }
        if self.depth > 1 && self.engine != IoEngine::IoUring {
            return Err(format!(
                "`iodepth` above 1 needs `engine = \"io_uring\"`; {} has one request in flight",
                self.engine
            ));
        }
        if self.verify && !self.access.reads() {
            return Err(format!("`verify` cannot be used for `{word}`"));
        }
        if self.interleaved && !self.can_interleave() {
            return Err(
                "`interleaved` needs one file for all threads, in order and without `operations`"
                    .into(),
            );
        }
        if self.include_open_close && self.threads > 1 {
            return Err("`include_open_close` is for one thread: files of several are opened before the clock starts and closed after".into());
        }
        if self.fsync > 0 && !self.access.writes() {
            return Err(format!("`fsync` cannot be used for `{word}`"));
        }
        if let Some(flag) = self.flag {
            if matches!(self.engine, IoEngine::Mmap | IoEngine::Null) {
                return Err(format!("`flag` cannot be used with `engine = \"{}\"`", self.engine));
            }
            if flag != IoFlag::RwfDontcache && !self.access.writes() {
                return Err(format!("`flag = \"{flag}\"` cannot be used for `{word}`"));
            }
        }
        match self.access {
            AccessPattern::ReadStride { stride } if stride < self.block => {
                Err(format!("`stride` ({stride}) is below `block` ({})", self.block))
            }
            _ => Ok(()),
        }
    }

    fn threads(&self) -> u32 {
        self.threads
    }
}

impl Io {
    /// Returns true if threads can take the blocks of the file in turn.
    fn can_interleave(&self) -> bool {
        let in_order = [
            AccessPattern::Write,
            AccessPattern::Overwrite,
            AccessPattern::Rewrite,
            AccessPattern::Read,
        ];
        in_order.contains(&self.access)
            && self.sharing == FileSharing::Shared
            && self.operations.is_none()
    }

    /// Updates the state of the file and returns the number of bytes processed.
    fn follow_file(&self, files: &mut FsState) -> u64 {
        let count = match self.sharing {
            FileSharing::Shared => 1,
            FileSharing::Own => u64::from(self.threads),
        };
        let asked = self.size.map(|size| size.0.saturating_mul(count));
        if self.access == AccessPattern::Write {
            let size = asked.unwrap_or_default();
            files.add(ObjectKind::File, &self.file, count, size);
            return size;
        }
        let size = asked.unwrap_or(files.find(ObjectKind::File, &self.file).bytes);
        match self.access {
            AccessPattern::Append => files.grow(&self.file, size),
            access if access.writes() => {
                files.change(FsChange::Overwritten(ObjectKind::File, self.file.clone()));
            }
            _ => {}
        }
        size
    }

    /// Returns true if the stride exceeds the file.
    pub fn exceeds_file(&self, files: &FsState) -> bool {
        let AccessPattern::ReadStride { stride } = self.access else {
            return false;
        };
        let size = self.size.or_else(|| files.size_of(&self.file));
        size.is_some_and(|size| stride > size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_keys_have_the_simplest_values() {
        let json = r#"{"file":"f","access":"read","block":4096}"#;
        let io: Io = serde_json::from_str(json).unwrap();
        assert_eq!(io, Io::new("f", AccessPattern::Read, Bytes(4096)));
    }

    #[test]
    fn engines_have_the_names_of_fio() {
        for engine in IoEngine::ALL {
            let json = serde_json::to_string(&engine).unwrap();
            assert_eq!(json, format!("\"{engine}\""));
        }
    }

    #[test]
    fn a_flag_needs_calls_that_can_have_it_and_makes_writes_durable() {
        let io = |access, engine, flag| Io {
            flag: Some(flag),
            engine,
            size: Some(Bytes::kib(40)),
            ..Io::new("f", access, Bytes::kib(4))
        };
        let (read, write) = (AccessPattern::Read, AccessPattern::Write);
        let error = |io: Io| io.check().unwrap_err();
        assert_eq!(
            error(io(read, IoEngine::Psync, IoFlag::ODsync)),
            "`flag = \"O_DSYNC\"` cannot be used for `read`"
        );
        assert_eq!(
            error(io(write, IoEngine::Mmap, IoFlag::ODsync)),
            "`flag` cannot be used with `engine = \"mmap\"`"
        );
        io(read, IoEngine::Psync, IoFlag::RwfDontcache).check().unwrap();
        for flag in IoFlag::ALL {
            let io = io(write, IoEngine::Psync, flag);
            io.check().unwrap();
            let group = flag.syncs().then_some(WorkloadCategory::Durable);
            assert_eq!(io.group(), group);
            let work = io.apply(&mut FsState::default());
            assert_eq!(work.syncs, if flag.syncs() { 10 } else { 0 }, "{flag}");
        }
    }

    #[test]
    fn each_access_reads_or_writes() {
        let stride = AccessPattern::ReadStride { stride: Bytes::kib(64) };
        for access in [stride, AccessPattern::RandomMix { read_share: 0.5 }, AccessPattern::Append]
        {
            assert!(access.reads() || access.writes(), "{access:?}");
        }
        assert!(!stride.writes() && !AccessPattern::Append.reads());
    }
}
