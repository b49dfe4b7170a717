//! Names of files: unique without regard to case, and short enough for every filesystem of the
//! catalog.

use model::SeededRng;

const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Number of possible lengths of the random letters before or after the number: 0 to 12. With the
/// digits of the largest set, a name fits into the 30 bytes of an Amiga name.
const TAILS: u64 = 13;
/// Maximum number of letters in a name.
const MAX_LETTERS: usize = TAILS as usize - 1;

/// Minimum number of digits in a name.
const DIGITS: usize = 7;

/// Number of random letters of a set; each name uses some consecutive letters.
const POOL: usize = 1024;

/// Both digits of each number below 100.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// Names of a set: a function of seed, set, index and style, created one at a time.
///
/// All numbers of a set have the same number of digits and are at the same end, so names are unique
/// independent of their letters.
#[derive(Clone, Debug)]
pub struct NameGenerator {
    salt: u64,
    digits: usize,
    letters_first: bool,
    pool: Box<[u8]>,
}

impl NameGenerator {
    /// Creates the names of a set with `entries` entries, in the format of Bonnie++: sequential
    /// names start with the number, random names with letters.
    pub fn new(seed: u64, set: &str, entries: u64, letters_first: bool) -> Self {
        let largest = entries.saturating_sub(1).max(1);
        let mut rng = SeededRng::substream(seed, &format!("names-{set}"));
        Self {
            salt: rng.next_u64(),
            digits: DIGITS.max(largest.ilog10() as usize + 1),
            letters_first,
            pool: (0..POOL + MAX_LETTERS).map(|_| letter(&mut rng)).collect(),
        }
    }

    /// Appends the name of an entry after `renamed` renames. Each rename changes the number of
    /// letters, so the new name differs.
    #[inline]
    pub fn write(&self, index: u64, renamed: u64, into: &mut Vec<u8>) {
        let bits = SeededRng::new(self.salt ^ index.wrapping_mul(0xd6e8_feb8_6659_fd93)).next_u64();
        let count = (upper_below(bits, TAILS) + renamed % TAILS) % TAILS;
        let letters = &self.pool[bits as usize % POOL..];
        if self.letters_first {
            append_letters(letters, count as usize, into);
            write_digits(index, self.digits, into);
        } else {
            write_digits(index, self.digits, into);
            append_letters(letters, count as usize, into);
        }
    }
}

/// Appends the first `count` letters. Copies a fixed number and truncates, which is faster than a
/// copy of variable length.
#[inline]
fn append_letters(letters: &[u8], count: usize, into: &mut Vec<u8>) {
    let end = into.len() + count;
    into.extend_from_slice(&letters[..MAX_LETTERS]);
    into.truncate(end);
}

/// Scales the upper half of random bits to a number below a small bound. The bias is below 10⁻⁹.
const fn upper_below(bits: u64, bound: u64) -> u64 {
    ((bits >> 32) * bound) >> 32
}

fn letter(rng: &mut SeededRng) -> u8 {
    LETTERS[rng.below(LETTERS.len() as u64) as usize]
}

/// Appends a number with leading zeros, in `digits` decimal digits (at most 20).
#[inline]
pub fn write_digits(mut number: u64, digits: usize, into: &mut Vec<u8>) {
    // One extra digit, because digits are written in pairs from the end.
    let mut all = [b'0'; 21];
    let mut place = digits + 1;
    while place > 1 {
        place -= 2;
        all[place..place + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    let end = into.len() + digits;
    into.extend_from_slice(&all[1..]);
    into.truncate(end);
}

/// Creates a name for trees: the kind, the number and 2 to 10 random letters.
pub fn tree_name(kind: char, index: usize, rng: &mut SeededRng) -> String {
    let count = 2 + rng.below(9);
    let letters: String = (0..count).map(|_| letter(rng) as char).collect();
    format!("{kind}{index:05}{letters}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn name(names: &NameGenerator, index: u64, renamed: u64) -> Vec<u8> {
        let mut name = Vec::new();
        names.write(index, renamed, &mut name);
        name
    }

    proptest! {
        #[test]
        fn names_are_unique_short_and_plain(
            seed: u64, random: bool, renamed in 0u64..20, entries in 500u64..1 << 32,
        ) {
            let names = NameGenerator::new(seed, "set", entries, random);
            let indices = (0..250).chain(entries - 250..entries);
            let made: HashSet<Vec<u8>> = indices.map(|i| name(&names, i, renamed)).collect();
            prop_assert_eq!(made.len(), 500);
            for name in made {
                prop_assert!(name.len() <= 30);
                prop_assert!(name.iter().all(|b| LETTERS.contains(b)));
            }
        }

        #[test]
        fn a_name_is_made_again_and_a_new_one_is_another(seed: u64, index in 0u64..1 << 32, renamed in 0u64..40) {
            let names = NameGenerator::new(seed, "set", 1 << 32, false);
            let again = NameGenerator::new(seed, "set", 1 << 32, false);
            prop_assert_eq!(name(&names, index, renamed), name(&again, index, renamed));
            prop_assert_ne!(name(&names, index, renamed), name(&names, index, renamed + 1));
        }
    }

    #[test]
    fn numbers_are_first_in_order_and_last_at_random() {
        let front = name(&NameGenerator::new(1, "set", 100, false), 42, 0);
        assert_eq!(&front[..7], b"0000042");
        let behind = name(&NameGenerator::new(1, "set", 100, true), 42, 0);
        assert!(behind.ends_with(b"0000042"));
        let long = name(&NameGenerator::new(1, "set", 1 << 32, false), (1 << 32) - 1, 0);
        assert_eq!(&long[..10], b"4294967295");
    }

    #[test]
    fn sets_have_different_names() {
        let of = |set| {
            let names = NameGenerator::new(1, set, 100, false);
            (0..100).map(|i| name(&names, i, 0)).collect::<Vec<_>>()
        };
        assert_ne!(of("one"), of("other"));
    }
}
