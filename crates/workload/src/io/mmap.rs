//! Copies to and from a shared mapping. The kernel decides when to read pages and write them back.
//! A page that the kernel cannot provide is an ordinary error of the call `mmap`.

use nix::errno::Errno;
use sys::fs::mapping::Mapping;

use crate::error::{OpContext, OpError};
use crate::io::SyncIo;
use crate::io::target::IoFile;

/// A memory-mapped file.
#[derive(Debug)]
pub struct MmapIo<'a> {
    target: &'a IoFile,
    mapping: Mapping,
}

impl<'a> MmapIo<'a> {
    /// Maps the first `length` bytes of an open file. Extends a shorter file if `grows` is true;
    /// otherwise a shorter file is corrupt.
    ///
    /// # Errors
    /// Returns an error if the filesystem does not support the mapping.
    pub fn new(
        target: &'a IoFile,
        length: u64,
        writes: bool,
        grows: bool,
    ) -> Result<Self, OpError> {
        let path = &target.path;
        let size = target.file.metadata().with_call("fstat", path)?.len();
        if size < length && !grows {
            return Err(target.unexpected_eof(size));
        }
        if size < length {
            target.file.set_len(length).with_call("ftruncate", path)?;
        }
        let mapping = Mapping::new(&target.file, length, writes).map_err(|error| {
            match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::ENODEV | Errno::EOPNOTSUPP | Errno::ENOSYS) => OpError::Unsupported {
                    reason: format!("shared mapping refused: {}", sys::errno::describe(&error)),
                },
                _ => target.failed("mmap", None, error),
            }
        })?;
        Ok(Self { target, mapping })
    }
}

impl SyncIo for MmapIo<'_> {
    #[inline]
    fn read(&mut self, into: &mut [u8], offset: u64) -> Result<(), OpError> {
        let copied = self.mapping.read(offset, into);
        copied.at("mmap", &self.target.path, offset)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), OpError> {
        let copied = self.mapping.write(offset, bytes);
        copied.at("mmap", &self.target.path, offset)
    }

    fn sync(&mut self) -> Result<(), OpError> {
        self.mapping.flush().with_call("msync", &self.target.path)
    }
}
