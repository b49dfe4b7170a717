//! A file written or read through a user-space buffer, as the C library's streams do.

use serde::{Deserialize, Serialize};

use super::keys::{block, name, size};
use super::{ENDS_OF_FILE, Each, KeyError, Keys, Kind, Op, Operation, Stage, Things, Word, Work};
use crate::{Bytes, End, Group, Metric};

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

/// Write a new file through a user-space buffer, as the C library's streams do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriteStream {
    /// Name of the file.
    pub file: String,
    /// Size of the file.
    pub size: Bytes,
    /// What is handed over at a time.
    pub unit: StreamUnit,
}

/// Read a file through a user-space buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadStream {
    /// Name of the file.
    pub file: String,
    /// What is taken at a time.
    pub unit: StreamUnit,
}

fn write(keys: &dyn Keys, unit: StreamUnit) -> Result<Op, KeyError> {
    Ok(Op::WriteStream(WriteStream {
        file: name(keys, "file")?,
        size: size(keys, "size")?,
        unit,
    }))
}

fn read(keys: &dyn Keys, unit: StreamUnit) -> Result<Op, KeyError> {
    Ok(Op::ReadStream(ReadStream {
        file: name(keys, "file")?,
        unit,
    }))
}

impl StreamUnit {
    /// How many of it there are in so many bytes, a line taken for 64 of them.
    fn count(self, bytes: u64) -> u64 {
        match self {
            Self::Char => bytes,
            Self::Line => bytes.div_ceil(64),
            Self::Record(record) => bytes.div_ceil(record.0.max(1)),
        }
    }

    const fn each(self) -> Each {
        match self {
            Self::Record(_) => Each::Request,
            Self::Char | Self::Line => Each::Byte,
        }
    }
}

impl Operation for WriteStream {
    fn words() -> &'static [Word] {
        &[
            Word {
                name: "write-chars",
                keys: &["file", "size"],
                read: |keys| write(keys, StreamUnit::Char),
            },
            Word {
                name: "write-lines",
                keys: &["file", "size"],
                read: |keys| write(keys, StreamUnit::Line),
            },
            Word {
                name: "write-stream",
                keys: &["file", "size", "block"],
                read: |keys| write(keys, StreamUnit::Record(block(keys, "block")?)),
            },
        ]
    }

    fn follow(&self, things: &mut Things) -> Work {
        let size = self.size.0;
        things.make(Kind::File, &self.file, 1, size);
        Work::new(0, size, self.unit.count(size))
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.write_stream(&self.file, self.size, self.unit)
    }

    fn group(&self) -> Option<Group> {
        Some(Group::StreamWrite)
    }

    fn primary_metric(&self) -> Metric {
        Metric::Throughput
    }

    fn each(&self) -> Each {
        self.unit.each()
    }

    fn ends(&self) -> &'static [End] {
        ENDS_OF_FILE
    }
}

impl Operation for ReadStream {
    fn words() -> &'static [Word] {
        &[
            Word {
                name: "read-chars",
                keys: &["file"],
                read: |keys| read(keys, StreamUnit::Char),
            },
            Word {
                name: "read-lines",
                keys: &["file"],
                read: |keys| read(keys, StreamUnit::Line),
            },
            Word {
                name: "read-stream",
                keys: &["file", "block"],
                read: |keys| read(keys, StreamUnit::Record(block(keys, "block")?)),
            },
        ]
    }

    fn follow(&self, things: &mut Things) -> Work {
        let size = things.find(Kind::File, &self.file).bytes;
        Work::new(size, 0, self.unit.count(size))
    }

    fn perform<S: Stage>(&self, stage: &mut S) -> Result<(), S::Error> {
        stage.read_stream(&self.file, self.unit)
    }

    fn group(&self) -> Option<Group> {
        Some(Group::StreamRead)
    }

    fn primary_metric(&self) -> Metric {
        Metric::Throughput
    }

    fn each(&self) -> Each {
        self.unit.each()
    }
}
