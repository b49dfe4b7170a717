//! Computes the service time of disk requests: a mechanism with a queue, parametrised by a
//! [`model::DiskModel`].
//!
//! The mechanism has no clock and no side effects; the caller passes the time. The driver of a
//! guest's disk compiles the same C code, so a request log that is replayed here takes the same
//! nanoseconds as in the guest.

pub mod access_map;
pub mod damage;
mod mechanism;
pub mod metrics;
mod replay;
pub mod request_log;
pub mod write_log;

use model::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

pub use mechanism::{MechanismParams, SimulatedDisk};
pub use replay::{LoadModel, replay};

/// Source files of the driver: file name and contents.
pub const DRIVER_SOURCE: [(&str, &str); 9] = [
    ("Kbuild", include_str!("../driver/Kbuild")),
    ("driver.c", include_str!("../driver/driver.c")),
    ("recorder.c", include_str!("../driver/recorder.c")),
    ("write_log.h", include_str!("../driver/write_log.h")),
    ("disk.h", include_str!("../c/disk.h")),
    ("internal.h", include_str!("../c/internal.h")),
    ("disk.c", include_str!("../c/disk.c")),
    ("rotating.c", include_str!("../c/rotating.c")),
    ("flash.c", include_str!("../c/flash.c")),
];

/// Size of a sector in bytes.
pub const SECTOR: u64 = 512;

/// Returns the little-endian number in these eight bytes of a record of the driver.
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Kind of a disk request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Make earlier writes survive a loss of power.
    Flush,
    /// Marks bytes as no longer needed.
    Discard,
}

impl RequestKind {
    /// All operations, numbered as in the mechanism.
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

/// A disk request and its arrival time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskRequest {
    /// Arrival time at the disk.
    pub arrived: Nanos,
    /// What.
    pub operation: RequestKind,
    /// First sector.
    pub sector: u64,
    /// Number of sectors; 0 for a flush.
    pub sectors: u32,
    /// True if a write must reach the medium (forced unit access).
    pub forced: bool,
    /// Identifier chosen by the caller.
    pub tag: u64,
}

/// Component of the service time of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeComponent {
    /// Wait for earlier requests, or for space in the cache.
    Waiting,
    /// Command processing by the disk.
    Command,
    /// Arm movement, or change to another head.
    Seek,
    /// Rotation until the sector reaches the head.
    Rotation,
    /// Data transfer under the head or over the bus.
    Transfer,
    /// Reading or programming of flash.
    #[serde(rename = "cells")]
    FlashProgram,
    /// Garbage collection that frees flash for the request.
    #[serde(rename = "collection")]
    GarbageCollection,
    /// Wait of a flush until the cache is empty.
    #[serde(rename = "emptying")]
    CacheDestage,
}

impl TimeComponent {
    /// All time components, numbered as in the mechanism.
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

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// The request.
    pub request: DiskRequest,
    /// Completion time.
    pub completed: Nanos,
    /// Time components, indexed by [`TimeComponent::ALL`]. Their sum is the total time.
    pub parts: [Nanos; TimeComponent::ALL.len()],
}

impl CompletedRequest {
    /// Returns the time from arrival to completion.
    pub const fn time(&self) -> Nanos {
        Nanos(self.completed.0 - self.request.arrived.0)
    }

    /// Returns one time component.
    pub const fn part(&self, part: TimeComponent) -> Nanos {
        self.parts[part as usize]
    }
}

/// Counters of a disk since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounters {
    /// Number of arm movements.
    pub seeks: u64,
    /// Number of reads served from a buffer or cache.
    pub cache_hits: u64,
    /// Number of 4 KiB slots written by the host.
    pub slots_written: u64,
    /// Number of 4 KiB slots programmed into flash.
    pub slots_programmed: u64,
    /// Number of erased flash blocks.
    pub erases: u64,
}

impl DiskCounters {
    /// Returns the bytes programmed into flash per byte written by the host. Returns `None` if the
    /// host wrote no bytes.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.slots_written > 0).then(|| self.slots_programmed as f64 / self.slots_written as f64)
    }
}

/// Reason why a disk cannot be created or cannot serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// The model is inconsistent or does not support this size.
    #[error(
        "cannot simulate a disk of {0}: the size must be a multiple of 4 KiB, at most the capacity of the model, and below 4 TiB for flash"
    )]
    InvalidModel(Bytes),
    /// The disk is full of requests, or the request is invalid.
    #[error("the disk refuses the request")]
    Refused,
}
