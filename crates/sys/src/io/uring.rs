//! Linux submission and completion rings (io_uring) on one file, with buffers that are registered
//! with the kernel. The ring owns its buffers: no request can outlive them, and no code can access
//! one while the kernel uses it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use model::Nanos;

use crate::fs::aligned::AlignedBuffer;

/// Index of the only registered file.
const FILE: Fixed = Fixed(0);

/// Alignment of buffers, sufficient for direct I/O on every device.
const ALIGN: usize = 4096;

/// A ring of slots, each with a buffer; a slot is either idle or in flight.
pub struct Ring {
    ring: IoUring,
    /// Taken only when no request is in flight; see `drop`.
    memory: Option<AlignedBuffer>,
    stride: usize,
    in_flight: Vec<bool>,
    count: usize,
    flags: i32,
}

/// A completed request.
#[derive(Debug)]
pub struct Completion {
    /// The slot, idle again.
    pub slot: usize,
    /// Bytes moved.
    pub outcome: io::Result<usize>,
}

impl Ring {
    /// Creates a ring of `depth` slots with buffers of `bytes` bytes, for use by this thread only.
    ///
    /// # Errors
    /// Returns an error if the kernel has no io_uring (`ENOSYS`), does not allow it (`EPERM`), or
    /// may not lock enough memory (`ENOMEM`).
    ///
    /// # Panics
    /// Panics if depth or bytes are zero.
    pub fn new(depth: u32, bytes: usize) -> io::Result<Self> {
        let ring = build(depth)?;
        let stride = bytes.next_multiple_of(ALIGN);
        let slots = depth as usize;
        let mut memory = AlignedBuffer::new(stride * slots, ALIGN);
        let vectors: Vec<libc::iovec> = memory
            .chunks_mut(stride)
            .map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: stride })
            .collect();
        // SAFETY: the buffers are not moved until `drop`, which unregisters them first.
        unsafe { ring.submitter().register_buffers(&vectors) }?;
        Ok(Self {
            ring,
            memory: Some(memory),
            stride,
            in_flight: vec![false; slots],
            count: 0,
            flags: 0,
        })
    }

    /// Registers the file for all requests.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses the file.
    pub fn register(&self, file: &File) -> io::Result<()> {
        self.ring.submitter().register_files(&[file.as_raw_fd()])
    }

    /// Sets the flags of all further requests (`RWF_` of pwritev2(2)).
    pub const fn set_flags(&mut self, flags: u32) {
        self.flags = flags.cast_signed();
    }

    /// Returns the number of slots.
    pub fn depth(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns the number of requests in flight.
    pub const fn in_flight(&self) -> usize {
        self.count
    }

    /// Returns the buffer of an idle slot.
    ///
    /// # Panics
    /// Panics if the slot is in flight.
    pub fn buffer(&mut self, slot: usize) -> &mut [u8] {
        assert!(!self.in_flight[slot], "the kernel has the buffer");
        let start = slot * self.stride;
        let memory = self.memory.as_mut().expect("taken only by `drop`");
        &mut memory[start..start + self.stride]
    }

    /// Prepares a read of `length` bytes at an offset of the file into the slot's buffer, starting
    /// at byte `skip` of the buffer.
    ///
    /// # Panics
    /// Panics if the slot is in flight, or if the bytes do not fit into the buffer.
    pub fn read(&mut self, slot: usize, skip: usize, offset: u64, length: usize) {
        let (address, length) = self.part(slot, skip, length);
        let entry = opcode::ReadFixed::new(FILE, address, length, slot as u16).offset(offset);
        self.push(slot, &entry.rw_flags(self.flags).build());
    }

    /// Prepares a write of `length` bytes of the slot's buffer, starting at its byte `skip`, to an
    /// offset of the file.
    ///
    /// # Panics
    /// Panics if the slot is in flight, or if the bytes are not within its buffer.
    pub fn write(&mut self, slot: usize, skip: usize, offset: u64, length: usize) {
        let (address, length) = self.part(slot, skip, length);
        let entry = opcode::WriteFixed::new(FILE, address, length, slot as u16).offset(offset);
        self.push(slot, &entry.rw_flags(self.flags).build());
    }

    fn part(&mut self, slot: usize, skip: usize, length: usize) -> (*mut u8, u32) {
        let part = &mut self.buffer(slot)[skip..skip + length];
        let length = u32::try_from(length).expect("a request is smaller than 4 GiB");
        (part.as_mut_ptr(), length)
    }

    fn push(&mut self, slot: usize, entry: &io_uring::squeue::Entry) {
        let entry = entry.clone().user_data(slot as u64);
        self.in_flight[slot] = true;
        self.count += 1;
        // SAFETY: the entry refers to the registered file and to a part of a buffer. The buffer
        // lives until no request is in flight (see `drop`), and `buffer` does not lend it during
        // that time.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("there is a place for each slot");
    }

    /// Submits the prepared requests, and waits until `wait_for` requests have completed or the
    /// optional timeout has expired.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses the ring's work as a whole.
    pub fn submit(&mut self, wait_for: usize, at_most: Option<Nanos>) -> io::Result<()> {
        let outcome = match at_most {
            None => self.ring.submit_and_wait(wait_for),
            Some(Nanos(span)) => {
                let span =
                    Timespec::new().sec(span / 1_000_000_000).nsec((span % 1_000_000_000) as u32);
                let args = SubmitArgs::new().timespec(&span);
                self.ring.submitter().submit_with_args(wait_for, &args)
            }
        };
        match outcome.map_err(|e| (e.raw_os_error(), e)) {
            // Timeout or signal: the caller checks which requests have completed.
            Ok(_) | Err((Some(libc::ETIME | libc::EINTR), _)) => Ok(()),
            Err((_, error)) => Err(error),
        }
    }

    /// Appends the completed requests to a list.
    pub fn reap(&mut self, into: &mut Vec<Completion>) {
        for entry in self.ring.completion() {
            let slot = entry.user_data() as usize;
            self.in_flight[slot] = false;
            self.count -= 1;
            let outcome = match entry.result() {
                result @ 0.. => Ok(result as usize),
                errno => Err(io::Error::from_raw_os_error(-errno)),
            };
            into.push(Completion { slot, outcome });
        }
    }

    /// Waits until no request is in flight.
    fn drain(&mut self) -> io::Result<()> {
        let mut done = Vec::new();
        while self.count > 0 {
            self.submit(1, None)?;
            self.reap(&mut done);
            done.clear();
        }
        Ok(())
    }
}

/// Creates the cheapest ring that this kernel supports. One thread submits, and completions are
/// processed on its request (`SINGLE_ISSUER`, `DEFER_TASKRUN`, Linux 6.1). On older kernels,
/// creates a plain ring.
fn build(depth: u32) -> io::Result<IoUring> {
    let cheap = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(depth);
    match cheap {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => IoUring::new(depth),
        other => other,
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.drain().is_err() {
            // The kernel may still write into the buffers, so leaking them is safer than freeing
            // them.
            std::mem::forget(self.memory.take());
        }
        // The kernel destroys a ring some time after its last user has closed it. The file is
        // released here because a filesystem with an open file cannot be unmounted. Errors mean
        // that no file or buffer was registered.
        let _ = self.ring.submitter().unregister_files();
        let _ = self.ring.submitter().unregister_buffers();
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("depth", &self.in_flight.len())
            .field("stride", &self.stride)
            .field("in_flight", &self.count)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_process::is_own_process;

    /// Creates a ring. Without io_uring these tests fail, since they test nothing else.
    fn new_ring(depth: u32, bytes: usize) -> Ring {
        Ring::new(depth, bytes).expect("these tests need io_uring (kernel.io_uring_disabled=0)")
    }

    /// Creates a ring on a new file.
    fn ring(purpose: &str, depth: u32, bytes: usize) -> (Ring, File) {
        let ring = new_ring(depth, bytes);
        let path = std::env::temp_dir().join(format!("ring-{purpose}-{}", std::process::id()));
        let file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        ring.register(&file).unwrap();
        (ring, file)
    }

    fn all(ring: &mut Ring) -> Vec<Completion> {
        let mut done = Vec::new();
        while ring.in_flight() > 0 {
            ring.submit(1, None).unwrap();
            ring.reap(&mut done);
        }
        done
    }

    #[test]
    fn reads_what_it_wrote() {
        let (mut ring, _file) = ring("read", 8, 1000);
        for slot in 0..ring.depth() {
            ring.buffer(slot)[..1000].fill(slot as u8);
            ring.write(slot, 0, slot as u64 * 1000, 1000);
        }
        assert!(all(&mut ring).iter().all(|c| *c.outcome.as_ref().unwrap() == 1000));
        for slot in 0..8 {
            ring.buffer(slot).fill(0xff);
            ring.read(slot, 10, (7 - slot as u64) * 1000, 900);
        }
        assert_eq!(all(&mut ring).len(), 8);
        for slot in 0..8 {
            let buffer = ring.buffer(slot);
            assert!(buffer[10..910].iter().all(|&b| b == 7 - slot as u8));
            assert!(buffer[..10].iter().chain(&buffer[910..]).all(|&b| b == 0xff));
        }
    }

    #[test]
    fn an_error_belongs_to_its_request_and_a_short_read_is_none() {
        let (mut ring, file) = ring("error", 2, 4096);
        file.set_len(100).unwrap();
        ring.read(0, 0, 0, 4096);
        ring.read(1, 0, 1 << 63, 4096);
        let mut done = all(&mut ring);
        done.sort_by_key(|c| c.slot);
        assert_eq!(*done[0].outcome.as_ref().unwrap(), 100);
        let error = done[1].outcome.as_ref().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn a_wait_ends_at_its_timeout() {
        let (mut ring, _file) = ring("wait", 2, 4096);
        ring.submit(1, Some(Nanos(1000))).unwrap();
        assert_eq!(ring.in_flight(), 0);
    }

    #[test]
    fn a_ring_can_go_while_requests_are_in_flight() {
        let (mut ring, file) = ring("drop", 64, 1 << 16);
        for slot in 0..64 {
            ring.buffer(slot).fill(3);
            ring.write(slot, 0, (slot as u64) << 16, 1 << 16);
        }
        drop(ring);
        assert_eq!(file.metadata().unwrap().len(), 64 << 16);
    }

    /// Whether the file is open for writing elsewhere. A write lease is granted only to the single
    /// user of a file. The lease is released at once rather than by closing the file, for two
    /// reasons: a program started by another test at that moment keeps the file open until it runs,
    /// and opening the path during the lease sends SIGIO to its owner, this process.
    fn is_held(path: &std::path::Path) -> bool {
        let file = File::options().read(true).write(true).open(path).unwrap();
        let lease = |kind: libc::c_int| {
            // SAFETY: a request for a lease touches no memory of the program.
            unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) == 0 }
        };
        let held = !lease(libc::F_WRLCK);
        assert!(held || lease(libc::F_UNLCK));
        held
    }

    /// Runs in its own process, because a program started by another test also holds the file until
    /// its exec. In some rounds the file may still be held, because some kernels release it in a
    /// worker a moment later.
    #[test]
    fn a_dropped_ring_releases_its_file() {
        if !is_own_process(module_path!(), "a_dropped_ring_releases_its_file") {
            return;
        }
        let path = std::env::temp_dir().join(format!("ring-held-{}", std::process::id()));
        let mut held = 0;
        for _ in 0..20 {
            let mut ring = new_ring(32, 1 << 16);
            let file = File::options().write(true).create(true).truncate(false).open(&path);
            let file = file.unwrap();
            ring.register(&file).unwrap();
            drop(file);
            for slot in 0..32 {
                ring.write(slot, 0, (slot as u64) << 16, 1 << 16);
            }
            ring.submit(0, None).unwrap();
            assert!(is_held(&path), "the ring holds it");
            drop(ring);
            held += u32::from(is_held(&path));
        }
        assert!(held < 10, "{held} of 20");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    #[should_panic(expected = "the kernel has the buffer")]
    fn rejects_access_to_a_buffer_in_flight() {
        let (mut ring, _file) = ring("busy", 1, 4096);
        ring.read(0, 0, 0, 4096);
        ring.buffer(0);
    }
}
