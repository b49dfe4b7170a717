//! Locations of all structures of an HPFS volume, and the bitmaps that follow from them.
//!
//! The contents of the structures are built in `blocks`.

use model::Bytes;

use crate::{BLOCK, FormatError};

/// Sectors per band.
const BAND: u32 = 0x4000;
/// Sectors of a band's bitmap, of the bad sector list and of the hotfix map.
pub const LIST: u32 = 4;
/// Sectors per directory node.
pub const NODE: u32 = 4;
/// Number of replacement sectors for bad ones, as in OS/2.
pub const HOTFIXES: u32 = 100;
/// Number of directory nodes reserved for directories that grow on a full volume, as in OS/2.
pub const SPARE_NODES: u32 = 20;
/// Sectors of the user ID table.
pub const USERS: u32 = 8;
/// First of four sectors of the hotfix map. The structures before it have fixed locations.
pub const HOTFIX_MAP: u32 = 20;
const FIRST_BITMAP: u32 = 24;
const BAD_SECTORS: u32 = 28;
const BITMAP_LIST: u32 = 32;
/// Entries in a sector of a list.
const IN_SECTOR: u32 = 128;
/// Limits of the directory band, which is one hundredth of the volume. Linux does not accept a
/// larger band.
const MIN_DIRECTORY_BAND: u32 = 64;
const MAX_DIRECTORY_BAND: u32 = 0x4000;
const MIN_LAYOUT_SIZE: Bytes = Bytes::kib(512);
/// Maximum size of a volume. Linux counts sectors in 31 bits.
const MAX_LAYOUT_SIZE: Bytes = Bytes(0x7fff_fffc * BLOCK.0);

/// Sector numbers.
#[derive(Clone, Debug)]
pub struct HpfsLayout {
    /// Number of sectors of the volume, a multiple of four.
    pub sectors: u32,
    /// Location of the bad sector list.
    pub bad_sectors: u32,
    /// Location of the list of bitmaps.
    pub bitmap_list: u32,
    /// First of the replacement sectors.
    pub hotfixes: u32,
    /// Location of the code page directory.
    pub code_page_directory: u32,
    /// Location of the only code page.
    pub code_page: u32,
    /// Location of the bitmap of the directory band.
    pub directory_bitmap: u32,
    /// Start of the directory band.
    pub directory_band: u32,
    /// Length of the directory band, in sectors.
    pub directory_band_length: u32,
    /// First of the spare directory nodes.
    pub spare_nodes: u32,
    /// Location of the user ID table.
    pub users: u32,
    /// Location of the file node of the root directory.
    pub root: u32,
}

impl HpfsLayout {
    /// Computes the layout of a volume of this size.
    pub fn for_size(size: Bytes) -> Result<Self, FormatError> {
        if size < MIN_LAYOUT_SIZE {
            let smallest = MIN_LAYOUT_SIZE;
            return Err(FormatError::TooSmall { size, smallest });
        }
        if size.0 >= MAX_LAYOUT_SIZE.0 + u64::from(LIST) * BLOCK.0 {
            let largest = MAX_LAYOUT_SIZE;
            return Err(FormatError::TooLarge { size, largest });
        }
        let sectors = (size.0 / BLOCK.0) as u32 / LIST * LIST;
        Ok(Self::of_sectors(sectors))
    }

    fn of_sectors(sectors: u32) -> Self {
        let bands = sectors.div_ceil(BAND);
        // The list is allocated in units of four sectors, like bitmaps and nodes.
        let list = bands.div_ceil(IN_SECTOR * LIST) * LIST;
        let hotfixes = BITMAP_LIST + list;
        let code_page_directory = hotfixes + HOTFIXES;
        let band = (sectors / 100).clamp(MIN_DIRECTORY_BAND, MAX_DIRECTORY_BAND) / NODE * NODE;
        let middle = LIST + band + SPARE_NODES * NODE + USERS + 1;
        let directory_bitmap = middle_place(sectors, code_page_directory + 2, middle);
        let directory_band = directory_bitmap + LIST;
        let spare_nodes = directory_band + band;
        let users = spare_nodes + SPARE_NODES * NODE;
        Self {
            sectors,
            bad_sectors: BAD_SECTORS,
            bitmap_list: BITMAP_LIST,
            hotfixes,
            code_page_directory,
            code_page: code_page_directory + 1,
            directory_bitmap,
            directory_band,
            directory_band_length: band,
            spare_nodes,
            users,
            root: users + USERS,
        }
    }

    /// Returns the number of bands. The last one may be shorter.
    pub const fn bands(&self) -> u32 {
        self.sectors.div_ceil(BAND)
    }

    /// Returns the length of the bitmap list, in sectors.
    pub const fn bitmap_list_length(&self) -> u32 {
        self.hotfixes - self.bitmap_list
    }

    /// Returns the first of the four bitmap sectors of a band.
    pub fn bitmap_of_band(&self, band: u32) -> u32 {
        bitmap_of_band(self.sectors, band)
    }

    /// Returns the node of the root directory, which is the first one in the directory band.
    pub const fn root_node(&self) -> u32 {
        self.directory_band
    }

    /// Returns the bitmap of a band. Bits are zero for sectors in use and beyond the end of the
    /// volume.
    pub fn band_bitmap(&self, band: u32) -> Vec<u8> {
        let first = band * BAND;
        let own = self.bitmap_of_band(band);
        let used = [
            (0, self.code_page + 1),
            (own, own + LIST),
            (self.directory_bitmap, self.root + 1),
            (self.sectors, u32::MAX),
        ];
        let mut bits = vec![u8::MAX; BAND as usize / 8];
        for (from, to) in used {
            let from = from.clamp(first, first + BAND) - first;
            let to = to.clamp(first, first + BAND) - first;
            clear(&mut bits, from, to);
        }
        bits
    }

    /// Returns a bit for each node of the directory band. All but the first are free.
    pub fn directory_bits(&self) -> Vec<u8> {
        let mut bits = vec![u8::MAX; BAND as usize / 8];
        clear(&mut bits, 0, 1);
        clear(&mut bits, self.directory_band_length / NODE, BAND);
        bits
    }
}

/// Returns the bitmap location of a band. Even bands have their bitmap at the start, odd bands at
/// the end. In the first band it follows the superblock; the last band may be shorter.
fn bitmap_of_band(sectors: u32, band: u32) -> u32 {
    match band {
        0 => FIRST_BITMAP,
        even if even.is_multiple_of(2) => even * BAND,
        odd => sectors.min((odd + 1) * BAND) - LIST,
    }
}

/// Returns a location for a structure of this length in the middle of the volume: after `low`, and
/// between the bitmaps, which occur at multiples of two bands.
fn middle_place(sectors: u32, low: u32, length: u32) -> u32 {
    let middle = sectors / 2 / NODE * NODE;
    let pair = middle / (2 * BAND) * 2;
    let from = if pair == 0 { low } else { pair * BAND + LIST };
    let to =
        if pair + 1 < sectors.div_ceil(BAND) { bitmap_of_band(sectors, pair + 1) } else { sectors };
    let latest = (to - length) / NODE * NODE;
    middle.max(from.next_multiple_of(NODE)).min(latest)
}

fn clear(bits: &mut [u8], from: u32, to: u32) {
    for bit in from..to {
        bits[bit as usize / 8] &= !(1 << (bit % 8));
    }
}
