//! Assumed speeds, and the estimated duration of a phase.
//!
//! The speed of a filesystem is unknown before it is measured. The values were measured on common
//! filesystems, as described in their comments, and should be right within a factor of two.
//! Finished cells then give better estimates ([`crate::plan::Forecast`]).

use model::op::OpUnit;
use model::{
    Accelerator, CacheState, Campaign, Clock, DiskModel, GuestConfig, Io, IoEngine, Mechanism,
    Nanos, Op, Phase, WorkEstimate,
};
use serde::{Deserialize, Serialize};

/// Assumed speeds of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThroughputModel {
    /// Bytes per second to and from the device.
    pub throughput: f64,
    /// Bytes per second from the page cache.
    pub cached: f64,
    /// Time per data request, excluding the transfer of its bytes.
    pub request: Nanos,
    /// Time per random request that reaches the device.
    pub seek: Nanos,
    /// Time per metadata operation: create, stat, list, remove.
    pub name: Nanos,
    /// Time per fsync.
    pub sync: Nanos,
    /// Time per byte if a program writes single bytes into its buffer.
    pub byte: Nanos,
    /// Duration of a command, as a multiple of the duration that its suite states.
    #[serde(default = "ThroughputModel::own_commands")]
    pub commands: f64,
    /// Time between passes, for example to drop caches.
    pub cold: Nanos,
    /// Time per cell outside its phases: mkfs, mount, unmount, check; in real time also the boot of
    /// a guest.
    pub cell: Nanos,
    /// Time before the first cell: in virtual time a guest boots and is saved for all cells.
    pub start: Nanos,
    /// Assumed factor for phases with a driver in user space. Such drivers differ more from each
    /// other than from kernel drivers.
    pub fuse: f64,
    /// Real seconds per second of the measured clock.
    pub slowdown: f64,
    /// Whether the throughput was measured on this machine. If not, it is assumed.
    pub measured: bool,
}

impl Default for ThroughputModel {
    /// A solid-state disk with a common filesystem: speeds of ext4, XFS and btrfs in profile quick
    /// on an image, on two virtual processors of an AMD EPYC, Linux 6.18.
    fn default() -> Self {
        Self {
            throughput: 500e6,
            cached: 5e9,
            request: Nanos(1_000),
            seek: Nanos(100_000),
            name: Nanos(10_000),
            sync: Nanos(1_000_000),
            byte: Nanos(3),
            commands: Self::own_commands(),
            cold: Nanos(50_000_000),
            cell: Nanos(500_000_000),
            start: Nanos(0),
            fuse: 3.0,
            slowdown: 1.0,
            measured: false,
        }
    }
}

impl ThroughputModel {
    /// Returns the assumed speeds of a campaign without measurements.
    pub fn from_campaign(campaign: &Campaign) -> Self {
        match &campaign.guest {
            Some(guest) => Self::in_guest(campaign.clock, guest),
            None => Self::default(),
        }
    }

    /// Suites state the duration of commands on the machine of [`ThroughputModel::default`].
    const fn own_commands() -> f64 {
        1.0
    }

    fn in_guest(clock: Clock, guest: &GuestConfig) -> Self {
        match (clock, guest.accelerator) {
            (Clock::Virtual, _) => Self::in_virtual_time(guest),
            (Clock::Real, Accelerator::Kvm) => {
                Self { cell: Nanos::from_secs(3), ..Self::default() }
            }
            (Clock::Real, Accelerator::Tcg) => Self::emulated(),
        }
    }

    /// Returns the speeds of a guest with emulated instructions, in real time. Two system calls
    /// with a copy of 4 KiB took 19 µs, and deflate took 20 times as long, on the machine of [`ThroughputModel::default`].
    fn emulated() -> Self {
        Self {
            throughput: 200e6,
            cached: 500e6,
            request: Nanos(10_000),
            seek: Nanos(150_000),
            name: Nanos(100_000),
            sync: Nanos(1_500_000),
            byte: Nanos(100),
            commands: 20.0,
            cell: Nanos::from_secs(10),
            ..Self::default()
        }
    }

    /// Returns the speeds in virtual time, with one nanosecond per instruction: ext4 on disk model
    /// `nvme`, suites bonnie, bonnie-chars and tree in profiles smoke and quick, and deflate. Times inside the
    /// guest are the same on every machine. The times of the guest itself and the slowdown are
    /// processor time of QEMU 7.2 on the machine of [`ThroughputModel::default`].
    fn in_virtual_time(guest: &GuestConfig) -> Self {
        /// Bytes per second that a processor copies between program and disk.
        const COPIED: f64 = 750e6;
        let model = guest.model();
        let latency = model.map_or(0, |model| typical_request(model).0);
        let on_disk = model.and_then(typical_rate).map_or(0.0, |rate| 1.0 / rate);
        Self {
            throughput: 1.0 / (1.0 / COPIED + on_disk),
            cached: 2e9,
            request: Nanos(8_000),
            seek: Nanos(latency),
            name: Nanos(40_000),
            sync: Nanos(2 * latency + 50_000),
            byte: Nanos(40),
            commands: 5.0,
            cold: Nanos(10_000_000),
            cell: Nanos(1_200_000_000),
            start: Nanos::from_secs(8),
            fuse: 3.0,
            slowdown: 4.0,
            measured: false,
        }
    }

    /// Estimates the duration of one pass of a phase, at most its time limit. The duration is in
    /// the time that the phase is measured in.
    pub(crate) fn iteration_time(&self, phase: &Phase, work: WorkEstimate) -> Nanos {
        let pass = Nanos((self.seconds(phase, work) * 1e9) as u64);
        phase.at_most.map_or(pass, |limit| pass.min(limit))
    }

    /// Estimates the time of one pass, including the time between passes.
    pub(crate) fn phase_time(&self, phase: &Phase, work: WorkEstimate) -> Nanos {
        let between = match phase.cache {
            CacheState::Cold => self.cold.0,
            _ => 0,
        };
        Nanos(self.iteration_time(phase, work).0.saturating_add(between))
    }

    /// Converts time of the measured clock to real time.
    pub(crate) fn wall_time(&self, inside: Nanos) -> Nanos {
        Nanos((inside.0 as f64 * self.slowdown).round() as u64)
    }

    fn seconds(&self, phase: &Phase, work: WorkEstimate) -> f64 {
        let each = |time: Nanos| work.operations as f64 * time.as_secs_f64();
        let from_cache = phase.cache == CacheState::Warm && work.written.0 == 0;
        let rate = if from_cache { self.cached } else { self.throughput };
        let bytes = work.total_bytes().0 as f64 / rate;
        let syncs = work.syncs as f64 * self.sync.as_secs_f64();
        if let Op::Exec(exec) = &phase.op {
            let stated = exec.takes.map_or(0.0, Nanos::as_secs_f64) * self.commands;
            return exec.lasts.map_or(stated, Nanos::as_secs_f64).max(bytes);
        }
        if let Op::Io(io) = &phase.op {
            match io.rate {
                Some(rate) => return work.operations as f64 / rate as f64,
                None if io.engine == IoEngine::Null => return 0.0,
                None => return bytes + syncs + each(self.request_of(io, phase.cache)),
            }
        }
        match phase.op.info().each() {
            OpUnit::Request => bytes + each(self.request),
            OpUnit::Byte => bytes + work.total_bytes().0 as f64 * self.byte.as_secs_f64(),
            OpUnit::Name => bytes + syncs + each(self.name),
            OpUnit::Nothing => 0.0,
        }
    }

    /// Returns the time per request of a job, excluding its bytes. Requests in flight wait in
    /// parallel.
    fn request_of(&self, io: &Io, cache: CacheState) -> Nanos {
        let reaches_device = io.access.is_random()
            && match cache {
                CacheState::Cold | CacheState::FadviseDontNeed => io.access.reads(),
                CacheState::Direct => true,
                _ => false,
            };
        let direct = cache == CacheState::Direct && !io.access.is_random();
        let together = u64::from(io.depth) * u64::from(io.threads);
        match reaches_device || direct {
            true => Nanos(self.request.0 + self.seek.0 / together.max(1)),
            false => self.request,
        }
    }
}

/// Estimates the time of a random request on a disk model.
fn typical_request(model: &DiskModel) -> Nanos {
    let mechanism = match &model.mechanism {
        Mechanism::Ideal => 0,
        Mechanism::Rotating(disk) => disk.seek_average.0 + disk.turn.0 / 2,
        Mechanism::Flash(disk) => disk.read.0 + disk.program.0 / 2,
    };
    Nanos(model.command.0 + mechanism)
}

/// Estimates the sequential write rate of a disk in bytes per second, or `None` if it has no limit.
fn typical_rate(model: &DiskModel) -> Option<f64> {
    let mechanism = match &model.mechanism {
        Mechanism::Ideal => None,
        Mechanism::Rotating(disk) => {
            let outer = disk.zones.first()?;
            Some(f64::from(outer.sectors) * 512.0 / disk.turn.as_secs_f64())
        }
        Mechanism::Flash(disk) => {
            let dies = f64::from(disk.channels * disk.dies);
            Some(dies * disk.page.0 as f64 / disk.program.as_secs_f64())
        }
    };
    let link = model.link.map(|rate| rate.0 as f64);
    link.into_iter().chain(mechanism).reduce(f64::min)
}
