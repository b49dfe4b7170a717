//! Flags of files and requests, such as `O_DSYNC` and `RWF_ATOMIC`. Support is tested on each target
//! and never assumed. A refusal is reported as `unsupported`, with the error of the filesystem.

use std::io::{IoSlice, IoSliceMut};
use std::path::Path;

use model::{Io, IoFlag};
use nix::fcntl::OFlag;
use rustix::io::{ReadWriteFlags, preadv2, pwritev2};
use sys::fs::aligned::AlignedBuffer;
use sys::io::caches;

use crate::error::{OpContext, OpError};
use crate::io::direct::{on_trial_file, refusal, trial_path};
use crate::io::target::{IoFile, OpenMode};

/// Flags of `include/uapi/linux/fs.h` that libraries do not name yet.
const RWF_ATOMIC: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x40);
const RWF_DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// Name of the file for the write test.
const TRIAL: &str = "flag-trial";
/// Maximum bytes of a trial request. Atomic writes have their whole size, because a filesystem may
/// refuse it.
const MAX_TRIAL: usize = 1 << 20;
/// Alignment of the buffer, sufficient for direct I/O on any file.
const ALIGNMENT: usize = 4096;

/// Returns the flags with which a file is opened.
pub fn of_file(flag: Option<IoFlag>, direct: bool) -> OFlag {
    let flags = match flag {
        Some(IoFlag::OSync) => OFlag::O_SYNC,
        Some(IoFlag::ODsync) => OFlag::O_DSYNC,
        _ => OFlag::empty(),
    };
    if direct { flags | OFlag::O_DIRECT } else { flags }
}

/// Returns the flags of each request.
pub fn of_request(flag: Option<IoFlag>) -> ReadWriteFlags {
    match flag {
        Some(IoFlag::RwfDsync) => ReadWriteFlags::DSYNC,
        Some(IoFlag::RwfAtomic) => RWF_ATOMIC,
        Some(IoFlag::RwfDontcache) => RWF_DONTCACHE,
        Some(IoFlag::OSync | IoFlag::ODsync) | None => ReadWriteFlags::empty(),
    }
}

/// Tries one request of a job with its flag. Writing is tested on a temporary file in the same
/// directory. `first` is the first thread of this host.
///
/// # Errors
/// Returns [`OpError::Unsupported`] if the filesystem refuses the flag.
pub fn try_on(file: &Path, job: &Io, direct: bool, first: u32) -> Result<(), OpError> {
    let Some(flag) = job.flag.filter(|flag| flag.is_of_request()) else { return Ok(()) };
    let length = match flag {
        IoFlag::RwfAtomic => job.block.0 as usize,
        _ => MAX_TRIAL.min(job.block.0 as usize),
    };
    let mut buffer = AlignedBuffer::new(length, ALIGNMENT);
    let flags = of_file(None, direct);
    let name = format!("{flag} of {}", job.block);
    if !job.access.writes() {
        let target = IoFile::open(file, 0, OpenMode::ReadOnly, flags)?;
        let into = &mut [IoSliceMut::new(&mut buffer)];
        let read = preadv2(&target.file, into, 0, of_request(Some(flag)));
        let read = read.map_err(std::io::Error::from).at("preadv2", file, 0);
        return read.map(drop).map_err(|error| refusal(file, &name, error));
    }
    let trial = trial_path(file, TRIAL, first);
    on_trial_file(&trial, |trial| {
        let target = IoFile::open(trial, 0, OpenMode::CreateNew, flags)?;
        let written = pwritev2(&target.file, &[IoSlice::new(&buffer)], 0, of_request(Some(flag)));
        let written = written.map_err(std::io::Error::from).at("pwritev2", trial, 0);
        written.map(drop).map_err(|error| refusal(trial, &name, error))
    })?;
    // Otherwise the first sync of the phase would also commit the trial, which phases without a flag
    // do not have.
    let directory = trial.parent().unwrap_or(&trial);
    caches::sync_filesystem(directory).with_call("syncfs", directory)
}
