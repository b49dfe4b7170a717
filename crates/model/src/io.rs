//! Data operations: what a job of fio would say, in fio's words where fio has one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Requests on one file, or on one file for each thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Io {
    /// Name of the file; with a file for each thread, the beginning of their names.
    pub file: String,
    /// Which requests, in which order.
    pub access: Access,
    /// Bytes per request (`bs`).
    pub block: Bytes,
    /// Offsets are multiples of it (`blockalign`); the block itself where absent.
    #[serde(default)]
    pub align: Option<Bytes>,
    /// Size of each file to write or, in a file that exists, the part of it to work on, from its
    /// beginning (`size`); the whole file where absent.
    #[serde(default)]
    pub size: Option<Bytes>,
    /// Requests over all threads (`number_ios`), random ones drawn each by itself; as many as the size
    /// holds where absent, random ones each at a block of its own (`randommap`).
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
    pub sharing: Sharing,
    /// fsync after every so many writes of a thread (`fsync`); 0 for never.
    #[serde(default)]
    pub fsync: u64,
    /// Arrivals per second over all threads (`rate_iops`): the open loop. As fast as the filesystem
    /// answers where absent: the closed loop.
    #[serde(default)]
    pub rate: Option<u64>,
    /// Whether every byte read is compared with what was written.
    #[serde(default)]
    pub verify: bool,
    /// Whether opening and closing the file belong to the time of the phase; of one thread only. They are timed
    /// by themselves either way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_open_close: bool,
}

impl Io {
    /// The plainest job: one thread, one request at a time, through `pread` and `pwrite`.
    pub fn new(file: &str, access: Access, block: Bytes) -> Self {
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
            sharing: Sharing::Shared,
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
pub enum Access {
    /// A new file, front to back.
    Write,
    /// Front to back over what is there: IOzone's "rewrite".
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
    /// The same block again and again: IOzone's "record rewrite".
    RecordRewrite,
    /// Reads at random offsets, some of them changed and written back: Bonnie++'s "seeks".
    Seek {
        /// Share of the blocks that are written back, 0 … 1.
        write_share: f64,
    },
}

impl Access {
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
    pub const fn word(self) -> &'static str {
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
    /// Does nothing: shows what the instrument itself costs.
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
pub enum Sharing {
    /// One file, or one directory, for all threads.
    #[default]
    Shared,
    /// One for each thread.
    Own,
}

/// What a buffered stream hands over at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StreamUnit {
    /// A byte, as `putc` and `getc` do.
    Char,
    /// A line, as `fputs` and `fgets` do.
    Line,
    /// So many bytes, as `fwrite` and `fread` do.
    Record(Bytes),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_the_plainest_job() {
        let json = r#"{"file":"f","access":"read","block":4096}"#;
        let io: Io = serde_json::from_str(json).unwrap();
        assert_eq!(io, Io::new("f", Access::Read, Bytes(4096)));
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
        let stride = Access::ReadStride {
            stride: Bytes::kib(64),
        };
        for access in [
            stride,
            Access::RandomMix { read_share: 0.5 },
            Access::Append,
        ] {
            assert!(access.reads() || access.writes(), "{access:?}");
        }
        assert!(!stride.writes() && !Access::Append.reads());
    }
}
