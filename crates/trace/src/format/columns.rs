//! Columns of numbers, each written and read from its beginning to its end.

use super::DecodeError;

/// A column of the file; its number is its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// [`crate::About`] as JSON.
    About,
    /// Parents of paths.
    Parents,
    /// Lengths of their last names.
    NameLengths,
    /// Names, concatenated.
    Names,
    /// Lengths of other texts: of symbolic links, names of attributes.
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
    /// When each began.
    Began,
    /// Duration of each operation.
    Took,
    /// How each ended.
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
    /// Threads and messages of order.
    Others,
}

/// Number of columns.
const COUNT: usize = Column::Others as usize + 1;

/// Takes numbers in, or gives them out, in the same order.
pub trait Columns {
    /// Whether they give numbers out.
    const READS: bool;
    /// The next number of a column: written from `value`, or read into it, as LEB128.
    fn number(&mut self, column: Column, value: &mut u64) -> Result<(), DecodeError>;
    /// The next byte of a column.
    fn byte(&mut self, column: Column, value: &mut u8) -> Result<(), DecodeError>;
}

/// Columns that are written.
#[derive(Debug, Default)]
pub struct Writer {
    columns: [Vec<u8>; COUNT],
}

impl Writer {
    /// Bytes as they are.
    pub fn bytes(&mut self, column: Column, bytes: &[u8]) {
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

    fn number(&mut self, column: Column, value: &mut u64) -> Result<(), DecodeError> {
        put(&mut self.columns[column as usize], *value);
        Ok(())
    }

    fn byte(&mut self, column: Column, value: &mut u8) -> Result<(), DecodeError> {
        self.columns[column as usize].push(*value);
        Ok(())
    }
}

/// Columns that are read.
#[derive(Debug)]
pub struct Reader<'a> {
    columns: [&'a [u8]; COUNT],
}

impl<'a> Reader<'a> {
    /// Finds the columns.
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
    pub fn bytes(&mut self, column: Column, length: u64) -> Result<&'a [u8], DecodeError> {
        let rest = &mut self.columns[column as usize];
        let length = usize::try_from(length).map_err(|_| super::CUT)?;
        let (bytes, behind) = rest.split_at_checked(length).ok_or(super::CUT)?;
        *rest = behind;
        Ok(bytes)
    }

    /// Returns the rest of a column.
    pub fn rest(&mut self, column: Column) -> &'a [u8] {
        std::mem::take(&mut self.columns[column as usize])
    }

    /// Returns true if a column has been read completely.
    pub fn is_at_end(&self, column: Column) -> bool {
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

impl Columns for Reader<'_> {
    const READS: bool = true;

    fn number(&mut self, column: Column, value: &mut u64) -> Result<(), DecodeError> {
        *value = get(&mut self.columns[column as usize])?;
        Ok(())
    }

    fn byte(&mut self, column: Column, value: &mut u8) -> Result<(), DecodeError> {
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

/// Reads a number of at most ten bytes.
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
