//! I/O through a user-space buffer like the streams of the C library: a byte, a line or a record at
//! a time. Mostly measures the processor; included because published results have it.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use model::{Bytes, StreamUnit, SyncAtEnd};
use sys::io::caches;

use crate::data::expected_content::ExpectedFile;
use crate::data::pattern::{BLOCK, Pattern};
use crate::error::{OpContext, OpError};
use crate::measure::thread_stats::ThreadStats;
use crate::ops::data;
use crate::workspace::CellWorkspace;

/// Default buffer size of the C library (`BUFSIZ` of glibc), unless the file has a smaller block
/// size.
const BUFSIZ: u64 = 8192;

/// Writes a new file.
pub fn write(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    size: Bytes,
    unit: StreamUnit,
    ends: SyncAtEnd,
) -> Result<(), OpError> {
    let path = ws.path(name);
    let step = step(unit);
    let fits = ws.require_memory(step as u64, Pattern::size(step) as u64);
    fits.inspect_err(|why| {
        ws.discard_failed_file(name, &why.to_string());
    })?;
    let mut pattern = ws.pattern(step);
    let state = ExpectedFile::new(name, size.0);
    let file = stats.record_open(|| data::create_new(&path))?;
    let mut writer = BufWriter::with_capacity(buffer_size(&file, &path)?, file);
    stats.start_timed(size.0.div_ceil(step as u64));
    let mut offset = 0;
    while offset < size.0 {
        let length = (size.0 - offset).min(step as u64) as usize;
        let bytes = pattern.fill(state.origin_at(0), offset, length);
        hand_over(&mut writer, bytes, unit).at("write", &path, offset)?;
        stats.finish_write(length);
        offset += length as u64;
        if offset < size.0 && stats.is_time_up() {
            break;
        }
    }
    let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error);
    let file = file.with_call("write", &path)?;
    data::finish(&file, &path, ends)?;
    end(ws, stats, file, &path, ends)?;
    ws.files.insert(name.to_owned(), ExpectedFile::new(name, offset));
    Ok(())
}

/// Returns the bytes counted as one operation: a record, or enough to make the cost of reading the
/// clock negligible.
fn step(unit: StreamUnit) -> usize {
    match unit {
        StreamUnit::Record(record) => record.as_usize(),
        StreamUnit::Char | StreamUnit::Line => BLOCK,
    }
}

/// Returns the stream buffer size of the C library: the preferred block size if smaller than
/// `BUFSIZ`, otherwise `BUFSIZ`.
fn buffer_size(file: &File, path: &Path) -> Result<usize, OpError> {
    let preferred = file.metadata().with_call("fstat", path)?.blksize();
    let fits = (1..BUFSIZ).contains(&preferred);
    Ok(if fits { preferred } else { BUFSIZ } as usize)
}

fn hand_over(to: &mut impl Write, bytes: &[u8], unit: StreamUnit) -> std::io::Result<()> {
    match unit {
        StreamUnit::Record(_) => to.write_all(bytes),
        StreamUnit::Char => bytes.chunks(1).try_for_each(|byte| to.write_all(byte)),
        StreamUnit::Line => {
            bytes.split_inclusive(|&byte| byte == b'\n').try_for_each(|line| to.write_all(line))
        }
    }
}

/// Reads a file.
pub fn read(
    ws: &CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    unit: StreamUnit,
    ends: SyncAtEnd,
) -> Result<(), OpError> {
    let path = ws.path(name);
    let size = ws.file(name)?.size;
    let step = step(unit) as u64;
    ws.require_memory(step, step.min(size))?;
    let file = stats.record_open(|| File::open(&path).with_call("open", &path))?;
    let mut reader = BufReader::with_capacity(buffer_size(&file, &path)?, file);
    let mut taken = Vec::with_capacity(step.min(size) as usize);
    stats.start_timed(size.div_ceil(step));
    let mut offset = 0;
    while offset < size {
        let length = (size - offset).min(step);
        let got = take(&mut reader, &mut taken, length, unit).at("read", &path, offset)?;
        if got == 0 {
            return Err(too_short(&path, offset, size));
        }
        stats.finish_read(got as usize);
        offset += got;
        if offset < size && stats.is_time_up() {
            break;
        }
    }
    end(ws, stats, reader.into_inner(), &path, ends)
}

/// Ends the timed part as the phase specifies, and closes the file after it.
fn end(
    ws: &CellWorkspace,
    stats: &mut ThreadStats,
    file: File,
    path: &Path,
    ends: SyncAtEnd,
) -> Result<(), OpError> {
    if ends == SyncAtEnd::Syncfs {
        caches::sync_filesystem(ws.root()).with_call("syncfs", ws.root())?;
    }
    stats.pause_timed();
    stats.record_close(file, path)
}

/// Reads the given number of bytes, or whole lines of at least that length. Returns the number
/// read.
fn take(
    from: &mut impl BufRead,
    into: &mut Vec<u8>,
    length: u64,
    unit: StreamUnit,
) -> std::io::Result<u64> {
    match unit {
        StreamUnit::Record(_) => {
            into.resize(length as usize, 0);
            fill(from, into)
        }
        StreamUnit::Char => {
            let mut sum = 0u64;
            let mut count = 0;
            for byte in from.bytes().take(length as usize) {
                sum = sum.wrapping_add(u64::from(byte?));
                count += 1;
            }
            // The sum keeps the compiler from dropping the loop.
            std::hint::black_box(sum);
            Ok(count)
        }
        StreamUnit::Line => {
            let mut count = 0;
            while count < length {
                into.clear();
                match from.read_until(b'\n', into)? as u64 {
                    0 => break,
                    line => count += line,
                }
            }
            Ok(count)
        }
    }
}

/// Fills a record with the remaining data. Requests the whole record at once, so that records
/// larger than the buffer bypass it, as in `fread`.
fn fill(from: &mut impl Read, record: &mut [u8]) -> std::io::Result<u64> {
    let mut filled = 0;
    while filled < record.len() {
        match from.read(&mut record[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled as u64)
}

fn too_short(path: &Path, offset: u64, size: u64) -> OpError {
    use crate::data::corruption::{Corruption, CorruptionKind};
    OpError::Corrupt {
        path: path.to_owned(),
        corruption: Corruption { offset, kind: CorruptionKind::Short { expected: size } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Endless zeros; records the length of each request.
    #[derive(Default)]
    struct Asked(Vec<usize>);

    impl Read for Asked {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0.push(into.len());
            Ok(into.len())
        }
    }

    #[test]
    fn a_record_larger_than_the_buffer_is_one_request() {
        let mut reader = BufReader::with_capacity(8192, Asked::default());
        let mut taken = Vec::new();
        for _ in 0..2 {
            let unit = StreamUnit::Record(Bytes::kib(64));
            assert_eq!(take(&mut reader, &mut taken, 65_536, unit).unwrap(), 65_536);
        }
        assert_eq!(reader.get_ref().0, [65_536, 65_536]);
    }

    #[test]
    fn small_records_come_from_the_buffer() {
        let mut reader = BufReader::with_capacity(8192, Asked::default());
        let mut taken = Vec::new();
        for _ in 0..16 {
            let unit = StreamUnit::Record(Bytes(1024));
            assert_eq!(take(&mut reader, &mut taken, 1024, unit).unwrap(), 1024);
        }
        assert_eq!(reader.get_ref().0, [8192, 8192]);
    }
}
