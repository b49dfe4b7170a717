//! Fills a filesystem until a call fails, and tries the calls that a full filesystem should allow.

use serde::{Deserialize, Serialize};

use super::keys::{block, choice, count, keyed, op_name, size};
use super::{FsState, KeyError, KeySource, OpExecutor, OpInfo, OpName, WorkEstimate};
use crate::{Bytes, CacheState, Metric, SyncAtEnd, WorkloadCategory};

/// Files that fill a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FillWith {
    /// Files with data, each with an fsync.
    Bytes,
    /// Empty files.
    Names,
    /// Files with data, and then empty files.
    Both,
}

impl FillWith {
    const WORDS: [(&'static str, Self); 3] =
        [("bytes", Self::Bytes), ("names", Self::Names), ("both", Self::Both)];

    /// Returns true if the files have data.
    pub const fn has_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::Both)
    }

    /// Returns true if some files are empty.
    pub const fn has_names(self) -> bool {
        matches!(self, Self::Names | Self::Both)
    }
}

keyed! {
    /// Fills a filesystem, and tries to replace, remove and write files on it.
    pub struct Fill {
        /// Kind of files.
        fill: FillWith = |keys, key| choice(keys, key, &FillWith::WORDS),
        /// Bytes of each file with data.
        size: Bytes = file_size,
        /// Maximum bytes of all files with data.
        bytes: Bytes = size,
        /// Maximum number of empty files.
        names: u64 = count,
    }
}

fn file_size(keys: &dyn KeySource, key: &'static str) -> Result<Bytes, KeyError> {
    keys.size_from(key, Fill::BLOCK)?;
    block(keys, key)
}

impl Fill {
    /// Unit of the size of files.
    pub const BLOCK: u64 = 4096;
}

impl OpInfo for Fill {
    fn op_names() -> &'static [OpName] {
        const { &[op_name::<Self>("fill")] }
    }

    fn apply(&self, _: &mut FsState) -> WorkEstimate {
        let bytes = if self.fill.has_bytes() { self.bytes.0 } else { 0 };
        let names = if self.fill.has_names() { self.names } else { 0 };
        let files = bytes.div_ceil(self.size.0);
        // All files are compared twice.
        let read = bytes.saturating_mul(2);
        WorkEstimate::new(read, bytes, files.saturating_add(names)).with_syncs(files)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        Err(executor.unsupported("it fills a whole filesystem"))
    }

    /// The result is not a speed, so no use weighs it.
    fn group(&self) -> Option<WorkloadCategory> {
        None
    }

    fn primary_metric(&self) -> Metric {
        Metric::Survived
    }

    fn allowed_caches(&self) -> &'static [CacheState] {
        &[]
    }

    fn allowed_ends(&self) -> &'static [SyncAtEnd] {
        &[]
    }
}
