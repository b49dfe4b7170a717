//! Files that take a share of the space, so that later phases run on a filesystem that is nearly full.

use super::keys::{block, keyed, op_name, size};
use super::{FsChange, FsState, KeyError, KeySource, OpExecutor, OpInfo, OpName, WorkEstimate};
use crate::{Bytes, WorkloadCategory};

keyed! {
    /// Write files until a share of the space is used, as df(1) shows it.
    pub struct Occupy {
        /// Used share of the space that files may use, in percent.
        used: u64 = percent,
        /// Bytes of each file.
        size: Bytes = block,
        /// Maximum bytes of all files.
        bytes: Bytes = size,
    }
}

keyed! {
    /// Remove files of [`Occupy`], evenly spread over the order in which they were written.
    pub struct Vacate {
        /// Removed share of the files, in percent.
        removed: u64 = percent,
    }
}

fn percent(keys: &dyn KeySource, key: &'static str) -> Result<u64, KeyError> {
    keys.count(key, 1..100)
}

impl OpInfo for Occupy {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("occupy")] }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        files.change(FsChange::Unknown);
        let bytes = self.bytes.0 / 100 * self.used;
        WorkEstimate::new(0, bytes, bytes.div_ceil(self.size.0.max(1)))
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.occupy(self)
    }

    /// The amount of work differs between filesystems.
    fn group(&self) -> Option<WorkloadCategory> {
        None
    }
}

impl OpInfo for Vacate {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("vacate")] }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        files.change(FsChange::Unknown);
        WorkEstimate::new(0, 0, 1)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.vacate(self)
    }

    /// The amount of work differs between filesystems.
    fn group(&self) -> Option<WorkloadCategory> {
        None
    }
}
