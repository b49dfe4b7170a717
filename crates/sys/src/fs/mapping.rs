//! Shared memory mappings of files. Access to a page that the filesystem cannot provide raises
//! SIGBUS, which normally kills the program. This module reports it as an error, because it is a
//! result.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libc::{c_int, c_void, siginfo_t};
use nix::sys::mman::{MapFlags, MsFlags, ProtFlags, mmap, msync, munmap};

/// Maximum number of mappings at a time: twice the maximum number of threads in a phase.
const MAX_MAPPING_SIZE: usize = 2048;

/// Size of the page that replaces a faulting one; every larger page size is a multiple of it.
const PAGE: usize = 4096;

/// States of a guard: unused, and reserved for a new mapping. No mapping begins at these addresses.
const FREE: usize = 0;
const TAKEN: usize = 1;

/// Address range of a mapping, readable by a signal handler.
struct MappingRange {
    start: AtomicUsize,
    end: AtomicUsize,
    faulted: AtomicBool,
}

static GUARDS: [MappingRange; MAX_MAPPING_SIZE] = [const {
    MappingRange {
        start: AtomicUsize::new(FREE),
        end: AtomicUsize::new(0),
        faulted: AtomicBool::new(false),
    }
}; MAX_MAPPING_SIZE];

/// A shared memory mapping of a file, or of its beginning.
///
/// Bytes are copied in and out; no reference into the mapping is ever returned, because the file
/// may change or shrink at any time.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<c_void>,
    length: NonZeroUsize,
    guard: usize,
}

// SAFETY: the mapping belongs to the process and not to a thread; it is used through raw copies only.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the first `length` bytes of a file, for writing if `writable` is true.
    ///
    /// # Errors
    /// Returns an error if the filesystem does not support mappings, or if too many mappings exist.
    /// Also returns an error if the length is zero or exceeds the address space.
    pub fn new(file: &File, length: u64, writable: bool) -> io::Result<Self> {
        let length = usize::try_from(length).ok().and_then(NonZeroUsize::new);
        let length = length.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        let mut protection = ProtFlags::PROT_READ;
        protection.set(ProtFlags::PROT_WRITE, writable);
        let guard = take_guard()?;
        // SAFETY: the kernel chooses a free address, so that no existing mapping is replaced.
        let mapped = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, file, 0) };
        let start = mapped.inspect_err(|_| GUARDS[guard].start.store(FREE, Ordering::SeqCst))?;
        let address = start.as_ptr() as usize;
        GUARDS[guard].end.store(address + length.get(), Ordering::SeqCst);
        GUARDS[guard].start.store(address, Ordering::SeqCst);
        Ok(Self { start, length, guard })
    }

    /// Copies bytes out of the mapping.
    ///
    /// # Errors
    /// Returns `EIO` if a page could not be provided.
    ///
    /// # Panics
    /// Panics if the range is outside the mapping.
    #[inline]
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let from = self.at(offset, bytes.len());
        // SAFETY: `at` has checked that the range is within the mapping, which lives as long as
        // `self` and overlaps no memory of Rust; a page that cannot be provided is replaced by
        // `on_fault`.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
        self.outcome()
    }

    /// Copies bytes into the mapping.
    ///
    /// # Errors
    /// Returns `EIO` if a page could not be provided.
    ///
    /// # Panics
    /// Panics if the range is outside the mapping.
    #[inline]
    pub fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let to = self.at(offset, bytes.len());
        // SAFETY: as for `read`; no caller writes to a read-only mapping. Such a bug would end the
        // program with SIGSEGV.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        self.outcome()
    }

    /// Writes changed pages back (`msync`, synchronous).
    ///
    /// # Errors
    /// Returns an error if the filesystem cannot write them.
    pub fn flush(&self) -> io::Result<()> {
        // SAFETY: start and length are those of the mapping.
        unsafe { msync(self.start, self.length.get(), MsFlags::MS_SYNC) }?;
        Ok(())
    }

    #[inline]
    fn at(&self, offset: u64, length: usize) -> *mut u8 {
        let end = offset.checked_add(length as u64);
        assert!(
            end.is_some_and(|end| end <= self.length.get() as u64),
            "the bytes are within the mapping"
        );
        self.start.as_ptr().cast::<u8>().wrapping_add(offset as usize)
    }

    /// Returns an error if a page had to be replaced. Such a mapping fails from then on, because
    /// data written to the page is lost.
    #[inline]
    fn outcome(&self) -> io::Result<()> {
        if GUARDS[self.guard].faulted.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mapping, and nothing refers into it.
        let _ = unsafe { munmap(self.start, self.length.get()) };
        GUARDS[self.guard].faulted.store(false, Ordering::SeqCst);
        GUARDS[self.guard].start.store(FREE, Ordering::SeqCst);
    }
}

/// Returns an unused guard; installs the handler on the first call.
fn take_guard() -> io::Result<usize> {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(install_handler);
    let free = |guard: &MappingRange| {
        let order = Ordering::SeqCst;
        guard.start.compare_exchange(FREE, TAKEN, order, order).is_ok()
    };
    let found = GUARDS.iter().position(free);
    found.ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))
}

fn install_handler() {
    // SAFETY: zeros are a valid `sigaction`; the handler has the signature that SA_SIGINFO asks for and
    // does only what a signal handler may (see there). SA_ONSTACK uses the stack that Rust's runtime
    // has given each thread for this.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

/// SIGBUS handler: a page of a mapping cannot be provided because the file ends before it, the
/// filesystem is full or the device failed. Replaces it with an empty page of memory, so that the
/// interrupted copy can finish and then report the error. Any other SIGBUS ends the program.
extern "C" fn on_fault(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t`, whose address is set for SIGBUS. The location
    // of `errno` is always valid. `errno` is restored because the interrupted code may read it.
    let (address, errno) = unsafe { ((*info).si_addr() as usize, *libc::__errno_location()) };
    if !replace_page(address) {
        // SAFETY: `signal` may be called here; the fault then happens again and ends the program.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Maps an empty page at an address within one of the mappings.
fn replace_page(address: usize) -> bool {
    let within = |guard: &&MappingRange| {
        let start = guard.start.load(Ordering::SeqCst);
        start > TAKEN && start <= address && address < guard.end.load(Ordering::SeqCst)
    };
    let Some(guard) = GUARDS.iter().find(within) else {
        return false;
    };
    guard.faulted.store(true, Ordering::SeqCst);
    let page = (address & !(PAGE - 1)) as *mut c_void;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page is within a `Mapping` (checked above), to which no reference exists; the
    // system call itself is allowed in a signal handler.
    unsafe { libc::mmap(page, PAGE, protection, flags, -1, 0) != libc::MAP_FAILED }
}

/// Writes bytes to the start of a file through a shared mapping, and writes the pages back.
///
/// # Errors
/// Returns an error if the file cannot be mapped shared and writable, or cannot be written back.
pub fn write_via_mmap(file: &File, bytes: &[u8]) -> io::Result<()> {
    if file.metadata()?.len() < bytes.len() as u64 {
        return Err(io::Error::other("the file is shorter than the bytes to write"));
    }
    let mapping = Mapping::new(file, bytes.len() as u64, true)?;
    mapping.write(0, bytes)?;
    mapping.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::path::PathBuf;

    struct Temporary(PathBuf);

    impl Temporary {
        fn of(purpose: &str, bytes: &[u8]) -> (Self, File) {
            let name = format!("mapping-{purpose}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, bytes).unwrap();
            let file = File::options().read(true).write(true).open(&path).unwrap();
            (Self(path), file)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn reads_bytes_written_through_a_mapping() {
        let (place, file) = Temporary::of("read", &[0; 16]);
        write_via_mmap(&file, b"shared").unwrap();
        let mut text = String::new();
        let mut start = File::open(&place.0).unwrap().take(6);
        start.read_to_string(&mut text).unwrap();
        assert_eq!(text, "shared");
        assert!(write_via_mmap(&file, &[1; 17]).is_err(), "beyond the end");
        let mapping = Mapping::new(&file, 16, false).unwrap();
        let mut bytes = [0; 3];
        mapping.read(3, &mut bytes).unwrap();
        assert_eq!(&bytes, b"red");
    }

    #[test]
    fn a_page_that_cannot_be_provided_is_an_error_and_no_death() {
        let (_place, file) = Temporary::of("fault", &[7; 3 * PAGE]);
        let mapping = Mapping::new(&file, 3 * PAGE as u64, true).unwrap();
        file.set_len(PAGE as u64).unwrap();
        let mut bytes = vec![1; 2 * PAGE];
        mapping.read(0, &mut bytes[..PAGE]).unwrap();
        assert!(bytes[..PAGE].iter().all(|&b| b == 7));
        let error = mapping.write(2 * PAGE as u64, &[1; 10]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
        let again = mapping.read(2 * PAGE as u64, &mut bytes[..10]);
        assert!(again.is_err(), "what was put there is not the file's");
        let anew = Mapping::new(&file, 3 * PAGE as u64, true).unwrap();
        assert!(anew.read(100, &mut bytes).is_err());
    }

    #[test]
    fn guards_are_given_back() {
        let (_place, file) = Temporary::of("guards", &[0; 16]);
        for _ in 0..3 * MAX_MAPPING_SIZE {
            Mapping::new(&file, 16, false).unwrap();
        }
        assert!(Mapping::new(&file, 0, false).is_err());
    }
}
