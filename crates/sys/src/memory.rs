//! Memory exhaustion that is reported in one line rather than by the signal of an abort: an
//! allocator, and the limit of the stack.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// The message, which must not need memory.
const TEXT: &[u8] =
    b"fsarena: out of memory: see the limits of the process (ulimit -v) and of its \
                      control group\n";

/// Stack of the main thread, in bytes: the default of Linux.
const STACK: libc::rlim_t = 8 << 20;
/// Stack that the program needs at least, in bytes.
const SMALLEST_STACK: libc::rlim_t = 1 << 20;

/// Raises the limit of the main thread's stack to the default of Linux, if it is below. Takes effect
/// at once, because the kernel checks the limit whenever the stack grows.
///
/// # Errors
/// Returns an error if the limit is too low for the program and cannot be raised.
pub fn raise_stack_limit() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_STACK)?;
    if soft >= STACK
        || setrlimit(Resource::RLIMIT_STACK, STACK, hard.max(STACK)).is_ok()
        || setrlimit(Resource::RLIMIT_STACK, hard, hard).is_ok() && hard >= SMALLEST_STACK
    {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "cannot run with a stack of {} KiB: raise the limit with `ulimit -s 8192`",
        hard >> 10
    )))
}

/// The system's allocator, except that it ends the program with an exit code if no memory is
/// available. This includes fallible allocations.
#[derive(Debug)]
pub struct Allocator {
    /// Exit code of the program.
    pub code: libc::c_int,
}

impl Allocator {
    fn checked(&self, memory: *mut u8) -> *mut u8 {
        if memory.is_null() {
            // SAFETY: the length of the text is correct. Neither call allocates memory or takes a
            // lock, so both are sound in an allocator.
            unsafe {
                libc::write(libc::STDERR_FILENO, TEXT.as_ptr().cast(), TEXT.len());
                libc::_exit(self.code);
            }
        }
        memory
    }
}

// SAFETY: all calls are forwarded to the system's allocator, which satisfies the contract of the
// trait; a call is allowed not to return.
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
