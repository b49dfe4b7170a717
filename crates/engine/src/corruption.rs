//! What is wrong with a block that is not what was written, found out from what it says of itself.

use std::fmt;

use crate::pattern::{BLOCK, BODY, Origin, Part, Stamp, is_zero};

/// So many wrong bytes are a flipped bit; more are a part of something else.
const FLIPPED_AT_MOST: usize = 64;

/// Finds the word for a part of a block that is not as expected.
pub(crate) fn judge(origin: Origin, part: &Part, found: &[u8], expected: &[u8]) -> Kind {
    if is_zero(found) {
        return Kind::Zeroed;
    }
    let flipped = flip(part, found, expected);
    let stamp = (part.within.start == 0)
        .then(|| Stamp::read(found))
        .flatten();
    let Some(stamp) = stamp else {
        // Without a stamp to read it is told by how much of it is right.
        return flipped.unwrap_or(Kind::NotOurs);
    };
    if found.len() < BLOCK {
        return foreign(origin, part.block, &stamp)
            .or(flipped)
            .unwrap_or(Kind::Torn);
    }
    if stamp.is_whole(found) {
        return foreign(origin, part.block, &stamp).unwrap_or(Kind::NotOurs);
    }
    match flipped {
        Some(flipped) if !is_sealed_by_another(&stamp, found) => flipped,
        _ => Kind::Torn,
    }
}

/// The few bytes that differ, where they are few.
fn flip(part: &Part, found: &[u8], expected: &[u8]) -> Option<Kind> {
    let differs = |i: &usize| found[*i] != expected[*i];
    let at = (0..found.len()).find(differs)?;
    let count = (0..found.len()).filter(differs).count();
    (count <= FLIPPED_AT_MOST).then(|| Kind::Flipped {
        at: part.block + (part.within.start + at) as u64,
        expected: expected[at],
        found: found[at],
    })
}

/// What a block is that is whole and does not belong here.
fn foreign(origin: Origin, offset: u64, stamp: &Stamp) -> Option<Kind> {
    if stamp.origin.file != origin.file {
        return Some(Kind::OtherFile {
            file: stamp.origin.file,
        });
    }
    if stamp.offset != offset {
        let belongs = stamp.offset;
        return Some(Kind::Misplaced { belongs });
    }
    (stamp.origin.generation != origin.generation).then_some(Kind::Stale {
        expected: origin.generation,
        found: stamp.origin.generation,
    })
}

/// Whether the end of a block is that of another generation of the same block.
fn is_sealed_by_another(stamp: &Stamp, block: &[u8]) -> bool {
    let seal = &block[BODY.end..];
    let generation = u32::from_le_bytes(seal[..4].try_into().expect("four bytes"));
    let origin = Origin {
        generation,
        ..stamp.origin
    };
    let another = Stamp::new(origin, stamp.offset, stamp.sum);
    generation != stamp.origin.generation && *seal == another.seal()
}

/// A block that is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// Offset of the block in its file.
    pub offset: u64,
    /// What is wrong with it.
    pub kind: Kind,
}

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but zeros.
    Zeroed,
    /// Data that was never written by this cell, or not to this place.
    NotOurs,
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
    Flipped {
        /// Offset of the first in the file.
        at: u64,
        /// What was written.
        expected: u8,
        /// What was read.
        found: u8,
    },
    /// Other data than was read from the source that it was copied from.
    UnlikeSource,
    /// The file ends too early.
    Short {
        /// Its size as written.
        expected: u64,
    },
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.offset;
        match self.kind {
            Kind::Zeroed => write!(f, "holds zeros instead of data in the block at offset {at}"),
            Kind::NotOurs => write!(f, "holds data that was never written at offset {at}"),
            Kind::OtherFile { file } => {
                write!(
                    f,
                    "holds a block of another file ({file:016x}) at offset {at}"
                )
            }
            Kind::Misplaced { belongs } => {
                write!(f, "holds the block of offset {belongs} at offset {at}")
            }
            Kind::UnlikeSource => {
                write!(f, "differs from its source in the block at offset {at}")
            }
            Kind::Torn => write!(f, "holds a torn block at offset {at}"),
            Kind::Stale { expected, found } => write!(
                f,
                "holds generation {found} instead of {expected} in the block at offset {at}"
            ),
            Kind::Flipped {
                at,
                expected,
                found,
            } => {
                write!(
                    f,
                    "holds byte {found:#04x} instead of {expected:#04x} at offset {at}"
                )
            }
            Kind::Short { expected } => {
                write!(f, "ends at offset {at} instead of {expected}")
            }
        }
    }
}
