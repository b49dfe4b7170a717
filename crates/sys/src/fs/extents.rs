//! Location of a file on its device (`FS_IOC_FIEMAP`, Documentation/filesystems/fiemap.rst of
//! Linux; `FIBMAP`).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `_IOWR('f', 11, struct fiemap)` of include/uapi/linux/fs.h.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;
/// `_IO(0x00, 1)` and `_IO(0x00, 2)` of include/uapi/linux/fs.h.
const FIBMAP: libc::Ioctl = 1;
const FIGETBSZ: libc::Ioctl = 2;
/// Maximum number of blocks of a file that are queried one by one.
const MAX_BLOCKS: u64 = 16_384;
/// Write data in memory to the device first, so that it has a location.
const FIEMAP_FLAG_SYNC: u32 = 1;
/// Flag of the last extent of a file.
const LAST: u32 = 0x0001;
/// The location is unknown, delayed, encoded, unaligned, or within metadata.
const UNMAPPED_EXTENT_FLAGS: u32 = 0x0002 | 0x0004 | 0x0008 | 0x0100 | 0x0200 | 0x0400;
/// Number of extents per request.
const EXTENTS_PER_CALL: usize = 128;

/// A contiguous part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file, in bytes.
    pub logical: u64,
    /// Offset on the device, in bytes, or `None` if unknown.
    pub physical: Option<u64>,
    /// Length in bytes.
    pub length: u64,
}

/// `struct fiemap_extent` of include/uapi/linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    more_reserved: [u32; 3],
}

/// `struct fiemap`, with room for extents at the end.
#[repr(C)]
struct FiemapRequest {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [RawExtent; EXTENTS_PER_CALL],
}

/// Returns the extents of a file in order. Writes cached data to the device first.
///
/// # Errors
/// Returns the error of the kernel: `EOPNOTSUPP` or `ENOTTY` if the filesystem does not support
/// FIEMAP.
pub fn extents(file: &File) -> io::Result<Vec<Extent>> {
    let mut found: Vec<Extent> = Vec::new();
    loop {
        let start = found.last().map_or(0, |last| last.logical + last.length);
        let request = ask(file, start)?;
        let mapped = (request.mapped as usize).min(EXTENTS_PER_CALL);
        for raw in &request.extents[..mapped] {
            found.push(Extent {
                logical: raw.logical,
                physical: (raw.flags & UNMAPPED_EXTENT_FLAGS == 0).then_some(raw.physical),
                length: raw.length,
            });
        }
        let last = request.extents[..mapped].last();
        if last.is_none_or(|last| last.flags & LAST != 0 || last.length == 0) {
            return Ok(found);
        }
    }
}

/// Returns the extents of a file. If the filesystem does not support FIEMAP (ReiserFS, for
/// example), queries blocks instead (`FIBMAP`, which needs `CAP_SYS_RAWIO`), but at most the first
/// [`MAX_BLOCKS`] blocks of a large file.
///
/// # Errors
/// Returns the error of the kernel: `EINVAL` if the filesystem does not support FIBMAP either.
pub fn block_runs(file: &File) -> io::Result<Vec<Extent>> {
    match extents(file) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY)) => {
            by_blocks(file)
        }
        found => found,
    }
}

fn by_blocks(file: &File) -> io::Result<Vec<Extent>> {
    let mut size: libc::c_int = 0;
    // SAFETY: the kernel writes an int; the descriptor is open for as long as `file` is borrowed.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), FIGETBSZ, &raw mut size) };
    let block = u64::from(size.unsigned_abs());
    if outcome != 0 || block == 0 {
        return Err(io::Error::last_os_error());
    }
    let blocks = file.metadata()?.len().div_ceil(block).min(MAX_BLOCKS);
    let mut found: Vec<Extent> = Vec::new();
    for number in 0..blocks {
        let mut place = number as libc::c_int;
        // SAFETY: the kernel reads and writes an int; the descriptor is open for as long as `file` is borrowed.
        let outcome = unsafe { libc::ioctl(file.as_raw_fd(), FIBMAP, &raw mut place) };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
        let (logical, physical) = (number * block, u64::from(place as u32) * block);
        match found.last_mut() {
            // Block 0 means a hole.
            _ if place == 0 => {}
            Some(last)
                if last.physical.map(|begin| begin + last.length) == Some(physical)
                    && last.logical + last.length == logical =>
            {
                last.length += block;
            }
            _ => found.push(Extent { logical, physical: Some(physical), length: block }),
        }
    }
    Ok(found)
}

fn ask(file: &File, start: u64) -> io::Result<Box<FiemapRequest>> {
    const NONE: RawExtent = RawExtent {
        logical: 0,
        physical: 0,
        length: 0,
        reserved: [0; 2],
        flags: 0,
        more_reserved: [0; 3],
    };
    let mut request = Box::new(FiemapRequest {
        start,
        length: u64::MAX - start,
        flags: FIEMAP_FLAG_SYNC,
        mapped: 0,
        count: EXTENTS_PER_CALL as u32,
        reserved: 0,
        extents: [NONE; EXTENTS_PER_CALL],
    });
    // SAFETY: the kernel reads and writes the head and writes at most `count` extents after it, for
    // which the request has room; the descriptor is open for as long as `file` is borrowed.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *request) };
    match outcome {
        0 => Ok(request),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use super::*;

    #[test]
    fn the_request_has_the_layout_of_the_kernel() {
        assert_eq!(size_of::<RawExtent>(), 56);
        assert_eq!(std::mem::offset_of!(FiemapRequest, extents), 32);
    }

    #[test]
    fn returns_extents_with_holes_or_unsupported() {
        let mut file = tempfile::tempfile().unwrap();
        let blocks = 300;
        for block in 0..blocks {
            file.seek(SeekFrom::Start(block * 65_536)).unwrap();
            file.write_all(&[7; 4096]).unwrap();
        }
        match extents(&file) {
            // More than fit one request.
            Ok(found) => {
                assert!(found.len() >= blocks as usize, "{}", found.len());
                assert!(found.windows(2).all(|two| two[0].logical < two[1].logical));
                let last = found.last().unwrap();
                assert_eq!(last.logical, (blocks - 1) * 65_536);
            }
            Err(error) => {
                let known = [libc::EOPNOTSUPP, libc::ENOTTY];
                assert!(known.contains(&error.raw_os_error().unwrap()), "{error}");
            }
        }
    }
}
