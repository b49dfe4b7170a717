//! Writes or reads a file through a user-space buffer, like the streams of the C library.

use serde::{Deserialize, Serialize};

use super::keys::{block, name, size};
use super::{
    FILE_SYNC_MODES, FsState, KeyError, KeySource, ObjectKind, Op, OpExecutor, OpInfo, OpName,
    OpUnit, WorkEstimate,
};
use crate::{Bytes, Metric, SyncAtEnd, WorkloadCategory};

/// Unit of the calls to a buffered stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StreamUnit {
    /// A byte, like `putc` and `getc`.
    Char,
    /// A line, like `fputs` and `fgets`.
    Line,
    /// This many bytes, as `fwrite` and `fread` do.
    Record(Bytes),
}

/// Write a new file through a user-space buffer, like the streams of the C library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriteStream {
    /// Name of the file.
    pub file: String,
    /// Size of the file.
    pub size: Bytes,
    /// Unit of each call.
    pub unit: StreamUnit,
}

/// Read a file through a user-space buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadStream {
    /// Name of the file.
    pub file: String,
    /// Unit of each call.
    pub unit: StreamUnit,
}

fn write(keys: &dyn KeySource, unit: StreamUnit) -> Result<Op, KeyError> {
    Ok(Op::WriteStream(WriteStream { file: name(keys, "file")?, size: size(keys, "size")?, unit }))
}

fn read(keys: &dyn KeySource, unit: StreamUnit) -> Result<Op, KeyError> {
    Ok(Op::ReadStream(ReadStream { file: name(keys, "file")?, unit }))
}

impl StreamUnit {
    /// Returns the number of units in `bytes`, for an assumed line length of 64 bytes.
    fn count(self, bytes: u64) -> u64 {
        match self {
            Self::Char => bytes,
            Self::Line => bytes.div_ceil(64),
            Self::Record(record) => bytes.div_ceil(record.0.max(1)),
        }
    }

    const fn each(self) -> OpUnit {
        match self {
            Self::Record(_) => OpUnit::Request,
            Self::Char | Self::Line => OpUnit::Byte,
        }
    }
}

impl OpInfo for WriteStream {
    fn op_names() -> &'static [OpName] {
        &[
            OpName {
                name: "write-chars",
                keys: &["file", "size"],
                read: |keys| write(keys, StreamUnit::Char),
            },
            OpName {
                name: "write-lines",
                keys: &["file", "size"],
                read: |keys| write(keys, StreamUnit::Line),
            },
            OpName {
                name: "write-stream",
                keys: &["file", "size", "block"],
                read: |keys| write(keys, StreamUnit::Record(block(keys, "block")?)),
            },
        ]
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let size = self.size.0;
        files.add(ObjectKind::File, &self.file, 1, size);
        WorkEstimate::new(0, size, self.unit.count(size))
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.write_stream(&self.file, self.size, self.unit)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::StreamWrite)
    }

    fn primary_metric(&self) -> Metric {
        Metric::Throughput
    }

    fn each(&self) -> OpUnit {
        self.unit.each()
    }

    fn allowed_ends(&self) -> &'static [SyncAtEnd] {
        FILE_SYNC_MODES
    }
}

impl OpInfo for ReadStream {
    fn op_names() -> &'static [OpName] {
        &[
            OpName {
                name: "read-chars",
                keys: &["file"],
                read: |keys| read(keys, StreamUnit::Char),
            },
            OpName {
                name: "read-lines",
                keys: &["file"],
                read: |keys| read(keys, StreamUnit::Line),
            },
            OpName {
                name: "read-stream",
                keys: &["file", "block"],
                read: |keys| read(keys, StreamUnit::Record(block(keys, "block")?)),
            },
        ]
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let size = files.find(ObjectKind::File, &self.file).bytes;
        WorkEstimate::new(size, 0, self.unit.count(size))
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.read_stream(&self.file, self.unit)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::StreamRead)
    }

    fn primary_metric(&self) -> Metric {
        Metric::Throughput
    }

    fn each(&self) -> OpUnit {
        self.unit.each()
    }
}
