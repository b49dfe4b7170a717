//! Names of files: unique whatever the case, short enough for every filesystem of the catalog.

use model::SeededRng;

const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Random letters in front of or behind the number, at most; with seven digits this stays within
/// the 30 bytes of an Amiga name.
const LONGEST_TAIL: u64 = 12;

fn letters(rng: &mut SeededRng, count: u64) -> String {
    (0..count)
        .map(|_| LETTERS[rng.below(LETTERS.len() as u64) as usize] as char)
        .collect()
}

/// The name of the `index`-th file as Bonnie++ forms it: in order the number comes first, at random
/// some letters do.
pub fn file_name(index: u64, random: bool, rng: &mut SeededRng) -> String {
    let count = rng.below(LONGEST_TAIL + 1);
    let letters = letters(rng, count);
    if random {
        format!("{letters}{index:07}")
    } else {
        format!("{index:07}{letters}")
    }
}

/// A name of so many letters that begins with its number, for trees.
pub fn tree_name(kind: char, index: usize, rng: &mut SeededRng) -> String {
    let count = 2 + rng.below(9);
    format!("{kind}{index:05}{}", letters(rng, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn names_are_unique_short_and_plain(seed: u64, random: bool) {
            let mut rng = SeededRng::new(seed);
            let names: HashSet<String> = (0..500).map(|i| file_name(i, random, &mut rng)).collect();
            prop_assert_eq!(names.len(), 500);
            for name in names {
                prop_assert!(name.len() <= 30);
                prop_assert!(name.bytes().all(|b| LETTERS.contains(&b)));
            }
        }
    }
}
