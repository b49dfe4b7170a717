//! I/O engine that does nothing; measures only fsarena.

use crate::error::OpError;
use crate::io::SyncIo;

/// A no-op engine that performs no I/O and always succeeds.
#[derive(Debug)]
pub struct NullIo;

impl SyncIo for NullIo {
    #[inline]
    fn read(&mut self, into: &mut [u8], _: u64) -> Result<(), OpError> {
        // Prevents the compiler from removing the preparation of unused data.
        std::hint::black_box(into);
        Ok(())
    }

    #[inline]
    fn write(&mut self, bytes: &[u8], _: u64) -> Result<(), OpError> {
        std::hint::black_box(bytes);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), OpError> {
        Ok(())
    }
}
