//! Request log and counters of the simulated disks, read from their driver.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Bytes, Nanos, PhaseResult, RequestLogChunk, SimulatedDiskStats};
use simdisk::SECTOR;
use simdisk::request_log::{self, LoggedRequest};

/// Device file of the request log.
const JOURNAL: &str = "/dev/fsarena_disk";
const BLOCK_DEVICES: &str = "/sys/block";
const COUNTS: &str = "fsarena/counts";
/// Maximum bytes per read.
const ROOM: usize = 1 << 20;

/// Request log of the simulated disks of this guest.
pub struct RequestLogReader {
    file: File,
    last: Counts,
    /// Location of the filesystem's journal, in sectors. Empty if unknown.
    own: Vec<(u64, u64)>,
}

/// Counters of the driver, summed over all disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    own_ns: u64,
    slots_written: u64,
    slots_programmed: u64,
    lost: u64,
}

impl RequestLogReader {
    /// Opens the request log. Returns `None` if the guest has no simulated disk.
    pub fn open() -> Option<Self> {
        Some(Self { file: File::open(JOURNAL).ok()?, last: counts(), own: Vec::new() })
    }

    /// Finds the journal of the filesystem on a device, so that requests to the journal can be
    /// identified.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn locate_fs_journal(&mut self, device: &Path) -> io::Result<()> {
        let place = mkfs::find_journal(&mut File::open(device)?)?;
        let sectors = |extent: mkfs::VolumeExtent| {
            let first = extent.offset.0 / SECTOR;
            (first, first + extent.length.0.div_ceil(SECTOR))
        };
        self.own = place.into_iter().flatten().map(sectors).collect();
        Ok(())
    }

    /// Returns all requests since the last read, as a part of the request log of the cell.
    pub fn take_before_phase(&mut self) -> io::Result<Option<RequestLogChunk>> {
        let entries = self.read()?;
        self.last = counts();
        Ok(part(None, &entries, &[]))
    }

    /// Returns the part of the request log for a finished phase. Adds the disk work of the timed
    /// parts to the result.
    pub fn take_phase(&mut self, result: &mut PhaseResult) -> io::Result<Option<RequestLogChunk>> {
        let entries = self.read()?;
        let now = counts();
        let before = std::mem::replace(&mut self.last, now);
        if !result.timed.is_empty() {
            let work = request_log::stats_within(&entries, &result.timed);
            result.disk = Some(SimulatedDiskStats {
                // If the filesystem has a journal, a phase without journal requests has 0 bytes
                // instead of `None`.
                journal: (!self.own.is_empty()).then(|| work.journal.unwrap_or(Bytes(0))),
                slots_written: now.slots_written - before.slots_written,
                slots_programmed: now.slots_programmed - before.slots_programmed,
                own: Nanos(now.own_ns - before.own_ns),
                lost: now.lost - before.lost,
                ..work
            });
        }
        let phase = Some(result.phase.clone());
        Ok(part(phase, &entries, &result.timed))
    }

    fn read(&mut self) -> io::Result<Vec<LoggedRequest>> {
        let mut bytes = Vec::new();
        let mut room = vec![0; ROOM];
        loop {
            match self.file.read(&mut room)? {
                0 => break,
                read => bytes.extend(&room[..read]),
            }
        }
        let mut entries = request_log::from_driver(&bytes);
        request_log::mark_journal(&mut entries, &self.own);
        Ok(entries)
    }
}

fn part(
    phase: Option<String>,
    entries: &[LoggedRequest],
    timed: &[(Nanos, Nanos)],
) -> Option<RequestLogChunk> {
    (!entries.is_empty()).then(|| RequestLogChunk {
        phase,
        packed: STANDARD.encode(request_log::pack(entries)),
        timed: timed.to_vec(),
    })
}

fn counts() -> Counts {
    let mut all = Counts::default();
    let disks = fs::read_dir(BLOCK_DEVICES).into_iter().flatten().flatten();
    for disk in disks {
        if let Ok(text) = fs::read_to_string(disk.path().join(COUNTS)) {
            add(&mut all, &text);
        }
    }
    all
}

/// Adds the counters of one disk. The number of lost requests is already a total of all disks.
fn add(all: &mut Counts, text: &str) {
    for (name, number) in text.lines().filter_map(|line| line.split_once(' ')) {
        let number: u64 = number.parse().unwrap_or(0);
        match name {
            "own_ns" => all.own_ns += number,
            "slots_written" => all.slots_written += number,
            "slots_programmed" => all.slots_programmed += number,
            "lost" => all.lost = number,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_counters_of_disks_and_counts_lost_entries_once() {
        let mut all = Counts::default();
        for _ in 0..2 {
            add(
                &mut all,
                "own_ns 10\nseeks 3\nslots_written 2\nslots_programmed 4\nerases 1\nlost 5\n",
            );
        }
        let expected = Counts { own_ns: 20, slots_written: 4, slots_programmed: 8, lost: 5 };
        assert_eq!(all, expected);
    }
}
