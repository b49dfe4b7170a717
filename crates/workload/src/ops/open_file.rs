//! Single system calls on files of the workspace, for operations that consist of such calls.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;

use model::op::{FallocateMode, FileContent};
use model::{Bytes, SyncAtEnd};
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, copy_file_range, fallocate};

use crate::data::expected_content::ExpectedFile;
use crate::data::pattern::BLOCK;
use crate::error::{OpContext, OpError};
use crate::ops::data;
use crate::workspace::CellWorkspace;

/// A file that is open.
#[derive(Debug)]
pub struct OpenFile {
    name: String,
    path: PathBuf,
    file: File,
    /// Whether the operation created the file.
    is_new: bool,
}

/// Error numbers for calls that a filesystem does not implement, or not for such files:
/// fallocate(2), ioctl_ficlone(2), copy_file_range(2). `EINVAL` and `EXDEV` mean that two files
/// cannot share space.
const REFUSALS: [Errno; 5] =
    [Errno::EOPNOTSUPP, Errno::ENOSYS, Errno::ENOTTY, Errno::EXDEV, Errno::EINVAL];

/// Opens a file of an earlier operation.
pub fn open(ws: &CellWorkspace, name: &str) -> Result<OpenFile, OpError> {
    ws.file(name)?;
    let path = ws.path(name);
    let file = OpenOptions::new().read(true).write(true).open(&path);
    Ok(OpenFile {
        name: name.to_owned(),
        file: file.with_call("open", &path)?,
        path,
        is_new: false,
    })
}

/// Makes a file.
pub fn create(ws: &CellWorkspace, name: &str) -> Result<OpenFile, OpError> {
    let path = ws.path(name);
    Ok(OpenFile { name: name.to_owned(), file: data::create_new(&path)?, path, is_new: true })
}

impl OpenFile {
    /// Sets the size of the file.
    pub fn set_size(&self, size: Bytes) -> Result<(), OpError> {
        self.file.set_len(size.0).with_call("ftruncate", &self.path)
    }

    /// Changes the allocated space of the file.
    pub fn fallocate(
        &self,
        ws: &mut CellWorkspace,
        mode: FallocateMode,
        offset: u64,
        length: u64,
    ) -> Result<(), OpError> {
        let keep = FallocateFlags::FALLOC_FL_KEEP_SIZE;
        let flags = match mode {
            FallocateMode::Allocate => FallocateFlags::empty(),
            FallocateMode::KeepSize => keep,
            FallocateMode::PunchHole => FallocateFlags::FALLOC_FL_PUNCH_HOLE | keep,
            FallocateMode::ZeroRange => FallocateFlags::FALLOC_FL_ZERO_RANGE,
            FallocateMode::CollapseRange => FallocateFlags::FALLOC_FL_COLLAPSE_RANGE,
        };
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let outcome = fallocate(&self.file, flags, signed(offset), signed(length));
        self.judge(ws, "fallocate", outcome.map_err(io::Error::from))
    }

    /// Makes another file share the space of this file (`FICLONE`).
    pub fn clone_to(&self, ws: &mut CellWorkspace, to: &Self) -> Result<(), OpError> {
        let outcome = sys::fs::reflink::ficlone(&self.file, &to.file);
        to.judge(ws, "FICLONE", outcome)
    }

    /// Copies a range of the file to the same offset of another file. An early end of file is
    /// corruption.
    pub fn copy_to(
        &self,
        ws: &mut CellWorkspace,
        to: &Self,
        offset: u64,
        length: u64,
    ) -> Result<usize, OpError> {
        let mut at = i64::try_from(offset).unwrap_or(i64::MAX);
        let (mut here, there) = (at, &mut at);
        let outcome = copy_file_range(
            &self.file,
            Some(&mut here),
            &to.file,
            Some(there),
            Bytes(length).as_usize(),
        );
        match to.judge(ws, "copy_file_range", outcome.map_err(io::Error::from))? {
            0 => Err(data::unexpected_eof(&self.file, &self.path, offset, offset + length)),
            copied => Ok(copied),
        }
    }

    /// Distinguishes a failed call from one that the filesystem does not support.
    fn judge<T>(
        &self,
        ws: &mut CellWorkspace,
        call: &'static str,
        outcome: io::Result<T>,
    ) -> Result<T, OpError> {
        let error = match outcome {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let errno = error.raw_os_error().map(Errno::from_raw);
        if !errno.is_some_and(|errno| REFUSALS.contains(&errno)) {
            return Err(error).with_call(call, &self.path);
        }
        let reason = format!("{call}: {}", sys::errno::describe(&error));
        if self.is_new {
            ws.discard_failed_file(&self.name, &reason);
        }
        Err(OpError::Unsupported { reason })
    }

    /// Syncs the file at the end of the phase, if requested.
    pub fn sync(&self, ends: SyncAtEnd) -> Result<(), OpError> {
        data::finish(&self.file, &self.path, ends)
    }

    /// Records the expected content of the file, which takes some time.
    pub fn record_content(
        self,
        ws: &mut CellWorkspace,
        holds: FileContent<'_>,
    ) -> Result<(), OpError> {
        let pattern = ws.pattern(BLOCK);
        let state = match holds {
            FileContent::Zeros(size) => ExpectedFile::hole(&self.name, size.0),
            FileContent::CopyOf(other) => ws.file(other)?.clone(),
            FileContent::Zeroed(range) => {
                let mut state = self.to_be_restored(ws)?;
                state.zero_range(&range, &pattern);
                state
            }
            FileContent::CollapsedRange(range) => {
                let mut state = self.to_be_restored(ws)?;
                state.collapse_range(&range, &pattern);
                state
            }
        };
        ws.files.insert(self.name, state);
        Ok(())
    }

    /// Returns the state before the call and saves it, so that the content can be restored.
    fn to_be_restored(&self, ws: &mut CellWorkspace) -> Result<ExpectedFile, OpError> {
        let state = ws.file(&self.name)?.clone();
        ws.removed_files.insert(self.name.clone(), state.clone());
        Ok(state)
    }
}
