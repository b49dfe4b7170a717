//! `pread` and `pwrite`, or `write` if the kernel chooses the offset at the end of the file.

use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;

use crate::error::{OpContext, OpError};
use crate::io::SyncIo;
use crate::io::target::IoFile;

/// I/O with one system call per request.
#[derive(Debug)]
pub struct SyncFileIo<'a> {
    target: &'a IoFile,
    appends: bool,
}

impl<'a> SyncFileIo<'a> {
    /// Creates an I/O engine for an open file. If `appends` is true, writes go to the end of the
    /// file.
    pub const fn new(target: &'a IoFile, appends: bool) -> Self {
        Self { target, appends }
    }
}

impl SyncIo for SyncFileIo<'_> {
    #[inline]
    fn read(&mut self, into: &mut [u8], offset: u64) -> Result<(), OpError> {
        read_exact(self.target, into, offset)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), OpError> {
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
