//! Work of an administrator on a filesystem in use: snapshots, resizing, scrubbing. The commands are in the catalog.

use super::keys::{choice, keyed, op_name};
use super::{
    FsChange, FsState, KeyError, KeySource, OpExecutor, OpInfo, OpName, OpUnit, VolumeStep,
    WorkEstimate,
};
use crate::{CacheState, SyncAtEnd, WorkloadCategory};

crate::named_enum! {
    /// A task of an administrator.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum MaintenanceTask {
        /// Create the filesystem on the first half of its device.
        MkfsHalf = "mkfs-half",
        /// Grow it to the whole device.
        Grow = "grow",
        /// Shrink it to half of the device.
        Shrink = "shrink",
        /// Take a snapshot.
        Snapshot = "snapshot",
        /// Send the snapshot as a stream, and receive the stream.
        Send = "send",
        /// Remove the snapshot and the received copy.
        RemoveSnapshot = "remove-snapshot",
        /// Read all data and compare its checksums.
        Scrub = "scrub",
        /// Store the files in few extents.
        Defragment = "defragment",
        /// Take one of several disks away.
        Degrade = "degrade",
        /// Give the missing disk back, empty, and wait until it has its part of the data.
        Rebuild = "rebuild",
        /// Give it back and do not wait.
        StartRebuild = "start-rebuild",
        /// Wait until it has its part of the data.
        FinishRebuild = "finish-rebuild",
        /// Tell the device which blocks are free (`FITRIM`). Needs no command.
        Trim = "trim",
    }
}

impl MaintenanceTask {
    /// Returns a description of the task for an error message: `take a snapshot`.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::MkfsHalf => "create it on half of a device",
            Self::Grow => "grow it",
            Self::Shrink => "shrink it",
            Self::Snapshot => "take a snapshot",
            Self::Send => "send a snapshot",
            Self::RemoveSnapshot => "remove a snapshot",
            Self::Scrub => "read all data and compare checksums",
            Self::Defragment => "defragment it",
            Self::Degrade => "take a disk away",
            Self::Rebuild | Self::StartRebuild | Self::FinishRebuild => "rebuild a disk",
            Self::Trim => "trim it",
        }
    }

    /// Returns true if its result depends on the size of the only device.
    pub const fn resizes(self) -> bool {
        matches!(self, Self::MkfsHalf | Self::Grow | Self::Shrink)
    }
}

keyed! {
    /// Perform a task of an administrator, with the command of the filesystem.
    pub struct Maintain {
        /// The task.
        task: MaintenanceTask = task,
    }
}

fn task(keys: &dyn KeySource, key: &'static str) -> Result<MaintenanceTask, KeyError> {
    choice(keys, key, &MaintenanceTask::WORDS)
}

impl OpInfo for Maintain {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("maintain")] }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        files.change(FsChange::Unknown);
        // The received copy takes as much space as the files.
        let written = match self.task {
            MaintenanceTask::Send => files.bytes().0,
            _ => 0,
        };
        WorkEstimate::new(0, written, 1)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        Err(executor.unsupported("it is no operation on files"))
    }

    /// Few filesystems can do all of it, so it counts in no group.
    fn group(&self) -> Option<WorkloadCategory> {
        None
    }

    fn each(&self) -> OpUnit {
        OpUnit::Nothing
    }

    fn allowed_caches(&self) -> &'static [CacheState] {
        &[]
    }

    fn allowed_ends(&self) -> &'static [SyncAtEnd] {
        &[]
    }

    fn step(&self) -> Option<VolumeStep> {
        Some(VolumeStep::Maintain(self.task))
    }
}
