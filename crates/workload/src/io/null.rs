//! The way that does nothing: what is measured through it is fsarena itself.

use crate::error::OpError;
use crate::io::SyncIo;

/// Reads and writes nothing, and says that it did.
#[derive(Debug)]
pub struct NullIo;

impl SyncIo for NullIo {
    #[inline]
    fn read(&mut self, into: &mut [u8], _: u64) -> Result<(), OpError> {
        // The compiler must not see that nothing is done with what others prepare.
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
