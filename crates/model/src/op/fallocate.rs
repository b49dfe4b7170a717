//! Allocates, deallocates, zeroes or collapses the space of a file, without writing data.

use serde::{Deserialize, Serialize};

use super::keys::{choice, keyed, name, op_name, optional, size};
use super::{
    FILE_SYNC_MODES, FileContent, FsState, KeyError, KeySource, ObjectKind, Op, OpExecutor, OpInfo,
    OpName, OpUnit, WorkEstimate,
};
use crate::{Bytes, SyncAtEnd, WorkloadCategory};

keyed! {
    /// Change the allocated space of a file (`fallocate`), front to back. Older campaigns call it
    /// `preallocate`.
    pub struct Fallocate {
        /// Name of the file.
        file: String = name,
        /// Operation on the space.
        #[serde(default)]
        mode: FallocateMode = mode,
        /// Length of the range [default: the whole existing file].
        #[serde(default)]
        size: Option<Bytes> = |keys, key| optional(keys, key, size),
        /// Bytes per call; a single call if absent.
        #[serde(default)]
        block: Option<Bytes> = |keys, key| optional(keys, key, size),
    }
}

/// Operation of `fallocate` on the space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FallocateMode {
    /// Allocates space for a new file of this size.
    #[default]
    Allocate,
    /// Allocates space beyond the end of a new file, which remains empty (`FALLOC_FL_KEEP_SIZE`).
    KeepSize,
    /// Deallocates the space and leaves a hole (`FALLOC_FL_PUNCH_HOLE`).
    PunchHole,
    /// Keeps the space and makes it read as zeros (`FALLOC_FL_ZERO_RANGE`).
    ZeroRange,
    /// Removes a range and moves the following data up (`FALLOC_FL_COLLAPSE_RANGE`).
    CollapseRange,
}

impl FallocateMode {
    /// Every mode with its name in data files.
    const ALL: [(&'static str, Self); 5] = [
        ("allocate", Self::Allocate),
        ("keep-size", Self::KeepSize),
        ("punch-hole", Self::PunchHole),
        ("zero-range", Self::ZeroRange),
        ("collapse-range", Self::CollapseRange),
    ];

    const fn makes_file(self) -> bool {
        matches!(self, Self::Allocate | Self::KeepSize)
    }
}

fn mode(keys: &dyn KeySource, key: &'static str) -> Result<FallocateMode, KeyError> {
    let mode = optional(keys, key, |keys, key| choice(keys, key, &FallocateMode::ALL))?;
    Ok(mode.unwrap_or_default())
}

impl Fallocate {
    /// Returns the operation that preallocates a new file in one call.
    pub fn preallocate(file: &str, size: Bytes) -> Self {
        Self { file: file.to_owned(), mode: FallocateMode::Allocate, size: Some(size), block: None }
    }

    /// Returns the bytes per call, for a total of `size` bytes.
    fn step(&self, size: u64) -> u64 {
        self.block.map_or(size, |block| block.0).max(1)
    }
}

impl OpInfo for Fallocate {
    fn op_names() -> &'static [OpName] {
        const {
            &[
                op_name::<Self>("fallocate"),
                OpName {
                    name: "preallocate",
                    keys: &["file", "size"],
                    read: |keys| {
                        let file = name(keys, "file")?;
                        let size = size(keys, "size")?;
                        Ok(Op::Fallocate(Self::preallocate(&file, size)))
                    },
                },
            ]
        }
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        if self.mode.makes_file() {
            let size = self.size.unwrap_or_default().0;
            files.add(ObjectKind::File, &self.file, 1, size);
            return WorkEstimate::new(0, 0, size.div_ceil(self.step(size)));
        }
        let there = files.find(ObjectKind::File, &self.file).bytes;
        let size = self.size.map_or(there, |size| size.0);
        if size > there {
            files.reject(format!("`size` ({}) is above that of `{}`", Bytes(size), self.file));
        }
        let left = match self.mode {
            FallocateMode::CollapseRange if size >= there => {
                files.reject("part of the file must be left; use a smaller `size`".into());
                there
            }
            FallocateMode::CollapseRange => there - size,
            _ => there,
        };
        files.change_allocation(&self.file, left);
        WorkEstimate::new(0, 0, size.div_ceil(self.step(size)))
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        let size = match self.size {
            Some(size) => size.0,
            None => executor.size_of(&self.file)?.0,
        };
        let step = self.step(size);
        executor.start_timing(size.div_ceil(step));
        let file = match self.mode.makes_file() {
            true => executor.create_file(&self.file)?,
            false => executor.open_file(&self.file)?,
        };
        let mut done = 0;
        while done < size {
            let length = step.min(size - done);
            // Collapsing a range moves the following data to the start of the range.
            let offset = match self.mode {
                FallocateMode::CollapseRange => 0,
                _ => done,
            };
            executor.fallocate(&file, self.mode, offset, length)?;
            done += length;
        }
        let holds = match self.mode {
            FallocateMode::Allocate => FileContent::Zeros(Bytes(size)),
            FallocateMode::KeepSize => FileContent::Zeros(Bytes(0)),
            FallocateMode::PunchHole | FallocateMode::ZeroRange => FileContent::Zeroed(0..size),
            FallocateMode::CollapseRange => FileContent::CollapsedRange(0..size),
        };
        executor.finish(file, holds)
    }

    fn group(&self) -> Option<WorkloadCategory> {
        Some(WorkloadCategory::StreamWrite)
    }

    fn each(&self) -> OpUnit {
        OpUnit::Request
    }

    fn allowed_ends(&self) -> &'static [SyncAtEnd] {
        FILE_SYNC_MODES
    }

    fn check(&self) -> Result<(), String> {
        let needs_size = self.mode.makes_file() || self.mode == FallocateMode::CollapseRange;
        match (self.size, self.block) {
            (None, _) if needs_size => Err("this `mode` of fallocate needs a `size`".into()),
            (Some(size), Some(block)) if block > size => {
                Err(format!("`block` ({block}) is above `size` ({size})"))
            }
            _ => Ok(()),
        }
    }
}
