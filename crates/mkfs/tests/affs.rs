//! Tests of empty AFFS volumes. The reader shares no code with the writer. It finds the root block
//! and the bitmaps like Linux (fs/affs/super.c, bitmap.c).

mod common;

use std::collections::BTreeSet;

use common::ImageDisk;
use mkfs::{Affs, AffsVariant, FormatError, FormattedVolume};
use model::Bytes;
use proptest::prelude::*;

/// 2026-03-14 15:09:26 UTC.
const CREATED: u64 = 1_773_500_966;
const BITS: u32 = 127 * 32;

fn volume(data: AffsVariant, international: bool) -> Affs {
    Affs { data, international, label: "Größe".into(), created: CREATED }
}

fn make(blocks: u64) -> (ImageDisk, FormattedVolume) {
    make_bytes(blocks * 512)
}

fn make_bytes(size: u64) -> (ImageDisk, FormattedVolume) {
    let mut disk = ImageDisk::new(size);
    let made = volume(AffsVariant::Ffs, false).write(Bytes(size), &mut disk);
    (disk, made.unwrap())
}

fn word(block: &[u8], index: u32) -> u32 {
    let at = index as usize * 4;
    u32::from_be_bytes(block[at..at + 4].try_into().unwrap())
}

fn sum(block: &[u8]) -> u32 {
    (0..128).fold(0, |sum: u32, i| sum.wrapping_add(word(block, i)))
}

/// Structures that a reader finds on a volume.
struct Found {
    root: u32,
    bitmaps: Vec<u32>,
    extensions: Vec<u32>,
    free: BTreeSet<(u32, u32)>,
}

/// Reads a volume and verifies all checksums and all fields that Linux verifies.
fn read(disk: &ImageDisk, blocks: u32) -> Found {
    let root = (2 + blocks - 1) / 2;
    let block = disk.read(root, 1);
    assert_eq!(sum(&block), 0, "checksum of the root block");
    assert_eq!((word(&block, 0), word(&block, 127)), (2, 1), "T_SHORT, ST_ROOT");
    assert_eq!(word(&block, 3), 128 - 56, "size of the hash table");
    assert!((6..78).all(|i| word(&block, i) == 0), "the root is empty");
    assert_eq!(word(&block, 78), u32::MAX, "the bitmaps are valid");
    let (bitmaps, extensions) = bitmaps(disk, &block, (blocks - 2).div_ceil(BITS));
    let free = free_runs(disk, &bitmaps);
    Found { root, bitmaps, extensions, free }
}

/// Returns the bitmap blocks, 25 from the root block and the others from the chain of extensions,
/// and the extension blocks.
fn bitmaps(disk: &ImageDisk, root: &[u8], count: u32) -> (Vec<u32>, Vec<u32>) {
    let mut bitmaps: Vec<u32> = (79..104).map(|i| word(root, i)).collect();
    let mut extensions = Vec::new();
    let mut next = word(root, 104);
    while bitmaps.len() < count as usize {
        assert_ne!(next, 0, "{} bitmaps of {count}", bitmaps.len());
        let extension = disk.read(next, 1);
        extensions.push(next);
        bitmaps.extend((0..127).map(|i| word(&extension, i)));
        next = word(&extension, 127);
    }
    assert_eq!(next, 0, "no extension too many");
    let rest = bitmaps.split_off(count as usize);
    assert!(rest.iter().all(|b| *b == 0), "no bitmap too many");
    (bitmaps, extensions)
}

/// Returns the runs of free blocks, as first block and length.
fn free_runs(disk: &ImageDisk, bitmaps: &[u32]) -> BTreeSet<(u32, u32)> {
    let mut runs = BTreeSet::new();
    let mut run: Option<(u32, u32)> = None;
    for (index, bitmap) in bitmaps.iter().enumerate() {
        let block = disk.read(*bitmap, 1);
        assert_eq!(sum(&block), 0, "checksum of bitmap {index}");
        for bit in 0..BITS {
            let number = 2 + index as u32 * BITS + bit;
            if word(&block, 1 + bit / 32) >> (bit % 32) & 1 == 0 {
                runs.extend(run.take());
            } else {
                let (first, length) = run.unwrap_or((number, 0));
                run = Some((first, length + 1));
            }
        }
    }
    runs.extend(run);
    runs
}

/// Checks that the free blocks are exactly the unused blocks.
fn check(disk: &ImageDisk, made: FormattedVolume, blocks: u32) {
    let found = read(disk, blocks);
    assert_eq!(made.blocks, u64::from(blocks));
    let mut used = BTreeSet::from([found.root]);
    for block in found.bitmaps.iter().chain(&found.extensions) {
        assert!((2..blocks).contains(block) && used.insert(*block), "{block}");
    }
    let free: u64 = found.free.iter().map(|(_, length)| u64::from(*length)).sum();
    assert_eq!(free, made.free);
    assert_eq!(free + used.len() as u64 + 2, u64::from(blocks));
    for (first, length) in &found.free {
        assert!(first + length <= blocks, "free beyond the end");
        assert_eq!(used.range(first..&(first + length)).next(), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bitmaps_and_checksums_are_right_at_any_size(blocks in prop_oneof![
        128u64..10_000,
        10_000u64..200_000,
        200_000u64..16_777_216,
    ]) {
        let (disk, made) = make(blocks);
        check(&disk, made, blocks as u32);
    }

    #[test]
    fn bitmaps_are_right_at_sizes_that_change_the_bitmap_count(
        bitmaps in prop::sample::select(vec![1u64, 2, 25, 26, 25 + 127, 25 + 128, 25 + 254]),
        blocks in 0u64..70,
    ) {
        let blocks = 2 + bitmaps * u64::from(BITS) - 35 + blocks;
        let (disk, made) = make(blocks);
        check(&disk, made, blocks as u32);
    }

    #[test]
    fn ignores_a_partial_block_at_the_end(rest in 0u64..512) {
        let (disk, made) = make_bytes(1760 * 512 + rest);
        check(&disk, made, 1760);
    }
}

#[test]
fn floppy_layout_matches_amigados() {
    let (disk, made) = make(1760);
    let found = read(&disk, 1760);
    assert_eq!((found.root, &found.bitmaps[..]), (880, &[881][..]));
    assert_eq!(made.free, 1756, "as AmigaDOS counts a fresh floppy of 880 KiB");
    assert_eq!(found.free, [(2, 878), (882, 878)].into());
}

#[test]
fn boot_block_contains_the_form() {
    let forms = [
        (AffsVariant::Ofs, false, 0),
        (AffsVariant::Ffs, false, 1),
        (AffsVariant::Ofs, true, 2),
        (AffsVariant::Ffs, true, 3),
    ];
    for (data, international, form) in forms {
        let mut disk = ImageDisk::new(880 << 10);
        volume(data, international).write(Bytes(880 << 10), &mut disk).unwrap();
        let boot = disk.read(0, 2);
        assert_eq!(boot[..4], [b'D', b'O', b'S', form]);
        assert!(boot[4..].iter().all(|b| *b == 0));
    }
}

#[test]
fn the_root_block_holds_the_label_and_the_date() {
    let (disk, _) = make(1760);
    let root = disk.read(880, 1);
    assert_eq!(root[432..438], *b"\x05Gr\xf6\xdfe");
    let days = (CREATED / 86_400 - 2922) as u32;
    for place in [105, 118, 121] {
        let date = [0, 1, 2].map(|i| word(&root, place + i));
        assert_eq!(date, [days, 15 * 60 + 9, 26 * 50]);
    }
}

#[test]
fn clears_old_contents_at_both_ends() {
    let (disk, _) = make(8192);
    for (from, to) in [(2, 2048), (8192 - 2048, 8192)] {
        assert!(disk.read(from, to - from).iter().all(|b| *b == 0));
    }
}

#[test]
fn the_same_volume_is_the_same_bytes() {
    assert!(make(40_000).0.is_same(&make(40_000).0));
}

#[test]
fn sizes_and_labels_that_cannot_be_are_refused() {
    let write = |label: &str, size| {
        let mut volume = volume(AffsVariant::Ofs, false);
        volume.label = label.into();
        volume.write(Bytes(size), &mut ImageDisk::new(size))
    };
    let fits = Bytes::mib(1).0;
    assert!(write(&"x".repeat(30), fits).is_ok());
    for label in ["", "a:b", "a/b", "a\nb", "ŧ", &"x".repeat(31)] {
        assert!(matches!(write(label, fits), Err(FormatError::Label { .. })), "{label}");
    }
    assert!(matches!(write("x", 65_535), Err(FormatError::TooSmall { .. })));
    assert!(matches!(write("x", 1 << 40), Err(FormatError::TooLarge { .. })));
}
