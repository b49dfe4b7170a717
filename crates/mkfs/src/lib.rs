//! Knowledge of filesystem formats. Creates empty filesystems of the two kinds that no Linux
//! package can create, AFFS of the Amiga and HPFS of OS/2, and locates the journals of other
//! filesystems.
//!
//! The crate is pure: it writes to and reads from any seekable stream. It opens no files, reads no
//! clock and uses no random numbers, so equal parameters give equal bytes. The caller decides
//! whether a device may be overwritten.

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

/// Size of an AFFS block and of an HPFS sector in volumes created by this crate.
pub const BLOCK: Bytes = Bytes(512);

/// A created volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormattedVolume {
    /// Total number of blocks.
    pub blocks: u64,
    /// Number of free blocks.
    pub free: u64,
}
