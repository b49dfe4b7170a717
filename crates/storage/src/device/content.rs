//! Checks whether a device holds data: a nonzero byte at a location that some format needs, or in a
//! random sample.
//!
//! The start and the end are read completely, followed by every location of [`far_places`] and by
//! random blocks, until enough were zero that few blocks can contain data. Small devices, and
//! sparse files whose holes are known, are read completely. Data in few blocks elsewhere may be
//! missed: [`ScanCoverage`] gives the bound.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use model::SeededRng;
use nix::errno::Errno;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::unistd::{Whence, lseek};
use sys::io::clock;

use super::signatures::{self, FAR_VOLUMES, FORMATS};

/// Bytes per read of a single block: a page, and the unit of most formats.
const BLOCK: u64 = 4096;
/// Bytes per read of a contiguous range.
const CHUNK: u64 = 1 << 20;
/// Length read completely at the start: it contains the first copies of all volumes that start
/// there.
const HEAD: u64 = 32 << 20;
/// Length of the area at the start of a volume that contains most primary structures.
const FIRST_COPIES: u64 = 128 << 10;
/// Length read completely at the end: partition tables, RAID metadata, ZFS labels (ZFS leaves at
/// least 8 MiB after them).
const TAIL: u64 = 12 << 20;
/// Maximum size of a device that is read completely. The slowest stick takes a few seconds for it.
const SMALL: u64 = 256 << 20;
/// Usual first offsets of volumes, from which locations beyond the head are calculated.
const VOLUME_OFFSETS: [u64; 3] = [0, 63 * 512, 1 << 20];
/// Distances of the end of a volume from the end of a disk with partitions: 0, or the size of the
/// backup GPT area.
const ENDS: [u64; 2] = [0, 1 << 20];

/// Confidence of the bound on the share of written blocks.
const CONFIDENCE: f64 = 0.999;
/// Share of written blocks above which data is detected.
const SHARE: f64 = 1e-4;
/// Time limit for samples; a disk with slow seeks gets a weaker bound.
const TIME: Duration = Duration::from_secs(10);
/// Number of samples that are read in ascending order, to avoid seeking back and forth.
const ROUND: usize = 512;
/// Number of requests in flight, so that a disk can choose their order.
const READERS: usize = 8;

/// Coverage of a device on which only zeros were found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScanCoverage {
    /// Every byte was read.
    Full,
    /// Known locations, and this number of random blocks.
    Sampled(u64),
}

impl ScanCoverage {
    /// Returns the upper bound on the share of blocks with data, at confidence [`CONFIDENCE`].
    ///
    /// Source: the exact binomial bound for no hit in n draws, 1 - (1 - confidence)^(1/n).
    pub fn bound(self) -> f64 {
        match self {
            Self::Full => 0.0,
            Self::Sampled(0) => 1.0,
            Self::Sampled(n) => 1.0 - (1.0 - CONFIDENCE).powf(1.0 / n as f64),
        }
    }

    /// Describes the coverage and the bound on undetected data.
    pub fn describe(self) -> String {
        match self {
            Self::Full => "all of it was read and is zero".to_owned(),
            Self::Sampled(n) => format!(
                "the places of {} formats and {n} random blocks are zero; data in less than {:.3} % of its blocks \
                 may stay unseen ({} % confidence)",
                FORMATS.len(),
                100.0 * self.bound(),
                100.0 * CONFIDENCE
            ),
        }
    }
}

/// Result of examining a device.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceContent {
    /// Only zeros were found.
    Blank(ScanCoverage),
    /// A nonzero byte was found.
    Data {
        /// Offset of the byte.
        offset: u64,
        /// The format whose magic number was found there, if any.
        format: Option<&'static str>,
    },
}

/// Examines an open device or file of this size.
///
/// # Errors
/// Returns an error if a block cannot be read.
pub fn scan(file: &File, size: u64) -> io::Result<DeviceContent> {
    look_for(file, size, TIME)
}

fn look_for(file: &File, size: u64, time: Duration) -> io::Result<DeviceContent> {
    let found = |data: Data| DeviceContent::Data { offset: data.offset, format: data.format };
    let written = parts(file, size)?.unwrap_or_else(|| vec![(0, size)]);
    let search = ContentSearch { file, size };
    if length(&written) <= SMALL {
        let data = search.ranges(&written)?;
        return Ok(data.map_or(DeviceContent::Blank(ScanCoverage::Full), found));
    }
    let ends = [(0, HEAD.min(size)), (size.saturating_sub(TAIL), TAIL.min(size))];
    if let Some(data) = search.ranges(&ends)? {
        return Ok(found(data));
    }
    if let Some(data) = search.blocks(&far_places(size))? {
        return Ok(found(data));
    }
    let (samples, data) = search.samples(&written, time)?;
    Ok(data.map_or(DeviceContent::Blank(ScanCoverage::Sampled(samples)), found))
}

/// Returns the total length of the ranges.
fn length(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(_, length)| length).sum()
}

/// Returns the allocated ranges of a regular file, or `None` if the file is a device.
fn parts(file: &File, size: u64) -> io::Result<Option<Vec<(u64, u64)>>> {
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let seek = |from: u64, to| {
        let from = i64::try_from(from).map_err(io::Error::other)?;
        match lseek(file, from, to) {
            Ok(place) => Ok(Some(place as u64)),
            Err(Errno::ENXIO) => Ok(None),
            Err(error) => Err(io::Error::from(error)),
        }
    };
    let mut parts = Vec::new();
    let mut place = 0;
    while place < size {
        let Some(data) = seek(place, Whence::SeekData)? else {
            break;
        };
        place = seek(data, Whence::SeekHole)?.unwrap_or(size).min(size);
        parts.push((data, place - data));
    }
    Ok(Some(parts))
}

/// Returns the blocks after the head at which some format stores a copy of its essential
/// structures, in ascending order.
fn far_places(size: u64) -> Vec<u64> {
    let mut places = Vec::new();
    for start in VOLUME_OFFSETS {
        for end in ENDS {
            let volume = size.saturating_sub(start + end);
            let copies = FORMATS.iter().flat_map(|format| format.copies);
            let copies = copies.flat_map(|copies| copies.places(volume));
            places.extend(copies.map(|place| (start + place) / BLOCK));
        }
    }
    for start in FAR_VOLUMES {
        places.extend((0..FIRST_COPIES / BLOCK).map(|block| start / BLOCK + block));
    }
    let behind_head = HEAD / BLOCK..size / BLOCK;
    places.retain(|block| behind_head.contains(block));
    places.sort_unstable();
    places.dedup();
    places
}

/// A nonzero byte.
#[derive(Clone, Copy, Debug)]
struct Data {
    offset: u64,
    format: Option<&'static str>,
}

/// A device that is searched.
struct ContentSearch<'a> {
    file: &'a File,
    size: u64,
}

impl ContentSearch<'_> {
    /// Returns the first data in byte ranges.
    fn ranges(&self, ranges: &[(u64, u64)]) -> io::Result<Option<Data>> {
        let mut buffer = vec![0; CHUNK as usize];
        for &(start, length) in ranges {
            for offset in (start..start + length).step_by(CHUNK as usize) {
                let part = &mut buffer[..(start + length - offset).min(CHUNK) as usize];
                if let Some(data) = self.read(part, offset)? {
                    return Ok(Some(data));
                }
            }
        }
        Ok(None)
    }

    /// Returns data in any of these blocks, given by number. Reads several blocks at once.
    fn blocks(&self, blocks: &[u64]) -> io::Result<Option<Data>> {
        advise_random(self.file);
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let outcome = Mutex::new(Ok(None));
        let read = || {
            let mut buffer = vec![0; BLOCK as usize];
            while !stop.load(Ordering::Relaxed) {
                let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return;
                };
                let offset = block * BLOCK;
                let part = &mut buffer[..(self.size - offset).min(BLOCK) as usize];
                let found = self.read(part, offset);
                if !matches!(found, Ok(None)) {
                    stop.store(true, Ordering::Relaxed);
                    if let Ok(mut outcome) = outcome.lock() {
                        *outcome = found;
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..READERS {
                // If no more threads can be created, only this thread reads.
                let _ = thread::Builder::new().spawn_scoped(scope, read);
            }
            read();
        });
        outcome.into_inner().map_err(|_| io::Error::other("a reader panicked"))?
    }

    /// Reads random blocks of the written ranges until the bound or the time limit is reached.
    /// Returns the number of samples and the data found, if any. At least one round is read, even
    /// on a slow disk.
    fn samples(&self, written: &[(u64, u64)], time: Duration) -> io::Result<(u64, Option<Data>)> {
        let start = clock::now();
        let wanted = ((1.0 - CONFIDENCE).ln() / (1.0 - SHARE).ln()).ceil() as u64;
        let mut chance = SeededRng::substream(clock::realtime().0, "samples of a device");
        let mut samples = 0;
        loop {
            let mut round: Vec<u64> =
                (0..ROUND).map(|_| nth(written, chance.below(length(written))) / BLOCK).collect();
            round.sort_unstable();
            // A round is always completed: its blocks are sorted, so the omitted ones would all be
            // near the end of the device.
            if let Some(data) = self.blocks(&round)? {
                return Ok((samples, Some(data)));
            }
            samples += ROUND as u64;
            if samples >= wanted || clock::since(start).to_duration() >= time {
                return Ok((samples, None));
            }
        }
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<Data>> {
        self.file.read_exact_at(buffer, offset)?;
        if is_zero(buffer) {
            return Ok(None);
        }
        let Some(position) = buffer.iter().position(|byte| *byte != 0) else {
            return Ok(None);
        };
        Ok(Some(Data { offset: offset + position as u64, format: format_at(buffer, position) }))
    }
}

/// Returns true if all bytes are zero. Compares blocks, which is many times faster than comparing
/// bytes.
fn is_zero(bytes: &[u8]) -> bool {
    const ZEROS: [u8; BLOCK as usize] = [0; BLOCK as usize];
    let mut blocks = bytes.chunks(ZEROS.len());
    blocks.all(|block| *block == ZEROS[..block.len()])
}

/// Returns the offset of the n-th byte in byte ranges.
fn nth(ranges: &[(u64, u64)], mut number: u64) -> u64 {
    for &(start, length) in ranges {
        if number < length {
            return start + number;
        }
        number -= length;
    }
    0
}

/// Returns the format of the copy that contains the first data byte. A copy starts in a sector
/// before it or up to 128 KiB after it.
fn format_at(bytes: &[u8], position: usize) -> Option<&'static str> {
    const SECTOR: usize = 512;
    let first = position / SECTOR * SECTOR;
    let around = (first.saturating_sub(4096)..=first).step_by(SECTOR);
    let next = (first..bytes.len().min(first + 128 * 1024)).step_by(SECTOR);
    around.chain(next).filter_map(|start| bytes.get(start..)).find_map(signatures::name)
}

/// Disables readahead around single blocks. Only a hint: reading takes longer if the kernel ignores
/// it.
fn advise_random(file: &File) {
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Returns a file without holes, which is like a device: its written ranges are unknown.
    fn device(size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        let zeros = vec![0; CHUNK as usize];
        for offset in (0..size).step_by(CHUNK as usize) {
            let part = &zeros[..(size - offset).min(CHUNK) as usize];
            file.write_all_at(part, offset).unwrap();
        }
        file
    }

    fn offset(content: DeviceContent) -> Option<u64> {
        match content {
            DeviceContent::Data { offset, .. } => Some(offset),
            DeviceContent::Blank(_) => None,
        }
    }

    #[test]
    fn a_small_device_is_read_to_its_last_byte() {
        let size = 8 * MIB + 5;
        let file = device(size);
        assert_eq!(scan(&file, size).unwrap(), DeviceContent::Blank(ScanCoverage::Full));
        for place in [size - 1, 5 * MIB + 77, 0] {
            file.write_all_at(b"x", place).unwrap();
            assert_eq!(offset(scan(&file, size).unwrap()), Some(place));
        }
    }

    #[test]
    fn skips_holes_of_a_file_and_reads_the_rest() {
        let file = tempfile::tempfile().unwrap();
        let size = 1 << 40;
        file.set_len(size).unwrap();
        assert_eq!(scan(&file, size).unwrap(), DeviceContent::Blank(ScanCoverage::Full));
        file.write_all_at(b"x", 700_000_000_123).unwrap();
        assert_eq!(offset(scan(&file, size).unwrap()), Some(700_000_000_123));
    }

    #[test]
    fn a_copy_far_from_the_head_is_found_and_named() {
        let size = 512 * MIB;
        let file = device(size);
        assert!(
            matches!(scan(&file, size).unwrap(), DeviceContent::Blank(ScanCoverage::Sampled(n)) if n >= 60_000)
        );
        file.write_all_at(b"_BHRfS_M", 64 * MIB + 64).unwrap();
        let format = Some("btrfs");
        let expected = DeviceContent::Data { offset: 64 * MIB + 64, format };
        assert_eq!(scan(&file, size).unwrap(), expected);
    }

    #[test]
    fn samples_only_written_ranges_of_a_sparse_file() {
        let file = tempfile::tempfile().unwrap();
        let (size, place) = (7 << 40, 3 << 40);
        file.set_len(size).unwrap();
        for offset in (place..place + SMALL + MIB).step_by(MIB as usize) {
            file.write_all_at(&vec![1; MIB as usize], offset).unwrap();
        }
        let found = offset(scan(&file, size).unwrap()).unwrap();
        assert!(found >= place, "{found}");
        assert_eq!([0, 4, 5, 8].map(|n| nth(&[(10, 5), (20, 4)], n)), [10, 14, 20, 23]);
    }

    #[test]
    fn samples_find_data_outside_known_locations() {
        let size = 512 * MIB;
        let file = device(size);
        file.write_all_at(&vec![1; MIB as usize], 333 * MIB).unwrap();
        let found = offset(scan(&file, size).unwrap()).unwrap();
        assert!((333 * MIB..334 * MIB).contains(&found), "{found}");
    }

    #[test]
    fn the_bound_depends_on_the_samples_and_is_reported() {
        assert!((ScanCoverage::Sampled(3000).bound() - 0.0023).abs() < 1e-4);
        assert_eq!((ScanCoverage::Full.bound(), ScanCoverage::Sampled(0).bound()), (0.0, 1.0));
        let words = ScanCoverage::Sampled(69_120).describe();
        assert!(words.contains("0.010 %") && words.contains("99.9 %"), "{words}");
    }

    #[test]
    fn a_slow_disk_gets_a_weaker_bound_and_is_read_at_both_ends_all_the_same() {
        let size = 512 * MIB;
        let file = device(size);
        let look = || look_for(&file, size, Duration::ZERO).unwrap();
        assert_eq!(look(), DeviceContent::Blank(ScanCoverage::Sampled(ROUND as u64)));
        file.write_all_at(b"x", size - 1).unwrap();
        assert_eq!(offset(look()), Some(size - 1));
    }

    #[test]
    fn far_places_are_few_enough_for_a_disk_that_seeks() {
        for size in [300 * MIB, 32 << 30, 4 << 40] {
            let places = far_places(size);
            assert!(places.len() < 1200, "{size}: {}", places.len());
            assert!(places.is_sorted() && places.iter().all(|block| block * BLOCK < size));
        }
    }
}
