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
    before: Readings,
}

/// What is read at the beginning.
#[derive(Debug, Default)]
struct Readings {
    space: Option<Space>,
    device: Option<DeviceCounters>,
    usage: usage::Reading,
    clock: Nanos,
}

impl Meter {
    /// A meter for a device and for the filesystem mounted at `root`, where there are such; it has
    /// started.
    pub fn start(device: Option<DeviceStat>, root: Option<&Path>) -> Self {
        let mut meter = Self {
            device,
            root: root.map(Path::to_owned),
            before: Readings::default(),
        };
        meter.restart();
        meter
    }

    /// Takes the readings from which the phase is counted anew, the clock last: what was done since
    /// the start was preparation.
    pub fn restart(&mut self) {
        self.before = Readings {
            space: self.root.as_deref().and_then(space),
            device: self.device.as_ref().and_then(DeviceStat::read),
            usage: usage::read(),
            clock: clock::now(),
        };
    }

    /// Takes the readings at the phase's end, the clock first, and writes the differences down.
    /// `mounted` is where a filesystem was mounted meanwhile.
    pub fn stop(&self, mounted: Option<&Path>, result: &mut PhaseResult) {
        result.wall = clock::since(self.before.clock);
        let used = usage::difference(&self.before.usage, &usage::read());
        result.cpu = used.cpu;
        result.faults = used.faults;
        let device_after = self.device.as_ref().and_then(DeviceStat::read);
        result.device = self
            .before
            .device
            .zip(device_after)
            .map(|(before, after)| block::difference(before, after));
        result.space_before = self.before.space;
        result.space_after = mounted.or(self.root.as_deref()).and_then(space);
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
