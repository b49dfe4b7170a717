//! Expected content of a file: the generation of each of its blocks as last written.
//!
//! Most files have the same generation throughout. Random writes advance single blocks, which are
//! kept in a few compressed bitmaps. Millions of writes in a file of any size need only a few MiB.

use std::ops::Range;
use std::sync::Arc;

use roaring::RoaringTreemap;
use twox_hash::XxHash64;

use crate::data::corruption::{Corruption, CorruptionKind};
use crate::data::pattern::{BLOCK, BlockIdentity, BlockPart, Pattern, file_id, parts};

/// A block that was never written.
const ZEROS: [u8; BLOCK] = [0; BLOCK];

/// Bitmaps that a file may have; from then on, random writes repeat the newest generation.
const MAX_LAYERS: usize = 4;

/// Expected state of a file after its last write.
#[derive(Clone, Debug)]
pub struct ExpectedFile {
    /// Size in bytes.
    pub size: u64,
    /// Size before the last append, in bytes.
    pub before_append: u64,
    /// Its identity.
    file: u64,
    /// The generation of every block that no layer has; 0 for zeros.
    base: u32,
    /// Blocks of further generations, ascending; no block is in two.
    layers: Vec<Layer>,
    /// Blocks in which each byte may have any generation up to the highest.
    ragged: RoaringTreemap,
    highest: u32,
    /// Checksums of the blocks if the file is a copy. Blocks of generation 0 then have copied
    /// content.
    copied: Option<Arc<[u64]>>,
}

#[derive(Clone, Debug)]
struct Layer {
    generation: u32,
    blocks: RoaringTreemap,
}

/// Effect of a write on the generation of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationPolicy {
    /// Each is of this generation afterwards.
    New(u32),
    /// Each block keeps its generation; a hole gets the first generation. For requests that cover
    /// parts of blocks.
    Reuse,
}

impl ExpectedFile {
    /// A file that was just written completely under this name.
    pub fn new(name: &str, size: u64) -> Self {
        Self { base: 1, highest: 1, ..Self::hole(name, size) }
    }

    /// Creates the state of a file without any written data.
    pub fn hole(name: &str, size: u64) -> Self {
        Self {
            size,
            before_append: size,
            file: file_id(name),
            base: 0,
            layers: Vec::new(),
            ragged: RoaringTreemap::new(),
            highest: 0,
            copied: None,
        }
    }

    /// A file that was just copied from elsewhere, with the checksums of its blocks ([`block_checksum`]).
    pub fn copied(name: &str, size: u64, sums: Arc<[u64]>) -> Self {
        Self { copied: Some(sums), ..Self::hole(name, size) }
    }

    /// Whether it was copied from elsewhere.
    pub const fn is_copied(&self) -> bool {
        self.copied.is_some()
    }

    /// Returns the generation that a phase should write: a new one, or the newest one if the file
    /// has many layers and the phase does not write `all` blocks.
    pub fn next_generation(&self, all: bool) -> u32 {
        match self.layers.last() {
            Some(newest) if !all && self.layers.len() >= MAX_LAYERS => newest.generation,
            _ => self.highest + 1,
        }
    }

    /// The origin that the block at an offset carries now.
    pub fn origin_at(&self, offset: u64) -> BlockIdentity {
        self.origin(self.generation_at(offset / BLOCK as u64))
    }

    const fn origin(&self, generation: u32) -> BlockIdentity {
        BlockIdentity { file: self.file, generation }
    }

    fn generation_at(&self, block: u64) -> u32 {
        let layer = self.layers.iter().find(|l| l.blocks.contains(block));
        layer.map_or(self.base, |l| l.generation)
    }

    /// Returns the origin to write into the block at an offset.
    #[inline]
    pub fn stamped(&self, stamping: GenerationPolicy, offset: u64) -> BlockIdentity {
        match stamping {
            GenerationPolicy::New(generation) => self.origin(generation),
            GenerationPolicy::Reuse => self.origin(self.origin_at(offset).generation.max(1)),
        }
    }

    /// Remembers that a range of bytes was written.
    pub fn written(&mut self, bytes: Range<u64>, stamping: GenerationPolicy) {
        if bytes.is_empty() {
            return;
        }
        let block = BLOCK as u64;
        let generation = match stamping {
            GenerationPolicy::New(generation) => generation,
            GenerationPolicy::Reuse if self.base > 0 && self.layers.is_empty() => return,
            GenerationPolicy::Reuse => 1,
        };
        self.highest = self.highest.max(generation);
        let whole_end = match bytes.end >= self.size {
            true => bytes.end.div_ceil(block),
            false => bytes.end / block,
        };
        let whole = bytes.start.div_ceil(block)..whole_end;
        let cut = [bytes.start / block, (bytes.end - 1) / block];
        for block in cut.into_iter().filter(|b| !whole.contains(b)) {
            if self.generation_at(block) == 0 || stamping != GenerationPolicy::Reuse {
                self.ragged.insert(block);
            }
        }
        if whole.is_empty() {
            return;
        }
        match stamping {
            GenerationPolicy::New(_) => self.mark(whole, generation),
            GenerationPolicy::Reuse => {
                for block in whole {
                    if self.generation_at(block) == 0 {
                        self.mark(block..block + 1, generation);
                    }
                }
            }
        }
    }

    /// Whole blocks are of a generation now.
    fn mark(&mut self, blocks: Range<u64>, generation: u32) {
        self.ragged.remove_range(blocks.clone());
        for layer in &mut self.layers {
            if layer.generation != generation {
                layer.blocks.remove_range(blocks.clone());
            }
        }
        if generation == self.base {
            return;
        }
        match self.layers.iter_mut().find(|l| l.generation == generation) {
            Some(layer) => {
                layer.blocks.insert_range(blocks);
            }
            None => {
                let mut set = RoaringTreemap::new();
                set.insert_range(blocks);
                self.layers.push(Layer { generation, blocks: set });
                self.layers.sort_by_key(|l| l.generation);
            }
        }
    }

    /// Ends a phase: drops the bitmaps that are empty or cover the whole file.
    pub fn compact(&mut self) {
        self.layers.retain(|l| !l.blocks.is_empty());
        let blocks = self.size.div_ceil(BLOCK as u64);
        let covering = |l: &&Layer| l.blocks.len() >= blocks;
        if let Some(generation) = self.layers.iter().find(covering).map(|l| l.generation) {
            self.base = generation;
            self.layers.clear();
        }
        if self.layers.is_empty() && self.ragged.is_empty() {
            self.highest = self.base;
        }
    }

    /// The file has another size now. What was added reads as zeros until it is written, or, in a file
    /// that has no holes, is taken as written.
    pub fn resize(&mut self, size: u64) {
        let blocks = size.div_ceil(BLOCK as u64)..u64::MAX;
        self.ragged.remove_range(blocks.clone());
        for layer in &mut self.layers {
            layer.blocks.remove_range(blocks.clone());
        }
        if self.is_copied() {
            // A checksum is of a whole block.
            let cut = [self.size, size].into_iter().filter(|end| end % BLOCK as u64 != 0);
            self.ragged.extend(cut.map(|end| end / BLOCK as u64));
        }
        self.size = size;
        self.compact();
    }

    /// A range of bytes reads as zeros now.
    pub fn zero_range(&mut self, bytes: &Range<u64>, pattern: &Pattern) {
        let within = |block: &Range<u64>| bytes.start <= block.start && block.end <= bytes.end;
        let apart = |block: &Range<u64>| block.end <= bytes.start || bytes.end <= block.start;
        let sum = |state: &Self, number: u64| {
            let block = state.block(number);
            match (within(&block), apart(&block)) {
                (true, _) => Some(block_checksum(&ZEROS[..(block.end - block.start) as usize])),
                (_, true) => state.sum_at(number, pattern),
                _ => None,
            }
        };
        *self = self.reshaped(self.size, sum);
    }

    /// Removes a range of bytes and moves up the bytes that follow it.
    pub fn collapse_range(&mut self, bytes: &Range<u64>, pattern: &Pattern) {
        let block = BLOCK as u64;
        let whole = [bytes.start, bytes.end].iter().all(|at| at.is_multiple_of(block));
        let sum = |state: &Self, number: u64| {
            let moved =
                (number >= bytes.start / block).then_some((bytes.end - bytes.start) / block);
            let before = number + moved.unwrap_or(0);
            whole.then(|| state.sum_at(before, pattern)).flatten()
        };
        *self = self.reshaped(self.size - (bytes.end - bytes.start), sum);
    }

    /// The bytes of a block.
    fn block(&self, number: u64) -> Range<u64> {
        let block = BLOCK as u64;
        number * block..((number + 1) * block).min(self.size)
    }

    /// Returns the current checksum of a block, if known.
    fn sum_at(&self, number: u64, pattern: &Pattern) -> Option<u64> {
        if self.ragged.contains(number) {
            return None;
        }
        if let Some(sums) = self.copied.as_ref().filter(|_| self.generation_at(number) == 0) {
            return sums.get(usize::try_from(number).ok()?).copied();
        }
        let block = self.block(number);
        let mut bytes = [0; BLOCK];
        let bytes = &mut bytes[..(block.end - block.start) as usize];
        pattern.fill_into(block.start, bytes, |offset| self.origin_at(offset));
        Some(block_checksum(bytes))
    }

    /// Copies the state with a new size and a checksum per block. Blocks without a checksum are not
    /// compared.
    fn reshaped(&self, size: u64, sum: impl Fn(&Self, u64) -> Option<u64>) -> Self {
        let mut ragged = RoaringTreemap::new();
        let sums = (0..size.div_ceil(BLOCK as u64)).map(|number| {
            sum(self, number).unwrap_or_else(|| {
                ragged.insert(number);
                0
            })
        });
        Self {
            copied: Some(sums.collect()),
            size,
            before_append: size,
            file: self.file,
            base: 0,
            layers: Vec::new(),
            ragged,
            highest: 0,
        }
    }

    /// Returns the generation of the file if all blocks have the same one.
    #[inline]
    fn uniform(&self) -> Option<u32> {
        (self.layers.is_empty() && self.ragged.is_empty()).then_some(self.base)
    }

    /// Compares read data with written data.
    ///
    /// # Errors
    /// Returns the first difference.
    #[inline]
    pub fn check(&self, pattern: &Pattern, offset: u64, data: &[u8]) -> Result<(), Corruption> {
        if let Some(sums) = &self.copied {
            return self.check_copied(sums, pattern, offset, data);
        }
        if let Some(generation) = self.uniform() {
            return pattern.check(self.origin(generation), offset, data);
        }
        for part in parts(offset, data.len()) {
            let found = &data[part.data.clone()];
            let block = part.block / BLOCK as u64;
            if self.ragged.contains(block) {
                let any: Vec<u32> = (self.base..=self.highest).collect();
                pattern.check_mixed(self.file, &any, &part, found)?;
            } else {
                pattern.check_part(self.origin_at(part.block), &part, found)?;
            }
        }
        Ok(())
    }

    /// Compares data read from a copy with the checksums of the source, or with data written later.
    /// A block that was partly written or partly read has no checksum.
    fn check_copied(
        &self,
        sums: &[u64],
        pattern: &Pattern,
        offset: u64,
        data: &[u8],
    ) -> Result<(), Corruption> {
        for part in parts(offset, data.len()) {
            let block = part.block / BLOCK as u64;
            let found = &data[part.data.clone()];
            let known = usize::try_from(block).ok().and_then(|b| sums.get(b));
            let whole = (self.size - part.block.min(self.size)).min(BLOCK as u64);
            match known {
                _ if self.ragged.contains(block) => {}
                Some(sum) if self.generation_at(block) == 0 => {
                    if found.len() as u64 == whole && block_checksum(found) != *sum {
                        return Err(Corruption {
                            offset: part.block,
                            kind: CorruptionKind::DiffersFromSource,
                        });
                    }
                }
                _ => pattern.check_part(self.origin_at(part.block), &part, found)?,
            }
        }
        Ok(())
    }

    /// Compares read data with written data while the same phase writes. A block may have its old
    /// or new generation, or a mixture of both while other threads write it.
    ///
    /// # Errors
    /// Returns the first difference.
    pub fn check_while_written(
        &self,
        pattern: &Pattern,
        offset: u64,
        data: &[u8],
        stamping: GenerationPolicy,
        at_once: bool,
    ) -> Result<(), Corruption> {
        if self.is_copied() {
            return Ok(());
        }
        for part in parts(offset, data.len()) {
            let found = &data[part.data.clone()];
            self.check_part_while_written(pattern, &part, found, stamping, at_once)?;
        }
        Ok(())
    }

    fn check_part_while_written(
        &self,
        pattern: &Pattern,
        part: &BlockPart,
        found: &[u8],
        stamping: GenerationPolicy,
        at_once: bool,
    ) -> Result<(), Corruption> {
        let before = self.origin_at(part.block);
        let after = self.stamped(stamping, part.block);
        let in_parts = at_once
            || stamping == GenerationPolicy::Reuse
            || self.ragged.contains(part.block / BLOCK as u64);
        if in_parts {
            let mut any: Vec<u32> = (self.base..=self.highest).collect();
            any.push(after.generation);
            return pattern.check_mixed(self.file, &any, part, found);
        }
        match pattern.check_part(before, part, found) {
            Ok(()) => Ok(()),
            Err(_) => pattern.check_part(after, part, found),
        }
    }
}

/// The checksum of a block that was copied.
pub fn block_checksum(block: &[u8]) -> u64 {
    XxHash64::oneshot(0, block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BLOCKS: u64 = 40;
    const SIZE: u64 = BLOCKS * BLOCK as u64 - 100;

    /// Renders the content of the file from a generation per byte.
    fn rendered(state: &ExpectedFile, generations: &[u32]) -> Vec<u8> {
        let pattern = Pattern::new(1, BLOCK);
        let mut data = vec![0; generations.len()];
        for (at, (byte, &generation)) in data.iter_mut().zip(generations).enumerate() {
            let part = parts(at as u64, 1).next().unwrap();
            let mut one = [0];
            pattern.fill_into(at as u64, &mut one, |_| state.origin(generation));
            assert_eq!(part.data, 0..1);
            *byte = one[0];
        }
        data
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_history_of_writes_can_be_checked_and_a_lost_one_is_found(
            sparse: bool,
            phases in proptest::collection::vec(
                (any::<bool>(), proptest::collection::vec((0..SIZE, 1u64..30_000), 1..5)), 1..8),
        ) {
            let mut state = if sparse { ExpectedFile::hole("f", SIZE) } else { ExpectedFile::new("f", SIZE) };
            let mut truth = vec![state.base; SIZE as usize];
            let mut before = truth.clone();
            for (keep, writes) in phases {
                before.clone_from(&truth);
                let stamping = match keep {
                    true => GenerationPolicy::Reuse,
                    false => GenerationPolicy::New(state.next_generation(false)),
                };
                let old = state.clone();
                for (start, length) in writes {
                    let end = (start + length).min(SIZE);
                    for at in start..end {
                        truth[at as usize] = old.stamped(stamping, at).generation;
                    }
                    state.written(start..end, stamping);
                }
                state.compact();
                prop_assert!(state.layers.len() <= MAX_LAYERS + 1);
            }
            let pattern = Pattern::new(1, BLOCK);
            let data = rendered(&state, &truth);
            prop_assert_eq!(state.check(&pattern, 0, &data), Ok(()));
            // Bytes are compared, not generations: only stamps differ from one to the next.
            let lost = rendered(&state, &before);
            let whole_block_lost = (0..BLOCKS - 1).find(|b| {
                let range = (b * BLOCK as u64) as usize..((b + 1) * BLOCK as u64) as usize;
                lost[range.clone()] != data[range] && !state.ragged.contains(*b)
            });
            if let Some(block) = whole_block_lost {
                let range = (block * BLOCK as u64) as usize..((block + 1) * BLOCK as u64) as usize;
                let mut data = data;
                data[range.clone()].copy_from_slice(&lost[range]);
                let found = state.check(&pattern, 0, &data).unwrap_err();
                prop_assert_eq!(found.offset, block * BLOCK as u64);
            }
        }
    }

    #[test]
    fn a_fully_rewritten_file_needs_no_bitmap() {
        let mut state = ExpectedFile::new("f", SIZE);
        for _ in 0..3 {
            let next = GenerationPolicy::New(state.next_generation(false));
            state.written(0..8192, next);
        }
        state.compact();
        assert_eq!(state.uniform(), None);
        let next = state.next_generation(true);
        state.written(0..SIZE, GenerationPolicy::New(next));
        state.compact();
        assert_eq!(state.uniform(), Some(next));
    }

    #[test]
    fn truncation_drops_the_removed_blocks() {
        let mut state = ExpectedFile::new("f", SIZE);
        let next = state.next_generation(false);
        state.written(SIZE - 8192..SIZE, GenerationPolicy::New(next));
        state.resize(4096);
        assert_eq!(state.uniform(), Some(1));
    }

    #[test]
    fn millions_of_random_writes_need_a_few_mebibytes() {
        let blocks = (100u64 << 30) / BLOCK as u64;
        let mut rng = model::SeededRng::new(1);
        let mut state = ExpectedFile::hole("f", 100 << 30);
        let next = GenerationPolicy::New(state.next_generation(false));
        for _ in 0..2_000_000 {
            let at = rng.below(blocks) * BLOCK as u64;
            state.written(at..at + BLOCK as u64, next);
        }
        let bytes: usize = state.layers.iter().map(|l| l.blocks.serialized_size()).sum();
        assert!(bytes < 5 << 20, "{bytes}");
    }
}
