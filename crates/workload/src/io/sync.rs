//! `pread` and `pwrite`, or `write` if the kernel chooses the offset at the end of the file; `preadv2`
//! and `pwritev2` if requests have a flag.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Write};
use std::os::unix::fs::FileExt;

use rustix::io::{ReadWriteFlags, preadv2, pwritev2};

use crate::error::{OpContext, OpError};
use crate::io::SyncIo;
use crate::io::target::IoFile;

/// I/O with one system call per request.
#[derive(Debug)]
pub struct SyncFileIo<'a> {
    target: &'a IoFile,
    appends: bool,
    flags: ReadWriteFlags,
}

impl<'a> SyncFileIo<'a> {
    /// Creates an I/O engine for an open file, with these flags for each request. If `appends` is
    /// true, writes go to the end of the file.
    pub const fn new(target: &'a IoFile, appends: bool, flags: ReadWriteFlags) -> Self {
        Self { target, appends, flags }
    }

    /// Writes with flags. The kernel ignores the offset if the file was opened to append.
    fn write_with_flags(&self, mut bytes: &[u8], mut offset: u64) -> Result<(), OpError> {
        while !bytes.is_empty() {
            let written =
                match pwritev2(&self.target.file, &[IoSlice::new(bytes)], offset, self.flags) {
                    Ok(0) => Err(ErrorKind::WriteZero.into()),
                    Err(rustix::io::Errno::INTR) => continue,
                    other => other.map_err(io::Error::from),
                };
            let written = written.at("pwritev2", &self.target.path, offset)?;
            bytes = &bytes[written..];
            offset += written as u64;
        }
        Ok(())
    }
}

impl SyncIo for SyncFileIo<'_> {
    #[inline]
    fn read(&mut self, into: &mut [u8], offset: u64) -> Result<(), OpError> {
        if self.flags.is_empty() {
            return read_exact(self.target, into, offset);
        }
        let first = preadv2(&self.target.file, &mut [IoSliceMut::new(into)], offset, self.flags);
        match first {
            Ok(read) if read == into.len() => Ok(()),
            first => finish_reading(self.target, into, offset, first.map_err(io::Error::from)),
        }
    }

    #[inline]
    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), OpError> {
        if !self.flags.is_empty() {
            return self.write_with_flags(bytes, offset);
        }
        if self.appends {
            let written = (&self.target.file).write_all(bytes);
            return written.at("write", &self.target.path, offset);
        }
        let written = self.target.file.write_all_at(bytes, offset);
        written.at("pwrite", &self.target.path, offset)
    }

    fn sync(&mut self) -> Result<(), OpError> {
        self.target.sync()
    }
}

/// Reads as many bytes as the file must contain. An early end of file is corruption, not an I/O
/// error.
#[inline]
pub fn read_exact(target: &IoFile, into: &mut [u8], offset: u64) -> Result<(), OpError> {
    match target.file.read_at(into, offset) {
        Ok(n) if n == into.len() => Ok(()),
        first => finish_reading(target, into, offset, first),
    }
}

/// Handles the rare cases of a partial read or an error.
#[cold]
fn finish_reading(
    target: &IoFile,
    into: &mut [u8],
    offset: u64,
    first: io::Result<usize>,
) -> Result<(), OpError> {
    let done = match first {
        Err(e) if e.kind() == ErrorKind::Interrupted => 0,
        other => other.at("pread", &target.path, offset)?,
    };
    let rest = offset + done as u64;
    match target.file.read_exact_at(&mut into[done..], rest) {
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Err(target.unexpected_eof(offset)),
        other => other.at("pread", &target.path, rest),
    }
}
