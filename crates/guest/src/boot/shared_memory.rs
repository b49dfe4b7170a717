//! Shared memory (a QEMU card) that holds the part of a guest's configuration that differs between
//! guests. All guests of a kind can therefore boot alike, or start from a snapshot.
//!
//! The card is QEMU's `ivshmem-plain` (docs/specs/ivshmem-spec.rst of QEMU), and its memory is a
//! file of the host. When a snapshot is saved, a watchdog (`ib700`) stops the machine just before
//! the agent reads the card.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;

use model::Bytes;

use crate::boot::machine::memory_backend_args;

/// Minimum size of a card. Most guests then have a card of the same size and can share one
/// snapshot.
const MIN_CARD_SIZE: Bytes = Bytes::mib(64);

/// Shared memory (card) that is backed by a file of the same size.
#[derive(Clone, Copy, Debug)]
pub struct SharedMemoryFile<'a> {
    file: &'a Path,
    size: Bytes,
}

impl<'a> SharedMemoryFile<'a> {
    /// Creates a card from a file and pads the file with zeros. The size is a power of two, as for
    /// all memory of PCI devices.
    ///
    /// # Errors
    /// Returns an error if the file cannot be extended.
    pub fn of(file: &'a Path) -> io::Result<Self> {
        let holds = fs::metadata(file)?.len();
        let size = Bytes(holds.next_power_of_two().max(MIN_CARD_SIZE.0));
        File::options().write(true).open(file)?.set_len(size.0)?;
        Ok(Self { file, size })
    }

    /// Creates an empty card of the same size as another one, in a new file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn empty(file: &'a Path, like: &SharedMemoryFile<'_>) -> io::Result<Self> {
        let SharedMemoryFile { size, .. } = *like;
        File::create(file)?.set_len(size.0)?;
        Ok(Self { file, size })
    }

    /// Its size.
    pub const fn size(&self) -> Bytes {
        self.size
    }

    pub(crate) fn add_to(&self, command: &mut Command) {
        command
            .arg("-object")
            .arg(memory_backend_args("card", self.file, &self.size.0.to_string()))
            .args(["-device", "ivshmem-plain,memdev=card,master=on"])
            .args(["-device", "ib700"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_size_is_a_power_of_two_padded_with_zeros() {
        let directory = tempfile::tempdir().unwrap();
        let (small, large) = (directory.path().join("s"), directory.path().join("l"));
        fs::write(&small, "content").unwrap();
        File::create(&large).unwrap().set_len((64 << 20) + 1).unwrap();
        let card = SharedMemoryFile::of(&small).unwrap();
        assert_eq!(card.size(), MIN_CARD_SIZE);
        let bytes = fs::read(&small).unwrap();
        assert!(bytes.starts_with(b"content\0") && bytes.len() as u64 == MIN_CARD_SIZE.0);
        let card = SharedMemoryFile::of(&large).unwrap();
        assert_eq!(card.size(), Bytes::mib(128));
        SharedMemoryFile::empty(&small, &card).unwrap();
        assert_eq!(fs::metadata(&small).unwrap().len(), card.size().0);
    }
}
