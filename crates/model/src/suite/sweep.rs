//! Sweeps: one test at many sizes, to show the limits of caches and of concurrency.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Bytes;

crate::named_enum! {
    /// A quantity that a sweep varies.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum SweepAxis {
        /// File size in bytes.
        Size = "size",
        /// Request size in bytes.
        Block = "block",
        /// Distance between the starts of consecutive requests, in bytes.
        Stride = "stride",
        /// Concurrent requests per thread.
        Depth = "iodepth",
        /// Threads.
        Threads = "threads",
        /// Number of files or directories.
        Files = "files",
        /// Arrivals per second.
        Rate = "rate",
        /// Used share of the space, in percent.
        Used = "used",
        /// Number of disks of the filesystem. It is a property of the storage, not a parameter of
        /// an operation.
        Disks = "disks",
    }
}

impl SweepAxis {
    /// Returns true if its values are bytes.
    pub const fn is_bytes(self) -> bool {
        matches!(self, Self::Size | Self::Block | Self::Stride)
    }

    /// Returns the suffix of a value in test names, which distinguishes the axes.
    pub const fn unit_suffix(self) -> &'static str {
        match self {
            Self::Size | Self::Block | Self::Stride => "",
            Self::Depth => "d",
            Self::Threads => "t",
            Self::Files => "f",
            Self::Rate => "r",
            Self::Used => "p",
            Self::Disks => "x",
        }
    }

    /// Formats a value for a name: `8k`, `16t`.
    pub fn format_short(self, value: u64) -> String {
        const UNITS: [(&str, u64); 4] =
            [("t", 1 << 40), ("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)];
        let whole = |(_, factor): &&(&str, u64)| value >= *factor && value.is_multiple_of(*factor);
        match UNITS.iter().find(whole) {
            Some((unit, factor)) if self.is_bytes() => format!("{}{unit}", value / factor),
            _ => format!("{value}{}", self.unit_suffix()),
        }
    }

    /// Returns a value of the axis as readable text: `8 KiB`, `16`.
    pub fn format_long(self, value: u64) -> String {
        match self {
            Self::Used => format!("{value} %"),
            _ if self.is_bytes() => Bytes(value).to_string(),
            _ => value.to_string(),
        }
    }
}

/// The position of a test in a sweep. Each point is a separate test on a fresh filesystem, so a
/// failure affects only one point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepPoint {
    /// Name that all points of the sweep share.
    #[serde(rename = "of")]
    pub sweep: String,
    /// The value on each axis.
    pub at: BTreeMap<SweepAxis, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_shown_in_their_unit() {
        assert_eq!(SweepAxis::Block.format_long(8192), "8 KiB");
        assert_eq!(SweepAxis::Threads.format_long(8192), "8192");
    }

    #[test]
    fn a_value_in_a_name_is_short_and_a_name_still() {
        assert_eq!(SweepAxis::Size.format_short(64 << 10), "64k");
        assert_eq!(SweepAxis::Block.format_short(1000), "1000");
        assert_eq!(SweepAxis::Threads.format_short(1024), "1024t");
        for axis in SweepAxis::ALL {
            crate::check_name(&axis.format_short(3 << 20)).unwrap();
            let json = serde_json::to_string(&axis).unwrap();
            assert_eq!(json, format!("\"{axis}\""));
        }
    }

    #[test]
    fn a_point_survives_json() {
        let point = SweepPoint {
            sweep: "iozone".into(),
            at: BTreeMap::from([(SweepAxis::Size, 1 << 20), (SweepAxis::Block, 8192)]),
        };
        let json = serde_json::to_string(&point).unwrap();
        assert_eq!(serde_json::from_str::<SweepPoint>(&json).unwrap(), point);
    }
}
