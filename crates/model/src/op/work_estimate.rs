//! What an operation moves: bytes and operations of one pass, as far as the plan alone tells.
//!
//! Time limits and filesystems that refuse make it less; what a filesystem does of its own accord
//! (journals, metadata) is not in it.

use std::ops::{Add, Mul};

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Bytes between program and filesystem, and operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkEstimate {
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
    /// Operations.
    pub operations: u64,
    /// Operations that wait for an fsync of their own.
    pub syncs: u64,
}

/// What an operation takes beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpUnit {
    /// What a request on data takes.
    Request,
    /// What an operation on a name takes.
    Name,
    /// Each byte is handed over by itself.
    Byte,
    /// Nobody can guess it, or it is nothing.
    Nothing,
}

impl WorkEstimate {
    /// So many bytes read and written in so many operations, none of which waits.
    pub const fn new(read: u64, written: u64, operations: u64) -> Self {
        Self {
            read: Bytes(read),
            written: Bytes(written),
            operations,
            syncs: 0,
        }
    }

    /// The same with so many fsyncs.
    #[must_use]
    pub const fn with_syncs(self, syncs: u64) -> Self {
        Self { syncs, ..self }
    }

    /// The same with so many bytes read.
    #[must_use]
    pub const fn with_read(self, read: Bytes) -> Self {
        Self { read, ..self }
    }

    /// Bytes either way.
    pub const fn total_bytes(self) -> Bytes {
        Bytes(self.read.0.saturating_add(self.written.0))
    }
}

impl Add for WorkEstimate {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(
            self.read.0.saturating_add(other.read.0),
            self.written.0.saturating_add(other.written.0),
            self.operations.saturating_add(other.operations),
        )
        .with_syncs(self.syncs.saturating_add(other.syncs))
    }
}

impl Mul<u64> for WorkEstimate {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self::new(
            self.read.0.saturating_mul(times),
            self.written.0.saturating_mul(times),
            self.operations.saturating_mul(times),
        )
        .with_syncs(self.syncs.saturating_mul(times))
    }
}
