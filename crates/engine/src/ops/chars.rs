//! A byte at a time through a buffer of the program's own, as `putc` and `getc` do: mostly a
//! measure of the processor, kept because the published tables have it.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};

use model::{Bytes, End};

use crate::error::{Context, OpError};
use crate::ops::data;
use crate::pattern::BLOCK;
use crate::tally::Tally;
use crate::workspace::{FileState, Workspace};

/// Writes a new file byte by byte.
pub fn write(
    ws: &mut Workspace,
    tally: &mut Tally,
    name: &str,
    size: Bytes,
    ends: End,
) -> Result<(), OpError> {
    let path = ws.path(name);
    let mut pattern = ws.pattern(BLOCK);
    let state = FileState::new(name, size.0);
    tally.begin(size.0.div_ceil(BLOCK as u64));
    let mut writer = BufWriter::with_capacity(BLOCK, data::create_new(&path)?);
    let mut offset = 0;
    while offset < size.0 {
        let length = (size.0 - offset).min(BLOCK as u64) as usize;
        for byte in pattern.fill(state.origin, offset, length) {
            writer
                .write_all(std::slice::from_ref(byte))
                .at("write", &path, offset)?;
        }
        tally.lap_written(length);
        offset += length as u64;
    }
    let file = writer
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error);
    data::finish(&file.of("write", &path)?, &path, ends)?;
    ws.files.insert(name.to_owned(), state);
    Ok(())
}

/// Reads a file byte by byte.
pub fn read(ws: &Workspace, tally: &mut Tally, name: &str) -> Result<(), OpError> {
    let path = ws.path(name);
    let size = ws.file(name)?.size;
    tally.begin(size.div_ceil(BLOCK as u64));
    let mut bytes = BufReader::with_capacity(BLOCK, File::open(&path).of("open", &path)?).bytes();
    let mut sum = 0u64;
    let mut offset = 0;
    while offset < size && !tally.out_of_time() {
        let length = (size - offset).min(BLOCK as u64);
        for byte in bytes.by_ref().take(length as usize) {
            sum = sum.wrapping_add(u64::from(byte.at("read", &path, offset)?));
        }
        tally.lap_read(length as usize);
        offset += length;
    }
    // The sum keeps the compiler from dropping the loop.
    std::hint::black_box(sum);
    Ok(())
}
