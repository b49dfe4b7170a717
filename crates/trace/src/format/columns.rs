//! Columns of numbers, each written and read from start to end.

use super::DecodeError;

/// A column of the file. Its number is its position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceColumn {
    /// [`crate::TraceHeader`] as JSON.
    About,
    /// Parent of each path.
    Parents,
    /// Length of the last name of each path.
    NameLengths,
    /// Names, concatenated.
    Names,
    /// Lengths of other texts: targets of symbolic links and names of attributes.
    TextLengths,
    /// Texts of symbolic links and names of attributes, concatenated.
    Texts,
    /// Entries before the first operation.
    Before,
    /// Entries after the last operation.
    After,
    /// Kind of each operation, one byte each.
    Kinds,
    /// Threads.
    Threads,
    /// Processes.
    Processes,
    /// Start time of each operation.
    Began,
    /// Duration of each operation.
    Took,
    /// Kind of outcome of each operation.
    Outcomes,
    /// Return values that do not follow from other columns, and error numbers.
    Returned,
    /// Paths.
    Paths,
    /// Openings.
    Handles,
    /// Offsets.
    Offsets,
    /// Lengths and sizes.
    Lengths,
    /// Flags, modes and advice.
    Small,
    /// Numbers of texts.
    TextNumbers,
    /// Threads and messages of order events.
    Others,
}

/// Number of columns.
const COUNT: usize = TraceColumn::Others as usize + 1;

/// Columns that are written or read in sequence.
pub trait Columns {
    /// Whether the columns are read.
    const READS: bool;
    /// Writes `value` as the next number of a column, or reads the number into `value`. The format
    /// is LEB128.
    fn number(&mut self, column: TraceColumn, value: &mut u64) -> Result<(), DecodeError>;
    /// Writes or reads the next byte of a column.
    fn byte(&mut self, column: TraceColumn, value: &mut u8) -> Result<(), DecodeError>;
}

/// Columns being written.
#[derive(Debug, Default)]
pub struct Writer {
    columns: [Vec<u8>; COUNT],
}

impl Writer {
    /// Appends bytes unchanged.
    pub fn bytes(&mut self, column: TraceColumn, bytes: &[u8]) {
        self.columns[column as usize].extend(bytes);
    }

    /// Returns all columns, each preceded by its length.
    pub fn finish(self) -> Vec<u8> {
        let mut all = Vec::new();
        for column in self.columns {
            put(&mut all, column.len() as u64);
            all.extend(column);
        }
        all
    }
}

impl Columns for Writer {
    const READS: bool = false;

    fn number(&mut self, column: TraceColumn, value: &mut u64) -> Result<(), DecodeError> {
        put(&mut self.columns[column as usize], *value);
        Ok(())
    }

    fn byte(&mut self, column: TraceColumn, value: &mut u8) -> Result<(), DecodeError> {
        self.columns[column as usize].push(*value);
        Ok(())
    }
}

/// Columns being read.
#[derive(Debug)]
pub struct ColumnReader<'a> {
    columns: [&'a [u8]; COUNT],
}

impl<'a> ColumnReader<'a> {
    /// Splits the data into columns.
    pub fn new(mut all: &'a [u8]) -> Result<Self, DecodeError> {
        let mut columns = [&all[..0]; COUNT];
        for column in &mut columns {
            let length = usize::try_from(get(&mut all)?).map_err(|_| super::CUT)?;
            (*column, all) = all.split_at_checked(length).ok_or(super::CUT)?;
        }
        match all.is_empty() {
            true => Ok(Self { columns }),
            false => Err(DecodeError::Damaged("extra bytes follow its columns")),
        }
    }

    /// Returns the next `length` bytes of a column.
    pub fn bytes(&mut self, column: TraceColumn, length: u64) -> Result<&'a [u8], DecodeError> {
        let rest = &mut self.columns[column as usize];
        let length = usize::try_from(length).map_err(|_| super::CUT)?;
        let (bytes, behind) = rest.split_at_checked(length).ok_or(super::CUT)?;
        *rest = behind;
        Ok(bytes)
    }

    /// Returns the rest of a column.
    pub fn rest(&mut self, column: TraceColumn) -> &'a [u8] {
        std::mem::take(&mut self.columns[column as usize])
    }

    /// Returns true if a column has been read completely.
    pub fn is_at_end(&self, column: TraceColumn) -> bool {
        self.columns[column as usize].is_empty()
    }

    /// Checks that all columns have been read completely.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match self.columns.iter().all(|column| column.is_empty()) {
            true => Ok(()),
            false => Err(DecodeError::Damaged("a column is too long")),
        }
    }
}

impl Columns for ColumnReader<'_> {
    const READS: bool = true;

    fn number(&mut self, column: TraceColumn, value: &mut u64) -> Result<(), DecodeError> {
        *value = get(&mut self.columns[column as usize])?;
        Ok(())
    }

    fn byte(&mut self, column: TraceColumn, value: &mut u8) -> Result<(), DecodeError> {
        *value = self.bytes(column, 1)?[0];
        Ok(())
    }
}

/// Writes a number as unsigned LEB128.
fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads an unsigned LEB128 number of at most ten bytes.
fn get(bytes: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(super::CUT)?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            break;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(DecodeError::Damaged("a number is too large"))
}
