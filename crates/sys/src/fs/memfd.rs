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

const AT_ONE_TIME: u64 = 1 << 20;

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
    let length = from.metadata()?.len();
    to.set_len(length)?;
    let mut piece = vec![0; AT_ONE_TIME as usize];
    let mut at = 0;
    while let Some(begin) = seek(from, at, Whence::SeekData)? {
        let end = seek(from, begin, Whence::SeekHole)?.unwrap_or(length);
        at = begin;
        while at < end {
            let bytes = &mut piece[..(end - at).min(AT_ONE_TIME) as usize];
            from.read_exact_at(bytes, at)?;
            to.write_all_at(bytes, at)?;
            at += bytes.len() as u64;
        }
    }
    Ok(to)
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
