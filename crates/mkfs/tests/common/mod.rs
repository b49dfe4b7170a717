//! A disk in memory that stores only written blocks and returns garbage for all others. A volume
//! that works on it does not depend on unwritten blocks.

use std::collections::BTreeMap;
use std::io::{self, Seek, SeekFrom, Write};

const BLOCK: usize = 512;
/// Contents of blocks that were never written.
const GARBAGE: u8 = 0xa5;

/// A disk of `size` bytes.
pub struct ImageDisk {
    size: u64,
    position: u64,
    blocks: BTreeMap<u64, [u8; BLOCK]>,
}

impl ImageDisk {
    /// Creates a disk without written blocks.
    pub const fn new(size: u64) -> Self {
        Self { size, position: 0, blocks: BTreeMap::new() }
    }

    /// Reads `count` blocks, starting at `block`.
    pub fn read(&self, block: u32, count: u32) -> Vec<u8> {
        assert!(u64::from(block) + u64::from(count) <= self.size / BLOCK as u64);
        let one = |number| self.blocks.get(&u64::from(number)).unwrap_or(&[GARBAGE; BLOCK]);
        (block..block + count).flat_map(|n| *one(n)).collect()
    }

    /// Returns true if both disks have the same content.
    pub fn is_same(&self, other: &Self) -> bool {
        self.size == other.size && self.blocks == other.blocks
    }
}

impl Write for ImageDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let whole =
            bytes.len().is_multiple_of(BLOCK) || self.position + bytes.len() as u64 == self.size;
        assert!(whole, "{} bytes at {}", bytes.len(), self.position);
        assert!(self.position.is_multiple_of(BLOCK as u64));
        assert!(self.position + bytes.len() as u64 <= self.size, "beyond the end");
        for (index, chunk) in bytes.chunks(BLOCK).enumerate() {
            let mut block = [GARBAGE; BLOCK];
            block[..chunk.len()].copy_from_slice(chunk);
            self.blocks.insert(self.position / BLOCK as u64 + index as u64, block);
        }
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for ImageDisk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(position) = to else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        self.position = position;
        Ok(position)
    }
}
