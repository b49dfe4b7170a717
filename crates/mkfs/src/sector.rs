//! Builder for one on-disk record, field by field. Offsets are those of the format documents; the
//! name of each function gives the byte order.

/// Bytes of a record; what is not set is zero.
pub struct SectorBuilder {
    bytes: Vec<u8>,
}

impl SectorBuilder {
    /// Creates a record of `length` zero bytes.
    pub fn new(length: usize) -> Self {
        Self {
            bytes: vec![0; length],
        }
    }

    /// Bytes as they are.
    pub fn put(&mut self, offset: usize, bytes: &[u8]) -> &mut Self {
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// One byte.
    pub fn byte(&mut self, offset: usize, value: u8) -> &mut Self {
        self.put(offset, &[value])
    }

    /// 16 bits, little-endian.
    pub fn le16(&mut self, offset: usize, value: u16) -> &mut Self {
        self.put(offset, &value.to_le_bytes())
    }

    /// 32 bits, little-endian.
    pub fn le32(&mut self, offset: usize, value: u32) -> &mut Self {
        self.put(offset, &value.to_le_bytes())
    }

    /// 32 bits, big-endian; AFFS counts in such words.
    pub fn word(&mut self, index: usize, value: u32) -> &mut Self {
        self.put(index * 4, &value.to_be_bytes())
    }

    /// The sum of all big-endian words.
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
