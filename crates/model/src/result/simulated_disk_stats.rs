//! Work of a simulated disk during a phase, and its time components.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// Work of a simulated disk in the timed parts of a phase. While requests are in the disk, each
/// moment is attributed to the request that completes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SimulatedDiskStats {
    /// Requests that were done.
    pub requests: u64,
    /// Number of these requests for which the arm moved.
    pub seeks: u64,
    /// Bytes flagged as metadata by the filesystem. Includes its journal only if the location of
    /// the journal is unknown.
    pub metadata: Bytes,
    /// Requests that the filesystem flagged as metadata, those of its journal and outside of timed parts among them; absent in
    /// older campaigns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flagged: Option<u64>,
    /// Bytes read and written in the filesystem's journal; absent if its location is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<Bytes>,
    /// Bytes read and written, metadata or not.
    pub bytes: Bytes,
    /// Requests that were in the disk when one came, with that one, added up over all.
    pub depths: u64,
    /// No request was in the disk: programs and filesystem worked.
    pub outside: Nanos,
    /// The disk received a command.
    pub command: Nanos,
    /// The arm moved.
    pub seek: Nanos,
    /// The sector came round.
    pub rotation: Nanos,
    /// Bytes moved.
    pub transfer: Nanos,
    /// Flash was read or programmed.
    pub flash: Nanos,
    /// Flash was made free.
    pub collection: Nanos,
    /// A flush waited for the cache.
    pub flush: Nanos,
    /// The disk was busy with other work: it emptied its cache, or programmed flash.
    pub waiting: Nanos,
    /// 4 KiB that were written to flash for the host.
    pub slots_written: u64,
    /// 4 KiB that flash was programmed with.
    pub slots_programmed: u64,
    /// Processor time of copying and of the simulation, which a real disk would not need.
    pub own: Nanos,
    /// Requests that did not fit into the request log and are missing from these numbers.
    pub lost: u64,
}

impl SimulatedDiskStats {
    /// Each kind of time with its word, in the order in which they come.
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

/// The requests of a simulated disk between two moments, packed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestLogChunk {
    /// The phase; what was done before the first, and between two, has none.
    pub phase: Option<String>,
    /// The requests, in base64; the crate `disk` unpacks them.
    pub packed: String,
    /// When the timed parts of the phase began and ended, on the clock of the requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timed: Vec<(Nanos, Nanos)>,
}
