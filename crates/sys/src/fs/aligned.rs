//! A buffer for direct I/O, which starts at a multiple of a power of two, and a query for the
//! alignment that a file requires.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// Buffer at an aligned address, initially zero.
pub struct AlignedBuffer {
    start: NonNull<u8>,
    layout: Layout,
}

impl AlignedBuffer {
    /// Allocates a zeroed buffer of `length` bytes at a multiple of `align`.
    ///
    /// # Panics
    /// Panics if the length is zero or `align` is not a power of two.
    pub fn new(length: usize, align: usize) -> Self {
        assert!(length > 0, "a buffer holds something");
        let layout =
            Layout::from_size_align(length, align).expect("an alignment is a power of two");
        // SAFETY: the layout's size is not zero (asserted above).
        let memory = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        Self { start, layout }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `size` bytes that were allocated in `new`, written as zeros then,
        // and belong to this value alone until it is dropped.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`; the exclusive borrow of the value is that of its bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated by `alloc_zeroed` with this layout and is freed only
        // here.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

// SAFETY: the value owns its bytes as a `Vec<u8>` does; nothing in it belongs to a thread.
unsafe impl Send for AlignedBuffer {}
// SAFETY: a shared borrow gives only shared access to plain bytes.
unsafe impl Sync for AlignedBuffer {}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AlignedBuffer").field(&self.layout).finish()
    }
}

/// Returns the required alignment of offsets and lengths of direct I/O on a file, as reported by
/// the kernel (`STATX_DIOALIGN`, Linux 6.1). Zero if the file does not support direct I/O; `None`
/// if the kernel or the filesystem does not report it.
pub fn direct_alignment(file: &File) -> Option<u64> {
    let mut stat = std::mem::MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path is an empty string that ends with a zero, so that the call is about the open
    // file; the kernel writes one `struct statx` to the pointer, which is valid for the whole call.
    let outcome = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            stat.as_mut_ptr(),
        )
    };
    // SAFETY: all fields are integers, for which zeros are valid values.
    let stat = unsafe { stat.assume_init() };
    let said = outcome == 0 && stat.stx_mask & libc::STATX_DIOALIGN != 0;
    said.then_some(u64::from(stat.stx_dio_offset_align))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_buffer_is_aligned_zeroed_and_writable(length in 1usize..100_000, power in 0u32..14) {
            let align = 1 << power;
            let mut buffer = AlignedBuffer::new(length, align);
            prop_assert_eq!(buffer.as_ptr() as usize % align, 0);
            prop_assert!(buffer.iter().all(|&b| b == 0) && buffer.len() == length);
            buffer.fill(7);
            prop_assert!(buffer.iter().all(|&b| b == 7));
        }
    }
}
