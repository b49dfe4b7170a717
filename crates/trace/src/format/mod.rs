//! The file format of traces, described byte by byte in `docs/trace-format.md`.
//!
//! The file is an envelope (magic, version, zstd, checksum) around columns: the kinds of all
//! operations, then all their threads, and so on. Values that follow from earlier operations are
//! omitted, so that an operation takes a few bytes.

mod calls;
mod coder;
mod columns;

use std::hash::Hasher;
use std::io::Read;

use thiserror::Error;
use twox_hash::XxHash64;

use crate::trace::Trace;
use coder::ColumnCoder;
use columns::{ColumnReader, Writer};

/// First bytes of each file.
pub const MAGIC: &[u8; 8] = b"FSATRACE";
/// Version of the written format, and newest version that can be read.
pub const VERSION: u16 = 1;
/// Maximum number of operations in a file; the recorder must stop there.
pub const MAX_OPERATIONS: usize = 1 << 24;
/// Maximum size of all columns, in bytes.
const MAX_BYTES: u64 = 1 << 28;
/// Length of magic and version.
const HEAD: usize = MAGIC.len() + 2;
/// The checksum.
const TAIL: usize = 8;
/// Compression level of zstd; higher levels hardly make files smaller.
const LEVEL: i32 = 9;

/// Reason that bytes are not a valid trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The file is not a trace.
    #[error("this is not a trace of fsarena: `fsarena trace import` reads those of other programs")]
    NotATrace,
    /// The trace was written by a newer fsarena.
    #[error(
        "the trace has format {found}, and this fsarena reads up to {VERSION}: take a newer fsarena"
    )]
    Newer {
        /// Their version.
        found: u16,
    },
    /// The trace is damaged.
    #[error("the trace is damaged ({0}): copy or record it again")]
    Damaged(&'static str),
    /// The trace would not fit into memory.
    #[error("the trace is too large: at most {MAX_OPERATIONS} operations are read")]
    TooLarge,
}

/// Reason that a trace cannot be written: it could not be read again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A name or a text is none.
    #[error("no file has the name {0}: record it again")]
    Name(String),
    /// The trace has too many operations.
    #[error("at most {MAX_OPERATIONS} operations fit into a trace: record less")]
    TooManyOperations,
    /// The columns are too large.
    #[error("its names and numbers take more than {} MiB: record less", MAX_BYTES >> 20)]
    TooLarge,
}

impl Trace {
    /// Encodes the trace as a file, which [`Self::decode`] reads. Equal traces give equal bytes.
    ///
    /// # Errors
    /// Returns an error if the file could not be read again.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        if self.operations.len() > MAX_OPERATIONS {
            return Err(EncodeError::TooManyOperations);
        }
        let mut coder = ColumnCoder::new(Writer::default());
        coder.write(self)?;
        let columns = coder.columns.finish();
        match columns.len() as u64 > MAX_BYTES {
            true => Err(EncodeError::TooLarge),
            false => Ok(envelope(&columns)),
        }
    }

    /// Decodes the output of [`Self::encode`].
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid file. The required memory is limited by the
    /// actual contents.
    pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
        let columns = open(file)?;
        let mut coder = ColumnCoder::new(ColumnReader::new(&columns)?);
        let trace = coder.read()?;
        coder.columns.finish()?;
        Ok(trace)
    }
}

/// Wraps columns into a file. Besides [`Trace::encode`], only tests that damage the columns use it.
pub fn envelope(columns: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend(VERSION.to_le_bytes());
    let compressed = zstd::stream::encode_all(columns, LEVEL);
    file.extend(compressed.expect("memory takes all that is written"));
    let checksum = checksum(&file);
    file.extend(checksum.to_le_bytes());
    file
}

/// Returns the columns of a file.
fn open(file: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let rest = file.strip_prefix(MAGIC).ok_or(DecodeError::NotATrace)?;
    let (version, _) = rest.split_first_chunk().ok_or(CUT)?;
    let found = u16::from_le_bytes(*version);
    if found > VERSION {
        return Err(DecodeError::Newer { found });
    }
    let (summed, sum) = file.split_last_chunk::<TAIL>().ok_or(CUT)?;
    let compressed = summed.get(HEAD..).ok_or(CUT)?;
    if found == 0 || u64::from_le_bytes(*sum) != checksum(summed) {
        return Err(DecodeError::Damaged("its checksum is another"));
    }
    let mut columns = Vec::new();
    zstd::stream::Decoder::new(compressed)
        .and_then(|stream| stream.take(MAX_BYTES + 1).read_to_end(&mut columns))
        .map_err(|_| DecodeError::Damaged("it cannot be decompressed"))?;
    match columns.len() as u64 > MAX_BYTES {
        true => Err(DecodeError::TooLarge),
        false => Ok(columns),
    }
}

/// Error of a file that ends too early.
const CUT: DecodeError = DecodeError::Damaged("it ends too soon");

fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = XxHash64::with_seed(0);
    hash.write(bytes);
    hash.finish()
}

#[cfg(test)]
mod tests;
