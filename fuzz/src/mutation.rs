//! Mutates an input without a fuzzer. There are few kinds of mutations, equal in every run.

use model::SeededRng;

/// Words that often break parsers.
const WORDS: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"18446744073709551615",
    b"9223372036854775808",
    b"1e308",
    b"null",
    b"\"\"",
    b"{}",
    b"\x00",
    b"\xff",
    "\u{202e}".as_bytes(),
    b"\n",
];

/// Returns a mutation of the input of at most `longest` bytes.
pub fn mutated(input: &[u8], longest: usize, chance: &mut SeededRng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=chance.below(4) {
        mutate(&mut bytes, chance);
    }
    bytes.truncate(longest);
    bytes
}

fn mutate(bytes: &mut Vec<u8>, chance: &mut SeededRng) {
    let from = below(bytes.len() + 1, chance);
    let to = from + below((bytes.len() - from).min(16) + 1, chance);
    match chance.below(6) {
        0 => {
            bytes.drain(from..to);
        }
        1 => {
            let piece = bytes[from..to].to_vec();
            let place = below(bytes.len() + 1, chance);
            bytes.splice(place..place, piece);
        }
        2 => {
            let word = WORDS[below(WORDS.len(), chance)];
            bytes.splice(from..to, word.iter().copied());
        }
        3 => number(bytes, from, chance),
        4 => bytes.truncate(from.max(1)),
        _ => {
            if let Some(byte) = bytes.get_mut(from) {
                *byte ^= 1 << chance.below(8);
            }
        }
    }
}

/// Replaces the next number by a word.
fn number(bytes: &mut Vec<u8>, from: usize, chance: &mut SeededRng) {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let Some(begin) = bytes[from..].iter().position(is_digit) else {
        return;
    };
    let begin = from + begin;
    let rest = bytes[begin..].iter();
    let end = begin + rest.take_while(|byte| is_digit(byte)).count();
    let word = WORDS[below(WORDS.len(), chance)];
    bytes.splice(begin..end, word.iter().copied());
}

fn below(end: usize, chance: &mut SeededRng) -> usize {
    chance.below(end as u64) as usize
}
