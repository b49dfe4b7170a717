//! Whether a device holds anything: a byte that is not zero at a place that some format needs, or in a sample.
//!
//! Both ends are read whole, then every place of [`places`], then random blocks until so many were zero that few
//! can be written. Small devices, and files whose holes the filesystem below knows, are read to the end. What
//! lies in few blocks between the places may stay unseen: [`Sight`] says how few.

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
use sys::clock;

use super::signatures::{self, FAR_VOLUMES, FORMATS};

/// What is looked at together: a page, and what most formats read.
const BLOCK: u64 = 4096;
/// What is read at once where all of a range is.
const CHUNK: u64 = 1 << 20;
/// Read whole at the beginning: all first copies of all volumes that begin there.
const HEAD: u64 = 32 << 20;
/// Most first copies lie no farther than this from the beginning of a volume.
const FIRST_COPIES: u64 = 128 << 10;
/// Read whole at the end: tables of partitions, metadata of RAID, labels of ZFS, behind which it leaves 8 MiB and more.
const TAIL: u64 = 12 << 20;
/// A device of this size is read whole: the slowest stick takes a few seconds.
const SMALL: u64 = 256 << 20;
/// Places far from the head are looked for behind the first of the usual beginnings of volumes.
const VOLUME_OFFSETS: [u64; 3] = [0, 63 * 512, 1 << 20];
/// Where a volume may end on a disk with partitions: at its end, or before the second table of a GPT.
const ENDS: [u64; 2] = [0, 1 << 20];

/// How sure a bound on the share of written blocks is to be.
const CONFIDENCE: f64 = 0.999;
/// The share of written blocks above which data is to be seen.
const SHARE: f64 = 1e-4;
/// What the samples may take; a disk that seeks gets a weaker bound.
const TIME: Duration = Duration::from_secs(10);
/// Samples that are read in the order of their places, so that a disk need not seek back and forth.
const ROUND: usize = 512;
/// Requests in flight: what lets a disk choose their order.
const READERS: usize = 8;

/// How much was seen of a device on which only zeros were seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScanCoverage {
    /// Every byte of it.
    Full,
    /// Known places, and so many blocks at random.
    Sampled(u64),
}

impl ScanCoverage {
    /// The share of blocks that may be written all the same, at the confidence of [`CONFIDENCE`].
    ///
    /// Source: the exact binomial bound for no hit in n draws, 1 - (1 - confidence)^(1/n).
    pub fn bound(self) -> f64 {
        match self {
            Self::Full => 0.0,
            Self::Sampled(0) => 1.0,
            Self::Sampled(n) => 1.0 - (1.0 - CONFIDENCE).powf(1.0 / n as f64),
        }
    }

    /// In words: what was looked at, and what may have stayed unseen.
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

/// What was found on a device.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceContent {
    /// Nothing but zeros, as far as was seen.
    Blank(ScanCoverage),
    /// A byte that is not zero.
    Data {
        /// Where it is.
        offset: u64,
        /// The format whose mark is there.
        format: Option<&'static str>,
    },
}

/// Looks at an open device or file of this size.
///
/// # Errors
/// When a block cannot be read.
pub fn scan(file: &File, size: u64) -> io::Result<DeviceContent> {
    look_for(file, size, TIME)
}

fn look_for(file: &File, size: u64, time: Duration) -> io::Result<DeviceContent> {
    let found = |data: Data| DeviceContent::Data {
        offset: data.offset,
        format: data.format,
    };
    let written = parts(file, size)?.unwrap_or_else(|| vec![(0, size)]);
    let search = Search { file, size };
    if length(&written) <= SMALL {
        let data = search.ranges(&written)?;
        return Ok(data.map_or(DeviceContent::Blank(ScanCoverage::Full), found));
    }
    let ends = [
        (0, HEAD.min(size)),
        (size.saturating_sub(TAIL), TAIL.min(size)),
    ];
    if let Some(data) = search.ranges(&ends)? {
        return Ok(found(data));
    }
    if let Some(data) = search.blocks(&far_places(size))? {
        return Ok(found(data));
    }
    let (samples, data) = search.samples(&written, time)?;
    Ok(data.map_or(DeviceContent::Blank(ScanCoverage::Sampled(samples)), found))
}

/// How many bytes are in ranges of them.
fn length(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(_, length)| length).sum()
}

/// The parts of a plain file that are no holes; `None` where nobody knows.
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

/// The blocks behind the head in which some format has a copy of what it needs, in rising order.
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

/// A byte that is not zero.
#[derive(Clone, Copy, Debug)]
struct Data {
    offset: u64,
    format: Option<&'static str>,
}

/// A device that is searched.
struct Search<'a> {
    file: &'a File,
    size: u64,
}

impl Search<'_> {
    /// The first data in ranges of bytes.
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

    /// Data in any of these blocks, given by number; several are read at once.
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
                // One reader is enough where there are to be no more threads.
                let _ = thread::Builder::new().spawn_scoped(scope, read);
            }
            read();
        });
        outcome
            .into_inner()
            .map_err(|_| io::Error::other("a reader panicked"))?
    }

    /// Blocks at random in what can be written, until the bound is reached or the time is over, and data in one of
    /// them. One round is read however slow the disk is.
    fn samples(&self, written: &[(u64, u64)], time: Duration) -> io::Result<(u64, Option<Data>)> {
        let start = clock::now();
        let wanted = ((1.0 - CONFIDENCE).ln() / (1.0 - SHARE).ln()).ceil() as u64;
        let mut chance = SeededRng::substream(clock::realtime().0, "samples of a device");
        let mut samples = 0;
        loop {
            let mut round: Vec<u64> = (0..ROUND)
                .map(|_| nth(written, chance.below(length(written))) / BLOCK)
                .collect();
            round.sort_unstable();
            // A round that began is ended: what is left out of it would all lie at the end of the device.
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
        Ok(Some(Data {
            offset: offset + position as u64,
            format: format_at(buffer, position),
        }))
    }
}

/// Compared in blocks, which is many times as fast as byte by byte.
fn is_zero(bytes: &[u8]) -> bool {
    const ZEROS: [u8; BLOCK as usize] = [0; BLOCK as usize];
    let mut blocks = bytes.chunks(ZEROS.len());
    blocks.all(|block| *block == ZEROS[..block.len()])
}

/// Where the byte of this number is, counted within ranges of bytes.
fn nth(ranges: &[(u64, u64)], mut number: u64) -> u64 {
    for &(start, length) in ranges {
        if number < length {
            return start + number;
        }
        number -= length;
    }
    0
}

/// The format of which a copy holds the first data: it begins in the sectors before, or with a MiB.
fn format_at(bytes: &[u8], position: usize) -> Option<&'static str> {
    const SECTOR: usize = 512;
    let first = position / SECTOR * SECTOR;
    let around = (first.saturating_sub(4096)..=first).step_by(SECTOR);
    let next = (first..bytes.len().min(first + 128 * 1024)).step_by(SECTOR);
    around
        .chain(next)
        .filter_map(|start| bytes.get(start..))
        .find_map(signatures::name)
}

/// What lies beside a block is not read in advance; where the kernel does not listen, it takes longer.
fn advise_random(file: &File) {
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A file without holes is like a device: nobody knows what of it was written.
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
        assert_eq!(
            scan(&file, size).unwrap(),
            DeviceContent::Blank(ScanCoverage::Full)
        );
        for place in [size - 1, 5 * MIB + 77, 0] {
            file.write_all_at(b"x", place).unwrap();
            assert_eq!(offset(scan(&file, size).unwrap()), Some(place));
        }
    }

    #[test]
    fn holes_of_a_file_are_known_and_what_is_between_them_is_read() {
        let file = tempfile::tempfile().unwrap();
        let size = 1 << 40;
        file.set_len(size).unwrap();
        assert_eq!(
            scan(&file, size).unwrap(),
            DeviceContent::Blank(ScanCoverage::Full)
        );
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
        let expected = DeviceContent::Data {
            offset: 64 * MIB + 64,
            format,
        };
        assert_eq!(scan(&file, size).unwrap(), expected);
    }

    #[test]
    fn samples_of_a_file_with_holes_are_taken_of_what_was_written() {
        let file = tempfile::tempfile().unwrap();
        let (size, place) = (7 << 40, 3 << 40);
        file.set_len(size).unwrap();
        for offset in (place..place + SMALL + MIB).step_by(MIB as usize) {
            file.write_all_at(&vec![1; MIB as usize], offset).unwrap();
        }
        let found = offset(scan(&file, size).unwrap()).unwrap();
        assert!(found >= place, "{found}");
        assert_eq!(
            [0, 4, 5, 8].map(|n| nth(&[(10, 5), (20, 4)], n)),
            [10, 14, 20, 23]
        );
    }

    #[test]
    fn samples_see_what_no_place_shows() {
        let size = 512 * MIB;
        let file = device(size);
        file.write_all_at(&vec![1; MIB as usize], 333 * MIB)
            .unwrap();
        let found = offset(scan(&file, size).unwrap()).unwrap();
        assert!((333 * MIB..334 * MIB).contains(&found), "{found}");
    }

    #[test]
    fn the_bound_is_what_the_samples_allow_and_is_said() {
        assert!((ScanCoverage::Sampled(3000).bound() - 0.0023).abs() < 1e-4);
        assert_eq!(
            (ScanCoverage::Full.bound(), ScanCoverage::Sampled(0).bound()),
            (0.0, 1.0)
        );
        let words = ScanCoverage::Sampled(69_120).describe();
        assert!(
            words.contains("0.010 %") && words.contains("99.9 %"),
            "{words}"
        );
    }

    #[test]
    fn a_slow_disk_gets_a_weaker_bound_and_is_read_at_both_ends_all_the_same() {
        let size = 512 * MIB;
        let file = device(size);
        let look = || look_for(&file, size, Duration::ZERO).unwrap();
        assert_eq!(
            look(),
            DeviceContent::Blank(ScanCoverage::Sampled(ROUND as u64))
        );
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
