//! Locates the journal of a filesystem on a newly created volume.
//!
//! Formats, all of fixed layout:
//! * ext3, ext4: Documentation/filesystems/ext4/{super,inodes,ifork}.rst of Linux. The superblock
//!   has a copy of the block list in the journal's inode (`s_jnl_blocks`), as an extent tree or as
//!   the block map of ext2.
//! * XFS: `fs/xfs/libxfs/xfs_format.h` (`xfs_dsb`), and chapter "Superblocks" of the XFS Algorithms
//!   & Data Structures.
//! * JFS: `fs/jfs/jfs_superblock.h` (`s_logpxd`).
//! * ReiserFS: `fs/reiserfs/reiserfs.h` of Linux 6.1 (`struct journal_params`).
//!
//! Other filesystems are not supported: they have no journal (FAT, ext2), the location of the
//! journal is not fixed (btrfs, F2FS, NILFS2, ZFS), or the journal is a file (NTFS, GFS2, OCFS2).

use std::io::{self, Read, Seek, SeekFrom};

use model::Bytes;

/// A contiguous range of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeExtent {
    /// Start of the extent.
    pub offset: Bytes,
    /// Length of the extent.
    pub length: Bytes,
}

/// Maximum number of extents of a journal. A volume with more extents is damaged.
const MAX_JOURNAL_PLACE_SIZE: usize = 4096;

/// Returns the extents of the filesystem's journal, in the order of its blocks. Returns `None` if
/// the location is unknown.
///
/// # Errors
/// Returns an error if the volume cannot be read.
pub fn find_journal(volume: &mut (impl Read + Seek)) -> io::Result<Option<Vec<VolumeExtent>>> {
    let mut place = ext4(volume)?;
    for look in [xfs, jfs, reiserfs] {
        if place.is_none() {
            place = look(volume)?;
        }
    }
    Ok(place.filter(|extents| !extents.is_empty()))
}

/// Reads bytes of a volume. Returns `None` if the volume ends too early.
fn at(volume: &mut (impl Read + Seek), offset: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
    volume.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0; length];
    match volume.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn le16(bytes: &[u8], at: usize) -> u64 {
    u64::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

fn le32(bytes: &[u8], at: usize) -> u64 {
    le16(bytes, at) | le16(bytes, at + 2) << 16
}

fn be32(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 4].iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn be64(bytes: &[u8], at: usize) -> u64 {
    be32(bytes, at) << 32 | be32(bytes, at + 4)
}

fn blocks(first: u64, count: u64, block: u64) -> VolumeExtent {
    VolumeExtent {
        offset: Bytes(first.saturating_mul(block)),
        length: Bytes(count.saturating_mul(block)),
    }
}

/// Block ranges of a file that were found so far.
struct FoundJournal {
    extents: Vec<VolumeExtent>,
    block: u64,
    /// Number of blocks that are not found yet.
    left: u64,
}

impl FoundJournal {
    fn add(&mut self, first: u64, count: u64) {
        let more = blocks(first, count.min(self.left), self.block);
        self.left -= count.min(self.left);
        match self.extents.last_mut() {
            Some(last) if last.offset.0.saturating_add(last.length.0) == more.offset.0 => {
                last.length.0 = last.length.0.saturating_add(more.length.0);
            }
            _ => self.extents.push(more),
        }
    }

    fn is_complete(&self) -> bool {
        self.left == 0 || self.extents.len() >= MAX_JOURNAL_PLACE_SIZE
    }
}

fn ext4(volume: &mut (impl Read + Seek)) -> io::Result<Option<Vec<VolumeExtent>>> {
    const SUPERBLOCK: u64 = 1024;
    const MAGIC: u64 = 0xEF53;
    const HAS_JOURNAL: u64 = 0x4;
    /// Value of `s_jnl_backup_type` if the backup contains the blocks of the journal inode.
    const COPY: u8 = 1;
    const EXTENT_TREE: u64 = 0xF30A;
    let Some(head) = at(volume, SUPERBLOCK, 1024)?.filter(|head| le16(head, 0x38) == MAGIC) else {
        return Ok(None);
    };
    let is_inside = le32(&head, 0xE4) == 0 && le32(&head, 0x18) <= 6;
    if le32(&head, 0x5C) & HAS_JOURNAL == 0 || !is_inside || head[0xFD] != COPY {
        return Ok(None);
    }
    let block = 1024 << le32(&head, 0x18);
    // `i_block`, followed by the size with its upper half first.
    let inode = &head[0x10C..0x10C + 17 * 4];
    let size = le32(inode, 60) << 32 | le32(inode, 64);
    let mut found = FoundJournal { extents: Vec::new(), block, left: size.div_ceil(block) };
    if le16(inode, 0) == EXTENT_TREE {
        extent_tree(volume, &inode[..60], &mut found)?;
    } else {
        block_map(volume, inode, &mut found)?;
    }
    Ok(Some(found.extents))
}

/// Collects the extents in a node of an extent tree and in all nodes below it.
fn extent_tree(
    volume: &mut (impl Read + Seek),
    node: &[u8],
    found: &mut FoundJournal,
) -> io::Result<()> {
    const ENTRY: usize = 12;
    let (entries, depth) = (le16(node, 2) as usize, le16(node, 6));
    for entry in node[ENTRY..].chunks_exact(ENTRY).take(entries) {
        if found.is_complete() {
            return Ok(());
        }
        if depth == 0 {
            let first = le16(entry, 6) << 32 | le32(entry, 8);
            found.add(first, le16(entry, 4));
            continue;
        }
        let child = le16(entry, 8) << 32 | le32(entry, 4);
        let below = at(volume, child * found.block, found.block as usize)?;
        // The depth decreases at each level, so the recursion ends even on a damaged volume.
        if let Some(below) = below.filter(|below| le16(below, 6) + 1 == depth) {
            extent_tree(volume, &below, found)?;
        }
    }
    Ok(())
}

/// Reads the block map of ext2: twelve data blocks, followed by single, double and triple indirect
/// blocks.
fn block_map(
    volume: &mut (impl Read + Seek),
    inode: &[u8],
    found: &mut FoundJournal,
) -> io::Result<()> {
    for place in 0..15 {
        let level = if place < 12 { 0 } else { place - 11 };
        mapped(volume, le32(inode, place * 4), level, found)?;
    }
    Ok(())
}

fn mapped(
    volume: &mut (impl Read + Seek),
    number: u64,
    level: usize,
    found: &mut FoundJournal,
) -> io::Result<()> {
    if found.is_complete() || number == 0 {
        return Ok(());
    }
    if level == 0 {
        found.add(number, 1);
        return Ok(());
    }
    let below = at(volume, number * found.block, found.block as usize)?.unwrap_or_default();
    for entry in below.chunks_exact(4) {
        mapped(volume, le32(entry, 0), level - 1, found)?;
    }
    Ok(())
}

fn xfs(volume: &mut (impl Read + Seek)) -> io::Result<Option<Vec<VolumeExtent>>> {
    let head = at(volume, 0, 512)?.filter(|head| head.starts_with(b"XFSB"));
    let Some(head) = head.filter(|head| head[124] < 64) else {
        return Ok(None);
    };
    // A block number consists of the group number and, in the lowest `group_bits` bits, the block
    // within the group. If it is 0, the log is on another device.
    let (start, group_bits) = (be64(&head, 48), head[124]);
    let within = start & ((1 << group_bits) - 1);
    let first = (start >> group_bits).saturating_mul(be32(&head, 84)) + within;
    let log = blocks(first, be32(&head, 96), be32(&head, 4));
    Ok((start != 0).then(|| vec![log]))
}

fn jfs(volume: &mut (impl Read + Seek)) -> io::Result<Option<Vec<VolumeExtent>>> {
    const INLINE_LOG: u64 = 0x800;
    let Some(head) = at(volume, 0x8000, 512)?.filter(|head| head.starts_with(b"JFS1")) else {
        return Ok(None);
    };
    // 24-bit length, and 40-bit address with its upper 8 bits above the length.
    let word = le32(&head, 72);
    let first = (word >> 24) << 32 | le32(&head, 76);
    let log = blocks(first, word & 0xFF_FFFF, le32(&head, 16));
    Ok((le32(&head, 36) & INLINE_LOG != 0).then(|| vec![log]))
}

fn reiserfs(volume: &mut (impl Read + Seek)) -> io::Result<Option<Vec<VolumeExtent>>> {
    for superblock in [0x1_0000, 0x2000] {
        let head = at(volume, superblock, 512)?;
        let named = |head: &Vec<u8>| {
            let magics: [&[u8]; 3] = [b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs"];
            magics.iter().any(|magic| head[52..].starts_with(magic))
        };
        if let Some(head) = head.filter(named) {
            let is_inside = le32(&head, 16) == 0;
            // The journal has one block more than its stated length: its header.
            let log = blocks(le32(&head, 12), le32(&head, 20) + 1, le16(&head, 44));
            return Ok(is_inside.then(|| vec![log]));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Cursor;
    use std::process::{Command, Stdio};

    use super::*;

    /// Creates a volume of 320 MiB with a program.
    fn made(program: &str, words: &[&str]) -> (tempfile::TempDir, File) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("volume");
        File::create(&path).unwrap().set_len(320 << 20).unwrap();
        let mut command = Command::new(program);
        let command = command.args(words).arg(&path).stdin(Stdio::null());
        let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(output.status.success(), "{program}: {output:?}");
        let file = File::open(&path).unwrap();
        (directory, file)
    }

    /// Returns the total length of the journal and its first bytes.
    fn looked(program: &str, words: &[&str]) -> (u64, Vec<u8>) {
        let (_directory, mut file) = made(program, words);
        let extents = find_journal(&mut file).unwrap().unwrap_or_default();
        let length = extents.iter().map(|extent| extent.length.0).sum();
        let first = extents.first().map_or(0, |extent| extent.offset.0);
        (length, at(&mut file, first, 12).unwrap().unwrap())
    }

    #[test]
    fn finds_the_journal_of_volumes_made_by_mkfs() {
        // JBD2_MAGIC_NUMBER, with the type of its superblock.
        let jbd2 = [0xC0, 0x3B, 0x39, 0x98, 0, 0, 0, 4];
        for words in [&["-q", "-t", "ext4"][..], &["-q", "-t", "ext3", "-b", "1024"]] {
            let (length, head) = looked("mke2fs", &[words, &["-J", "size=16"]].concat());
            assert_eq!((length, &head[..8]), (16 << 20, &jbd2[..]));
        }
        let (length, head) = looked("mkfs.xfs", &["-q"]);
        // XLOG_HEADER_MAGIC_NUM.
        assert_eq!(&head[..4], [0xFE, 0xED, 0xBA, 0xBE]);
        assert!(length >= 1 << 20, "{length}");
        for words in [&["-q", "-t", "ext2"][..], &["-q", "-t", "ext4", "-O", "^has_journal"]] {
            assert_eq!(looked("mke2fs", words).0, 0);
        }
    }

    #[test]
    fn finds_the_journal_of_jfs_and_reiserfs() {
        let (length, _) = looked("mkfs.jfs", &["-q"]);
        assert!((1 << 20..64 << 20).contains(&length), "{length}");
        assert_eq!(looked("mkreiserfs", &["-q", "-ff"]).0, 8193 * 4096);
    }

    #[test]
    fn superblocks_written_by_hand_are_read() {
        let mut volume = vec![0_u8; 0x1_1000];
        let put = |volume: &mut Vec<u8>, at: usize, bytes: &[u8]| {
            volume[at..at + bytes.len()].copy_from_slice(bytes);
        };
        let place = |volume: &Vec<u8>| find_journal(&mut Cursor::new(volume)).unwrap();
        assert_eq!(place(&volume), None);
        put(&mut volume, 0x1_0000 + 52, b"ReIsEr2Fs");
        put(&mut volume, 0x1_0000 + 12, &18_u32.to_le_bytes());
        put(&mut volume, 0x1_0000 + 20, &8192_u32.to_le_bytes());
        put(&mut volume, 0x1_0000 + 44, &4096_u16.to_le_bytes());
        let expected = blocks(18, 8193, 4096);
        assert_eq!(place(&volume), Some(vec![expected]));
        put(&mut volume, 0x8000, b"JFS1");
        put(&mut volume, 0x8000 + 16, &4096_u32.to_le_bytes());
        put(&mut volume, 0x8000 + 36, &0x800_u32.to_le_bytes());
        put(&mut volume, 0x8000 + 72, &[0x10, 0, 0, 1, 5, 0, 0, 0]);
        let expected = blocks((1 << 32) + 5, 16, 4096);
        assert_eq!(place(&volume), Some(vec![expected]));
        put(&mut volume, 0, b"XFSB");
        put(&mut volume, 4, &4096_u32.to_be_bytes());
        put(&mut volume, 48, &(2_u64 << 15 | 7).to_be_bytes());
        put(&mut volume, 84, &20_000_u32.to_be_bytes());
        put(&mut volume, 96, &2560_u32.to_be_bytes());
        volume[124] = 15;
        let expected = blocks(40_007, 2560, 4096);
        assert_eq!(place(&volume), Some(vec![expected]));
    }

    #[test]
    fn a_damaged_volume_is_read_to_an_end() {
        let (_directory, mut file) = made("mke2fs", &["-q", "-t", "ext3", "-b", "1024"]);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        bytes.truncate(1 << 20);
        for spoilt in 0..1024 {
            let mut volume = bytes.clone();
            volume[1024 + spoilt] ^= 0xFF;
            let extents = find_journal(&mut Cursor::new(&volume)).unwrap();
            assert!(extents.is_none_or(|extents| extents.len() <= MAX_JOURNAL_PLACE_SIZE));
        }
    }
}
