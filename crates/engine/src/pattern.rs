//! Data that can be recognised: every block says which file, offset and generation it belongs to.
//!
//! A block of 4 KiB begins with a stamp of 32 bytes and ends with a seal of 8; between them lies
//! random data from a pool that depends on the seed and the offset alone. So a block of another file,
//! of another place, of an earlier generation, a torn one and a flipped bit are told apart, and the
//! data neither compresses nor repeats within 1 MiB. The stamps are put into the pool in place: a write
//! hands the pool's own memory to the kernel and copies nothing.

use std::fmt;

use model::SeededRng;

/// Size of a stamped block.
pub const BLOCK: usize = 4096;
/// Bytes of random data before it repeats.
const POOL: usize = 1 << 20;
const STAMP: usize = 32;
const SEAL: usize = 8;
const MAGIC: u64 = u64::from_le_bytes(*b"fsarena1");

/// Which version of which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Identity of the file ([`file_id`]).
    pub file: u64,
    /// 1 when first written, more after each rewrite.
    pub generation: u32,
}

/// The identity of a file within a cell: a hash of its name (FNV-1a, 64 bits).
pub fn file_id(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Makes and checks recognisable data.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The pool, then its beginning again, so that every window of up to `reach` bytes is one slice.
    pool: Vec<u8>,
    /// The longest run of bytes that [`Pattern::fill`] can give at once.
    reach: usize,
}

impl Pattern {
    /// A pattern for requests of up to so many bytes.
    pub fn new(seed: u64, longest_request: usize) -> Self {
        let reach = longest_request.max(BLOCK);
        let mut rng = SeededRng::for_purpose(seed, "pattern");
        let mut pool = Vec::with_capacity(POOL + reach);
        while pool.len() < POOL {
            pool.extend_from_slice(&rng.next_u64().to_le_bytes());
        }
        while pool.len() < POOL + reach {
            let missing = (POOL + reach - pool.len()).min(POOL);
            pool.extend_from_within(..missing);
        }
        Self { pool, reach }
    }

    /// The longest request it was made for, bytes.
    pub const fn reach(&self) -> usize {
        self.reach
    }

    /// The bytes that belong at this offset of a file; the slice is valid until the next call.
    ///
    /// # Panics
    /// When the offset is not a multiple of [`BLOCK`] or more is asked for than was announced.
    pub fn fill(&mut self, origin: Origin, offset: u64, length: usize) -> &[u8] {
        assert!(length <= self.reach, "no request is longer than announced");
        let window = self.window(offset, length);
        for (i, block) in self.pool[window.clone()].chunks_mut(BLOCK).enumerate() {
            stamp(block, origin, offset + (i * BLOCK) as u64);
        }
        &self.pool[window]
    }

    /// Compares what was read at an offset with what belongs there.
    ///
    /// # Errors
    /// The first difference.
    ///
    /// # Panics
    /// As [`Pattern::fill`].
    pub fn check(&self, origin: Origin, offset: u64, data: &[u8]) -> Result<(), Corruption> {
        let expected = &self.pool[self.window(offset, data.len())];
        let blocks = data.chunks(BLOCK).zip(expected.chunks(BLOCK));
        for (i, (found, expected)) in blocks.enumerate() {
            check_block(origin, offset + (i * BLOCK) as u64, found, expected)?;
        }
        Ok(())
    }

    fn window(&self, offset: u64, length: usize) -> std::ops::Range<usize> {
        assert!(
            offset.is_multiple_of(BLOCK as u64),
            "requests begin at a block"
        );
        let start = (offset % POOL as u64) as usize;
        assert!(
            start + length <= self.pool.len(),
            "no request is longer than announced"
        );
        start..start + length
    }
}

/// Where the random part of a block lies. What lies before and behind it belongs to stamp and seal,
/// also in the short block at the end of a file, which carries as much of them as it holds: the pool
/// keeps stamps of other blocks in these places.
fn body(length: usize) -> std::ops::Range<usize> {
    STAMP.min(length)..(BLOCK - SEAL).min(length).max(STAMP.min(length))
}

fn stamp(block: &mut [u8], origin: Origin, offset: u64) {
    let body = body(block.len());
    let (head, tail) = (head(origin, offset), seal(origin, offset));
    block[..body.start].copy_from_slice(&head[..body.start]);
    let sealed = block.len() - body.end;
    block[body.end..].copy_from_slice(&tail[..sealed]);
}

/// Magic, file, offset, generation, digest; little-endian.
fn head(origin: Origin, offset: u64) -> [u8; STAMP] {
    let mut head = [0; STAMP];
    head[..8].copy_from_slice(&MAGIC.to_le_bytes());
    head[8..16].copy_from_slice(&origin.file.to_le_bytes());
    head[16..24].copy_from_slice(&offset.to_le_bytes());
    head[24..28].copy_from_slice(&origin.generation.to_le_bytes());
    head[28..].copy_from_slice(&digest(origin, offset).to_le_bytes());
    head
}

/// Generation and digest once more, at the other end of the block.
fn seal(origin: Origin, offset: u64) -> [u8; SEAL] {
    let mut seal = [0; SEAL];
    seal[..4].copy_from_slice(&origin.generation.to_le_bytes());
    seal[4..].copy_from_slice(&digest(origin, offset).to_le_bytes());
    seal
}

/// Binds the fields of a stamp together, so that a damaged stamp is not taken for another block's.
fn digest(origin: Origin, offset: u64) -> u32 {
    let mut mixed = origin.file ^ offset.rotate_left(32) ^ u64::from(origin.generation);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ (mixed >> 33)) as u32
}

fn check_block(
    origin: Origin,
    offset: u64,
    found: &[u8],
    expected: &[u8],
) -> Result<(), Corruption> {
    let range = body(found.len());
    let outcome = check_stamp(origin, offset, found)
        .and_then(|()| same(offset, 0, &found[..range.start], &head(origin, offset)))
        .and_then(|()| {
            same(
                offset,
                range.start,
                &found[range.clone()],
                &expected[range.clone()],
            )
        })
        .and_then(|()| {
            same(
                offset,
                range.end,
                &found[range.end..],
                &seal(origin, offset),
            )
        });
    outcome.map_err(|kind| Corruption { offset, kind })
}

/// Compares a part of a block with the beginning of what belongs there.
fn same(offset: u64, part: usize, found: &[u8], expected: &[u8]) -> Result<(), Kind> {
    if found == &expected[..found.len()] {
        return Ok(());
    }
    let differs = found.iter().zip(expected).position(|(f, e)| f != e);
    let at = differs.expect("they are not equal");
    let place = offset + (part + at) as u64;
    Err(Kind::Flipped {
        at: place,
        expected: expected[at],
        found: found[at],
    })
}

/// Finds out from a whole stamp which block this is, so that a wrong one is called by its name.
fn check_stamp(origin: Origin, offset: u64, block: &[u8]) -> Result<(), Kind> {
    if block.len() < STAMP {
        return Ok(());
    }
    let word = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"));
    let half = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"));
    let found = Origin {
        file: word(8),
        generation: half(24),
    };
    if word(0) != MAGIC || half(28) != digest(found, word(16)) {
        let zeroed = block.iter().all(|&b| b == 0);
        return Err(if zeroed { Kind::Zeroed } else { Kind::NotOurs });
    }
    if found.file != origin.file {
        return Err(Kind::OtherFile { file: found.file });
    }
    if word(16) != offset {
        return Err(Kind::Misplaced { belongs: word(16) });
    }
    let sealed = block.len() < BLOCK || block[BLOCK - SEAL..] == seal(found, offset);
    if !sealed {
        return Err(Kind::Torn);
    }
    if found.generation != origin.generation {
        return Err(Kind::Stale {
            expected: origin.generation,
            found: found.generation,
        });
    }
    Ok(())
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
    /// Data that was never written by this cell.
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
    /// Begin and end are of different writes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINE: Origin = Origin {
        file: 7,
        generation: 2,
    };

    fn written(offset: u64, length: usize) -> (Pattern, Vec<u8>) {
        let mut pattern = Pattern::new(1, length);
        let data = pattern.fill(MINE, offset, length).to_vec();
        (pattern, data)
    }

    fn found(pattern: &Pattern, offset: u64, data: &[u8]) -> Kind {
        pattern.check(MINE, offset, data).unwrap_err().kind
    }

    #[test]
    fn each_kind_of_damage_has_its_name() {
        let (mut pattern, good) = written(8192, 8192);
        assert_eq!(pattern.check(MINE, 8192, &good), Ok(()));

        let mut flipped = good.clone();
        flipped[5000] ^= 4;
        let expected = Kind::Flipped {
            at: 13_192,
            expected: good[5000],
            found: flipped[5000],
        };
        assert_eq!(found(&pattern, 8192, &flipped), expected);

        let old = pattern
            .fill(
                Origin {
                    generation: 1,
                    ..MINE
                },
                8192,
                8192,
            )
            .to_vec();
        assert_eq!(
            found(&pattern, 8192, &old),
            Kind::Stale {
                expected: 2,
                found: 1
            }
        );

        let torn = [&good[..2048], &old[2048..4096]].concat();
        assert_eq!(found(&pattern, 8192, &torn), Kind::Torn);

        let other = pattern
            .fill(Origin { file: 8, ..MINE }, 8192, 4096)
            .to_vec();
        assert_eq!(found(&pattern, 8192, &other), Kind::OtherFile { file: 8 });

        let elsewhere = pattern.fill(MINE, 8192 + (1 << 20), 4096).to_vec();
        let belongs = 8192 + (1 << 20);
        assert_eq!(
            found(&pattern, 8192, &elsewhere),
            Kind::Misplaced { belongs }
        );

        assert_eq!(found(&pattern, 8192, &[0; 4096]), Kind::Zeroed);
        assert_eq!(found(&pattern, 8192, &[9; 4096]), Kind::NotOurs);
    }

    #[test]
    fn data_does_not_repeat_within_the_pool() {
        let (_, data) = written(0, 1 << 20);
        let mut words: Vec<&[u8]> = data.chunks(64).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), data.len() / 64);
    }

    proptest! {
        #[test]
        fn what_was_filled_checks_whatever_was_filled_before(
            requests in proptest::collection::vec((0u64..600, 1usize..100_000), 1..6),
            seed: u64,
        ) {
            let mut pattern = Pattern::new(seed, 100_000);
            let fresh = pattern.clone();
            for (block, length) in requests {
                let offset = block * BLOCK as u64;
                let data = pattern.fill(MINE, offset, length).to_vec();
                prop_assert_eq!(pattern.check(MINE, offset, &data), Ok(()));
                prop_assert_eq!(fresh.check(MINE, offset, &data), Ok(()));
            }
        }

        #[test]
        fn any_flipped_bit_is_found(length in 1usize..20_000, at: prop::sample::Index, bit in 0u8..8) {
            let (pattern, mut data) = written(0, length);
            let at = at.index(length);
            data[at] ^= 1 << bit;
            prop_assert!(pattern.check(MINE, 0, &data).is_err());
        }
    }
}
