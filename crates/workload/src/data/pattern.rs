//! Recognisable data: every block contains its file, offset, generation and checksums.
//!
//! A block of 4 KiB starts with a stamp of 32 bytes and ends with a seal of 8. Between them is
//! data from a pool that depends only on the seed and the offset: random, or of another kind. The
//! stamp includes a checksum of this data, so that a misplaced block can be verified by itself. The check
//! distinguishes a block of another file, offset or generation, a torn block and a flipped bit. The
//! random data neither compresses nor repeats within 1 MiB. Stamps are written into the pool in place: a
//! write passes the pool's memory to the kernel without a copy.
//!
//! The content at an offset of a file does not depend on request boundaries: a request that starts
//! or ends within a block contains that part of the block.
//!
//! ```text
//! 0        4      8      16       24           28       32                  4088         4092     4096
//! | magic | crc  | file | offset | generation | digest | … random data … | generation | digest |
//! ```
//! All numbers are little-endian; crc is the CRC-32C of the random data.

use std::ops::Range;

use model::{DataKind, SeededRng};
use sys::fs::aligned::AlignedBuffer;

use crate::data::contents;
use crate::data::corruption::{Corruption, classify};

/// Size of a stamped block.
pub const BLOCK: usize = 4096;
/// Bytes of random data before it repeats.
const POOL: usize = 1 << 20;
const STAMP: usize = 32;
const SEAL: usize = 8;
const MAGIC: u32 = u32::from_le_bytes(*b"fsa2");

/// File and generation of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockIdentity {
    /// Identity of the file ([`file_id`]).
    pub file: u64,
    /// 1 when first written, incremented by each rewrite; 0 for unwritten blocks, which read as
    /// zeros.
    pub generation: u32,
}

/// The identity of a file within a cell: a hash of its name (FNV-1a, 64 bits).
pub fn file_id(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Makes and checks recognisable data.
#[derive(Debug)]
pub struct Pattern {
    /// The pool, then its beginning again, so that every window of up to `reach` bytes is one slice.
    pool: AlignedBuffer,
    /// Checksum of the random data of each block of the pool.
    sums: Vec<u32>,
    /// The longest run of bytes that [`Pattern::fill`] can give at once.
    reach: usize,
}

impl Clone for Pattern {
    fn clone(&self) -> Self {
        let mut pool = AlignedBuffer::new(self.pool.len(), BLOCK);
        pool.copy_from_slice(&self.pool);
        Self { pool, sums: self.sums.clone(), reach: self.reach }
    }
}

impl Pattern {
    /// Creates a pattern that can be filled for requests of up to `longest_request` bytes. Checking
    /// and [`Self::fill_into`] have no such limit.
    pub fn new(seed: u64, longest_request: usize) -> Self {
        Self::of_kind(DataKind::Random, seed, longest_request)
    }

    /// Creates a pattern whose data is of another kind.
    pub fn of_kind(kind: DataKind, seed: u64, longest_request: usize) -> Self {
        let mut rng = SeededRng::substream(seed, "pattern");
        let mut data = vec![0; POOL];
        contents::generate(kind, &mut rng, &mut data);
        let sums = data.chunks(BLOCK).map(|b| crc32c(&b[BODY])).collect();
        Self::repeated(&data, sums, longest_request)
    }

    /// Repeats the random data as often as requests of this length need it.
    fn repeated(data: &[u8], sums: Vec<u32>, longest_request: usize) -> Self {
        let reach = longest_request.max(BLOCK);
        let mut pool = AlignedBuffer::new(Self::size(longest_request), BLOCK);
        for part in pool.chunks_mut(POOL) {
            part.copy_from_slice(&data[..part.len()]);
        }
        Self { pool, sums, reach }
    }

    /// Returns the memory of a pattern for requests of up to `longest_request` bytes.
    pub fn size(longest_request: usize) -> usize {
        // A request that begins in the last byte of a block has one block more around it.
        POOL + longest_request.max(BLOCK).next_multiple_of(BLOCK) + BLOCK
    }

    /// Returns a copy that can be filled for requests of up to `longest_request` bytes.
    pub fn with_reach(&self, longest_request: usize) -> Self {
        Self::repeated(&self.pool[..POOL], self.sums.clone(), longest_request)
    }

    /// Returns the content at an offset of a file, all of one generation. The slice is valid until
    /// the next call.
    ///
    /// # Panics
    /// Panics if `length` exceeds the limit given to [`Pattern::new`].
    pub fn fill(&mut self, origin: BlockIdentity, offset: u64, length: usize) -> &[u8] {
        self.fill_with(offset, length, |_| origin)
    }

    /// The bytes that belong at this offset of a file, each block by the origin that is given for the
    /// offset of its beginning.
    ///
    /// # Panics
    /// As [`Pattern::fill`].
    #[inline]
    pub fn fill_with(
        &mut self,
        offset: u64,
        length: usize,
        origin: impl Fn(u64) -> BlockIdentity,
    ) -> &[u8] {
        assert!(length <= self.reach, "no request is longer than announced");
        let skip = (offset % BLOCK as u64) as usize;
        let first = offset - skip as u64;
        let start = (first % POOL as u64) as usize;
        for at in (0..skip + length).step_by(BLOCK) {
            let sum = self.sums[(start + at) % POOL / BLOCK];
            let place = first + at as u64;
            let stamp = BlockHeader::new(origin(place), place, sum);
            let block = &mut self.pool[start + at..start + at + BLOCK];
            block[..STAMP].copy_from_slice(&stamp.head());
            block[BODY.end..].copy_from_slice(&stamp.seal());
        }
        &self.pool[start + skip..start + skip + length]
    }

    /// Writes the content at an offset into a buffer of the caller, for callers that must not
    /// change the data until the kernel has finished.
    pub fn fill_into(&self, offset: u64, into: &mut [u8], origin: impl Fn(u64) -> BlockIdentity) {
        for part in parts(offset, into.len()) {
            let out = &mut into[part.data.clone()];
            if out.len() == BLOCK {
                self.render_block(origin(part.block), part.block, out);
            } else {
                let mut block = [0; BLOCK];
                self.render_block(origin(part.block), part.block, &mut block);
                out.copy_from_slice(&block[part.within]);
            }
        }
    }

    /// Renders one block; zeros if it was never written.
    fn render_block(&self, origin: BlockIdentity, offset: u64, block: &mut [u8]) {
        if origin.generation == 0 {
            block.fill(0);
            return;
        }
        let (body, sum) = self.body(offset);
        let stamp = BlockHeader::new(origin, offset, sum);
        block[..STAMP].copy_from_slice(&stamp.head());
        block[BODY].copy_from_slice(body);
        block[BODY.end..].copy_from_slice(&stamp.seal());
    }

    /// Random data of the block at an offset, and its checksum.
    fn body(&self, offset: u64) -> (&[u8], u32) {
        let start = (offset % POOL as u64) as usize;
        let body = &self.pool[start + BODY.start..start + BODY.end];
        (body, self.sums[start / BLOCK])
    }

    /// Compares data read at an offset with the expected content.
    ///
    /// # Errors
    /// Returns the first difference.
    pub fn check(&self, origin: BlockIdentity, offset: u64, data: &[u8]) -> Result<(), Corruption> {
        for part in parts(offset, data.len()) {
            self.check_part(origin, &part, &data[part.data.clone()])?;
        }
        Ok(())
    }

    /// Compares data read from one block.
    ///
    /// # Errors
    /// Returns the kind of corruption.
    pub fn check_part(
        &self,
        origin: BlockIdentity,
        part: &BlockPart,
        found: &[u8],
    ) -> Result<(), Corruption> {
        if self.is_right(origin, part, found) {
            return Ok(());
        }
        let mut expected = [0; BLOCK];
        self.render_block(origin, part.block, &mut expected);
        let kind = classify(origin, part, found, &expected[part.within.clone()]);
        Err(Corruption { offset: part.block, kind })
    }

    fn is_right(&self, origin: BlockIdentity, part: &BlockPart, found: &[u8]) -> bool {
        if origin.generation == 0 {
            return is_zero(found);
        }
        if found.len() == BLOCK {
            let (body, sum) = self.body(part.block);
            let stamp = BlockHeader::new(origin, part.block, sum);
            return found[..STAMP] == stamp.head()
                && found[BODY.end..] == stamp.seal()
                && found[BODY] == *body;
        }
        let mut expected = [0; BLOCK];
        self.render_block(origin, part.block, &mut expected);
        *found == expected[part.within.clone()]
    }

    /// Compares data read from one block in which each byte may have one of several generations,
    /// because the block was written in parts or during the read.
    ///
    /// # Errors
    /// Returns the kind of corruption, relative to the last of these generations.
    pub fn check_mixed(
        &self,
        file: u64,
        generations: &[u32],
        part: &BlockPart,
        found: &[u8],
    ) -> Result<(), Corruption> {
        let of = |&generation: &u32| BlockIdentity { file, generation };
        let mut right = vec![false; found.len()];
        let mut block = [0; BLOCK];
        for origin in generations.iter().map(of) {
            self.render_block(origin, part.block, &mut block);
            let pairs = found.iter().zip(&block[part.within.clone()]);
            for (right, (found, expected)) in right.iter_mut().zip(pairs) {
                *right |= found == expected;
            }
        }
        match (right.iter().all(|&r| r), generations.last().map(of)) {
            (false, Some(origin)) => self.check_part(origin, part, found),
            _ => Ok(()),
        }
    }
}

/// The part of a request's data within one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPart {
    /// Offset of the block in the file.
    pub block: u64,
    /// Which bytes of the block.
    pub within: Range<usize>,
    /// Which bytes of the request.
    pub data: Range<usize>,
}

/// Splits a request at block boundaries. An empty request has no parts.
pub fn parts(offset: u64, length: usize) -> impl Iterator<Item = BlockPart> {
    let skip = (offset % BLOCK as u64) as usize;
    let blocks = match length {
        0 => 0,
        _ => (skip + length).div_ceil(BLOCK),
    };
    (0..blocks).map(move |i| {
        let begin = (i * BLOCK).max(skip);
        let end = ((i + 1) * BLOCK).min(skip + length);
        BlockPart {
            block: offset - skip as u64 + (i * BLOCK) as u64,
            within: begin - i * BLOCK..end - i * BLOCK,
            data: begin - skip..end - skip,
        }
    })
}

/// Range of the random data within a block.
pub(crate) const BODY: Range<usize> = STAMP..BLOCK - SEAL;

/// Decoded stamp of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub origin: BlockIdentity,
    pub offset: u64,
    pub sum: u32,
    digest: u32,
}

impl BlockHeader {
    #[inline]
    pub fn new(origin: BlockIdentity, offset: u64, sum: u32) -> Self {
        Self { origin, offset, sum, digest: digest(origin, offset, sum) }
    }

    #[inline]
    fn head(&self) -> [u8; STAMP] {
        let mut head = [0; STAMP];
        head[..4].copy_from_slice(&MAGIC.to_le_bytes());
        head[4..8].copy_from_slice(&self.sum.to_le_bytes());
        head[8..16].copy_from_slice(&self.origin.file.to_le_bytes());
        head[16..24].copy_from_slice(&self.offset.to_le_bytes());
        head[24..28].copy_from_slice(&self.origin.generation.to_le_bytes());
        head[28..].copy_from_slice(&self.digest.to_le_bytes());
        head
    }

    /// Generation and digest once more, at the other end of the block.
    #[inline]
    pub fn seal(&self) -> [u8; SEAL] {
        let mut seal = [0; SEAL];
        seal[..4].copy_from_slice(&self.origin.generation.to_le_bytes());
        seal[4..].copy_from_slice(&self.digest.to_le_bytes());
        seal
    }

    /// Reads the stamp at the start of a block. Returns `None` if the block has none.
    pub fn read(block: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u64::from_le_bytes(block.get(at..at + 8)?.try_into().ok()?));
        let half = |at: usize| Some(u32::from_le_bytes(block.get(at..at + 4)?.try_into().ok()?));
        let origin = BlockIdentity { file: word(8)?, generation: half(24)? };
        let stamp = Self::new(origin, word(16)?, half(4)?);
        (half(0)? == MAGIC && half(28)? == stamp.digest).then_some(stamp)
    }

    /// Returns true if a complete block that starts with this stamp is intact.
    pub fn is_intact(&self, block: &[u8]) -> bool {
        block[BODY.end..] == self.seal() && crc32c(&block[BODY]) == self.sum
    }
}

/// Returns a digest of all fields of a stamp, so that a damaged stamp is not mistaken for one of
/// another block.
#[inline]
fn digest(origin: BlockIdentity, offset: u64, sum: u32) -> u32 {
    let generation = u64::from(origin.generation) << 32 | u64::from(sum);
    let mut mixed = origin.file ^ offset.rotate_left(40) ^ generation.rotate_left(20);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (mixed ^ (mixed >> 33)) as u32
}

/// CRC-32C (Castagnoli, reflected), as in RFC 3720: made for each block of the pool once, and again
/// only of blocks that are wrong.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0u32; 256];
        let mut i = 0;
        while i < 256 {
            let mut crc = i as u32;
            let mut bit = 0;
            while bit < 8 {
                crc = (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
                bit += 1;
            }
            table[i] = crc;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, &byte| (crc >> 8) ^ TABLE[(crc as u8 ^ byte) as usize])
}

pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |all, byte| all | byte) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::corruption::CorruptionKind;
    use proptest::prelude::*;

    const MINE: BlockIdentity = BlockIdentity { file: 7, generation: 2 };
    const OLD: BlockIdentity = BlockIdentity { generation: 1, ..MINE };

    fn written(origin: BlockIdentity, offset: u64, length: usize) -> (Pattern, Vec<u8>) {
        let mut pattern = Pattern::new(1, length);
        let data = pattern.fill(origin, offset, length).to_vec();
        (pattern, data)
    }

    fn found(pattern: &Pattern, offset: u64, data: &[u8]) -> CorruptionKind {
        pattern.check(MINE, offset, data).unwrap_err().kind
    }

    #[test]
    fn a_pattern_with_more_reach_has_the_same_content() {
        let small = Pattern::new(1, BLOCK);
        let (_, data) = written(MINE, 5000, 3 * POOL);
        let mut large = small.with_reach(3 * POOL);
        assert_eq!(large.fill(MINE, 5000, 3 * POOL), data);
        assert_eq!(large.pool.len(), Pattern::size(3 * POOL));
    }

    #[test]
    fn each_kind_of_damage_has_its_name() {
        let (mut pattern, good) = written(MINE, 8192, 8192);
        assert_eq!(pattern.check(MINE, 8192, &good), Ok(()));

        let old = pattern.fill(OLD, 8192, 8192).to_vec();
        let stale = CorruptionKind::Stale { expected: 2, found: 1 };
        assert_eq!(found(&pattern, 8192, &old), stale);

        for torn in [
            [&good[..2048], &old[2048..4096]].concat(),
            [&old[..2048], &good[2048..4096]].concat(),
            [&good[..512], &good[4608..5120], &good[1024..4096]].concat(),
            [&good[..4096 - 512], &[0; 512]].concat(),
        ] {
            assert_eq!(found(&pattern, 8192, &torn), CorruptionKind::Torn);
        }

        let other = BlockIdentity { file: 8, ..MINE };
        let other = pattern.fill(other, 8192, 4096).to_vec();
        assert_eq!(found(&pattern, 8192, &other), CorruptionKind::OtherFile { file: 8 });

        for belongs in [8192 + POOL as u64, 12288] {
            let elsewhere = pattern.fill(MINE, belongs, 4096).to_vec();
            let misplaced = CorruptionKind::Misplaced { belongs };
            assert_eq!(found(&pattern, 8192, &elsewhere), misplaced);
        }

        assert_eq!(found(&pattern, 8192, &[0; 4096]), CorruptionKind::Zeroed);
        assert_eq!(found(&pattern, 8192, &[9; 4096]), CorruptionKind::Foreign);
    }

    #[test]
    fn unwritten_blocks_are_zero() {
        let (pattern, data) = written(MINE, 0, 4096);
        let hole = BlockIdentity { generation: 0, ..MINE };
        assert_eq!(pattern.check(hole, 4096, &[0; 5000]), Ok(()));
        let stale = CorruptionKind::Stale { expected: 0, found: 2 };
        assert_eq!(pattern.check(hole, 0, &data).unwrap_err().kind, stale);
        assert_eq!(pattern.check(hole, 0, &[1; 4096]).unwrap_err().kind, CorruptionKind::Foreign);
    }

    #[test]
    fn a_block_written_in_parts_may_hold_each_of_its_generations() {
        let (mut pattern, new) = written(MINE, 0, 4096);
        let old = pattern.fill(OLD, 0, 4096).to_vec();
        let mixed = [&old[..30], &new[30..4092], &old[4092..]].concat();
        let part = parts(0, 4096).next().unwrap();
        assert_eq!(pattern.check_mixed(7, &[1, 2], &part, &mixed), Ok(()));
        assert!(pattern.check_mixed(7, &[2], &part, &mixed).is_err());
        let mut flipped = mixed;
        flipped[100] ^= 1;
        assert!(pattern.check_mixed(7, &[0, 1, 2], &part, &flipped).is_err());
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // The check value of CRC-32C, and an example of RFC 3720, B.4.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn data_does_not_repeat_within_the_pool() {
        let (_, data) = written(MINE, 0, POOL);
        let mut words: Vec<&[u8]> = data.chunks(64).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), data.len() / 64);
    }

    proptest! {
        #[test]
        fn filled_data_is_correct_after_any_earlier_fill(
            requests in proptest::collection::vec((0u64..3_000_000, 1usize..100_000), 1..6),
            seed: u64,
        ) {
            let mut pattern = Pattern::new(seed, 100_000);
            let fresh = pattern.clone();
            for (offset, length) in requests {
                let data = pattern.fill(MINE, offset, length).to_vec();
                prop_assert_eq!(pattern.check(MINE, offset, &data), Ok(()));
                prop_assert_eq!(fresh.check(MINE, offset, &data), Ok(()));
                let mut rendered = vec![1; length];
                fresh.fill_into(offset, &mut rendered, |_| MINE);
                prop_assert!(rendered == data);
            }
        }

        #[test]
        fn content_does_not_depend_on_request_boundaries(
            offset in 0u64..3_000_000, length in 1usize..20_000, cut: prop::sample::Index,
        ) {
            let mut pattern = Pattern::new(1, length);
            let whole = pattern.fill(MINE, offset, length).to_vec();
            let cut = cut.index(length);
            let front = pattern.fill(MINE, offset, cut).to_vec();
            let back = pattern.fill(MINE, offset + cut as u64, length - cut).to_vec();
            prop_assert!([front, back].concat() == whole);
        }

        #[test]
        fn any_flipped_bit_is_found(
            offset in 0u64..10_000, length in 1usize..20_000, at: prop::sample::Index, bit in 0u8..8,
        ) {
            let (pattern, mut data) = written(MINE, offset, length);
            let at = at.index(length);
            let before = data[at];
            data[at] ^= 1 << bit;
            let kind = found(&pattern, offset, &data);
            // The only byte of a part may become a zero.
            if kind != CorruptionKind::Zeroed {
                let (place, after) = (offset + at as u64, data[at]);
                prop_assert_eq!(kind, CorruptionKind::BitFlip { at: place, expected: before, found: after });
            }
        }

        #[test]
        fn parts_are_the_request(offset in 0u64..20_000, length in 0usize..20_000) {
            let mut next = 0;
            for part in parts(offset, length) {
                prop_assert_eq!(part.data.start, next);
                prop_assert_eq!(part.data.len(), part.within.len());
                prop_assert!(part.within.end <= BLOCK && !part.within.is_empty());
                let place = part.block + part.within.start as u64;
                prop_assert_eq!(place, offset + part.data.start as u64);
                next = part.data.end;
            }
            prop_assert_eq!(next, length);
        }
    }
}
