//! Content of a file of the fault driver: chunks in memory, with holes between them.

use std::collections::BTreeMap;

/// Bytes per chunk; also the allocation unit.
pub const CHUNK: u64 = 4096;

/// Content of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    size: u64,
    chunks: BTreeMap<u64, Vec<u8>>,
}

impl Content {
    /// Returns the size of the file.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the space that the chunks occupy, in bytes.
    pub fn space(&self) -> u64 {
        self.chunks.len() as u64 * CHUNK
    }

    /// Returns the additional bytes that a write would allocate.
    pub fn growth(&self, offset: u64, length: u64) -> u64 {
        let missing = |&index: &u64| !self.chunks.contains_key(&index);
        pieces(offset, length).map(|piece| piece.index).filter(missing).count() as u64 * CHUNK
    }

    /// Reads up to `length` bytes. Holes are zeros, and the read ends at the end of the file.
    pub fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let length = length.min(self.size.saturating_sub(offset));
        let mut bytes = Vec::with_capacity(index(length));
        for piece in pieces(offset, length) {
            match self.chunks.get(&piece.index) {
                Some(chunk) => bytes.extend_from_slice(&chunk[piece.within()]),
                None => bytes.resize(bytes.len() + piece.length, 0),
            }
        }
        bytes
    }

    /// Writes bytes and extends the file if needed.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let mut rest = data;
        for piece in pieces(offset, data.len() as u64) {
            let (now, later) = rest.split_at(piece.length);
            let chunk = self.chunks.entry(piece.index).or_insert_with(empty_chunk);
            chunk[piece.within()].copy_from_slice(now);
            rest = later;
        }
        self.size = self.size.max(offset + data.len() as u64);
    }

    /// Truncates the file, or extends it with a hole.
    pub fn resize(&mut self, size: u64) {
        self.chunks.retain(|&index, _| index * CHUNK < size);
        if let Some(last) = self.chunks.get_mut(&(size / CHUNK)) {
            last[index(size % CHUNK)..].fill(0);
        }
        self.size = size;
    }

    /// Returns the chunks with their indexes in the file.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = (u64, &[u8])> {
        self.chunks.iter().map(|(&i, chunk)| (i, chunk.as_slice()))
    }
}

/// The part of a request that falls into one chunk.
struct Piece {
    index: u64,
    start: usize,
    length: usize,
}

impl Piece {
    const fn within(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.length
    }
}

fn pieces(offset: u64, length: u64) -> impl Iterator<Item = Piece> {
    let end = offset + length;
    let mut at = offset;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let piece = Piece {
                index: at / CHUNK,
                start: index(at % CHUNK),
                length: index((CHUNK - at % CHUNK).min(end - at)),
            };
            at += piece.length as u64;
            piece
        })
    })
}

fn empty_chunk() -> Vec<u8> {
    vec![0; index(CHUNK)]
}

fn index(n: u64) -> usize {
    usize::try_from(n).expect("a request fits the address space")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_plain_buffer(
            writes in prop::collection::vec((0u64..20_000, 1usize..9_000, 1u8..), 1..8),
            cut in 0u64..30_000,
        ) {
            let mut content = Content::default();
            let mut plain = Vec::new();
            for (offset, length, byte) in writes {
                let taken = content.space();
                let growth = content.growth(offset, length as u64);
                content.write(offset, &vec![byte; length]);
                prop_assert_eq!(content.space(), taken + growth);
                let end = offset as usize + length;
                plain.resize(plain.len().max(end), 0);
                plain[offset as usize..end].fill(byte);
            }
            prop_assert_eq!(&content.read(0, u64::MAX), &plain);
            content.resize(cut);
            content.resize(30_000);
            plain.resize(cut as usize, 0);
            plain.resize(30_000, 0);
            prop_assert_eq!(content.read(0, u64::MAX), plain);
        }
    }
}
