//! Work of an operation: bytes and operations of one pass, computed from the plan.
//!
//! Time limits and unsupported operations reduce it. Additional writes of the filesystem (journals,
//! metadata) are not included.

use std::ops::{Add, Mul};

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Number of operations, and of bytes transferred between program and filesystem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkEstimate {
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
    /// Operations.
    pub operations: u64,
    /// Operations that each wait for an fsync.
    pub syncs: u64,
}

/// Cost of an operation in addition to its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpUnit {
    /// The cost of a data request.
    Request,
    /// The cost of an operation on a name.
    Name,
    /// The cost of a call for each byte.
    Byte,
    /// Unknown or zero.
    Nothing,
}

impl WorkEstimate {
    /// Creates work of bytes read and written in a number of operations, without syncs.
    pub const fn new(read: u64, written: u64, operations: u64) -> Self {
        Self { read: Bytes(read), written: Bytes(written), operations, syncs: 0 }
    }

    /// Returns the work with this number of fsyncs.
    #[must_use]
    pub const fn with_syncs(self, syncs: u64) -> Self {
        Self { syncs, ..self }
    }

    /// Returns the work with this number of bytes read.
    #[must_use]
    pub const fn with_read(self, read: Bytes) -> Self {
        Self { read, ..self }
    }

    /// Returns the bytes in both directions.
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
