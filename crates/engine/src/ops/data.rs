//! Single files as wholes: made, written front to back for other operations, removed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::End;

use crate::corruption::{Corruption, Kind};
use crate::error::{Context, OpError};
use crate::pattern::{Origin, Pattern};
use crate::tally::Tally;
use crate::workspace::Workspace;

/// Opens a file that must not exist yet.
pub fn create_new(path: &Path) -> Result<File, OpError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .of("open", path)
}

/// Writes recognisable data over the whole length of a file.
pub fn write_all(
    file: &File,
    path: &Path,
    pattern: &mut Pattern,
    origin: Origin,
    size: u64,
    block: usize,
    tally: &mut Tally,
) -> Result<(), OpError> {
    let mut offset = 0;
    while offset < size {
        let length = (size - offset).min(block as u64) as usize;
        let data = pattern.fill(origin, offset, length);
        file.write_all_at(data, offset).at("pwrite", path, offset)?;
        tally.lap_written(length);
        offset += length as u64;
    }
    Ok(())
}

/// Ends a phase on a file as it says it ends.
pub fn finish(file: &File, path: &Path, ends: End) -> Result<(), OpError> {
    match ends {
        End::Fsync => file.sync_all().of("fsync", path),
        End::Call | End::Syncfs | End::Unstated => Ok(()),
    }
}

/// Reads as many bytes as the file must have; an early end is corruption, not an I/O error.
pub fn read_exact(
    file: &File,
    path: &Path,
    buffer: &mut [u8],
    offset: u64,
    size: u64,
) -> Result<(), OpError> {
    match file.read_exact_at(buffer, offset) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            Err(ends_early(file, path, offset, size))
        }
        other => other.at("pread", path, offset),
    }
}

/// The file ends where it must not: at an offset, or where it says.
pub fn ends_early(file: &File, path: &Path, offset: u64, size: u64) -> OpError {
    OpError::Corrupt {
        path: path.to_owned(),
        corruption: Corruption {
            offset: file.metadata().map_or(offset, |m| m.len()),
            kind: Kind::Short { expected: size },
        },
    }
}

/// Removes a file, or the files that threads have made for themselves under its name.
pub fn remove(ws: &mut Workspace, tally: &mut Tally, name: &str) -> Result<(), OpError> {
    let names = ws.files_of(name);
    if names.is_empty() {
        ws.file(name)?;
    }
    let paths: Vec<_> = names.iter().map(|n| ws.path(n)).collect();
    tally.begin(names.len() as u64);
    for (name, path) in names.iter().zip(&paths) {
        fs::remove_file(path).of("unlink", path)?;
        tally.lap();
        if let Some(state) = ws.files.remove(name) {
            ws.removed_files.insert(name.clone(), state);
        }
    }
    Ok(())
}
