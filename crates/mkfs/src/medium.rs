//! Output medium of a volume, addressed in blocks of 512 bytes.

use std::io::{self, Seek, SeekFrom, Write};

use crate::BLOCK;

/// Bytes cleared at each end, where signatures of other filesystems are located.
const END: u64 = 1 << 20;
const CHUNK: usize = 64 << 10;

/// Writer for a file, device or other medium of a known size.
pub struct BlockWriter<'a, W> {
    out: &'a mut W,
    size: u64,
}

impl<'a, W: Write + Seek> BlockWriter<'a, W> {
    /// Creates a writer for a medium of this size in bytes.
    pub const fn new(out: &'a mut W, size: u64) -> Self {
        Self { out, size }
    }

    /// Writes bytes to the start of a block.
    pub fn write(&mut self, block: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(block * BLOCK.0, bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        debug_assert!(offset + bytes.len() as u64 <= self.size);
        self.out.seek(SeekFrom::Start(offset))?;
        self.out.write_all(bytes)
    }

    /// Writes zeros over both ends, so that no old signature can be recognised.
    pub fn clear_ends(&mut self) -> io::Result<()> {
        let first = self.size.min(END);
        let last = self.size.saturating_sub(END) / BLOCK.0 * BLOCK.0;
        self.clear(0, first)?;
        self.clear(last.max(first), self.size)
    }

    fn clear(&mut self, from: u64, to: u64) -> io::Result<()> {
        let zeros = [0; CHUNK];
        let mut offset = from;
        while offset < to {
            let length = (to - offset).min(CHUNK as u64);
            self.write_at(offset, &zeros[..length as usize])?;
            offset += length;
        }
        Ok(())
    }

    /// Flushes buffered data.
    pub fn finish(self) -> io::Result<()> {
        self.out.flush()
    }
}
