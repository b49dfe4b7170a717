//! Sequential data on one file: write, rewrite, read, verify, remove.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{Bytes, End};

use crate::error::{Context, OpError};
use crate::pattern::{Corruption, Kind, Origin, Pattern};
use crate::tally::Tally;
use crate::workspace::{FileState, Workspace};

/// Writes a new file front to back.
pub fn write(
    ws: &mut Workspace,
    tally: &mut Tally,
    name: &str,
    size: Bytes,
    block: Bytes,
    ends: End,
) -> Result<(), OpError> {
    let path = ws.path(name);
    let mut pattern = ws.pattern(block.as_usize());
    let state = FileState::new(name, size.0);
    tally.begin(size.0.div_ceil(block.0));
    let file = create_new(&path)?;
    write_all(
        &file,
        &path,
        &mut pattern,
        state.origin,
        size.0,
        block.as_usize(),
        tally,
    )?;
    finish(&file, &path, ends)?;
    ws.files.insert(name.to_owned(), state);
    Ok(())
}

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
        End::Call | End::Syncfs => Ok(()),
    }
}

/// Reads each block, gives it its next generation, writes it back in place.
pub fn rewrite(
    ws: &mut Workspace,
    tally: &mut Tally,
    name: &str,
    block: Bytes,
    ends: End,
) -> Result<(), OpError> {
    let path = ws.path(name);
    let mut pattern = ws.pattern(block.as_usize());
    let mut state = ws.file(name)?.clone();
    let next = Origin {
        generation: state.origin.generation + 2,
        ..state.origin
    };
    let mut buffer = vec![0; block.as_usize()];
    tally.begin(state.size.div_ceil(block.0));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .of("open", &path)?;
    let mut offset = 0;
    while offset < state.size {
        let length = (state.size - offset).min(block.0) as usize;
        read_exact(&file, &path, &mut buffer[..length], offset, state.size)?;
        let data = pattern.fill(next, offset, length);
        file.write_all_at(data, offset)
            .at("pwrite", &path, offset)?;
        // Each byte counts once, though it is read and written, as in Bonnie++'s rewrite column.
        tally.lap_written(length);
        offset += length as u64;
    }
    finish(&file, &path, ends)?;
    state.origin = next;
    state.ahead.clear();
    ws.files.insert(name.to_owned(), state);
    Ok(())
}

/// Reads a file front to back.
pub fn read(ws: &Workspace, tally: &mut Tally, name: &str, block: Bytes) -> Result<(), OpError> {
    let path = ws.path(name);
    let size = ws.file(name)?.size;
    let mut buffer = vec![0; block.as_usize()];
    tally.begin(size.div_ceil(block.0));
    let file = File::open(&path).of("open", &path)?;
    let mut offset = 0;
    while offset < size {
        let length = (size - offset).min(block.0) as usize;
        read_exact(&file, &path, &mut buffer[..length], offset, size)?;
        tally.lap_read(length);
        offset += length as u64;
        if tally.out_of_time() {
            break;
        }
    }
    Ok(())
}

/// Reads a file front to back and compares every byte with what was written.
pub fn verify(
    ws: &mut Workspace,
    tally: &mut Tally,
    name: &str,
    block: Bytes,
) -> Result<(), OpError> {
    let path = ws.path(name);
    let pattern = ws.pattern(block.as_usize());
    let state = ws.file(name)?;
    let mut buffer = vec![0; block.as_usize()];
    tally.begin(state.size.div_ceil(block.0));
    let file = File::open(&path).of("open", &path)?;
    let mut offset = 0;
    while offset < state.size {
        let length = (state.size - offset).min(block.0) as usize;
        read_exact(&file, &path, &mut buffer[..length], offset, state.size)?;
        check(&pattern, state, &path, offset, &buffer[..length])?;
        tally.lap_read(length);
        offset += length as u64;
    }
    Ok(())
}

/// Compares a request's data; block by block where random writes have touched the file.
fn check(
    pattern: &Pattern,
    state: &FileState,
    path: &Path,
    offset: u64,
    data: &[u8],
) -> Result<(), OpError> {
    let corrupt = |corruption| OpError::Corrupt {
        path: path.to_owned(),
        corruption,
    };
    if state.ahead.is_empty() {
        return pattern.check(state.origin, offset, data).map_err(corrupt);
    }
    for (i, block) in data.chunks(crate::pattern::BLOCK).enumerate() {
        let at = offset + (i * crate::pattern::BLOCK) as u64;
        pattern
            .check(state.origin_at(at), at, block)
            .map_err(corrupt)?;
    }
    Ok(())
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
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(OpError::Corrupt {
            path: path.to_owned(),
            corruption: Corruption {
                offset: file.metadata().map_or(offset, |m| m.len()),
                kind: Kind::Short { expected: size },
            },
        }),
        other => other.at("pread", path, offset),
    }
}

/// Removes one file.
pub fn remove(ws: &mut Workspace, tally: &mut Tally, name: &str) -> Result<(), OpError> {
    let path = ws.path(name);
    tally.begin(1);
    fs::remove_file(&path).of("unlink", &path)?;
    tally.lap();
    if let Some(state) = ws.files.remove(name) {
        ws.removed_files.insert(name.to_owned(), state);
    }
    Ok(())
}
