//! The result of a cell: status, evidence, and the raw counts of every phase.

use serde::{Deserialize, Serialize};

use crate::result::kernel_log;
use crate::{
    AgeingResult, Bytes, CacheState, CpuProfile, DataKind, DiskFaults, Features,
    FragmentationStats, FullResult, HostNoise, KernelEvent, KernelMemoryUse, Metric, Nanos, Op,
    Phase, RequestLogChunk, SimulatedDiskStats, Survival, SyncAtEnd, Timeline,
};

crate::named_enum! {
    /// The status of a cell or a phase. Every cell and phase has one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Status {
        /// Completed with a valid result.
        Ok = "ok",
        /// The filesystem does not support the operation.
        Unsupported = "unsupported",
        /// A system call or a program returned an error, or data was wrong.
        Failed = "failed",
        /// A kernel oops or panic, or the death of a FUSE process or an agent.
        Crashed = "crashed",
        /// No progress within the time limit.
        Hung = "hung",
        /// Not run, because an earlier step failed.
        Skipped = "skipped",
        /// A total that includes a failed step.
        Invalid = "invalid",
    }
}

/// A system call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyscallError {
    /// The system call: `pwrite`, `fsync`.
    pub call: String,
    /// The error number.
    pub errno: i32,
    /// The name: `ENOSPC`.
    pub name: String,
}

/// Reason of a status that is not `ok`, with the evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The step or phase that failed.
    pub step: String,
    /// One readable line: the operation, its object and the result.
    pub reason: String,
    /// The system call that failed, if any.
    pub error: Option<SyscallError>,
    /// Kernel stacks: of the processes after a hang, of the oops after a kernel crash.
    pub stacks: Vec<String>,
}

/// A program that ran for a cell: mkfs, mount, umount, fsck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandRecord {
    /// Purpose of the program.
    pub step: String,
    /// The command line as executed.
    pub command: Vec<String>,
    /// Exit code; `None` if a signal ended it or it did not end.
    pub exit: Option<i32>,
    /// The signal that terminated the program.
    pub signal: Option<i32>,
    /// Duration of the run.
    pub elapsed: Nanos,
    /// End of its output (standard output and error together).
    pub output: String,
}

/// Processor time of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuTime {
    /// User time of the agent and its programs.
    pub user: Nanos,
    /// System time of the agent and its programs.
    pub system: Nanos,
    /// Time of the filesystem's own processes (a FUSE driver).
    pub driver: Nanos,
    /// Busy time of the whole machine, summed over all processors; resolution 10 ms.
    pub machine: Nanos,
}

/// Page faults of the agent and its programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageFaults {
    /// Served without I/O.
    pub minor: u64,
    /// Served by I/O.
    pub major: u64,
}

/// Activity of the block device during a phase (`/sys/block/*/stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceCounters {
    /// Read requests.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Write requests.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: Bytes,
    /// Flush requests.
    pub flushes: u64,
    /// Discard requests.
    pub discards: u64,
    /// Bytes discarded.
    pub discard_bytes: Bytes,
}

/// Space used and free on a filesystem (`statfs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpaceUsage {
    /// Size as reported by the filesystem.
    pub total: Bytes,
    /// Unused bytes.
    pub free: Bytes,
    /// Bytes available to an unprivileged user.
    pub available: Bytes,
    /// Number of inodes; 0 if the filesystem creates them as needed.
    pub inodes: u64,
    /// Number of unused inodes.
    pub inodes_free: u64,
}

/// A non-empty bucket of a latency histogram: maximum latency, and number of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyBucket(pub Nanos, pub u64);

/// Owners, modes and times that a command could not set, because the filesystem lacks them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnsetAttributes {
    /// Number of messages about them.
    pub messages: u64,
    /// First of these messages.
    pub example: String,
}

/// A measured phase: only raw counts, from which rates and shares are derived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseResult {
    /// Name of the phase.
    pub phase: String,
    /// Status of the phase.
    pub status: Status,
    /// Reason of a status that is not `ok`.
    pub failure: Option<Failure>,
    /// The primary metric, which determines the rank in tables.
    #[serde(alias = "headline")]
    pub primary_metric: Metric,
    /// The actual cache state at the start.
    pub cache: CacheState,
    /// End of the timed part.
    pub ends: SyncAtEnd,
    /// Elapsed time.
    #[serde(rename = "wall")]
    pub elapsed: Nanos,
    /// Operations done.
    pub operations: u64,
    /// Bytes transferred between program and filesystem in both directions. Data that is read and
    /// written back counts once.
    pub bytes: Bytes,
    /// Part of `bytes` that was written to the filesystem.
    pub bytes_written: Bytes,
    /// Whether the time limit ended the phase before all operations were completed.
    #[serde(rename = "cut_short")]
    pub time_limited: bool,
    /// Attributes that the filesystem lacks, so that the command did not set them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unset: Option<UnsetAttributes>,
    /// Whether the phase ended too soon for the measuring program to time it, so that it has no
    /// number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub too_fast: bool,
    /// Processor time.
    pub cpu: CpuTime,
    /// Page faults.
    pub faults: PageFaults,
    /// The block device; `None` if the cell has none (`dir`).
    pub device: Option<DeviceCounters>,
    /// Work of a simulated disk with its time components; absent for other disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<SimulatedDiskStats>,
    /// Fragmentation of the files that exist after the phase; absent if not measured or not
    /// reported by the filesystem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<FragmentationStats>,
    /// Result of the power cuts, if the phase cuts the power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survival: Option<Survival>,
    /// Result of the disk faults, if the phase damages the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_faults: Option<DiskFaults>,
    /// Behaviour of the full filesystem, if the phase fills it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<FullResult>,
    /// Processor profile, if sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub profile: Option<CpuProfile>,
    /// Start and end of each timed part, on the clock of the measuring process. Not comparable with
    /// other clocks.
    #[serde(skip)]
    pub timed: Vec<(Nanos, Nanos)>,
    /// Values over time; only of a phase that ran once and for at least 10 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// Space before.
    pub space_before: Option<SpaceUsage>,
    /// Space after.
    pub space_after: Option<SpaceUsage>,
    /// Size of the device, for relative metrics.
    pub device_size: Option<Bytes>,
    /// Memory of the filesystem at the end; absent if it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<KernelMemoryUse>,
    /// Latency of single operations, ascending; empty if operations were not timed individually. In
    /// an open loop, latency counts from the intended start.
    pub latency: Vec<LatencyBucket>,
    /// Time of each sync (`fsync`, `fdatasync`) within the operations of a mix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sync: Vec<LatencyBucket>,
    /// Latency of opening files for requests. It is part of the elapsed time only if the phase
    /// includes opening and closing ([`crate::Io::include_open_close`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<LatencyBucket>,
    /// Latency of closing each file after requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub close: Vec<LatencyBucket>,
    /// Intended arrivals per second of an open loop.
    #[serde(default)]
    pub offered_rate: Option<u64>,
    /// Content of the new files that the phase writes, if it compresses and nothing else is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<DataKind>,
    /// Bytes read and verified.
    #[serde(default)]
    pub verified: Bytes,
    /// Name of the mix phase, if this is the result of one of its roles. The mix has the counts of
    /// processors, device and filesystem for all its roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_of: Option<String>,
    /// Values reported by another program without counts, the primary metric first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<ReportedValue>,
    /// Passes of a repeated phase, in order; empty if it ran once. The counts above are sums over
    /// the passes.
    #[serde(default)]
    pub passes: Vec<Iteration>,
    /// Work of each host, if several hosts ran the phase together. The counts above are sums over the
    /// hosts, and the elapsed time is that of the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostWork>,
}

/// A value reported by another program or publication.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportedValue {
    /// The metric.
    pub metric: Metric,
    /// The number, in the metric's unit.
    pub value: f64,
}

/// One pass of a phase that is repeated until its timing is reliable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Iteration {
    /// Elapsed time.
    #[serde(rename = "wall")]
    pub elapsed: Nanos,
    /// Operations done.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: Bytes,
}

/// Work of one host in a phase that several hosts ran together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostWork {
    /// Name of the host for ssh.
    pub host: String,
    /// Time from the common start until its last operation and sync ended.
    #[serde(rename = "wall")]
    pub elapsed: Nanos,
    /// Operations done.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Operations done when the first host had finished; absent if this host was the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_first_end: Option<u64>,
}

impl HostWork {
    /// Returns the operations that were done when the first host had finished.
    pub fn until_first_finish(&self) -> f64 {
        self.at_first_end.unwrap_or(self.operations).min(self.operations) as f64
    }
}

impl CellResult {
    /// Creates a result that has only a status.
    pub fn with_status(status: Status) -> Self {
        Self {
            status,
            failure: None,
            phases: Vec::new(),
            steps: Vec::new(),
            mounted: None,
            journal: Vec::new(),
            features: Features::default(),
            kernel_log: Vec::new(),
            kernel_log_readable: true,
            started: Nanos(0),
            elapsed: Nanos(0),
            from_cache: false,
            remarks: Vec::new(),
            age: None,
            disturbance: None,
            first: None,
        }
    }
}

impl PhaseResult {
    /// Share of a phase's bytes that may come from the device in a warm phase: extent or directory
    /// blocks that were not needed before.
    const WARM_READ_TOLERANCE: f64 = 0.01;

    /// Returns the bytes read from the device in a warm phase, if they are more than 1 % of the
    /// bytes that the phase reads.
    pub fn device_reads_when_warm(&self, op: &Op) -> Option<Bytes> {
        let read = self.device?.read_bytes;
        let is_warm = self.cache == CacheState::Warm && self.status == Status::Ok;
        let much = read.0 as f64 > Self::WARM_READ_TOLERANCE * self.bytes.0 as f64;
        (is_warm && op.is_read_only() && much).then_some(read)
    }

    /// Creates a result that has only the planned values.
    pub fn not_run(phase: &Phase) -> Self {
        Self {
            phase: phase.name.clone(),
            status: Status::Ok,
            failure: None,
            primary_metric: phase.op.primary_metric(),
            cache: phase.cache,
            ends: phase.sync_at_end,
            elapsed: Nanos(0),
            operations: 0,
            bytes: Bytes(0),
            bytes_written: Bytes(0),
            time_limited: false,
            unset: None,
            too_fast: false,
            cpu: CpuTime::default(),
            faults: PageFaults::default(),
            device: None,
            disk: None,
            layout: None,
            survival: None,
            disk_faults: None,
            full: None,
            profile: None,
            timed: Vec::new(),
            timeline: None,
            space_before: None,
            space_after: None,
            device_size: None,
            memory: None,
            latency: Vec::new(),
            sync: Vec::new(),
            open: Vec::new(),
            close: Vec::new(),
            offered_rate: None,
            content: None,
            verified: Bytes(0),
            role_of: None,
            stated: Vec::new(),
            passes: Vec::new(),
            hosts: Vec::new(),
        }
    }
}

/// A cell as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellResult {
    /// The worst status of its phases and steps.
    pub status: Status,
    /// Reason of a status that is not `ok`.
    pub failure: Option<Failure>,
    /// The phases. Every planned phase occurs exactly once.
    pub phases: Vec<PhaseResult>,
    /// Programs that ran for the cell.
    pub steps: Vec<CommandRecord>,
    /// Memory of the filesystem directly after the first mount. Absent if a phase mounts it, or if
    /// it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mounted: Option<KernelMemoryUse>,
    /// Result of ageing, if the filesystem was aged before the first phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<AgeingResult>,
    /// Every request of simulated disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub journal: Vec<RequestLogChunk>,
    /// Probed features of the filesystem.
    pub features: Features,
    /// Kernel messages during the cell, without unrelated ones. Older databases contain lines.
    #[serde(deserialize_with = "kernel_log::read")]
    pub kernel_log: Vec<KernelEvent>,
    /// Whether the kernel log was readable.
    pub kernel_log_readable: bool,
    /// Start time, in nanoseconds since 1970.
    pub started: Nanos,
    /// Duration of the cell, including preparation.
    pub elapsed: Nanos,
    /// Whether the result was copied from an equal cell instead of running this one. The times are
    /// those of the other cell.
    #[serde(default)]
    pub from_cache: bool,
    /// Notes on the execution, one line each, such as a guest that was started twice.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Other activity of the machine; absent if not measured, as in a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<HostNoise>,
    /// Discarded first result, if the cell was rerun because the machine was disturbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Box<CellResult>>,
}

impl CellResult {
    /// Returns the lines of the kernel log, each as `<level> text`.
    pub fn kernel_lines(&self) -> impl Iterator<Item = &String> {
        self.kernel_log.iter().flat_map(|event| &event.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Metadata, MetadataAction, TraversalOrder, VerifyTree};

    fn listed(cache: CacheState, read: u64) -> (PhaseResult, Op) {
        let tree = "t".to_owned();
        let phase = Phase {
            name: "list".into(),
            cache,
            sync_at_end: SyncAtEnd::Call,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            from_next_host: false,
            op: Op::VerifyTree(VerifyTree { tree }),
        };
        let mut result = PhaseResult::not_run(&phase);
        result.bytes = Bytes::mib(100);
        result.device =
            Some(DeviceCounters { read_bytes: Bytes(read), ..DeviceCounters::default() });
        (result, phase.op)
    }

    #[test]
    fn a_result_of_an_older_database_is_read() {
        let (result, _) = listed(CacheState::Warm, 0);
        let mut older = serde_json::to_value(&result).unwrap();
        let fields = older.as_object_mut().unwrap();
        let metric = fields.remove("primary_metric").unwrap();
        fields.insert("headline".into(), metric);
        let read = serde_json::from_value::<PhaseResult>(older).unwrap();
        assert_eq!(read, result);
    }

    #[test]
    fn device_reads_in_warm_phases_are_reported_above_one_percent() {
        let read = |cache, read| {
            let (result, op) = listed(cache, read);
            result.device_reads_when_warm(&op)
        };
        assert_eq!(read(CacheState::Warm, 2 << 20), Some(Bytes::mib(2)));
        assert_eq!(read(CacheState::Warm, 1 << 20), None);
        assert_eq!(read(CacheState::Cold, 100 << 20), None);
        let (mut result, op) = listed(CacheState::Warm, 4096);
        result.bytes = Bytes(0);
        assert_eq!(result.device_reads_when_warm(&op), Some(Bytes::kib(4)), "names alone");
        result.device = None;
        assert_eq!(result.device_reads_when_warm(&op), None);
    }

    #[test]
    fn modifying_phases_may_read_from_the_device() {
        let (result, _) = listed(CacheState::Warm, 100 << 20);
        let rename = Op::Metadata(Metadata {
            set: "s".into(),
            action: MetadataAction::Rename { across: false },
            order: TraversalOrder::Sequential,
            threads: 1,
        });
        assert_eq!(result.device_reads_when_warm(&rename), None);
    }
}
