//! Sweeps: one test at many sizes, so that the borders of caches and the limits of concurrency show.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// A quantity that a sweep varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Size of the file, bytes.
    Size,
    /// Size of a request, bytes.
    Block,
    /// From the beginning of one request to that of the next, bytes.
    Stride,
    /// Requests that a thread keeps on the way.
    Depth,
    /// Threads.
    Threads,
    /// Files or directories.
    Files,
    /// Arrivals per second.
    Rate,
}

impl Axis {
    /// Every axis, in the order in which a test's name gives them.
    pub const ALL: [Self; 7] = [
        Self::Size,
        Self::Block,
        Self::Stride,
        Self::Depth,
        Self::Threads,
        Self::Files,
        Self::Rate,
    ];

    /// The word in data files, which is also the parameter it sets.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Block => "block",
            Self::Stride => "stride",
            Self::Depth => "depth",
            Self::Threads => "threads",
            Self::Files => "files",
            Self::Rate => "rate",
        }
    }

    /// Whether its values are bytes.
    pub const fn is_bytes(self) -> bool {
        matches!(self, Self::Size | Self::Block | Self::Stride)
    }

    /// A value of it for people: `8 KiB`, `16`.
    pub fn show(self, value: u64) -> String {
        if self.is_bytes() {
            Bytes(value).to_string()
        } else {
            value.to_string()
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The place of a test in a sweep. Each point is a test of its own, on a filesystem of its own: one
/// that dies costs one point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// Name that all points of the sweep share.
    pub of: String,
    /// The value on each axis.
    pub at: BTreeMap<Axis, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_shown_in_their_unit() {
        assert_eq!(Axis::Block.show(8192), "8 KiB");
        assert_eq!(Axis::Threads.show(8192), "8192");
    }

    #[test]
    fn a_point_survives_json() {
        let point = SweepPoint {
            of: "iozone".into(),
            at: BTreeMap::from([(Axis::Size, 1 << 20), (Axis::Block, 8192)]),
        };
        let json = serde_json::to_string(&point).unwrap();
        assert_eq!(serde_json::from_str::<SweepPoint>(&json).unwrap(), point);
    }
}
