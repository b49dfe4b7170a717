//! How long a disk takes: a mechanism behind a queue, told by the numbers of a [`model::DiskModel`].
//!
//! The mechanism knows no clock and touches nothing outside: whoever uses it says what time it is. The driver of a
//! guest's disk compiles the same C, so that a journal of requests that is replayed here takes the nanoseconds that
//! it took there.

pub mod access_map;
mod mechanism;
pub mod metrics;
mod replay;
pub mod request_log;

use model::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

pub use mechanism::{MechanismParams, SimulatedDisk};
pub use replay::{LoadModel, replay};

/// The source of the driver: the name of each file, and what it holds.
pub const DRIVER_SOURCE: [(&str, &str); 7] = [
    ("Kbuild", include_str!("../driver/Kbuild")),
    ("driver.c", include_str!("../driver/driver.c")),
    ("disk.h", include_str!("../c/disk.h")),
    ("internal.h", include_str!("../c/internal.h")),
    ("disk.c", include_str!("../c/disk.c")),
    ("rotating.c", include_str!("../c/rotating.c")),
    ("flash.c", include_str!("../c/flash.c")),
];

/// Bytes of a sector.
pub const SECTOR: u64 = 512;

/// What a request asks of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// Bytes of it.
    Read,
    /// To keep bytes.
    Write,
    /// That what was written before survives a loss of power.
    Flush,
    /// That bytes are not needed any more.
    Discard,
}

impl RequestKind {
    /// All of them, as the mechanism counts them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Discard];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
        }
    }
}

/// What somebody asks of a disk, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskRequest {
    /// When the disk got it.
    pub arrived: Nanos,
    /// What.
    pub operation: RequestKind,
    /// Where it begins.
    pub sector: u64,
    /// How long it is; nothing for a flush.
    pub sectors: u32,
    /// Whether a write may not end in the cache (forced unit access).
    pub forced: bool,
    /// The caller's name for it.
    pub tag: u64,
}

/// Where the time of a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeComponent {
    /// For requests before it, or for room in the cache.
    Waiting,
    /// Until the disk has understood it.
    Command,
    /// The arm moves, or another head is chosen.
    Seek,
    /// The sector comes round.
    Rotation,
    /// Bytes move: under the head, or over the bus.
    Transfer,
    /// Flash is read or programmed.
    #[serde(rename = "cells")]
    FlashProgram,
    /// Flash is made free for it.
    #[serde(rename = "collection")]
    GarbageCollection,
    /// A flush waits until the cache is empty.
    #[serde(rename = "emptying")]
    CacheDestage,
}

impl TimeComponent {
    /// All of them, as the mechanism counts them.
    pub const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Command,
        Self::Seek,
        Self::Rotation,
        Self::Transfer,
        Self::FlashProgram,
        Self::GarbageCollection,
        Self::CacheDestage,
    ];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Command => "command",
            Self::Seek => "seek",
            Self::Rotation => "rotation",
            Self::Transfer => "transfer",
            Self::FlashProgram => "flash",
            Self::GarbageCollection => "garbage collection",
            Self::CacheDestage => "flush",
        }
    }
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// What was asked.
    pub request: DiskRequest,
    /// When it was done.
    pub completed: Nanos,
    /// Where its time went, by [`Part::ALL`]; the parts add up to it.
    pub parts: [Nanos; TimeComponent::ALL.len()],
}

impl CompletedRequest {
    /// How long it took.
    pub const fn time(&self) -> Nanos {
        Nanos(self.completed.0 - self.request.arrived.0)
    }

    /// One part of that.
    pub const fn part(&self, part: TimeComponent) -> Nanos {
        self.parts[part as usize]
    }
}

/// What a disk did since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounters {
    /// How often the arm moved.
    pub seeks: u64,
    /// Reads that a buffer or a cache served.
    pub cache_hits: u64,
    /// 4 KiB that the host wrote.
    pub slots_written: u64,
    /// 4 KiB that the flash was programmed with.
    pub slots_programmed: u64,
    /// Blocks of flash that were erased.
    pub erases: u64,
}

impl DiskCounters {
    /// What the flash was programmed with for each byte that was written; nothing where none was.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.slots_written > 0).then(|| self.slots_programmed as f64 / self.slots_written as f64)
    }
}

/// Why there is no disk, or no answer from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// Its numbers contradict each other, or the size is none of such a disk.
    #[error(
        "its numbers make no disk of {0}: sizes are whole multiples of 4 KiB, up to what it holds, and of flash below 4 TiB"
    )]
    InvalidModel(Bytes),
    /// It holds as many requests as it can, or the request is none.
    #[error("the disk refuses the request")]
    Refused,
}
