//! Operations on whole files: create, write front to back for other operations, remove.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::SyncAtEnd;

use crate::data::corruption::{Corruption, CorruptionKind};
use crate::data::pattern::{BlockIdentity, Pattern};
use crate::error::{OpContext, OpError};
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;

/// Creates and opens a file that must not exist yet.
pub fn create_new(path: &Path) -> Result<File, OpError> {
    OpenOptions::new().write(true).create_new(true).open(path).with_call("open", path)
}

/// Writes recognisable data over the whole length of a file.
pub fn write_all(
    file: &File,
    path: &Path,
    pattern: &mut Pattern,
    origin: BlockIdentity,
    size: u64,
    block: usize,
    stats: &mut ThreadStats,
) -> Result<(), OpError> {
    let mut offset = 0;
    while offset < size {
        let length = (size - offset).min(block as u64) as usize;
        let data = pattern.fill(origin, offset, length);
        file.write_all_at(data, offset).at("pwrite", path, offset)?;
        stats.finish_write(length);
        offset += length as u64;
    }
    Ok(())
}

/// Syncs a file at the end of a phase, if requested.
pub fn finish(file: &File, path: &Path, ends: SyncAtEnd) -> Result<(), OpError> {
    match ends {
        SyncAtEnd::Fsync => file.sync_all().with_call("fsync", path),
        SyncAtEnd::Call | SyncAtEnd::Syncfs | SyncAtEnd::Unknown => Ok(()),
    }
}

/// Reads as many bytes as the file must contain. An early end of file is corruption, not an I/O
/// error.
pub fn read_exact(
    file: &File,
    path: &Path,
    buffer: &mut [u8],
    offset: u64,
    size: u64,
) -> Result<(), OpError> {
    match file.read_exact_at(buffer, offset) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            Err(unexpected_eof(file, path, offset, size))
        }
        other => other.at("pread", path, offset),
    }
}

/// Error of a file that ends too early, at an offset of a read or according to its size.
pub fn unexpected_eof(file: &File, path: &Path, offset: u64, size: u64) -> OpError {
    OpError::Corrupt {
        path: path.to_owned(),
        corruption: Corruption {
            offset: file.metadata().map_or(offset, |m| m.len()),
            kind: CorruptionKind::Short { expected: size },
        },
    }
}

/// Removes a file, or the per-thread files of this name.
pub fn remove(ws: &mut CellWorkspace, stats: &mut ThreadStats, name: &str) -> Result<(), OpError> {
    let names = ws.thread_files(name);
    if names.is_empty() {
        ws.file(name)?;
    }
    let paths: Vec<_> = names.iter().map(|n| ws.path(n)).collect();
    stats.start_timed(names.len() as u64);
    for (name, path) in names.iter().zip(&paths) {
        fs::remove_file(path).with_call("unlink", path)?;
        stats.finish_op();
        if let Some(state) = ws.files.remove(name) {
            ws.removed_files.insert(name.clone(), state);
        }
    }
    Ok(())
}
