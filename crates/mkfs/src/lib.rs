//! What is known of filesystems' formats: makes empty filesystems of the two kinds that no package of Linux makes, AFFS of
//! the Amiga and HPFS of OS/2, and finds where others keep their journals.
//!
//! Pure: writes to and reads from whatever can be sought in. It opens no file, asks no clock and draws no
//! number, so that the same volume is the same bytes every time. Whether a device may be overwritten is
//! decided elsewhere.

mod affs;
mod error;
mod hpfs;
mod journal_location;
mod medium;
mod sector;

pub use affs::{Affs, AffsVariant};
pub use error::FormatError;
pub use hpfs::Hpfs;
pub use journal_location::{VolumeExtent, find_journal};

use model::Bytes;

/// Size of a block of AFFS and of a sector of HPFS, as these are made here.
pub const BLOCK: Bytes = Bytes(512);

/// A volume that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormattedVolume {
    /// Blocks that it has.
    pub blocks: u64,
    /// Blocks that are free.
    pub free: u64,
}
