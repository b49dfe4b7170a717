//! Counters of a block device.

pub mod block_claim;
pub mod loopdev;
pub mod pressure;
pub mod raid0;

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use model::{Bytes, DeviceCounters};

/// The unit of the counters, regardless of the device's sector size. Source:
/// Documentation/block/stat.rst of the kernel.
const SECTOR: u64 = 512;

/// Reader for the summed counters of block devices.
#[derive(Clone, Debug)]
pub struct BlockStats(Vec<PathBuf>);

impl BlockStats {
    /// Creates a reader for the sum of the counters of block devices, given by their nodes.
    ///
    /// # Errors
    /// Returns an error if the list is empty, or if a node cannot be examined or is not a block
    /// device.
    pub fn from_nodes<'a>(devices: impl IntoIterator<Item = &'a Path>) -> io::Result<Self> {
        let files: io::Result<Vec<PathBuf>> = devices.into_iter().map(stat_file).collect();
        match files? {
            none if none.is_empty() => Err(io::Error::other("there is no device")),
            files => Ok(Self(files)),
        }
    }

    /// Creates a reader for one block device, given by its major and minor number.
    pub fn from_dev(number: (u64, u64)) -> Self {
        Self(vec![stat_of(number)])
    }

    /// Returns the counters since creation of the devices, or `None` if a device no longer exists.
    pub fn read(&self) -> Option<DeviceCounters> {
        let one = |file: &PathBuf| parse(&fs::read_to_string(file).ok()?);
        let add = |all, file| Some(sum(all, one(file)?));
        self.0.iter().try_fold(DeviceCounters::default(), add)
    }
}

/// Returns the file with the counters of a device.
fn stat_file(device: &Path) -> io::Result<PathBuf> {
    let metadata = fs::metadata(device)?;
    if !metadata.file_type().is_block_device() {
        let what = format!("{} is no block device", device.display());
        return Err(io::Error::other(what));
    }
    Ok(stat_of(major_minor(metadata.rdev())))
}

fn stat_of((major, minor): (u64, u64)) -> PathBuf {
    format!("/sys/dev/block/{major}:{minor}/stat").into()
}

/// Splits a device number into major and minor number.
pub const fn major_minor(device: u64) -> (u64, u64) {
    (nix::sys::stat::major(device), nix::sys::stat::minor(device))
}

/// Returns the difference between two readings.
pub fn difference(before: DeviceCounters, after: DeviceCounters) -> DeviceCounters {
    each(before, after, |before, after| after.saturating_sub(before))
}

/// Returns the sum of the counters of two devices, or of two readings.
pub fn sum(one: DeviceCounters, other: DeviceCounters) -> DeviceCounters {
    each(one, other, u64::saturating_add)
}

/// Combines two readings, counter by counter.
fn each(
    one: DeviceCounters,
    other: DeviceCounters,
    of: impl Fn(u64, u64) -> u64,
) -> DeviceCounters {
    let bytes = |one: Bytes, other: Bytes| Bytes(of(one.0, other.0));
    DeviceCounters {
        reads: of(one.reads, other.reads),
        read_bytes: bytes(one.read_bytes, other.read_bytes),
        writes: of(one.writes, other.writes),
        write_bytes: bytes(one.write_bytes, other.write_bytes),
        flushes: of(one.flushes, other.flushes),
        discards: of(one.discards, other.discards),
        discard_bytes: bytes(one.discard_bytes, other.discard_bytes),
    }
}

/// Parses the text of a `stat` file. Returns `None` if it is invalid. Counters that an older kernel
/// lacks are 0. Source: Documentation/block/stat.rst of the kernel.
pub fn parse(stat: &str) -> Option<DeviceCounters> {
    let fields: Vec<u64> = stat.split_whitespace().map_while(|f| f.parse().ok()).collect();
    let field = |i: usize| fields.get(i).copied().unwrap_or(0);
    let bytes = |i: usize| Bytes(field(i).saturating_mul(SECTOR));
    (fields.len() >= 11).then(|| DeviceCounters {
        reads: field(0),
        read_bytes: bytes(2),
        writes: field(4),
        write_bytes: bytes(6),
        discards: field(11),
        discard_bytes: bytes(13),
        flushes: field(15),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_seventeen_fields() {
        let stat = "  10  1  800 5  20  2  1600 7  0 9 9  3 0 64 1  4 2\n";
        let counters = parse(stat).unwrap();
        assert_eq!(counters.reads, 10);
        assert_eq!(counters.read_bytes, Bytes(800 * 512));
        assert_eq!(counters.write_bytes, Bytes(1600 * 512));
        assert_eq!((counters.discards, counters.flushes), (3, 4));
    }

    #[test]
    fn adds_devices_and_returns_nothing_if_one_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        fs::write(file("a"), "10 1 800 5 20 2 1600 7 0 9 9 3 0 64 1 4 2\n").unwrap();
        fs::write(file("b"), "1 0 8 0 1 0 8 0 0 0 0\n").unwrap();
        let both = BlockStats(vec![file("a"), file("b")]).read().unwrap();
        assert_eq!((both.reads, both.writes, both.flushes), (11, 21, 4));
        assert_eq!(both.read_bytes, Bytes(808 * 512));
        assert!(BlockStats(vec![file("a"), file("c")]).read().is_none());
        assert!(BlockStats::from_nodes([]).is_err());
        assert!(BlockStats::from_nodes([directory.path()]).is_err());
    }

    #[test]
    fn parses_old_formats_without_discards_and_rejects_invalid_text() {
        assert_eq!(parse("1 0 8 0 1 0 8 0 0 0 0").unwrap().flushes, 0);
        assert_eq!(parse("not numbers"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn counters_beyond_all_numbers_are_no_panic() {
        let stat = "1 1 18446744073709551615 1 1 1 1 1 1 1 1";
        let counters = parse(stat).unwrap();
        assert_eq!(counters.read_bytes, Bytes(u64::MAX));
        assert_eq!(sum(counters, counters).read_bytes, Bytes(u64::MAX));
    }
}
