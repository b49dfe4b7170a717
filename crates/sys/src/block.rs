//! Counters of a block device.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use model::{Bytes, DeviceCounters};

/// The unit of the counters, whatever the device's own sector size.
/// Source: Documentation/block/stat.rst of the kernel.
const SECTOR: u64 = 512;

/// Reads the counters of one block device.
#[derive(Clone, Debug)]
pub struct DeviceStat(PathBuf);

impl DeviceStat {
    /// The counters of a block device, given by its node.
    ///
    /// # Errors
    /// When the node cannot be examined or is no block device.
    pub fn of(device: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(device)?;
        if !metadata.file_type().is_block_device() {
            return Err(io::Error::other(format!(
                "{} is no block device",
                device.display()
            )));
        }
        let (major, minor) = numbers(metadata.rdev());
        Ok(Self(PathBuf::from(format!(
            "/sys/dev/block/{major}:{minor}/stat"
        ))))
    }

    /// The counters since the device exists; `None` once it is gone.
    pub fn read(&self) -> Option<DeviceCounters> {
        parse(&fs::read_to_string(&self.0).ok()?)
    }
}

/// Major and minor number of a device number.
pub const fn numbers(device: u64) -> (u64, u64) {
    (nix::sys::stat::major(device), nix::sys::stat::minor(device))
}

/// What happened between two readings.
pub const fn difference(before: DeviceCounters, after: DeviceCounters) -> DeviceCounters {
    DeviceCounters {
        reads: after.reads.saturating_sub(before.reads),
        read_bytes: Bytes(after.read_bytes.0.saturating_sub(before.read_bytes.0)),
        writes: after.writes.saturating_sub(before.writes),
        write_bytes: Bytes(after.write_bytes.0.saturating_sub(before.write_bytes.0)),
        flushes: after.flushes.saturating_sub(before.flushes),
        discards: after.discards.saturating_sub(before.discards),
        discard_bytes: Bytes(after.discard_bytes.0.saturating_sub(before.discard_bytes.0)),
    }
}

fn parse(stat: &str) -> Option<DeviceCounters> {
    let fields: Vec<u64> = stat
        .split_whitespace()
        .map_while(|f| f.parse().ok())
        .collect();
    let field = |i: usize| fields.get(i).copied().unwrap_or(0);
    (fields.len() >= 11).then(|| DeviceCounters {
        reads: field(0),
        read_bytes: Bytes(field(2) * SECTOR),
        writes: field(4),
        write_bytes: Bytes(field(6) * SECTOR),
        discards: field(11),
        discard_bytes: Bytes(field(13) * SECTOR),
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
    fn old_kernels_without_discards_and_nonsense_are_told_apart() {
        assert_eq!(parse("1 0 8 0 1 0 8 0 0 0 0").unwrap().flushes, 0);
        assert_eq!(parse("not numbers"), None);
        assert_eq!(parse(""), None);
    }
}
