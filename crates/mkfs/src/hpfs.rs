//! HPFS, the High Performance File System of OS/2.
//!
//! Layout after Roy Duncan, "Design goals and implementation of the new High Performance File
//! System" (Microsoft Systems Journal 4/5, 1989), the structures in Linux fs/hpfs/hpfs.h, and the
//! checks of the Linux driver with `check=strict` (map.c, alloc.c, super.c). All numbers are
//! little-endian; a sector has 512 bytes. Field names are those of Linux.
//!
//! ```text
//! 0 … 15         boot block
//! 16, 17         superblock and spare block
//! 18, 19         unused
//! 20 … 23        hotfix map
//! 24 … 27        bitmap of the first band
//! 28 …           list of bad sectors, list of bitmaps, sectors for hotfixes, code page
//! in the middle  bitmap of the directory band, directory band, spare directory nodes, user table, root
//! ```
//!
//! Each band of 16384 sectors (8 MiB) has a bitmap of four sectors, at the beginning of even bands
//! and at the end of odd ones, so that the free space of two bands is contiguous. A set bit means
//! free.

mod blocks;
mod code_page;
mod layout;

use std::io::{Seek, Write};

use model::Bytes;

use crate::medium::BlockWriter;
use crate::{BLOCK, FormatError, FormattedVolume};
use layout::HpfsLayout;

const MAX_LABEL: usize = 11;
const SUPERBLOCK: u64 = 16;
const SPARE_BLOCK: u64 = 17;

/// Parameters of a new volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hpfs {
    /// Volume label: 1 to 11 printable ASCII characters, without `"*/:<>?\|`.
    pub label: String,
    /// Serial number of the volume.
    pub serial: u32,
    /// Creation time, in seconds since 1970. The range ends in 2106.
    pub created: u64,
}

impl Hpfs {
    /// Creates the volume on a medium of this size in bytes. Up to three sectors at the end stay
    /// unused, because the size is rounded down to a multiple of four sectors.
    ///
    /// # Errors
    /// Returns an error if the size is below 512 KiB or above the limit of Linux, the label is
    /// invalid, or writing fails.
    pub fn write<W: Write + Seek>(
        &self,
        size: Bytes,
        out: &mut W,
    ) -> Result<FormattedVolume, FormatError> {
        let label = label(&self.label)?;
        let layout = HpfsLayout::for_size(size)?;
        let created = u32::try_from(self.created).unwrap_or(u32::MAX);
        let mut medium = BlockWriter::new(out, size.0);
        medium.clear_ends()?;
        let boot = blocks::boot_block(&layout, self.serial, &label);
        medium.write(0, boot.bytes())?;
        let free = write_bitmaps(&mut medium, &layout)?;
        write_lists(&mut medium, &layout)?;
        write_root(&mut medium, &layout, created)?;
        // Both magic numbers are written last, so an interrupted write leaves no valid volume.
        let superblock = blocks::superblock(&layout);
        let spare = blocks::spare_block(&layout, checksum(superblock.bytes()));
        medium.write(SPARE_BLOCK, spare.bytes())?;
        medium.write(SUPERBLOCK, superblock.bytes())?;
        medium.finish()?;
        Ok(FormattedVolume { blocks: layout.sectors.into(), free })
    }
}

/// Writes the bitmaps of the bands and of the directory band. Returns the number of free sectors.
fn write_bitmaps<W: Write + Seek>(
    medium: &mut BlockWriter<'_, W>,
    layout: &HpfsLayout,
) -> Result<u64, FormatError> {
    let mut free = 0;
    for band in 0..layout.bands() {
        let bitmap = layout.band_bitmap(band);
        free += bitmap.iter().map(|b| u64::from(b.count_ones())).sum::<u64>();
        medium.write(layout.bitmap_of_band(band).into(), &bitmap)?;
    }
    medium.write(layout.directory_bitmap.into(), &layout.directory_bits())?;
    medium.write(layout.bitmap_list.into(), blocks::bitmap_list(layout).bytes())?;
    Ok(free)
}

fn write_lists<W: Write + Seek>(
    medium: &mut BlockWriter<'_, W>,
    layout: &HpfsLayout,
) -> Result<(), FormatError> {
    let empty = |sectors: u32| vec![0; BLOCK.as_usize() * sectors as usize];
    medium.write(layout.bad_sectors.into(), &empty(layout::LIST))?;
    medium.write(layout::HOTFIX_MAP.into(), blocks::hotfix_map(layout).bytes())?;
    medium.write(layout.users.into(), &empty(layout::USERS))?;
    medium.write(layout.spare_nodes.into(), &empty(layout::SPARE_NODES * layout::NODE))?;
    let directory = code_page::directory(layout.code_page);
    medium.write(layout.code_page_directory.into(), directory.bytes())?;
    medium.write(layout.code_page.into(), code_page::data().bytes())?;
    Ok(())
}

fn write_root<W: Write + Seek>(
    medium: &mut BlockWriter<'_, W>,
    layout: &HpfsLayout,
    created: u32,
) -> Result<(), FormatError> {
    medium.write(layout.root.into(), blocks::root_fnode(layout).bytes())?;
    let node = blocks::root_node(layout, created);
    medium.write(layout.root_node().into(), node.bytes())?;
    Ok(())
}

fn label(text: &str) -> Result<[u8; MAX_LABEL], FormatError> {
    let refused = |why| FormatError::Label { label: text.to_owned(), why };
    if !(1..=MAX_LABEL).contains(&text.chars().count()) {
        return Err(refused("it must have 1 to 11 characters"));
    }
    let fits = |c: char| (' '..='~').contains(&c) && !"\"*/:<>?\\|".contains(c);
    if !text.chars().all(fits) {
        return Err(refused("it must be printable ASCII, without \"*/:<>?\\|"));
    }
    let mut label = [b' '; MAX_LABEL];
    for (place, character) in label.iter_mut().zip(text.bytes()) {
        *place = character.to_ascii_uppercase();
    }
    Ok(label)
}

/// Computes the checksum: adds each byte and then rotates the sum left by seven bits.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum: u32, byte| sum.wrapping_add(u32::from(*byte)).rotate_left(7))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_by_hand() {
        assert_eq!(checksum(&[]), 0);
        assert_eq!(checksum(&[1]), 1 << 7);
        assert_eq!(checksum(&[1, 2]), ((1 << 7) + 2) << 7);
        assert_eq!(checksum(&[0, 0, 0, 1, 0, 0, 0, 0]), 1 << 3);
    }
}
