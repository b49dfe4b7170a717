//! Entry of system calls on open files: data, positions, memory and locks.

use std::ops::Range;
use std::rc::Rc;
use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};

use libc::c_long;
use trace::Syscall;

use crate::calls::has;
use crate::files::{HeldFile, RecordedOpening};
use crate::mappings::PAGE;
use crate::recorder::{Caller, Recorder};
use crate::then::{CopyEndpoint, Then};

/// Limitation of the recording of mapped files.
const MAPPINGS: &str = "Mapped files (mmap) were examined when they were synced or unmapped: pages present in memory count as read, or as written if a shared mapping is writable. The kernel also reads pages next to an accessed one, and the number of accesses per page is unknown.";
/// Writes with per-call flags.
const FLAGS: &str = "Flags of single writes (pwritev2) are not in the trace.";
/// Flag of `msync` for a synchronous write.
const DOES_SYNC: u64 = libc::MS_SYNC as u64;

impl Recorder {
    pub(crate) fn data(&mut self, caller: &Caller, number: c_long, a: [u64; 6]) -> Option<Then> {
        let there = Some(a[3]);
        match number {
            libc::SYS_read => self.transfer(caller, a[0], None, a[2], false),
            libc::SYS_write => self.transfer(caller, a[0], None, a[2], true),
            libc::SYS_pread64 => self.transfer(caller, a[0], there, a[2], false),
            libc::SYS_pwrite64 => self.transfer(caller, a[0], there, a[2], true),
            libc::SYS_readv => self.transfer_parts(caller, a, None, false),
            libc::SYS_writev => self.transfer_parts(caller, a, None, true),
            libc::SYS_preadv => self.transfer_parts(caller, a, there, false),
            libc::SYS_pwritev => self.transfer_parts(caller, a, there, true),
            libc::SYS_preadv2 | libc::SYS_pwritev2 => {
                if a[5] != 0 {
                    self.log.unseen.insert(FLAGS);
                }
                let there = there.filter(|offset| *offset != u64::MAX);
                self.transfer_parts(caller, a, there, number == libc::SYS_pwritev2)
            }
            libc::SYS_sendfile => {
                let sides = ((a[1], a[2]), (a[0], 0));
                self.moves_data(caller, sides, a[3], false)
            }
            libc::SYS_splice => {
                let sides = ((a[0], a[1]), (a[2], a[3]));
                self.moves_data(caller, sides, a[4], false)
            }
            libc::SYS_copy_file_range => {
                let sides = ((a[0], a[1]), (a[2], a[3]));
                self.moves_data(caller, sides, a[4], true)
            }
            libc::SYS_lseek => self.opening(caller, a[0]).map(Then::Seek),
            libc::SYS_getdents | libc::SYS_getdents64 => Some(Then::List {
                opening: self.opening(caller, a[0])?,
                buffer: a[1],
                old: number == libc::SYS_getdents,
            }),
            libc::SYS_mmap => self.map(caller, a),
            libc::SYS_munmap => {
                self.unmap(caller, a[0]..a[0].saturating_add(a[1]));
                None
            }
            libc::SYS_mremap => {
                let range = a[0]..a[0].saturating_add(a[1]);
                self.tell_touched(caller, &range);
                let has_any = caller.memory.borrow_mut().in_range(range).next().is_some();
                has_any.then_some(Then::Remap(a[0], a[1], a[2]))
            }
            libc::SYS_msync => self.sync_mapping(caller, a[0]..a[0].saturating_add(a[1]), a[2]),
            _ => self.on_opening(caller, number, a),
        }
    }

    /// Handles calls that only concern an open file description.
    fn on_opening(&mut self, caller: &Caller, number: c_long, a: [u64; 6]) -> Option<Then> {
        let (offset, length) = (a[1], a[2]);
        let call = match number {
            libc::SYS_sync => return Some(Then::record(Syscall::SyncAll)),
            libc::SYS_syncfs => {
                self.opening(caller, a[0])?;
                Syscall::SyncAll
            }
            libc::SYS_fsync | libc::SYS_fdatasync => Syscall::Sync {
                handle: self.opening(caller, a[0])?.handle,
                data_only: number == libc::SYS_fdatasync,
            },
            libc::SYS_sync_file_range => {
                Syscall::SyncRange { handle: self.opening(caller, a[0])?.handle, offset, length }
            }
            libc::SYS_fstat => Syscall::StatHandle { handle: self.opening(caller, a[0])?.handle },
            libc::SYS_fstatfs => {
                self.opening(caller, a[0])?;
                Syscall::StatFilesystem
            }
            libc::SYS_ftruncate => {
                Syscall::TruncateHandle { handle: self.opening(caller, a[0])?.handle, size: a[1] }
            }
            libc::SYS_fallocate => Syscall::Allocate {
                handle: self.opening(caller, a[0])?.handle,
                mode: a[1] as u8,
                offset: a[2],
                length: a[3],
            },
            libc::SYS_fchmod => Syscall::ChangeModeHandle {
                handle: self.opening(caller, a[0])?.handle,
                mode: (a[1] & 0o7777) as u16,
            },
            libc::SYS_fchown => {
                Syscall::ChangeOwnerHandle { handle: self.opening(caller, a[0])?.handle }
            }
            libc::SYS_fadvise64 => Syscall::Advise {
                handle: self.opening(caller, a[0])?.handle,
                offset,
                length,
                advice: a[3] as u8,
            },
            libc::SYS_readahead => Syscall::Advise {
                handle: self.opening(caller, a[0])?.handle,
                offset,
                length,
                advice: libc::POSIX_FADV_WILLNEED as u8,
            },
            _ => return None,
        };
        Some(Then::record(call))
    }

    /// Handles a read or write. A write to a pipe is recorded as sent at entry, because the reader
    /// may get the data before the call returns.
    fn transfer(
        &mut self,
        caller: &Caller,
        descriptor: u64,
        offset: Option<u64>,
        length: u64,
        writes: bool,
    ) -> Option<Then> {
        let descriptor = descriptor as i32;
        let held = caller.files.borrow().get(descriptor).cloned();
        match held {
            Some(HeldFile::Opening(opening)) => {
                Some(Then::Transfer { opening, descriptor, offset, length, writes })
            }
            Some(held) => self.message(caller, &held, writes),
            None => self.elsewhere(),
        }
    }

    /// Handles a read or write with several memory buffers.
    fn transfer_parts(
        &mut self,
        caller: &Caller,
        a: [u64; 6],
        offset: Option<u64>,
        writes: bool,
    ) -> Option<Then> {
        /// Size of an `iovec` in bytes, and maximum number of them per call.
        const PART: usize = 16;
        const MAX_IOVECS: u64 = 1024;
        let is_opening = caller.files.borrow().opening(a[0] as i32).is_some();
        let length = if is_opening {
            let parts = caller.bytes(a[1], a[2].min(MAX_IOVECS) as usize * PART)?;
            let lengths = parts.chunks_exact(PART).map(|part| {
                let length = part[8..].try_into();
                length.map_or(0, u64::from_ne_bytes)
            });
            lengths.fold(0, u64::saturating_add)
        } else {
            0
        };
        self.transfer(caller, a[0], offset, length, writes)
    }

    /// Handles a transfer from one descriptor to another. Each descriptor comes with the address of
    /// an offset, or 0.
    fn moves_data(
        &mut self,
        caller: &Caller,
        (from, to): ((u64, u64), (u64, u64)),
        length: u64,
        in_filesystem: bool,
    ) -> Option<Then> {
        let side = |(descriptor, place): (u64, u64)| {
            let descriptor = descriptor as i32;
            Some(CopyEndpoint {
                held: caller.files.borrow().get(descriptor).cloned(),
                descriptor,
                offset: match place {
                    0 => None,
                    place => Some(caller.numbers::<1>(place)?[0]),
                },
            })
        };
        let (from, to) = (side(from)?, side(to)?);
        if let Some(HeldFile::End(end)) = &to.held
            && let Some(channel) = end.sends
        {
            self.orders.send(&mut self.log, caller.who, channel);
        }
        if from.held.is_none() && !matches!(to.held, Some(HeldFile::Opening(_))) {
            return self.elsewhere();
        }
        Some(Then::Move { from, to, length, in_filesystem })
    }

    /// Handles `FICLONE` and `FICLONERANGE`. The array contains source offset, length and target
    /// offset.
    pub(crate) fn clone_range(
        &mut self,
        caller: &Caller,
        to: u64,
        from: u64,
        [from_offset, length, to_offset]: [u64; 3],
    ) -> Option<Then> {
        let to = self.opening(caller, to)?.handle;
        let from = self.opening(caller, from)?.handle;
        Some(Then::record(Syscall::CopyRange {
            from,
            to,
            from_offset,
            to_offset,
            length,
            clone: true,
        }))
    }

    fn map(&mut self, caller: &Caller, a: [u64; 6]) -> Option<Then> {
        if has(a[3], libc::MAP_FIXED) {
            self.unmap(caller, a[0]..a[0].saturating_add(a[1]));
        }
        let opening = self.opening(caller, a[4])?;
        let shared = has(a[3], libc::MAP_SHARED);
        Some(Then::Map {
            opening,
            offset: a[5],
            length: a[1].next_multiple_of(PAGE),
            modes: (shared, shared && has(a[2], libc::PROT_WRITE)),
        })
    }

    /// Handles the release of a memory range.
    pub(crate) fn unmap(&mut self, caller: &Caller, range: Range<u64>) {
        if caller.memory.borrow().is_empty() {
            return;
        }
        self.tell_touched(caller, &range);
        let gone = caller.memory.borrow_mut().remove(&range);
        for opening in gone {
            let began = self.log.now();
            self.closed(caller, &opening, began, 0);
        }
    }

    /// Records which pages of mapped files in a memory range were touched.
    pub(crate) fn tell_touched(&mut self, caller: &Caller, range: &Range<u64>) {
        let memory = caller.memory.borrow_mut();
        let mut memory = memory;
        for mapping in memory.in_range(range.clone()) {
            let handle = mapping.opening.handle;
            let size = size(&mapping.opening);
            for run in mapping.touched(caller.tid, range, size) {
                let (offset, length) = (run.start, run.end - run.start);
                let call = match mapping.writes {
                    true => Syscall::MappedWrite { handle, offset, length },
                    false => Syscall::MappedRead { handle, offset, length },
                };
                let now = self.log.now();
                let returned = i64::try_from(length).unwrap_or(i64::MAX);
                self.log.unseen.insert(MAPPINGS);
                self.push(caller, now, call, returned, true);
            }
        }
    }

    /// Handles `msync`. If the range covers several files, only the last one is recorded.
    fn sync_mapping(&mut self, caller: &Caller, range: Range<u64>, flags: u64) -> Option<Then> {
        if flags & DOES_SYNC == 0 || caller.memory.borrow().is_empty() {
            return None;
        }
        self.tell_touched(caller, &range);
        let mut memory = caller.memory.borrow_mut();
        let mapping = memory.in_range(range.clone()).last()?;
        let start = mapping.range.start.max(range.start);
        let end = mapping.range.end.min(range.end);
        Some(Then::record(Syscall::MappedSync {
            handle: mapping.opening.handle,
            offset: mapping.offset + (start - mapping.range.start),
            length: end - start,
        }))
    }

    /// Handles locks of an open file description or of a process: `flock`, and requests of `fcntl`.
    pub(crate) fn locks(
        &mut self,
        caller: &Caller,
        descriptor: u64,
        releases: bool,
    ) -> Option<Then> {
        let opening = self.opening(caller, descriptor)?;
        Some(Then::Lock { opening, releases })
    }
}

/// Returns the size of the file, or `u64::MAX` if it no longer has a name.
fn size(opening: &Rc<RecordedOpening>) -> u64 {
    let real = &opening.real.borrow().0;
    fs::metadata(OsStr::from_bytes(real)).map_or(u64::MAX, |found| found.len())
}
