//! Classifies a corrupt block by its stamp and content.

use std::fmt;

use crate::data::pattern::{BLOCK, BODY, BlockHeader, BlockIdentity, BlockPart, is_zero};

/// Maximum number of wrong bytes classified as a bit flip. More indicate content of another block.
const MAX_FLIPPED_BYTES: usize = 64;

/// Classifies a part of a block that differs from the expected content.
pub(crate) fn classify(
    origin: BlockIdentity,
    part: &BlockPart,
    found: &[u8],
    expected: &[u8],
) -> CorruptionKind {
    if is_zero(found) {
        return CorruptionKind::Zeroed;
    }
    let flipped = flip(part, found, expected);
    let stamp = (part.within.start == 0).then(|| BlockHeader::read(found)).flatten();
    let Some(stamp) = stamp else {
        // Without a readable stamp, the number of wrong bytes decides.
        return flipped.unwrap_or(CorruptionKind::Foreign);
    };
    if found.len() < BLOCK {
        return foreign(origin, part.block, &stamp).or(flipped).unwrap_or(CorruptionKind::Torn);
    }
    if stamp.is_intact(found) {
        return foreign(origin, part.block, &stamp).unwrap_or(CorruptionKind::Foreign);
    }
    match flipped {
        Some(flipped) if !is_sealed_by_another(&stamp, found) => flipped,
        _ => CorruptionKind::Torn,
    }
}

/// Returns a bit flip if only a few bytes differ.
fn flip(part: &BlockPart, found: &[u8], expected: &[u8]) -> Option<CorruptionKind> {
    let differs = |i: &usize| found[*i] != expected[*i];
    let at = (0..found.len()).find(differs)?;
    let count = (0..found.len()).filter(differs).count();
    (count <= MAX_FLIPPED_BYTES).then(|| CorruptionKind::BitFlip {
        at: part.block + (part.within.start + at) as u64,
        expected: expected[at],
        found: found[at],
    })
}

/// Classifies an intact block that belongs elsewhere.
fn foreign(origin: BlockIdentity, offset: u64, stamp: &BlockHeader) -> Option<CorruptionKind> {
    if stamp.origin.file != origin.file {
        return Some(CorruptionKind::OtherFile { file: stamp.origin.file });
    }
    if stamp.offset != offset {
        let belongs = stamp.offset;
        return Some(CorruptionKind::Misplaced { belongs });
    }
    (stamp.origin.generation != origin.generation).then_some(CorruptionKind::Stale {
        expected: origin.generation,
        found: stamp.origin.generation,
    })
}

/// Whether the end of a block is that of another generation of the same block.
fn is_sealed_by_another(stamp: &BlockHeader, block: &[u8]) -> bool {
    let seal = &block[BODY.end..];
    let generation = u32::from_le_bytes(seal[..4].try_into().expect("four bytes"));
    let origin = BlockIdentity { generation, ..stamp.origin };
    let another = BlockHeader::new(origin, stamp.offset, stamp.sum);
    generation != stamp.origin.generation && *seal == another.seal()
}

/// A block that is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// Offset of the block in its file.
    pub offset: u64,
    /// Kind of corruption.
    pub kind: CorruptionKind,
}

/// Kinds of corruption of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorruptionKind {
    /// Nothing but zeros.
    Zeroed,
    /// Data that was never written by this cell, or not to this place.
    Foreign,
    /// A block of another file.
    OtherFile {
        /// The identity it carries.
        file: u64,
    },
    /// A block of another place in the same file.
    Misplaced {
        /// The offset it carries.
        belongs: u64,
    },
    /// Parts of it are of different writes.
    Torn,
    /// An earlier or later generation.
    Stale {
        /// The generation last written.
        expected: u32,
        /// The generation found.
        found: u32,
    },
    /// Some bytes differ.
    BitFlip {
        /// Offset of the first in the file.
        at: u64,
        /// Written value.
        expected: u8,
        /// Read value.
        found: u8,
    },
    /// Other data than was read from the source that it was copied from.
    DiffersFromSource,
    /// The file ends too early.
    Short {
        /// Size as written, in bytes.
        expected: u64,
    },
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.offset;
        match self.kind {
            CorruptionKind::Zeroed => {
                write!(f, "holds zeros instead of data in the block at offset {at}")
            }
            CorruptionKind::Foreign => {
                write!(f, "holds data that was never written at offset {at}")
            }
            CorruptionKind::OtherFile { file } => {
                write!(f, "holds a block of another file ({file:016x}) at offset {at}")
            }
            CorruptionKind::Misplaced { belongs } => {
                write!(f, "holds the block of offset {belongs} at offset {at}")
            }
            CorruptionKind::DiffersFromSource => {
                write!(f, "differs from its source in the block at offset {at}")
            }
            CorruptionKind::Torn => write!(f, "holds a torn block at offset {at}"),
            CorruptionKind::Stale { expected, found } => write!(
                f,
                "holds generation {found} instead of {expected} in the block at offset {at}"
            ),
            CorruptionKind::BitFlip { at, expected, found } => {
                write!(f, "holds byte {found:#04x} instead of {expected:#04x} at offset {at}")
            }
            CorruptionKind::Short { expected } => {
                write!(f, "ends at offset {at} instead of {expected}")
            }
        }
    }
}
