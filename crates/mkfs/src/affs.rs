//! AFFS, the filesystem of the Amiga: the original form (OFS) and the faster one (FFS).
//!
//! Layout after "The .ADF (Amiga Disk File) format FAQ" of Laurent Clévy (chapters 4 and 5) and the
//! structures in Linux fs/affs/amigaffs.h. All numbers are big-endian; a block has 512 bytes, that
//! is, 128 words of 32 bits.
//!
//! ```text
//! block 0, 1            boot block: "DOS", then a byte with the form
//! block 2 …             free
//! (blocks + 1) / 2      root block, in the middle of the volume, as drivers expect
//! following blocks      bitmap blocks, one for each 4064 blocks; a set bit means free
//! following blocks      lists of the bitmap blocks that do not fit into the root block
//! ```
//!
//! Bitmaps do not include the two blocks of the boot block. A driver computes the location of the
//! root block from the size of the device, so a volume must be as large as its device.

use std::io::{Seek, Write};

use model::Bytes;

use crate::medium::BlockWriter;
use crate::sector::SectorBuilder;
use crate::{BLOCK, FormatError, FormattedVolume};

const WORDS: usize = 128;
/// Reserved blocks at the start of the volume.
const RESERVED: u32 = 2;
/// Blocks covered by one bitmap block: all its bits except the checksum.
const PER_BITMAP: u32 = 127 * 32;
/// Number of bitmap block pointers in the root block.
const IN_ROOT: u32 = 25;
/// Number of bitmap block pointers in an extension block.
const IN_EXTENSION: u32 = 127;
/// Number of entries of the root's hash table. The other 56 words of the block have fixed uses.
const HASH_TABLE: u32 = 72;
const MIN_AFFS_SIZE: Bytes = Bytes::kib(64);
/// Maximum size. Linux stores block numbers as signed 32-bit integers.
const MAX_AFFS_SIZE: Bytes = Bytes((i32::MAX as u64) * BLOCK.0);
const MAX_LABEL: usize = 30;
/// Days from 1970 to 1978, the epoch of AmigaOS.
const CALENDAR_BEGINS: u64 = 8 * 365 + 2;
const DAY: u64 = 86_400;
const TICKS_A_SECOND: u64 = 50;

/// Storage format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffsVariant {
    /// OFS: each data block has a header and a checksum, so 488 bytes remain for data.
    Ofs,
    /// FFS: data blocks contain only data.
    Ffs,
}

/// Parameters of a new volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affs {
    /// Storage format of files.
    pub data: AffsVariant,
    /// True if name comparison also ignores the case of accented letters.
    pub international: bool,
    /// The label: 1 to 30 characters of Latin-1, without `:` and `/`.
    pub label: String,
    /// Creation time, in seconds since 1970. Earlier times count as 1978.
    pub created: u64,
}

impl Affs {
    /// Creates the volume on a medium of this size in bytes.
    ///
    /// # Errors
    /// Returns an error if the size is below 64 KiB or above the limit of Linux, the label is
    /// invalid, or writing fails.
    pub fn write<W: Write + Seek>(
        &self,
        size: Bytes,
        out: &mut W,
    ) -> Result<FormattedVolume, FormatError> {
        let label = label(&self.label)?;
        let geometry = Geometry::of(size)?;
        let mut medium = BlockWriter::new(out, size.0);
        medium.clear_ends()?;
        medium.write(0, self.boot_block().bytes())?;
        let mut free = 0;
        for index in 0..geometry.bitmaps {
            let (bitmap, count) = geometry.bitmap(index);
            free += count;
            medium.write(geometry.bitmap_block(index).into(), bitmap.bytes())?;
        }
        for index in 0..geometry.extensions {
            let extension = geometry.extension(index);
            medium.write(geometry.extension_block(index).into(), extension.bytes())?;
        }
        // The root block is written last, so an interrupted write leaves no valid volume.
        let root = self.root_block(&geometry, &label);
        medium.write(geometry.root.into(), root.bytes())?;
        medium.finish()?;
        Ok(FormattedVolume { blocks: geometry.blocks.into(), free })
    }

    /// Returns the boot block. Without a boot program it only contains the filesystem type.
    fn boot_block(&self) -> SectorBuilder {
        let mut block = SectorBuilder::new(2 * BLOCK.as_usize());
        let fast = u8::from(self.data == AffsVariant::Ffs);
        let international = u8::from(self.international) << 1;
        block.put(0, b"DOS").byte(3, fast | international);
        block
    }

    fn root_block(&self, geometry: &Geometry, label: &[u8]) -> SectorBuilder {
        const HEADER: u32 = 2;
        const ROOT: u32 = 1;
        const VALID: u32 = u32::MAX;
        let mut block = SectorBuilder::new(BLOCK.as_usize());
        block.word(0, HEADER).word(3, HASH_TABLE).word(78, VALID);
        for index in 0..geometry.bitmaps.min(IN_ROOT) {
            block.word(79 + index as usize, geometry.bitmap_block(index));
        }
        if geometry.extensions > 0 {
            block.word(104, geometry.extension_block(0));
        }
        // Dates: last change of the root directory, last change of the volume, creation.
        for word in [105, 118, 121] {
            self.put_date(&mut block, word);
        }
        block.byte(108 * 4, label.len() as u8);
        block.put(108 * 4 + 1, label);
        block.word(127, ROOT);
        let rest = block.sum().wrapping_neg();
        block.word(5, rest);
        block
    }

    /// Writes the creation time as days since 1978, minutes of the day, and 1/50 seconds of the
    /// minute.
    fn put_date(&self, block: &mut SectorBuilder, word: usize) {
        let seconds = self.created.saturating_sub(CALENDAR_BEGINS * DAY);
        let days = u32::try_from(seconds / DAY).unwrap_or(u32::MAX);
        block
            .word(word, days)
            .word(word + 1, (seconds % DAY / 60) as u32)
            .word(word + 2, (seconds % 60 * TICKS_A_SECOND) as u32);
    }
}

/// Locations of the structures on a volume.
struct Geometry {
    blocks: u32,
    root: u32,
    bitmaps: u32,
    extensions: u32,
}

impl Geometry {
    fn of(size: Bytes) -> Result<Self, FormatError> {
        if size < MIN_AFFS_SIZE {
            let smallest = MIN_AFFS_SIZE;
            return Err(FormatError::TooSmall { size, smallest });
        }
        let blocks = match i32::try_from(size.0 / BLOCK.0) {
            Ok(blocks) => blocks.unsigned_abs(),
            Err(_) => {
                let largest = MAX_AFFS_SIZE;
                return Err(FormatError::TooLarge { size, largest });
            }
        };
        let bitmaps = (blocks - RESERVED).div_ceil(PER_BITMAP);
        Ok(Self {
            blocks,
            root: blocks.div_ceil(2),
            bitmaps,
            extensions: bitmaps.saturating_sub(IN_ROOT).div_ceil(IN_EXTENSION),
        })
    }

    const fn bitmap_block(&self, index: u32) -> u32 {
        self.root + 1 + index
    }

    const fn extension_block(&self, index: u32) -> u32 {
        self.root + 1 + self.bitmaps + index
    }

    /// Returns true if the block is free. The root block, bitmaps and extensions are contiguous,
    /// and no other blocks are in use.
    const fn is_free(&self, block: u32) -> bool {
        let used = block >= self.root && block < self.extension_block(self.extensions);
        block < self.blocks && !used
    }

    /// Returns a bitmap block and its number of free blocks.
    fn bitmap(&self, index: u32) -> (SectorBuilder, u64) {
        let mut sector = SectorBuilder::new(BLOCK.as_usize());
        let mut count = 0;
        for word in 1..WORDS as u32 {
            let first = RESERVED + index * PER_BITMAP + (word - 1) * 32;
            let bits = self.word_of_32(first);
            count += u64::from(bits.count_ones());
            sector.word(word as usize, bits);
        }
        let rest = sector.sum().wrapping_neg();
        sector.word(0, rest);
        (sector, count)
    }

    /// Returns the bits of 32 blocks; the lowest bit belongs to the first block.
    fn word_of_32(&self, first: u32) -> u32 {
        let end = self.extension_block(self.extensions);
        if first + 32 <= self.root || (first >= end && first + 32 <= self.blocks) {
            return u32::MAX;
        }
        (0..32).fold(0, |bits, bit| bits | u32::from(self.is_free(first + bit)) << bit)
    }

    /// Returns an extension block: the numbers of bitmap blocks and, in the last word, the next
    /// extension. It has no checksum.
    fn extension(&self, index: u32) -> SectorBuilder {
        let mut sector = SectorBuilder::new(BLOCK.as_usize());
        let first = IN_ROOT + index * IN_EXTENSION;
        for bitmap in first..self.bitmaps.min(first + IN_EXTENSION) {
            sector.word((bitmap - first) as usize, self.bitmap_block(bitmap));
        }
        if index + 1 < self.extensions {
            sector.word(WORDS - 1, self.extension_block(index + 1));
        }
        sector
    }
}

fn label(text: &str) -> Result<Vec<u8>, FormatError> {
    let refused = |why| FormatError::Label { label: text.to_owned(), why };
    let bytes: Option<Vec<u8>> = text.chars().map(latin_1).collect();
    match bytes {
        Some(bytes) if (1..=MAX_LABEL).contains(&bytes.len()) => Ok(bytes),
        Some(_) => Err(refused("it must have 1 to 30 characters")),
        None => Err(refused("it must be printable Latin-1, without colon and slash")),
    }
}

fn latin_1(character: char) -> Option<u8> {
    let byte = u8::try_from(character).ok()?;
    let printable = matches!(byte, 0x20..=0x7e | 0xa0..=0xff);
    (printable && !matches!(byte, b':' | b'/')).then_some(byte)
}
