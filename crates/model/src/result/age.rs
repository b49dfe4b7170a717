//! Ageing: creating and removing files on a filesystem before a test.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos, percentage};

/// A share in thousandths.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerMille(pub u32);

impl PerMille {
    /// Returns part of a whole, rounded; zero if the whole is zero.
    pub fn from_ratio(part: u64, whole: u64) -> Self {
        let whole = u128::from(whole);
        let share = (u128::from(part) * 1000 + whole / 2).checked_div(whole);
        Self(u32::try_from(share.unwrap_or(0)).unwrap_or(u32::MAX))
    }

    /// Returns this share of a quantity, rounded down.
    pub fn apply_to(self, whole: u64) -> u64 {
        let part = u128::from(whole) * u128::from(self.0) / 1000;
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}

/// Formats the share in percent: `80%`, `79.6%`.
impl fmt::Display for PerMille {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 10, self.0 % 10) {
            (whole, 0) => write!(f, "{whole}%"),
            (whole, tenth) => write!(f, "{whole}.{tenth}%"),
        }
    }
}

impl FromStr for PerMille {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = percentage(text).map_err(|error| error.to_string())?;
        match (share * 1000.0).round() {
            share if share <= 1000.0 => Ok(Self(share as u32)),
            _ => Err(format!("`{text}` is more than 100%")),
        }
    }
}

crate::named_enum! {
    /// Action of the churn for a file if too many files have its age.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Churn {
        /// Deletes the file and creates another in another directory.
        DeleteAndCreate = "turn-over",
        /// Writes the file again under another name and renames it over the old one, like programs
        /// with atomic updates.
        Rewrite = "rewrite",
    }
}

/// Files of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeBin {
    /// Maximum size. The minimum is one byte above the previous bin.
    pub up_to: Bytes,
    /// Number of files, relative to the other bins.
    pub weight: u32,
}

/// Files of one age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgeBin {
    /// Maximum age, in any unit: only the ratio to the last bin matters.
    pub up_to: u64,
    /// Number of files, relative to the other bins.
    pub weight: u32,
}

/// Files at one directory depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DepthBin {
    /// Number of directories above a file.
    pub depth: u32,
    /// Number of directories at this depth.
    pub directories: u32,
    /// Number of files at this depth, relative to the other bins.
    pub weight: u32,
}

/// Distribution of the files of an aged filesystem, and how files were created and removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgeProfile {
    /// Name of the profile: `agrawal`.
    pub name: String,
    /// A title in one line.
    pub title: String,
    /// Source of the distributions.
    pub source: String,
    /// Kind of churn.
    pub churn: Churn,
    /// Average number of times that each file of the fill is replaced, unless the campaign sets the
    /// number of operations.
    pub turnover: u32,
    /// Operations between two syncs of the filesystem.
    pub batch: u32,
    /// Sizes of files, in ascending order.
    pub sizes: Vec<SizeBin>,
    /// Ages of files, in ascending order.
    pub ages: Vec<AgeBin>,
    /// Depths of files, in ascending order.
    pub depths: Vec<DepthBin>,
}

/// Parameters for ageing a filesystem before a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgeingSpec {
    /// The distributions.
    pub profile: AgeProfile,
    /// Fill at the end: used share of the space available to files.
    pub fill: PerMille,
    /// Files created and removed after the fill [default: from the turnover of the profile].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Layout score at which ageing stops early, if set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<PerMille>,
}

impl AgeingSpec {
    /// Default fill of an aged filesystem.
    pub const FILL: PerMille = PerMille(800);
    /// Minimum fill: below it, there are too few files for any distribution.
    pub const MIN_FILL: PerMille = PerMille(50);
    /// Maximum fill: above it, most filesystems lack space for their metadata.
    pub const MAX_FILL: PerMille = PerMille(950);
    /// Maximum deviation from the wanted fill.
    pub const TOLERANCE: PerMille = PerMille(10);

    /// Reads a fill such as `80%`.
    ///
    /// # Errors
    /// Returns an error if the text is not a percentage or out of range.
    pub fn parse_fill(text: &str) -> Result<PerMille, String> {
        let (least, most) = (Self::MIN_FILL, Self::MAX_FILL);
        match text.parse()? {
            fill if (least..=most).contains(&fill) => Ok(fill),
            _ => Err(format!("`{text}`: expected a percentage from {least} to {most}")),
        }
    }

    /// Returns the space of a device of this size that the fill leaves for a test.
    pub fn free_space_after(&self, size: Bytes) -> Bytes {
        Bytes(size.0 - self.fill.apply_to(size.0))
    }

    /// Returns the smallest device with this much free space after the fill, in whole MiB.
    pub fn device_size_for(&self, room: Bytes) -> Bytes {
        let free = u64::from(1000 - self.fill.0.min(999));
        let size = room.0.saturating_mul(1000).div_ceil(free);
        Bytes::mib(size.div_ceil(Bytes::mib(1).0))
    }

    /// Estimates the bytes that ageing writes to a device of this size.
    pub fn write_estimate(&self, size: Bytes) -> Bytes {
        let fill = self.fill.apply_to(size.0);
        let times = match self.operations {
            // Every second operation writes a file.
            Some(operations) => {
                let each = self.profile.mean_size().0;
                return Bytes(fill.saturating_add((operations / 2).saturating_mul(each)));
            }
            None => u64::from(self.profile.turnover).saturating_add(1),
        };
        Bytes(fill.saturating_mul(times))
    }
}

/// `agrawal, 80% full`.
impl fmt::Display for AgeingSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} full", self.profile.name, self.fill)?;
        if let Some(operations) = self.operations {
            write!(f, ", {operations} operations")?;
        }
        match self.layout {
            Some(score) => write!(f, ", until its layout score is {score}"),
            None => Ok(()),
        }
    }
}

impl AgeProfile {
    /// Returns the mean size of a file, assuming the middle of each bin.
    pub fn mean_size(&self) -> Bytes {
        let (mut before, mut sum, mut files) = (0, 0u128, 0u128);
        for bin in &self.sizes {
            sum += u128::from((before + bin.up_to.0) / 2) * u128::from(bin.weight);
            files += u128::from(bin.weight);
            before = bin.up_to.0;
        }
        Bytes(u64::try_from(sum.checked_div(files).unwrap_or(0)).unwrap_or(u64::MAX))
    }
}

/// Reason why ageing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AgeingStopReason {
    /// All operations were completed.
    #[serde(rename = "operations")]
    OperationLimit,
    /// The wanted layout score was reached.
    #[serde(rename = "layout")]
    LayoutConverged,
    /// Removing files did not free space.
    #[serde(rename = "no-room")]
    NoSpace,
}

/// Result of ageing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgeingResult {
    /// Wanted fill.
    pub wanted_fill: PerMille,
    /// Wanted layout score, if set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_layout: Option<PerMille>,
    /// Final fill of the filesystem.
    pub fill: PerMille,
    /// Number of files.
    pub files: u64,
    /// Number of directories.
    pub directories: u64,
    /// Total size of these files.
    pub bytes: Bytes,
    /// Total number of files created and removed.
    pub operations: u64,
    /// Total number of bytes written.
    pub written: Bytes,
    /// Number of files for which space ran out and others were removed.
    pub no_space: u64,
    /// Share of the files whose age differs from the profile; more operations would reduce it.
    pub ages_apart: PerMille,
    /// Layout score after the fill, before any file was removed. Absent if the filesystem does not
    /// report file locations.
    pub layout_filled: Option<PerMille>,
    /// Final layout score.
    pub layout_aged: Option<PerMille>,
    /// Reason why ageing ended.
    pub stopped: AgeingStopReason,
    /// Duration of the ageing.
    pub elapsed: Nanos,
    /// Hash of the kept image from which the state was restored; absent if the cell itself was
    /// aged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "kept")]
    pub image_hash: Option<String>,
}

impl AgeingResult {
    /// Number of digits of a hash in reports.
    pub const SHORT_HASH: usize = 12;

    /// Returns remarks for the report, such as a missed fill or an unavailable layout score.
    pub fn warnings(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(hash) = &self.image_hash {
            let score = self.layout_aged;
            let score = score.map_or_else(|| "unknown".to_owned(), |score| score.to_string());
            remarks.push(format!(
                "its aged state is that of a kept image ({}): layout score {score} when it was made",
                hash.get(..Self::SHORT_HASH).unwrap_or(hash)
            ));
        }
        if self.fill.0.abs_diff(self.wanted_fill.0) > AgeingSpec::TOLERANCE.0 {
            let why = match self.stopped {
                AgeingStopReason::NoSpace => ": what was removed gave no room back",
                AgeingStopReason::OperationLimit | AgeingStopReason::LayoutConverged => "",
            };
            let (fill, wanted) = (self.fill, self.wanted_fill);
            remarks.push(format!("aged to a fill of {fill} instead of {wanted}{why}"));
        }
        if let (Some(wanted), None) = (self.wanted_layout, self.layout_aged) {
            remarks.push(format!(
                "the layout of its files is not available: ageing ended by its operations and not at a layout score of {wanted}"
            ));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn age(fill: u32) -> AgeingSpec {
        AgeingSpec {
            profile: AgeProfile {
                name: "even".into(),
                title: "Even".into(),
                source: "a test".into(),
                churn: Churn::DeleteAndCreate,
                turnover: 2,
                batch: 8,
                sizes: [(1000, 1), (3000, 3)]
                    .map(|(up_to, weight)| SizeBin { up_to: Bytes(up_to), weight })
                    .into(),
                ages: vec![AgeBin { up_to: 1, weight: 1 }],
                depths: vec![DepthBin { depth: 1, directories: 1, weight: 1 }],
            },
            fill: PerMille(fill),
            operations: None,
            layout: None,
        }
    }

    #[test]
    fn shares_are_read_and_shown_in_per_cent() {
        for (text, share) in [("80%", 800), ("79.6 %", 796), ("100%", 1000), ("0%", 0)] {
            assert_eq!(text.parse(), Ok(PerMille(share)));
        }
        assert_eq!(PerMille(796).to_string(), "79.6%");
        assert_eq!(PerMille(800).to_string(), "80%");
        for wrong in ["80", "101%", "-1%", "", "many"] {
            assert!(wrong.parse::<PerMille>().is_err(), "{wrong}");
        }
        assert_eq!(AgeingSpec::parse_fill("80%"), Ok(PerMille(800)));
        for wrong in ["80", "99%", "1%"] {
            assert!(AgeingSpec::parse_fill(wrong).is_err(), "{wrong}");
        }
        assert_eq!(PerMille::from_ratio(1, 0), PerMille(0));
        assert_eq!(PerMille::from_ratio(2, 3), PerMille(667));
    }

    #[test]
    fn written_bytes_follow_from_turnover_or_operations() {
        let mut age = age(500);
        assert_eq!(age.profile.mean_size(), Bytes(1625));
        assert_eq!(age.write_estimate(Bytes(1000)), Bytes(1500));
        age.operations = Some(20);
        assert_eq!(age.write_estimate(Bytes(1000)), Bytes(500 + 16_250));
        assert_eq!(age.to_string(), "even, 50% full, 20 operations");
    }

    #[test]
    fn a_fill_that_was_missed_is_remarked() {
        let mut record = AgeingResult {
            wanted_fill: PerMille(800),
            wanted_layout: None,
            fill: PerMille(795),
            files: 1,
            directories: 1,
            bytes: Bytes(1),
            operations: 1,
            written: Bytes(1),
            no_space: 0,
            ages_apart: PerMille(0),
            layout_filled: None,
            layout_aged: None,
            stopped: AgeingStopReason::NoSpace,
            elapsed: Nanos(1),
            image_hash: None,
        };
        assert_eq!(record.warnings(), [""; 0]);
        record.image_hash = Some("0123456789abcdef".into());
        let taken = "its aged state is that of a kept image (0123456789ab): layout score unknown when it was made";
        assert_eq!(record.warnings(), [taken]);
        record.image_hash = None;
        record.wanted_fill = PerMille(850);
        record.wanted_layout = Some(PerMille(500));
        let remarks = record.warnings();
        assert_eq!(remarks.len(), 2);
        assert!(remarks[0].starts_with("aged to a fill of 79.5% instead of 85%: what was removed"));
    }

    proptest! {
        #[test]
        fn a_device_of_the_size_that_is_named_leaves_the_room(
            fill in AgeingSpec::MIN_FILL.0..=AgeingSpec::MAX_FILL.0, room in 1u64..1 << 50,
        ) {
            let age = age(fill);
            let size = age.device_size_for(Bytes(room));
            prop_assert!(age.free_space_after(size).0 >= room);
            prop_assert!(age.free_space_after(Bytes(size.0 - Bytes::mib(2).0.min(size.0))).0 < room);
        }
    }
}
