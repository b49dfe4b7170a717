//! Damages a simulated disk after or during a short sequence of file operations, and judges what
//! the filesystem reports and returns.

use super::keys::{choice, keyed, op_name};
use super::power_cut::{disk_trials, optional_steps, steps, trials};
use super::{FileStep, FsState, OpExecutor, OpInfo, OpName, OpUnit, WorkEstimate};
use crate::{CacheState, Metric, SyncAtEnd, WorkloadCategory, named_enum};

named_enum! {
    /// Fault of a disk.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum DiskFaultKind {
        /// One bit of a written block has the wrong value.
        BitFlip = "bit-flip",
        /// A write is missing: the disk has the old bytes.
        LostWrite = "lost-write",
        /// A write went to the place of another one.
        MisdirectedWrite = "misdirected-write",
        /// Each read of a written block fails, until the block is written again.
        UnreadableBlock = "unreadable-block",
        /// One write fails.
        WriteError = "write-error",
        /// One write and all later ones fail.
        WriteErrorSticky = "write-error-sticky",
        /// One flush fails, and the disk loses its cache.
        FlushError = "flush-error",
    }
}

impl DiskFaultKind {
    /// Returns true if the fault happens while the steps run; the others damage the disk after them.
    pub const fn is_during_steps(self) -> bool {
        matches!(self, Self::WriteError | Self::WriteErrorSticky | Self::FlushError)
    }
}

keyed! {
    /// Records a sequence of file operations on a simulated disk. Then tries one kind of fault at
    /// up to `faults` places: mounts, compares, writes, repairs, compares again.
    pub struct DiskFault {
        /// The kind.
        fault: DiskFaultKind = |keys, key| choice(keys, key, &DiskFaultKind::WORDS),
        /// Steps before the recording; the filesystem is unmounted after them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prepare: Vec<FileStep> = optional_steps,
        /// Recorded steps.
        steps: Vec<FileStep> = steps,
        /// Maximum number of faults.
        faults: u32 = trials,
    }
}

disk_trials!(DiskFault, "disk-fault", |op| u64::from(op.faults));
