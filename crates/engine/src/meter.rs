//! Reads clock, processor time, faults, device counters and space before and after a phase.

use std::path::{Path, PathBuf};

use model::{Bytes, DeviceCounters, Nanos, PhaseResult, Space};
use nix::sys::statvfs::statvfs;
use sys::block::{self, DeviceStat};
use sys::{clock, usage};

/// A phase being measured.
#[derive(Debug)]
pub struct Meter {
    device: Option<DeviceStat>,
    root: Option<PathBuf>,
    space_before: Option<Space>,
    device_before: Option<DeviceCounters>,
    usage_before: usage::Reading,
    start: Nanos,
}

impl Meter {
    /// Takes the readings from which the phase is counted; the clock last.
    ///
    /// `root` is where the filesystem is mounted, where it is.
    pub fn start(device: Option<DeviceStat>, root: Option<&Path>) -> Self {
        Self {
            space_before: root.and_then(space),
            device_before: device.as_ref().and_then(DeviceStat::read),
            root: root.map(Path::to_owned),
            device,
            usage_before: usage::read(),
            start: clock::now(),
        }
    }

    /// Takes the readings at the phase's end, the clock first, and writes the differences down.
    pub fn stop(self, root: Option<&Path>, result: &mut PhaseResult) {
        result.wall = clock::since(self.start);
        let used = usage::difference(&self.usage_before, &usage::read());
        result.cpu = used.cpu;
        result.faults = used.faults;
        let device_after = self.device.as_ref().and_then(DeviceStat::read);
        result.device = self
            .device_before
            .zip(device_after)
            .map(|(before, after)| block::difference(before, after));
        result.space_before = self.space_before;
        result.space_after = root.or(self.root.as_deref()).and_then(space);
    }
}

/// How full the filesystem at a path is; `None` where it does not say.
pub fn space(root: &Path) -> Option<Space> {
    let stat = statvfs(root).ok()?;
    let fragments = |n: u64| Bytes(n * stat.fragment_size());
    Some(Space {
        total: fragments(stat.blocks()),
        free: fragments(stat.blocks_free()),
        available: fragments(stat.blocks_available()),
        inodes: stat.files(),
        inodes_free: stat.files_free(),
    })
}
