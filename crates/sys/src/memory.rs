//! Memory of which there is none left: told in one line, and not by the signal of an abort.

use std::alloc::{GlobalAlloc, Layout, System};

/// What is said then, without memory.
const TEXT: &[u8] =
    b"fsarena: out of memory: see the limits of the process (ulimit -v) and of its \
                      control group\n";

/// The system's allocator, which ends the program with an exit code where there is no memory. Whoever
/// asks for memory and could go without is not asked either.
#[derive(Debug)]
pub struct Allocator {
    /// The exit code.
    pub code: libc::c_int,
}

impl Allocator {
    fn checked(&self, memory: *mut u8) -> *mut u8 {
        if memory.is_null() {
            // SAFETY: the text is as long as is said. Neither call needs memory or takes a lock, so that
            // they are sound wherever memory is asked for.
            unsafe {
                libc::write(libc::STDERR_FILENO, TEXT.as_ptr().cast(), TEXT.len());
                libc::_exit(self.code);
            }
        }
        memory
    }
}

// SAFETY: everything is the system's allocator's, which keeps the promises of the trait; that a call does not
// return at all is allowed.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        self.checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        self.checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `alloc`; the memory came from there.
        self.checked(unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as for `realloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}
