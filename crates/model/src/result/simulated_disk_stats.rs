//! Work of a simulated disk during a phase, and its time components.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// Work of a simulated disk in the timed parts of a phase. While requests are in the disk, each
/// moment is attributed to the request that completes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SimulatedDiskStats {
    /// Number of completed requests.
    pub requests: u64,
    /// Number of these requests for which the arm moved.
    pub seeks: u64,
    /// Bytes flagged as metadata by the filesystem. Includes its journal only if the location of
    /// the journal is unknown.
    pub metadata: Bytes,
    /// Number of requests that the filesystem flagged as metadata, including requests to its
    /// journal and requests outside of timed parts. Absent in older campaigns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flagged: Option<u64>,
    /// Bytes read and written in the filesystem's journal; absent if its location is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<Bytes>,
    /// Bytes read and written, including metadata.
    pub bytes: Bytes,
    /// Sum of the queue depths at the arrival of each request, including that request.
    pub depths: u64,
    /// Time without a request in the disk, in which programs and the filesystem worked.
    pub outside: Nanos,
    /// The disk received a command.
    pub command: Nanos,
    /// Time in which the arm moved.
    pub seek: Nanos,
    /// Time in which the disk waited for the sector to rotate to the head.
    pub rotation: Nanos,
    /// Bytes moved.
    pub transfer: Nanos,
    /// Time in which flash was read or programmed.
    pub flash: Nanos,
    /// Time of garbage collection.
    pub collection: Nanos,
    /// Time in which a flush waited for the cache.
    pub flush: Nanos,
    /// The disk was busy with other work: it emptied its cache, or programmed flash.
    pub waiting: Nanos,
    /// Number of 4 KiB units written to flash for the host.
    pub slots_written: u64,
    /// Number of 4 KiB units programmed in flash.
    pub slots_programmed: u64,
    /// Processor time of copying and of the simulation, which a real disk would not need.
    pub own: Nanos,
    /// Requests that did not fit into the request log and are missing from these numbers.
    pub lost: u64,
}

impl SimulatedDiskStats {
    /// Returns each time component with its name, in order of occurrence.
    pub const fn times(&self) -> [(&'static str, Nanos); 9] {
        [
            ("outside the disk", self.outside),
            ("command", self.command),
            ("seek", self.seek),
            ("rotation", self.rotation),
            ("transfer", self.transfer),
            ("flash", self.flash),
            ("garbage collection", self.collection),
            ("flush", self.flush),
            ("waiting", self.waiting),
        ]
    }

    /// Returns true if the filesystem flags its metadata. Some, such as JFS, flag no request, so
    /// that their metadata cannot be distinguished from data.
    pub fn has_metadata_flags<'a>(all: impl IntoIterator<Item = &'a Self>) -> bool {
        let mut all = all.into_iter();
        all.any(|work| work.flagged.unwrap_or(work.metadata.0) > 0)
    }

    /// Returns the bytes programmed to flash per byte written, or `None` without writes.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.slots_written > 0).then(|| self.slots_programmed as f64 / self.slots_written as f64)
    }
}

/// The packed requests of a simulated disk between two points in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestLogChunk {
    /// The phase; absent for requests before the first phase and between phases.
    pub phase: Option<String>,
    /// The requests, in base64; the crate `simdisk` decodes them.
    pub packed: String,
    /// Start and end of the timed parts of the phase, on the clock of the requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timed: Vec<(Nanos, Nanos)>,
}
