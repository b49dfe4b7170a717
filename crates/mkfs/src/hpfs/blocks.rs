//! Contents of the records of an empty HPFS volume.

use super::checksum;
use super::layout::{HOTFIX_MAP, HOTFIXES, HpfsLayout, LIST, NODE, SPARE_NODES};
use crate::BLOCK;
use crate::sector::SectorBuilder;

const ENTRY_HEADER: usize = 31;
const NODE_HEADER: usize = 20;
/// Volumes of 4 GiB or more need a driver that supports version 3.
const VERSION_3_FROM: u32 = 1 << 23;

fn sector() -> SectorBuilder {
    SectorBuilder::new(BLOCK.as_usize())
}

/// Returns the boot block, which is like that of FAT but has the signature 28h. Its program stops
/// the machine.
pub fn boot_block(layout: &HpfsLayout, serial: u32, label: &[u8; 11]) -> SectorBuilder {
    const JUMP: [u8; 3] = [0xeb, 0x3c, 0x90];
    /// Machine code: cli; hlt; jump back.
    const STOP: [u8; 4] = [0xfa, 0xf4, 0xeb, 0xfd];
    let mut boot = sector();
    boot.put(0, &JUMP).put(3, b"FSARENA ");
    boot.le16(11, BLOCK.0 as u16).byte(13, 1).le16(14, 1);
    boot.byte(21, 0xf8).le16(24, 63).le16(26, 255);
    boot.le32(32, layout.sectors);
    boot.byte(36, 0x80).byte(38, 0x28).le32(39, serial);
    boot.put(43, label).put(54, b"HPFS    ").put(62, &STOP);
    boot.put(510, &[0x55, 0xaa]);
    boot
}

/// Sector 16: locations of all structures that never move.
pub fn superblock(layout: &HpfsLayout) -> SectorBuilder {
    let mut block = sector();
    block.le32(0, 0xf995_e849).le32(4, 0xfa53_e9c5);
    let oldest_driver = if layout.sectors > VERSION_3_FROM { 3 } else { 2 };
    block.byte(8, 2).byte(9, oldest_driver);
    block.le32(12, layout.root).le32(16, layout.sectors);
    block.le32(24, layout.bitmap_list).le32(32, layout.bad_sectors);
    let band = layout.directory_band;
    block.le32(48, layout.directory_band_length).le32(52, band);
    block.le32(56, band + layout.directory_band_length - 1);
    block.le32(60, layout.directory_bitmap);
    block.le32(96, layout.users);
    block
}

/// Returns the spare block, sector 17, with the reserves for errors. Its flags show that the
/// surface was not tested. Linux and the driver of OS/2 ignore the two checksums; HPFS386 and
/// checkers verify them.
pub fn spare_block(layout: &HpfsLayout, superblock: u32) -> SectorBuilder {
    const FAST_FORMAT: u8 = 0x20;
    let mut block = sector();
    block.le32(0, 0xf991_1849).le32(4, 0xfa52_29c5);
    block.byte(8, FAST_FORMAT);
    block.le32(12, HOTFIX_MAP).le32(20, HOTFIXES);
    block.le32(24, SPARE_NODES).le32(28, SPARE_NODES);
    block.le32(32, layout.code_page_directory).le32(36, 1);
    for index in 0..SPARE_NODES {
        let node = layout.spare_nodes + index * NODE;
        block.le32(108 + 4 * index as usize, node);
    }
    block.le32(40, superblock);
    let own = checksum(block.bytes());
    block.le32(44, own);
    block
}

/// Returns the hotfix map: numbers of bad sectors (none), of their replacements, and of the
/// affected files (none).
pub fn hotfix_map(layout: &HpfsLayout) -> SectorBuilder {
    let mut map = SectorBuilder::new(BLOCK.as_usize() * LIST as usize);
    for index in 0..HOTFIXES {
        let place = 4 * (HOTFIXES + index) as usize;
        map.le32(place, layout.hotfixes + index);
    }
    map
}

/// Returns the list of the bands' bitmap locations.
pub fn bitmap_list(layout: &HpfsLayout) -> SectorBuilder {
    let mut list = SectorBuilder::new(BLOCK.as_usize() * layout.bitmap_list_length() as usize);
    for band in 0..layout.bands() {
        list.le32(4 * band as usize, layout.bitmap_of_band(band));
    }
    list
}

/// Returns the file node of the root directory. Its only extent is the root of its directory tree.
/// The node is its own parent.
pub fn root_fnode(layout: &HpfsLayout) -> SectorBuilder {
    const DIRECTORY: u8 = 1;
    const ATTRIBUTES: u16 = 0xc4;
    let mut fnode = sector();
    fnode.le32(0, 0xf7e4_0aae).le32(28, layout.root);
    fnode.byte(55, DIRECTORY);
    // The header of the extent list: seven extents are free, one is in use, and the next free one
    // is at offset 8 + 12.
    fnode.byte(60, 7).byte(61, 1).le16(62, 8 + 12);
    fnode.le32(72, layout.root_node()).le32(76, u32::MAX);
    fnode.le16(184, ATTRIBUTES);
    fnode
}

/// Returns the only node of the root directory. It contains the entry for the directory itself and
/// the end entry.
pub fn root_node(layout: &HpfsLayout, created: u32) -> SectorBuilder {
    const ROOT: u32 = 1;
    const ITSELF: (u8, &[u8]) = (1, b"\x01\x01");
    const END: (u8, &[u8]) = (8, b"\xff");
    const DIRECTORY: u8 = 0x10;
    let mut node = SectorBuilder::new(BLOCK.as_usize() * NODE as usize);
    let itself = NODE_HEADER;
    let end = itself + entry(&mut node, itself, ITSELF);
    let behind = end + entry(&mut node, end, END);
    node.byte(itself + 3, DIRECTORY).le32(itself + 4, layout.root);
    for date in [8, 16, 20] {
        node.le32(itself + date, created);
    }
    node.le32(0, 0x77e4_0aae).le32(4, behind as u32).le32(8, ROOT);
    node.le32(12, layout.root).le32(16, layout.root_node());
    node
}

/// Writes length, flags and name of an entry. Returns the length, a multiple of four.
fn entry(node: &mut SectorBuilder, at: usize, (flags, name): (u8, &[u8])) -> usize {
    let length = (ENTRY_HEADER + name.len()).next_multiple_of(4);
    node.le16(at, length as u16).byte(at + 2, flags);
    node.byte(at + 30, name.len() as u8).put(at + ENTRY_HEADER, name);
    length
}
