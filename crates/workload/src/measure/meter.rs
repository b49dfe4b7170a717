//! Reads clock, processor time, faults, device counters and space before and after a phase.

use std::path::{Path, PathBuf};

use model::{Bytes, CpuTime, DeviceCounters, Nanos, PageFaults, PhaseResult, SpaceUsage};
use nix::sys::statvfs::statvfs;
use sys::block::{self, BlockStats};
use sys::io::clock;
use sys::process::usage;

/// Measurement of a phase in one or several timed parts. Time between the parts does not count.
#[derive(Debug)]
pub struct PhaseMeter {
    device: Option<BlockStats>,
    root: Option<PathBuf>,
    /// Readings at the start of the current timed part; `None` between parts.
    running: Option<MeterReadings>,
    /// Whether no part has ended yet.
    first: bool,
    sum: MeterReading,
}

/// Readings at the start of a part.
#[derive(Debug)]
struct MeterReadings {
    space: Option<SpaceUsage>,
    device: Option<DeviceCounters>,
    usage: usage::UsageSample,
    clock: Nanos,
}

/// Sums over the timed parts.
#[derive(Clone, Debug, Default)]
struct MeterReading {
    wall: Nanos,
    cpu: CpuTime,
    faults: PageFaults,
    device: Option<DeviceCounters>,
    space_before: Option<SpaceUsage>,
    space_after: Option<SpaceUsage>,
    parts: Vec<(Nanos, Nanos)>,
}

impl PhaseMeter {
    /// Creates a meter for a device and for the filesystem mounted at `root`, both optional, and
    /// starts the first part.
    pub fn start(device: Option<BlockStats>, root: Option<&Path>) -> Self {
        let mut meter = Self {
            device,
            root: root.map(Path::to_owned),
            running: None,
            first: true,
            sum: MeterReading::default(),
        };
        meter.restart();
        meter
    }

    /// Starts a timed part, with the clock read last. Restarts a running part: the time since its
    /// start was preparation.
    pub fn restart(&mut self) {
        self.running = Some(MeterReadings {
            space: self.root.as_deref().and_then(statfs),
            device: self.device.as_ref().and_then(BlockStats::read),
            usage: usage::sample_start(),
            clock: clock::now(),
        });
    }

    /// Ends the timed part, with the clock read first, and adds it to the sums. Has no effect if no
    /// part is running.
    pub fn pause(&mut self) {
        self.pause_at(None);
    }

    /// Ends the last timed part and stores the sums. `mounted` is the mount point of a filesystem
    /// mounted since the start.
    pub fn stop(&mut self, mounted: Option<&Path>, result: &mut PhaseResult) {
        self.pause_at(mounted);
        let sum = self.sum.clone();
        result.elapsed = sum.wall;
        result.cpu = sum.cpu;
        result.faults = sum.faults;
        result.device = sum.device;
        result.space_before = sum.space_before;
        result.space_after = sum.space_after;
        result.timed = sum.parts;
    }

    /// Returns the elapsed time of the finished parts.
    pub const fn elapsed(&self) -> Nanos {
        self.sum.wall
    }

    fn pause_at(&mut self, mounted: Option<&Path>) {
        let Some(before) = self.running.take() else {
            return;
        };
        let wall = clock::since(before.clock);
        let used = usage::difference(&before.usage, &usage::sample_end());
        let device_after = self.device.as_ref().and_then(BlockStats::read);
        let device = before.device.zip(device_after);
        let device = device.map(|(before, after)| block::difference(before, after));
        if std::mem::take(&mut self.first) {
            self.sum.space_before = before.space;
            self.sum.device = device;
        } else {
            let both = self.sum.device.zip(device);
            self.sum.device = both.map(|(sum, part)| block::sum(sum, part));
        }
        self.sum.wall.0 += wall.0;
        let end = Nanos(before.clock.0 + wall.0);
        self.sum.parts.push((before.clock, end));
        self.sum.cpu = add_cpu(self.sum.cpu, used.cpu);
        self.sum.faults.minor += used.faults.minor;
        self.sum.faults.major += used.faults.major;
        self.sum.space_after = mounted.or(self.root.as_deref()).and_then(statfs);
    }
}

fn add_cpu(a: CpuTime, b: CpuTime) -> CpuTime {
    CpuTime {
        user: Nanos(a.user.0 + b.user.0),
        system: Nanos(a.system.0 + b.system.0),
        driver: Nanos(a.driver.0 + b.driver.0),
        machine: Nanos(a.machine.0 + b.machine.0),
    }
}

/// Returns the space usage of the filesystem at a path. Returns `None` if statvfs fails.
pub fn statfs(root: &Path) -> Option<SpaceUsage> {
    let stat = statvfs(root).ok()?;
    let fragments = |n: u64| Bytes(n * stat.fragment_size());
    Some(SpaceUsage {
        total: fragments(stat.blocks()),
        free: fragments(stat.blocks_free()),
        available: fragments(stat.blocks_available()),
        inodes: stat.files(),
        inodes_free: stat.files_free(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{AccessPattern, CacheState, Io, Op, Phase, SyncAtEnd};

    fn blank() -> PhaseResult {
        PhaseResult::not_run(&Phase {
            name: "p".into(),
            cache: CacheState::Warm,
            sync_at_end: SyncAtEnd::Call,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            from_next_host: false,
            op: Op::Io(Io::new("f", AccessPattern::Read, Bytes(1))),
        })
    }

    #[test]
    fn sums_timed_parts_without_the_gaps() {
        let place = tempfile::tempdir().unwrap();
        let mut meter = PhaseMeter::start(None, Some(place.path()));
        meter.pause();
        let first = meter.elapsed();
        meter.pause();
        assert_eq!(meter.elapsed(), first, "no part had begun");
        meter.restart();
        meter.pause();
        let both = meter.elapsed();
        assert!(both > first);
        let mut result = blank();
        meter.stop(None, &mut result);
        assert_eq!(result.elapsed, both);
        assert!(result.space_before.is_some() && result.space_after.is_some());
    }

    #[test]
    fn every_counter_of_the_device_is_added() {
        let part = DeviceCounters {
            reads: 1,
            read_bytes: Bytes(2),
            writes: 3,
            write_bytes: Bytes(4),
            flushes: 5,
            discards: 6,
            discard_bytes: Bytes(7),
        };
        let sum = block::sum(block::sum(part, part), part);
        let expected = DeviceCounters {
            reads: 3,
            read_bytes: Bytes(6),
            writes: 9,
            write_bytes: Bytes(12),
            flushes: 15,
            discards: 18,
            discard_bytes: Bytes(21),
        };
        assert_eq!(sum, expected);
    }
}
