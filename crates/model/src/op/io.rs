//! Data operations: what a job of fio would say, in fio's words where fio has one.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::keys::{MAX_COUNT, block, choice, count, flag, name, count_up_to, optional, size, threads};
use super::{
    FsChange, FILE_SYNC_MODES, OpUnit, KeyError, KeySource, ObjectKind, Op, OpInfo, OpExecutor, FsState, OpName, WorkEstimate,
};
use crate::{Bytes, CacheState, SyncAtEnd, WorkloadCategory, Metric};

/// Requests on one file, or on one file for each thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Io {
    /// Name of the file; with a file for each thread, the beginning of their names.
    pub file: String,
    /// Which requests, in which order.
    pub access: AccessPattern,
    /// Bytes per request (`bs`).
    pub block: Bytes,
    /// Offsets are multiples of it (`blockalign`); the block itself where absent.
    #[serde(default)]
    pub align: Option<Bytes>,
    /// Size of each file to write or, in a file that exists, the part of it to work on, from its
    /// beginning (`size`); the whole file where absent.
    #[serde(default)]
    pub size: Option<Bytes>,
    /// Requests over all threads (`number_ios`), with independent random offsets. If absent, the
    /// number that the size contains, with each block used once in random access (`randommap`).
    #[serde(default)]
    pub operations: Option<u64>,
    /// The way to the file (`ioengine`).
    #[serde(default)]
    pub engine: IoEngine,
    /// Requests that each thread keeps in flight (`iodepth`); more than one with `io_uring` only.
    #[serde(default = "one")]
    pub depth: u32,
    /// Threads (`numjobs`).
    #[serde(default = "one")]
    pub threads: u32,
    /// Whether threads share the file.
    #[serde(default)]
    pub sharing: FileSharing,
    /// Number of writes of a thread between two fsyncs (`fsync`); 0 for never.
    #[serde(default)]
    pub fsync: u64,
    /// Arrivals per second over all threads (`rate_iops`): the open loop. As fast as the filesystem
    /// answers where absent: the closed loop.
    #[serde(default)]
    pub rate: Option<u64>,
    /// Whether the data that was read is verified.
    #[serde(default)]
    pub verify: bool,
    /// Whether opening and closing the file belong to the time of the phase; of one thread only. They are timed
    /// by themselves either way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_open_close: bool,
}

impl Io {
    /// The plainest job: one thread, one request at a time, through `pread` and `pwrite`.
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
            fsync: 0,
            rate: None,
            verify: false,
            include_open_close: false,
        }
    }
}

const fn one() -> u32 {
    1
}

/// Which requests a data operation makes, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AccessPattern {
    /// A new file, front to back.
    Write,
    /// Sequentially over existing data: IOzone's "rewrite".
    Overwrite,
    /// Each block read, changed, written back in place: Bonnie++'s "rewrite".
    Rewrite,
    /// At the end of a file that exists (`O_APPEND`).
    Append,
    /// Front to back.
    Read,
    /// Back to front: IOzone's "backward read".
    ReadBackward,
    /// A block, then a gap, to the end, then the blocks in the gaps: IOzone's "stride read".
    ReadStride {
        /// From the beginning of one request to that of the next.
        stride: Bytes,
    },
    /// At random offsets.
    RandomRead,
    /// At random offsets.
    RandomWrite,
    /// At random offsets, reads and writes mixed.
    RandomMix {
        /// Share of the requests that are reads, 0 … 1.
        read_share: f64,
    },
    /// Writes the same block repeatedly: IOzone's "record rewrite".
    RecordRewrite,
    /// Reads at random offsets, some of them changed and written back: Bonnie++'s "seeks".
    Seek {
        /// Share of the blocks that are written back, 0 … 1.
        write_share: f64,
    },
}

impl AccessPattern {
    /// Whether any request writes.
    pub const fn writes(self) -> bool {
        !matches!(
            self,
            Self::Read | Self::ReadBackward | Self::ReadStride { .. } | Self::RandomRead
        )
    }

    /// Whether any request reads.
    pub const fn reads(self) -> bool {
        !matches!(
            self,
            Self::Write | Self::Overwrite | Self::Append | Self::RandomWrite | Self::RecordRewrite
        )
    }

    /// Whether offsets are drawn at random.
    pub const fn is_random(self) -> bool {
        matches!(
            self,
            Self::RandomRead | Self::RandomWrite | Self::RandomMix { .. } | Self::Seek { .. }
        )
    }

    /// The word in data files.
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

/// The way from the program to the file. Whether the page cache is passed by (`O_DIRECT`) is the
/// phase's cache state.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum IoEngine {
    /// `pread` and `pwrite`.
    #[default]
    Psync,
    /// Copies to and from a shared mapping.
    Mmap,
    /// Linux' submission and completion rings, with registered buffers.
    #[serde(rename = "io_uring")]
    IoUring,
    /// Does nothing: shows what fsarena itself costs.
    Null,
}

impl IoEngine {
    /// Every engine.
    pub const ALL: [Self; 4] = [Self::Psync, Self::Mmap, Self::IoUring, Self::Null];

    /// The word in data files, fio's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Psync => "psync",
            Self::Mmap => "mmap",
            Self::IoUring => "io_uring",
            Self::Null => "null",
        }
    }
}

impl fmt::Display for IoEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether threads work on the same thing or each on its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileSharing {
    /// One file, or one directory, for all threads.
    #[default]
    Shared,
    /// One for each thread.
    Own,
}

/// Keys of every data operation, plus the additional keys of some.
macro_rules! keys {
    ($($more:literal),*) => {
        &[
            "file", "block", "align", "size", "operations", "engine", "iodepth", "threads", "sharing", "fsync", "rate",
            "verify", "include_open_close", $($more,)*
        ]
    };
}

/// Returns the word of a data operation without additional keys.
const fn plain(name: &'static str, read: fn(&dyn KeySource) -> Result<Op, KeyError>) -> OpName {
    OpName {
        name,
        keys: keys!(),
        read,
    }
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
        engine: optional(t, "engine", |t, key| {
            choice(t, key, &IoEngine::ALL.map(|e| (e.name(), e)))
        })?
        .unwrap_or_default(),
        depth: count_up_to(t, "iodepth", 4096)?,
        threads: threads(t, "threads")?,
        sharing: sharing(t, "sharing")?,
        fsync: optional(t, "fsync", |t, key| t.count(key, 0..MAX_COUNT))?.unwrap_or(0),
        rate: optional(t, "rate", count)?,
        verify: flag(t, "verify")?,
        include_open_close: flag(t, "include_open_close")?,
    }))
}

/// Reads whether threads share a file; they do by default.
pub(super) fn sharing(t: &dyn KeySource, key: &'static str) -> Result<FileSharing, KeyError> {
    let words = [("shared", FileSharing::Shared), ("own", FileSharing::Own)];
    Ok(optional(t, key, |t, key| choice(t, key, &words))?.unwrap_or_default())
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

    fn apply(&self, things: &mut FsState) -> WorkEstimate {
        let size = self.follow_file(things);
        let block = self.block.0.max(1);
        let operations = self.operations.unwrap_or(size.div_ceil(block));
        let bytes = match self.operations {
            Some(operations) => operations.saturating_mul(block),
            None => size,
        };
        if self.engine == IoEngine::Null {
            things.mark_unchanged();
            return WorkEstimate::new(0, 0, operations);
        }
        let share = |share: f64| (bytes as f64 * share) as u64;
        let work = match self.access {
            AccessPattern::Rewrite => WorkEstimate::new(bytes, bytes, operations),
            AccessPattern::Seek { write_share } => WorkEstimate::new(bytes, share(write_share), operations),
            AccessPattern::RandomMix { read_share } => {
                let read = share(read_share);
                WorkEstimate::new(read, bytes - read.min(bytes), operations)
            }
            access if access.writes() => WorkEstimate::new(0, bytes, operations),
            _ => WorkEstimate::new(bytes, 0, operations),
        };
        let writes = work.written.0.div_ceil(block);
        work.with_syncs(writes.checked_div(self.fsync).unwrap_or(0))
    }

    fn perform<S: OpExecutor>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.job(self)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(match self.access {
            _ if self.engine == IoEngine::Null => return None,
            access if self.fsync > 0 && access.writes() => WorkloadCategory::Durable,
            AccessPattern::Write | AccessPattern::Overwrite | AccessPattern::Rewrite | AccessPattern::Append => {
                WorkloadCategory::StreamWrite
            }
            AccessPattern::Read | AccessPattern::ReadBackward | AccessPattern::ReadStride { .. } => WorkloadCategory::StreamRead,
            AccessPattern::RandomMix { read_share } if read_share > 0.5 => WorkloadCategory::RandomRead,
            AccessPattern::RandomRead | AccessPattern::Seek { .. } => WorkloadCategory::RandomRead,
            AccessPattern::RandomWrite | AccessPattern::RecordRewrite | AccessPattern::RandomMix { .. } => {
                WorkloadCategory::RandomWrite
            }
        })
    }

    fn primary_metric(&self) -> Metric {
        match self.access.is_random() {
            true => Metric::Rate,
            false => Metric::Throughput,
        }
    }

    /// Random I/O has its throughput: operations of several request sizes are no common measure.
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
        if self.include_open_close && self.threads > 1 {
            return Err("`include_open_close` is for one thread: files of several are opened before the clock starts and closed after".into());
        }
        if self.fsync > 0 && !self.access.writes() {
            return Err(format!("`fsync` cannot be used for `{word}`"));
        }
        match self.access {
            AccessPattern::ReadStride { stride } if stride < self.block => Err(format!(
                "`stride` ({stride}) is below `block` ({})",
                self.block
            )),
            _ => Ok(()),
        }
    }

    fn threads(&self) -> u32 {
        self.threads
    }
}

impl Io {
    /// Updates the state of the file and returns the number of bytes processed.
    fn follow_file(&self, things: &mut FsState) -> u64 {
        let files = match self.sharing {
            FileSharing::Shared => 1,
            FileSharing::Own => u64::from(self.threads),
        };
        let asked = self.size.map(|size| size.0.saturating_mul(files));
        if self.access == AccessPattern::Write {
            let size = asked.unwrap_or_default();
            things.add(ObjectKind::File, &self.file, files, size);
            return size;
        }
        let size = asked.unwrap_or(things.find(ObjectKind::File, &self.file).bytes);
        match self.access {
            AccessPattern::Append => things.grow(&self.file, size),
            access if access.writes() => {
                things.change(FsChange::Overwritten(ObjectKind::File, self.file.clone()));
            }
            _ => {}
        }
        size
    }

    /// Whether it steps from one request to a next that its file does not hold.
    pub fn exceeds_file(&self, things: &FsState) -> bool {
        let AccessPattern::ReadStride { stride } = self.access else {
            return false;
        };
        let size = self.size.or_else(|| things.size_of(&self.file));
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
    fn each_access_reads_or_writes() {
        let stride = AccessPattern::ReadStride {
            stride: Bytes::kib(64),
        };
        for access in [
            stride,
            AccessPattern::RandomMix { read_share: 0.5 },
            AccessPattern::Append,
        ] {
            assert!(access.reads() || access.writes(), "{access:?}");
        }
        assert!(!stride.writes() && !AccessPattern::Append.reads());
    }
}
