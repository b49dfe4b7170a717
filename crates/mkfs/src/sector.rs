//! Builder for one on-disk record, field by field. Offsets are those of the format documents; the
//! name of each function gives the byte order.

/// Builder for the bytes of an on-disk structure. Unset bytes are zero.
pub struct SectorBuilder {
    bytes: Vec<u8>,
}

impl SectorBuilder {
    /// Creates a record of `length` zero bytes.
    pub fn new(length: usize) -> Self {
        Self { bytes: vec![0; length] }
    }

    /// Copies bytes to an offset.
    pub fn put(&mut self, offset: usize, bytes: &[u8]) -> &mut Self {
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// One byte.
    pub fn byte(&mut self, offset: usize, value: u8) -> &mut Self {
        self.put(offset, &[value])
    }

    /// Writes a 16-bit integer, little-endian.
    pub fn le16(&mut self, offset: usize, value: u16) -> &mut Self {
        self.put(offset, &value.to_le_bytes())
    }

    /// Writes a 32-bit integer, little-endian.
    pub fn le32(&mut self, offset: usize, value: u32) -> &mut Self {
        self.put(offset, &value.to_le_bytes())
    }

    /// Writes a 32-bit integer, big-endian, to a word index as used by AFFS.
    pub fn word(&mut self, index: usize, value: u32) -> &mut Self {
        self.put(index * 4, &value.to_be_bytes())
    }

    /// Returns the sum of all big-endian words.
    pub fn sum(&self) -> u32 {
        self.bytes
            .chunks_exact(4)
            .map(|w| u32::from_be_bytes([w[0], w[1], w[2], w[3]]))
            .fold(0, u32::wrapping_add)
    }

    /// The record.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
