//! The calls of a trace as system calls. Only mappings allocate memory.

use std::ffi::CStr;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{PoisonError, RwLock};

use model::DataKind;
use rustix::fs::{
    self, Access, Advice, AtFlags, FallocateFlags, FileType, FlockOperation, Mode, OFlags, RawDir,
    RenameFlags, SeekFrom, Timespec, Timestamps, XattrFlags,
};
use rustix::io::{Errno, Result, pread, pwrite};
use sys::fs::aligned::AlignedBuffer;
use sys::fs::mapping::Mapping;
use sys::io::caches;
use trace::{HandleId, OpenFlags, Syscall, Trace};

use super::lane::ReplayContext;
use super::paths::confine_link_target;
use crate::data::pattern::{BlockIdentity, Pattern};

/// Maximum bytes per read or write call; longer requests take several calls.
const MAX_CALL_SIZE: u64 = 8 << 20;
/// Size of the buffer for names of a directory, as in the C library.
const NAMES: usize = 32 << 10;
/// Time used for every recorded time change: 2001-09-09, which every filesystem can represent.
const REPLAY_TIMESTAMP: Timespec = Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
const TIMES: Timestamps =
    Timestamps { last_access: REPLAY_TIMESTAMP, last_modification: REPLAY_TIMESTAMP };

/// Buffers of one lane.
pub struct Buffers {
    pattern: Pattern,
    read: AlignedBuffer,
    names: Vec<MaybeUninit<u8>>,
    small: Vec<u8>,
}

impl Buffers {
    /// Allocates buffers for the requests of a trace.
    pub fn new(trace: &Trace, data: DataKind, seed: u64) -> Self {
        let lengths = trace.operations.iter().map(|operation| match operation.call {
            Syscall::Write { length, .. } | Syscall::MappedWrite { length, .. } => (0, length),
            Syscall::Read { length, .. } | Syscall::MappedRead { length, .. } => (length, 0),
            _ => (0, 0),
        });
        let longest = lengths.fold((0, 0), |a, b| (a.0.max(b.0), a.1.max(b.1)));
        let size = |length: u64| length.min(MAX_CALL_SIZE) as usize;
        Self {
            pattern: Pattern::of_kind(data, seed, size(longest.1)),
            read: AlignedBuffer::new(size(longest.0).max(4096), 4096),
            names: vec![MaybeUninit::uninit(); NAMES],
            small: vec![0; 1 << 16],
        }
    }
}

impl ReplayContext<'_> {
    /// Performs a call. Returns the number of bytes or names, or 0 for other calls.
    pub fn perform(&self, call: &Syscall, buffers: &mut Buffers) -> Result<u64> {
        let (top, at) = (&self.top, |path| self.paths.relative(path));
        let done = match *call {
            Syscall::Open { path, flags, mode, handle } => {
                let mode = Mode::from_raw_mode(mode.into());
                let file = fs::openat(top, at(path), open_flags(flags), mode)?;
                if let Some(handle) = handle {
                    *self.slot(handle)?.write().unwrap_or_else(PoisonError::into_inner) =
                        Some(file);
                }
                return Ok(0);
            }
            Syscall::Stat { path, follow } => fs::statat(top, at(path), follows(follow)).map(drop),
            Syscall::Access { path, mode } => {
                let mode = Access::from_bits_truncate(mode.into());
                fs::accessat(top, at(path), mode, AtFlags::empty())
            }
            Syscall::ReadLink { path } => {
                let room = &mut buffers.names[..4096];
                fs::readlinkat_raw(top, at(path), room).map(drop)
            }
            Syscall::MakeDirectory { path, mode } => {
                fs::mkdirat(top, at(path), Mode::from_raw_mode(mode.into()))
            }
            Syscall::MakePipe { path, mode } => {
                fs::mknodat(top, at(path), FileType::Fifo, Mode::from_raw_mode(mode.into()), 0)
            }
            Syscall::RemoveDirectory { path } => fs::unlinkat(top, at(path), AtFlags::REMOVEDIR),
            Syscall::Unlink { path } => fs::unlinkat(top, at(path), AtFlags::empty()),
            Syscall::Rename { from, to, flags: 0 } => fs::renameat(top, at(from), top, at(to)),
            Syscall::Rename { from, to, flags } => rename(top, at(from), at(to), flags.into()),
            Syscall::Link { from, to } => fs::linkat(top, at(from), top, at(to), AtFlags::empty()),
            Syscall::Symlink { ref text, path } => {
                fs::symlinkat(confine_link_target(text, path, &self.trace.paths), top, at(path))
            }
            Syscall::ChangeMode { path, mode } => {
                fs::chmodat(top, at(path), Mode::from_raw_mode(mode.into()), AtFlags::empty())
            }
            Syscall::ChangeOwner { path, follow } => {
                let (user, group) = (owner(), group());
                fs::chownat(top, at(path), user, group, follows(follow))
            }
            Syscall::SetTimes { path, follow } => {
                fs::utimensat(top, at(path), &TIMES, follows(follow))
            }
            Syscall::StatFilesystem => fs::fstatfs(top).map(drop),
            Syscall::SyncAll => fs::syncfs(top),
            Syscall::Truncate { path, size } => {
                let size = i64::try_from(size).map_err(|_| Errno::FBIG)?;
                let truncated = nix::unistd::truncate(self.paths.absolute(path), size);
                truncated.map_err(|error| Errno::from_raw_os_error(error as i32))
            }
            Syscall::SetAttribute { .. }
            | Syscall::GetAttribute { .. }
            | Syscall::ListAttributes { .. }
            | Syscall::RemoveAttribute { .. } => self.attribute(call, &mut buffers.small),
            Syscall::Order(_) => Ok(()),
            _ => return self.on_handle(call, buffers),
        };
        done.map(|()| 0)
    }

    /// Performs a call on an open file.
    fn on_handle(&self, call: &Syscall, buffers: &mut Buffers) -> Result<u64> {
        let handle = call.handles()[0].ok_or(Errno::BADF)?;
        if let Syscall::Close { .. } = call {
            let file = self.slot(handle)?.write().unwrap_or_else(PoisonError::into_inner).take();
            let closed = nix::unistd::close(file.ok_or(Errno::BADF)?);
            return closed.map(|()| 0).map_err(|error| Errno::from_raw_os_error(error as i32));
        }
        let slot = self.slot(handle)?.read().unwrap_or_else(PoisonError::into_inner);
        let file = slot.as_ref().ok_or(Errno::BADF)?.as_fd();
        let done = match *call {
            Syscall::Read { offset, length, .. } => return read(file, offset, length, buffers),
            Syscall::Write { offset, length, .. } => {
                let origin = BlockIdentity { file: handle.0.into(), generation: 1 };
                return write(file, origin, offset, length, &mut buffers.pattern);
            }
            Syscall::MappedRead { offset, length, .. } => {
                return mapped(file, offset, length, buffers, false);
            }
            Syscall::MappedWrite { offset, length, .. } => {
                return mapped(file, offset, length, buffers, true);
            }
            Syscall::MappedSync { offset, length, .. } => map(file, offset, length, false)
                .and_then(|mapping| {
                    mapping.map_or(Ok(()), |mapping| mapping.flush().map_err(errno))
                }),
            Syscall::Sync { data_only: true, .. } => fs::fdatasync(file),
            Syscall::Sync { .. } => fs::fsync(file),
            Syscall::SyncRange { offset, length, .. } => {
                caches::sync_range(file, offset, length).map_err(errno)
            }
            Syscall::List { .. } => return list(file, &mut buffers.names),
            Syscall::StatHandle { .. } => fs::fstat(file).map(drop),
            Syscall::LinkHandle { to, .. } => {
                let (top, to) = (&self.top, self.paths.relative(to));
                // A link to the descriptor itself (`AT_EMPTY_PATH`) needs `CAP_DAC_READ_SEARCH`.
                let from = format!("/proc/self/fd/{}", file.as_raw_fd());
                fs::linkat(fs::CWD, from, top, to, AtFlags::SYMLINK_FOLLOW)
            }
            Syscall::TruncateHandle { size, .. } => fs::ftruncate(file, size),
            Syscall::Allocate { mode, offset, length, .. } => {
                let mode = FallocateFlags::from_bits_retain(mode.into());
                fs::fallocate(file, mode, offset, length)
            }
            Syscall::CopyRange { to, from_offset, to_offset, length, clone, .. } => {
                let slot = self.slot(to)?.read().unwrap_or_else(PoisonError::into_inner);
                let to = slot.as_ref().ok_or(Errno::BADF)?.as_fd();
                if clone {
                    return fs::ioctl_ficlone(to, file).map(|()| 0);
                }
                return copy(file, to, from_offset, to_offset, length);
            }
            Syscall::ChangeModeHandle { mode, .. } => {
                fs::fchmod(file, Mode::from_raw_mode(mode.into()))
            }
            Syscall::ChangeOwnerHandle { .. } => fs::fchown(file, owner(), group()),
            Syscall::SetTimesHandle { .. } => fs::futimens(file, &TIMES),
            Syscall::Advise { offset, length, advice, .. } => {
                let length = std::num::NonZeroU64::new(length);
                fs::fadvise(file, offset, length, advice_of(advice))
            }
            // The plan already orders conflicting locks; shared locks never block.
            Syscall::Lock { .. } => fs::flock(file, FlockOperation::NonBlockingLockShared),
            _ => Err(Errno::BADF),
        };
        done.map(|()| 0)
    }

    /// Performs an attribute call. Attributes that the kernel interprets are replaced by user
    /// attributes.
    fn attribute(&self, call: &Syscall, room: &mut Vec<u8>) -> Result<()> {
        let Some(path) = call.paths()[0] else {
            return Err(Errno::INVAL);
        };
        let path = self.paths.absolute(path);
        match call {
            Syscall::SetAttribute { name, length, .. } => {
                room.resize(room.len().max(*length as usize), 0);
                let value = &room[..*length as usize];
                fs::lsetxattr(path, of_user(name), value, XattrFlags::empty())
            }
            Syscall::GetAttribute { name, .. } => {
                fs::lgetxattr(path, of_user(name), room).map(drop)
            }
            Syscall::RemoveAttribute { name, .. } => fs::lremovexattr(path, of_user(name)),
            _ => fs::llistxattr(path, room).map(drop),
        }
    }

    /// Returns the slot of a handle.
    fn slot(&self, handle: HandleId) -> Result<&RwLock<Option<OwnedFd>>> {
        self.handles.get(handle.0 as usize).ok_or(Errno::BADF)
    }
}

fn of_user(name: &[u8]) -> Vec<u8> {
    match name.starts_with(b"user.") {
        true => name.to_vec(),
        false => [b"user.", name].concat(),
    }
}

const fn follows(follow: bool) -> AtFlags {
    match follow {
        true => AtFlags::empty(),
        false => AtFlags::SYMLINK_NOFOLLOW,
    }
}

fn owner() -> Option<fs::Uid> {
    Some(fs::Uid::from_raw(nix::unistd::geteuid().as_raw()))
}

fn group() -> Option<fs::Gid> {
    Some(fs::Gid::from_raw(nix::unistd::getegid().as_raw()))
}

/// Converts the flags, which have different values on other architectures.
fn open_flags(flags: OpenFlags) -> OFlags {
    const SAME: [(u32, OFlags); 11] = [
        (OpenFlags::CREATE, OFlags::CREATE),
        (OpenFlags::EXCLUSIVE, OFlags::EXCL),
        (OpenFlags::TRUNCATE, OFlags::TRUNC),
        (OpenFlags::DATA_SYNC, OFlags::DSYNC),
        (OpenFlags::DIRECT, OFlags::DIRECT),
        (OpenFlags::DIRECTORY, OFlags::DIRECTORY),
        (OpenFlags::NO_FOLLOW, OFlags::NOFOLLOW),
        (OpenFlags::SYNC | OpenFlags::DATA_SYNC, OFlags::SYNC),
        (OpenFlags::PATH, OFlags::PATH),
        (OpenFlags::TEMPORARY | OpenFlags::DIRECTORY, OFlags::TMPFILE),
        (OpenFlags::APPEND, OFlags::empty()),
    ];
    let access = match flags.0 & OpenFlags::ACCESS {
        0 => OFlags::RDONLY,
        1 => OFlags::WRONLY,
        _ => OFlags::RDWR,
    };
    let set = SAME.iter().filter(|(ours, _)| flags.has(*ours));
    set.fold(access | OFlags::CLOEXEC, |all, (_, flag)| all | *flag)
}

const fn advice_of(number: u8) -> Advice {
    match number {
        1 => Advice::Random,
        2 => Advice::Sequential,
        3 => Advice::WillNeed,
        4 => Advice::DontNeed,
        5 => Advice::NoReuse,
        _ => Advice::Normal,
    }
}

fn read(file: BorrowedFd<'_>, offset: u64, length: u64, buffers: &mut Buffers) -> Result<u64> {
    let mut done = 0;
    loop {
        let part = (length - done).min(MAX_CALL_SIZE) as usize;
        let count = pread(file, &mut buffers.read[..part], offset.saturating_add(done))?;
        done += count as u64;
        if count < part || done == length {
            return Ok(done);
        }
    }
}

fn write(
    file: BorrowedFd<'_>,
    origin: BlockIdentity,
    offset: u64,
    length: u64,
    pattern: &mut Pattern,
) -> Result<u64> {
    let mut done = 0;
    loop {
        let (part, at) = ((length - done).min(MAX_CALL_SIZE) as usize, offset.saturating_add(done));
        let count = pwrite(file, pattern.fill(origin, at, part), at)?;
        done += count as u64;
        if done == length || count == 0 {
            return Ok(done);
        }
    }
}

fn copy(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    mut from_offset: u64,
    mut to_offset: u64,
    length: u64,
) -> Result<u64> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let copied =
        fs::copy_file_range(from, Some(&mut from_offset), to, Some(&mut to_offset), length);
    copied.map(|count| count as u64)
}

/// Counts the names in a directory, except `.` and `..`.
fn list(file: BorrowedFd<'_>, room: &mut [MaybeUninit<u8>]) -> Result<u64> {
    fs::seek(file, SeekFrom::Start(0))?;
    let mut names = RawDir::new(file, room);
    let mut found = 0;
    while let Some(entry) = names.next() {
        let name = entry?;
        found += u64::from(!matches!(name.file_name().to_bytes(), b"." | b".."));
    }
    Ok(found)
}

/// Maps the part of the range within the file. Returns `None` if that part is empty.
fn map(file: BorrowedFd<'_>, offset: u64, length: u64, writes: bool) -> Result<Option<Mapping>> {
    let file = File::from(file.try_clone_to_owned().map_err(errno)?);
    let size = file.metadata().map_err(errno)?.len();
    let end = offset.saturating_add(length).min(size);
    match end > offset {
        true => Mapping::new(&file, end, writes).map(Some).map_err(errno),
        false => Ok(None),
    }
}

fn mapped(
    file: BorrowedFd<'_>,
    offset: u64,
    length: u64,
    buffers: &mut Buffers,
    writes: bool,
) -> Result<u64> {
    let size = fs::fstat(file)?.st_size.cast_unsigned();
    let Some(mapping) = map(file, offset, length, writes)? else {
        return Ok(0);
    };
    let end = offset.saturating_add(length).min(size);
    let mut at = offset;
    while at < end {
        let part = (end - at).min(MAX_CALL_SIZE) as usize;
        let touched = match writes {
            true => {
                let origin = BlockIdentity { file: 0, generation: 1 };
                mapping.write(at, buffers.pattern.fill(origin, at, part))
            }
            false => mapping.read(at, &mut buffers.read[..part]),
        };
        touched.map_err(errno)?;
        at += part as u64;
    }
    Ok(end - offset)
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Renames with flags. If the filesystem does not support `RENAME_NOREPLACE`, checks first whether
/// the new name exists, like `mv`.
fn rename(top: &OwnedFd, from: &CStr, to: &CStr, flags: u32) -> Result<()> {
    let flags = RenameFlags::from_bits_retain(flags);
    match fs::renameat_with(top, from, top, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS) if flags == RenameFlags::NOREPLACE => {
            match fs::statat(top, to, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Errno::EXIST),
                Err(Errno::NOENT) => fs::renameat(top, from, top, to),
                Err(error) => Err(error),
            }
        }
        done => done,
    }
}
