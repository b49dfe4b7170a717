//! Available memory, and limits of the process that are reported in one line rather than by a signal
//! or by failures of filesystems: memory, stack and open files.

use std::alloc::{GlobalAlloc, Layout, System};
use std::{fs, io};

use model::Bytes;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// The message, which must not need memory.
const TEXT: &[u8] =
    b"fsarena: out of memory: see the limits of the process (ulimit -v) and of its \
                      control group\n";

/// Stack of the main thread, in bytes: the default of Linux.
const STACK: libc::rlim_t = 8 << 20;
/// Stack that the program needs at least, in bytes.
const SMALLEST_STACK: libc::rlim_t = 1 << 20;

/// Default of Linux for open files.
const FILES: libc::rlim_t = 1024;
/// Open files that the program needs at least.
const FEWEST_FILES: libc::rlim_t = 64;

/// Returns the memory available without swapping, as estimated by `/proc/meminfo`, or `None` if it
/// is missing there.
pub fn available() -> Option<Bytes> {
    parse_available(&fs::read_to_string("/proc/meminfo").ok()?)
}

/// Parses the available memory from the text of `/proc/meminfo`.
pub fn parse_available(meminfo: &str) -> Option<Bytes> {
    line(meminfo, "MemAvailable:")
}

/// Returns the data of the page cache that is not on a device yet: changed, or being written.
/// Returns `None` if `/proc/meminfo` is missing.
pub fn dirty() -> Option<Bytes> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let [changed, in_flight] = ["Dirty:", "Writeback:"].map(|name| line(&text, name));
    Some(Bytes(changed?.0.saturating_add(in_flight?.0)))
}

/// Returns a value from the text of `/proc/meminfo`. Source: proc_meminfo(5).
fn line(meminfo: &str, name: &str) -> Option<Bytes> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024).map(Bytes)
}

/// Raises the limits of the main thread's stack and of open files to the defaults of Linux, if they
/// are below. The kernel checks the limit whenever the stack grows, so it takes effect at once.
///
/// # Errors
/// Returns an error if a limit is too low for the program and cannot be raised.
pub fn raise_limits() -> io::Result<()> {
    raise(Resource::RLIMIT_STACK, SMALLEST_STACK, STACK).map_err(|limit| {
        let limit = limit >> 10;
        io::Error::other(format!(
            "cannot run with a stack of {limit} KiB: raise the limit with `ulimit -s 8192`"
        ))
    })?;
    raise(Resource::RLIMIT_NOFILE, FEWEST_FILES, FILES).map_err(|limit| {
        io::Error::other(format!(
            "cannot run with {limit} open files: raise the limit with `ulimit -n {FILES}`"
        ))
    })
}

/// Raises a limit to `usual`, or else to the hard limit. Returns the limit as an error if it remains
/// below `least`.
fn raise(limit: Resource, least: libc::rlim_t, usual: libc::rlim_t) -> Result<(), libc::rlim_t> {
    let (soft, hard) = getrlimit(limit).unwrap_or((usual, usual));
    let is_enough = soft >= usual
        || setrlimit(limit, usual, hard.max(usual)).is_ok()
        || setrlimit(limit, hard, hard).is_ok() && hard >= least
        || soft >= least;
    is_enough.then_some(()).ok_or(hard)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_available_memory_of_the_kernel() {
        let meminfo = "MemTotal:  9 kB\nMemFree:   1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(parse_available(meminfo), Some(Bytes::mib(2)));
        assert_eq!(parse_available("MemTotal: 9 kB\n"), None);
        assert_eq!(parse_available("MemAvailable: 18446744073709551615 kB\n"), None);
        assert!(available().is_some_and(|memory| memory > Bytes::mib(1)));
    }
}
