//! Corruption of data on its way to a reader.

use super::faults::Faults;

/// Corrupts the selected bytes of an answer that begins at this offset of its file.
///
/// `read_before` is the number of bytes read since the mount, excluding this answer.
pub fn damage(faults: &Faults, read_before: u64, offset: u64, answer: &mut [u8]) {
    if faults.corrupt_after.is_some_and(|limit| read_before >= limit)
        && let Some(first) = answer.first_mut()
    {
        *first ^= 0xff;
    }
    let hit = faults
        .corrupt_byte_at
        .and_then(|at| at.checked_sub(offset))
        .and_then(|at| answer.get_mut(usize::try_from(at).ok()?));
    if let Some(byte) = hit {
        *byte ^= 0xff;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damaged(options: &str, read_before: u64, offset: u64) -> Vec<u8> {
        let mut answer = vec![0; 4];
        damage(&Faults::parse(options).unwrap(), read_before, offset, &mut answer);
        answer
    }

    #[test]
    fn one_byte_at_its_offset() {
        assert_eq!(damaged("corrupt-byte-at=10", 0, 8), [0, 0, 0xff, 0]);
        assert_eq!(damaged("corrupt-byte-at=10", 0, 11), [0; 4]);
        assert_eq!(damaged("corrupt-byte-at=10", 0, 4), [0; 4]);
    }

    #[test]
    fn everything_after_some_bytes() {
        assert_eq!(damaged("corrupt-after=100", 99, 0), [0; 4]);
        assert_eq!(damaged("corrupt-after=100", 100, 0), [0xff, 0, 0, 0]);
    }
}
