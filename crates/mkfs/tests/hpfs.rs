//! Tests of empty HPFS volumes. The reader shares no code with the writer and performs the checks
//! of the Linux driver with `check=strict` (fs/hpfs/super.c, map.c, alloc.c). It also checks that
//! no sector is lost or used twice.

mod common;

use common::ImageDisk;
use mkfs::{FormatError, FormattedVolume, Hpfs};
use model::Bytes;
use proptest::prelude::*;

/// 2026-03-14 15:09:26 UTC.
const CREATED: u64 = 1_773_500_966;
const BAND: u32 = 0x4000;

fn make(size: u64) -> (ImageDisk, FormattedVolume) {
    let mut disk = ImageDisk::new(size);
    let volume = Hpfs { label: "fsarena".into(), serial: 0x1234_5678, created: CREATED };
    let made = volume.write(Bytes(size), &mut disk).unwrap();
    (disk, made)
}

fn le16(bytes: &[u8], at: usize) -> u32 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()).into()
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn sum(bytes: &[u8]) -> u32 {
    let mut sum: u32 = 0;
    for byte in bytes {
        sum = sum.wrapping_add((*byte).into());
        sum = sum.rotate_left(7);
    }
    sum
}

/// A volume as a driver sees it.
struct HpfsVolume<'a> {
    disk: &'a ImageDisk,
    superblock: Vec<u8>,
    spare: Vec<u8>,
    /// A bit for each sector, set if the sector is free.
    free: Vec<u8>,
}

impl<'a> HpfsVolume<'a> {
    fn open(disk: &'a ImageDisk) -> Self {
        let superblock = disk.read(16, 1);
        let spare = disk.read(17, 1);
        assert_eq!(le32(&superblock, 0), 0xf995_e849);
        assert_eq!(le32(&superblock, 4), 0xfa53_e9c5);
        assert_eq!(le32(&spare, 0), 0xf991_1849);
        assert_eq!(le32(&spare, 4), 0xfa52_29c5);
        assert_eq!(superblock[8], 2, "version");
        assert!([2, 3].contains(&superblock[9]), "functional version");
        let mut volume = Self { disk, superblock, spare, free: Vec::new() };
        volume.free =
            (0..volume.bands()).flat_map(|band| disk.read(volume.bitmap(band), 4)).collect();
        volume
    }

    fn sectors(&self) -> u32 {
        le32(&self.superblock, 16)
    }

    fn bands(&self) -> u32 {
        self.sectors().div_ceil(BAND)
    }

    /// Returns the bitmap location of a band. Like Linux, reads only as many sectors of the list as
    /// the bands need.
    fn bitmap(&self, band: u32) -> u32 {
        let list = self.disk.read(le32(&self.superblock, 24) + band / 128, 1);
        let sector = le32(&list, band as usize % 128 * 4);
        assert!(sector != 0 && sector <= self.sectors() - 4, "bitmap of {band}");
        assert_eq!(sector % 4, 0, "only aligned records are read in fours");
        sector
    }

    fn is_free(&self, sector: u32) -> bool {
        self.free[sector as usize / 8] >> (sector % 8) & 1 == 1
    }

    fn free_sectors(&self) -> u64 {
        self.free.iter().map(|b| u64::from(b.count_ones())).sum()
    }

    /// Returns every structure that a driver can reach, as first sector and number of sectors.
    fn records(&self) -> Vec<(u32, u32)> {
        let (sup, spare) = (&self.superblock, &self.spare);
        let list_length = self.bands().div_ceil(512) * 4;
        let band = (le32(sup, 52), le32(sup, 48));
        let mut records = vec![
            (0, 20),
            (le32(sup, 24), list_length),
            (le32(sup, 32), 4),
            band,
            (le32(sup, 60), 4),
            (le32(sup, 96), 8),
            (le32(sup, 12), 1),
            (le32(spare, 12), 4),
            (le32(spare, 32), 1),
        ];
        records.extend((0..self.bands()).map(|b| (self.bitmap(b), 4)));
        let code_pages = self.disk.read(le32(spare, 32), 1);
        records.push((le32(&code_pages, 24), 1));
        let spares = le32(spare, 28) as usize;
        records.extend((0..spares).map(|i| (le32(spare, 108 + 4 * i), 4)));
        let hotfixes = le32(spare, 20) as usize;
        let map = self.disk.read(le32(spare, 12), 4);
        records.extend((hotfixes..2 * hotfixes).map(|i| (le32(&map, 4 * i), 1)));
        records.sort_unstable();
        records
    }
}

/// Checks that the bitmaps mark exactly the sectors of records as used, and that records do not
/// overlap.
fn check_allocation(volume: &HpfsVolume<'_>, made: FormattedVolume) {
    let mut used = 0;
    let mut end = 0;
    for (first, length) in volume.records() {
        assert!(first >= end, "{first:#x} belongs to two records");
        end = first + length;
        assert!(end <= volume.sectors());
        assert!((first..end).all(|s| !volume.is_free(s)), "{first:#x} is marked free");
        used += u64::from(length);
    }
    let mut beyond = volume.sectors()..volume.bands() * BAND;
    assert!(beyond.all(|s| !volume.is_free(s)), "free beyond the end");
    assert_eq!(volume.free_sectors(), made.free);
    assert_eq!(made.free + used, u64::from(volume.sectors()));
    assert_eq!(made.blocks, u64::from(volume.sectors()));
}

fn check_directory_band(volume: &HpfsVolume<'_>) {
    let sup = &volume.superblock;
    let (length, first, last) = (le32(sup, 48), le32(sup, 52), le32(sup, 56));
    assert!(last >= first && last - first + 1 == length && length <= 0x4000);
    assert_eq!((first % 4, length % 4), (0, 0));
    let bits = volume.disk.read(le32(sup, 60), 4);
    let free: Vec<u32> = (0..BAND).filter(|n| bits[*n as usize / 8] >> (n % 8) & 1 == 1).collect();
    let expected: Vec<u32> = (1..length / 4).collect();
    assert_eq!(free, expected, "all but the node of the root directory");
}

/// Performs the checks of `hpfs_load_code_page`.
fn check_code_page(volume: &HpfsVolume<'_>) {
    let spare = &volume.spare;
    assert_eq!(le32(spare, 36), 1);
    let directory = volume.disk.read(le32(spare, 32), 1);
    assert_eq!((le32(&directory, 0), le32(&directory, 4)), (0x4945_21f7, 1));
    let data = volume.disk.read(le32(&directory, 24), 1);
    assert_eq!((le32(&data, 0), le16(&data, 4)), (0x8945_21f7, 1));
    let index = le16(&directory, 28) as usize;
    assert!(index < 3);
    let offset = le16(&data, 20 + 2 * index) as usize;
    assert!(offset <= 0x178);
    let sum = sum(&data[offset..offset + 136]);
    assert_eq!((le32(&directory, 20), le32(&data, 8)), (sum, sum));
    let capitals = &data[offset + 6..offset + 6 + 128];
    assert!(capitals.iter().all(|c| *c >= 128), "no letter leaves the upper half");
}

/// Performs the checks of `hpfs_map_fnode`, and those of the entries in `hpfs_map_dnode`.
fn check_root(volume: &HpfsVolume<'_>) {
    let root = le32(&volume.superblock, 12);
    let fnode = volume.disk.read(root, 1);
    assert_eq!(le32(&fnode, 0), 0xf7e4_0aae);
    assert_eq!(le32(&fnode, 28), root, "the root is its own parent");
    assert_eq!(fnode[55] & 1, 1, "it is a directory");
    assert_eq!(fnode[60] + fnode[61], 8, "extents");
    assert_eq!(le16(&fnode, 62), 8 + 12 * u32::from(fnode[61]));
    assert_eq!((le16(&fnode, 52), le16(&fnode, 184)), (0, 0xc4), "no attributes");
    let number = le32(&fnode, 72);
    let node = volume.disk.read(number, 4);
    assert_eq!((le32(&node, 0), number % 4), (0x77e4_0aae, 0));
    assert_eq!((le32(&node, 12), le32(&node, 16)), (root, number));
    assert_eq!(node[8] & 1, 1, "the root of its tree");
    let names = names(&node);
    assert_eq!(names, [(1, vec![1, 1]), (8, vec![255])]);
    let itself = &node[20..];
    assert_eq!((itself[3], le32(itself, 4)), (0x10, root));
    for date in [8, 16, 20] {
        assert_eq!(u64::from(le32(itself, date)), CREATED);
    }
}

/// Returns flags and names of the entries, and checks that their lengths are those that Linux
/// computes.
fn names(node: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let end = le32(node, 4) as usize;
    let mut names = Vec::new();
    let mut at = 20;
    while at < end {
        let (length, name) = (le16(node, at) as usize, usize::from(node[at + 30]));
        assert_eq!(length, (31 + name + 3) & !3, "no entry points down");
        assert!((32..=292).contains(&length) && at + length <= 2048);
        names.push((node[at + 2], node[at + 31..at + 31 + name].to_vec()));
        at += length;
    }
    assert_eq!(at, end);
    names
}

fn check(disk: &ImageDisk, made: FormattedVolume) {
    let volume = HpfsVolume::open(disk);
    check_allocation(&volume, made);
    check_directory_band(&volume);
    check_code_page(&volume);
    check_root(&volume);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn passes_strict_driver_checks_at_any_size(size in prop_oneof![
        512u64 << 10..3 << 20,
        3u64 << 20..64 << 20,
        64u64 << 20..8 << 30,
    ]) {
        let (disk, made) = make(size);
        check(&disk, made);
        prop_assert!(made.blocks * 512 <= size && size < (made.blocks + 4) * 512);
    }

    #[test]
    fn a_last_band_of_any_length_has_its_bitmap(bands in 1u64..40, sectors in 0u64..20) {
        let sectors = bands * u64::from(BAND) - 10 + sectors;
        let (disk, made) = make(sectors * 512);
        check(&disk, made);
    }
}

#[test]
fn volumes_beyond_4_gib_ask_for_a_driver_of_version_3() {
    for (size, version) in [(4u64 << 30, 2), ((4u64 << 30) + 2048, 3)] {
        let (disk, made) = make(size);
        check(&disk, made);
        assert_eq!(disk.read(16, 1)[9], version, "{size}");
    }
}

#[test]
fn directory_band_is_in_the_middle() {
    let (disk, _) = make(1 << 30);
    let volume = HpfsVolume::open(&disk);
    let (first, length) = (le32(&volume.superblock, 52), le32(&volume.superblock, 48));
    assert_eq!(length, 0x4000, "a hundredth, or 8 MiB");
    let middle = volume.sectors() / 2;
    assert!((middle..middle + 16).contains(&first), "{first:#x}");
}

#[test]
fn the_boot_block_is_that_of_an_hpfs_volume() {
    let (disk, made) = make(100 << 20);
    let boot = disk.read(0, 1);
    assert_eq!((boot[38], &boot[54..62]), (0x28, &b"HPFS    "[..]));
    assert_eq!(&boot[43..54], b"FSARENA    ");
    assert_eq!(le32(&boot, 39), 0x1234_5678);
    assert_eq!(u64::from(le32(&boot, 32)), made.blocks);
    assert_eq!(boot[510..], [0x55, 0xaa]);
    assert!(disk.read(1, 15).iter().all(|b| *b == 0));
}

#[test]
fn spare_block_is_clean_and_unused() {
    let (disk, _) = make(100 << 20);
    let spare = disk.read(17, 1);
    assert_eq!(spare[8] & 1, 0, "dirty");
    assert_eq!(le32(&spare, 16), 0, "hotfixes in use");
    assert_eq!((le32(&spare, 24), le32(&spare, 28)), (20, 20), "spare nodes");
    // The checksum of the spare block is computed with its own field zero.
    let mut bare = spare.clone();
    bare[44..48].fill(0);
    let sums = (le32(&spare, 40), le32(&spare, 44));
    assert_eq!(sums, (sum(&disk.read(16, 1)), sum(&bare)));
    let bad = disk.read(le32(&disk.read(16, 1), 32), 4);
    assert!(bad.iter().all(|b| *b == 0), "no bad sector");
}

#[test]
fn the_same_volume_is_the_same_bytes() {
    assert!(make(50 << 20).0.is_same(&make(50 << 20).0));
}

#[test]
fn sizes_and_labels_that_cannot_be_are_refused() {
    let write = |label: &str, size| {
        let volume = Hpfs { label: label.into(), serial: 0, created: 0 };
        volume.write(Bytes(size), &mut ImageDisk::new(size))
    };
    let fits = Bytes::mib(1).0;
    assert!(write("elevenchars", fits).is_ok());
    for label in ["", "a*b", "ü", "a\tb", "twelve chars"] {
        assert!(matches!(write(label, fits), Err(FormatError::Label { .. })), "{label}");
    }
    assert!(matches!(write("x", (512 << 10) - 1), Err(FormatError::TooSmall { .. })));
    assert!(matches!(write("x", 1 << 40), Err(FormatError::TooLarge { .. })));
}
