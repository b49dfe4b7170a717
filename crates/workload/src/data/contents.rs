//! Contents of a stated kind: the bytes between the stamps of a pattern.

use model::{DataKind, SeededRng};

/// Number of different words of a text.
const WORDS: usize = 4096;
/// Columns of a line of text.
const COLUMNS: usize = 72;
/// Length of a page of a database, its header and the header of a row, as in PostgreSQL.
const PAGE: usize = 8192;
const PAGE_HEADER: usize = 24;
const ROW_HEADER: usize = 24;
/// Length of a row of a database.
const ROW: usize = 128;

/// Fills a buffer with content. docs/methodology.md states how much it compresses.
pub fn generate(kind: DataKind, rng: &mut SeededRng, data: &mut [u8]) {
    match kind {
        DataKind::Random => random(rng, data),
        DataKind::Text => text(rng, data),
        DataKind::Database => database(rng, data),
        DataKind::Photos => photos(rng, data),
        DataKind::Zero => data.fill(0),
    }
}

fn random(rng: &mut SeededRng, data: &mut [u8]) {
    for word in data.chunks_mut(8) {
        word.copy_from_slice(&rng.next_u64().to_le_bytes()[..word.len()]);
    }
}

/// Entropy-coded data of JPEG has a zero after each byte of ones (ITU-T T.81, F.1.2.3).
fn photos(rng: &mut SeededRng, data: &mut [u8]) {
    random(rng, data);
    for place in 1..data.len() {
        if data[place - 1] == 0xff {
            data[place] = 0;
        }
    }
}

/// Words whose frequency is the reciprocal of their rank (Zipf's law), in lines.
fn text(rng: &mut SeededRng, data: &mut [u8]) {
    let words: Vec<String> = (0..WORDS).map(|_| word(rng)).collect();
    let mut column = 0;
    let mut rest = data;
    while !rest.is_empty() {
        let mut next = words[rank(rng, WORDS)].clone();
        if rng.below(12) == 0 {
            next.push(if rng.below(2) == 0 { ',' } else { '.' });
        }
        column += next.len() + 1;
        next.push(if column > COLUMNS { '\n' } else { ' ' });
        if column > COLUMNS {
            column = 0;
        }
        let length = next.len().min(rest.len());
        let (now, later) = rest.split_at_mut(length);
        now.copy_from_slice(&next.as_bytes()[..length]);
        rest = later;
    }
}

/// Returns a rank below `count` with a probability that is the reciprocal of its successor.
fn rank(rng: &mut SeededRng, count: usize) -> usize {
    let share = rng.below(1 << 32) as f64 / (1_u64 << 32) as f64;
    ((count as f64).powf(share) as usize - 1).min(count - 1)
}

/// Returns a pronounceable word of two to eleven letters.
fn word(rng: &mut SeededRng) -> String {
    const CONSONANTS: [char; 16] =
        ['t', 'n', 's', 'h', 'r', 'd', 'l', 'c', 'm', 'w', 'f', 'g', 'p', 'b', 'v', 'k'];
    const VOWELS: [char; 5] = ['e', 'a', 'o', 'i', 'u'];
    let mut word = String::new();
    for _ in 0..=rng.below(4) {
        word.push(CONSONANTS[rank(rng, CONSONANTS.len())]);
        word.push(VOWELS[rank(rng, VOWELS.len())]);
        if rng.below(3) == 0 {
            word.push(CONSONANTS[rank(rng, CONSONANTS.len())]);
        }
    }
    word
}

/// Pages with a header, and rows with a header, a number in order, random numbers, a time, an amount,
/// a state and a name.
fn database(rng: &mut SeededRng, data: &mut [u8]) {
    let names: Vec<String> = (0..WORDS).map(|_| word(rng)).collect();
    let mut time = 1_700_000_000_000_000_u64;
    let mut number = 1_u64;
    for (index, page) in data.chunks_mut(PAGE).enumerate() {
        page.fill(0);
        let mut header = [0; PAGE_HEADER];
        header[..8].copy_from_slice(&(0x1600_0000 + 8192 * index as u64).to_le_bytes());
        let length = PAGE_HEADER.min(page.len());
        page[..length].copy_from_slice(&header[..length]);
        for row in page.get_mut(PAGE_HEADER..).unwrap_or_default().chunks_exact_mut(ROW) {
            time += rng.below(5_000_000);
            let fields = &mut row[ROW_HEADER..];
            fields[..8].copy_from_slice(&number.to_le_bytes());
            fields[8..16].copy_from_slice(&rng.next_u64().to_le_bytes());
            fields[16..24].copy_from_slice(&time.to_le_bytes());
            fields[24..28].copy_from_slice(&(100 * rng.below(10_000) as u32).to_le_bytes());
            fields[28] = rng.below(5) as u8;
            fields[32..48].copy_from_slice(&random_id(rng));
            let name = format!("{} {}", names[rank(rng, WORDS)], names[rank(rng, WORDS)]);
            let name = &name.as_bytes()[..name.len().min(fields.len() - 52)];
            fields[51] = name.len() as u8;
            fields[52..52 + name.len()].copy_from_slice(name);
            // Transaction, column count, flags and offset of the data.
            row[..4].copy_from_slice(&(741 + number as u32 / 10).to_le_bytes());
            row[18..ROW_HEADER].copy_from_slice(&[8, 0, 2, 9, 24, 0]);
            number += 1;
        }
    }
}

/// Returns a random identifier, as tables of programs have them.
fn random_id(rng: &mut SeededRng) -> [u8; 16] {
    let mut id = [0; 16];
    random(rng, &mut id);
    id
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::data::pattern::{BLOCK, BlockIdentity, Pattern};

    const METHODOLOGY: &str = include_str!("../../../../docs/methodology.md");

    /// Returns 4 MiB of a file, as tests write it.
    fn file(kind: DataKind) -> Vec<u8> {
        let mut pattern = Pattern::of_kind(kind, 7, 1 << 20);
        let origin = BlockIdentity { file: 3, generation: 1 };
        (0..4).flat_map(|mib| pattern.fill(origin, mib << 20, 1 << 20).to_vec()).collect()
    }

    #[test]
    fn each_kind_compresses_as_stated_and_no_block_repeats() {
        for kind in DataKind::ALL {
            let file = file(kind);
            // Filesystems compress at most 128 KiB at once.
            let parts = file.chunks(128 << 10);
            let compressed = parts.map(|part| zstd::bulk::compress(part, 1).unwrap().len());
            let ratio = file.len() as f64 / compressed.sum::<usize>() as f64;
            let row = METHODOLOGY.lines().find(|row| row.starts_with(&format!("| `{kind}` |")));
            let last = row.unwrap().trim_end_matches('|').rsplit('|').next().unwrap();
            let stated: f64 = last.trim().parse().unwrap();
            assert!((ratio / stated - 1.0).abs() < 0.05, "{kind}: {ratio}, stated {stated}");
            let blocks: BTreeSet<&[u8]> = file.chunks(BLOCK).collect();
            assert_eq!(blocks.len(), file.len() / BLOCK, "{kind}");
        }
    }

    #[test]
    fn any_length_is_filled_and_a_seed_gives_the_same_content() {
        for kind in DataKind::ALL {
            for length in [0, 1, 7, 23, 24, 200, 8192, 10_001] {
                let [one, other] = [0, 0xaa].map(|byte| {
                    let mut data = vec![byte; length];
                    generate(kind, &mut SeededRng::substream(1, "x"), &mut data);
                    data
                });
                assert_eq!(one, other, "{kind}, {length} bytes");
            }
        }
    }
}
