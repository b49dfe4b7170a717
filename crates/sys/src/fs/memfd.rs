//! Anonymous files in memory (memfd), which the kernel removes with the last process that uses
//! them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{Whence, lseek};

/// Length of the parts that are copied.
const AT_ONE_TIME: usize = 1 << 20;

/// Creates an empty file; the name is for tools that inspect this process.
///
/// # Errors
/// Returns an error without memory.
pub fn memfd(name: &str) -> io::Result<File> {
    Ok(memfd_create(name, MFdFlags::MFD_CLOEXEC)?.into())
}

/// Returns a path of the file for other processes of this user. The path is valid while this
/// process has the file open.
pub fn path(file: &File) -> PathBuf {
    let process = std::process::id();
    format!("/proc/{process}/fd/{}", file.as_raw_fd()).into()
}

/// Copies a file, including its holes.
///
/// # Errors
/// Returns an error if memory is insufficient.
pub fn copy(from: &File, name: &str) -> io::Result<File> {
    let to = memfd(name)?;
    to.set_len(from.metadata()?.len())?;
    for_each_part(from, AT_ONE_TIME, |offset, part| to.write_all_at(part, offset))?;
    Ok(to)
}

/// Calls `each` with the offset and the bytes of each part of at most `length` bytes, without the
/// holes.
///
/// # Errors
/// Returns the first error of `each`, or an error if the file cannot be read.
pub fn for_each_part(
    file: &File,
    length: usize,
    mut each: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let size = file.metadata()?.len();
    let mut part = vec![0; length];
    let mut at = 0;
    while let Some(begin) = seek(file, at, Whence::SeekData)? {
        let end = seek(file, begin, Whence::SeekHole)?.unwrap_or(size);
        at = begin;
        while at < end {
            let bytes = &mut part[..(end - at).min(length as u64) as usize];
            file.read_exact_at(bytes, at)?;
            each(at, bytes)?;
            at += bytes.len() as u64;
        }
    }
    Ok(())
}

/// Returns the offset of the next data, or of the next hole, or `None` after the last data.
fn seek(file: &File, from: u64, what: Whence) -> io::Result<Option<u64>> {
    let from = i64::try_from(from).map_err(io::Error::other)?;
    match lseek(file, from, what) {
        Err(Errno::ENXIO) => Ok(None),
        at => Ok(Some(at?.cast_unsigned())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_copy_holds_the_same_and_holes_stay_holes() {
        const LENGTH: u64 = 1 << 30;
        let file = memfd("test").unwrap();
        file.set_len(LENGTH).unwrap();
        let large = vec![7; 3 << 20];
        file.write_all_at(&large, 5000).unwrap();
        file.write_all_at(b"end", LENGTH - 3).unwrap();
        let copied = copy(&file, "copy").unwrap();
        let metadata = copied.metadata().unwrap();
        assert_eq!(metadata.len(), LENGTH);
        assert!(metadata.blocks() * 512 < 8 << 20, "{}", metadata.blocks());
        let mut bytes = vec![0; large.len()];
        copied.read_exact_at(&mut bytes, 5000).unwrap();
        assert_eq!(bytes, large);
        copied.read_exact_at(&mut bytes[..4], LENGTH - 4).unwrap();
        assert_eq!(&bytes[..4], b"\0end");
    }

    #[test]
    fn other_processes_can_open_it_by_its_path() {
        let file = memfd("test").unwrap();
        fs::write(path(&file), "written").unwrap();
        assert_eq!(fs::read(path(&file)).unwrap(), b"written");
    }
}
