//! Behaviour of a filesystem on a disk with faults.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::named_enum;

/// Result of a phase that damages the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskFaults {
    /// Places at which the fault can occur: written blocks, writes or flushes.
    pub places: u32,
    /// Faults that hit only contents of files.
    pub data: FaultCounts,
    /// Faults that hit structures of the filesystem.
    pub other: FaultCounts,
    /// Faults by the call that reported them first, with its error: `read: EIO`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reported_by: BTreeMap<String, u32>,
    /// The first faults of each verdict except `harmless`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub described: Vec<DescribedFault>,
}

/// Numbers of faults. `harmless`, `reported`, `wrong` and `unmountable` add up to `faults`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultCounts {
    /// Faults that were tried.
    pub faults: u32,
    /// No call returned an error, and all synced data are right: corrected, or of no effect.
    pub harmless: u32,
    /// A call returned an error, and no synced data are wrong without an error.
    pub reported: u32,
    /// Synced data are wrong or missing, and the call that read them returned no error.
    pub wrong: u32,
    /// The filesystem could not be mounted.
    pub unmountable: u32,
    /// The filesystem refused writes with `EROFS`.
    pub read_only: u32,
    /// A call reported the fault and a later sync returned success, but its data are lost.
    pub lost_after_error: u32,
    /// The checker of the filesystem found errors.
    pub found_by_checker: u32,
    /// Faults after which the repair command of the catalog ran.
    pub repairs: u32,
    /// Synced data are lost after the repair, or it cannot be mounted.
    pub lost_after_repair: u32,
}

named_enum! {
    /// Content of the blocks that a fault hits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum BlockContent {
        /// Only contents of files.
        Data = "data",
        /// Structures of the filesystem, also together with contents of files.
        Other = "other",
    }
}

named_enum! {
    /// Behaviour of a filesystem after a fault.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum FaultVerdict {
        /// No error, and no synced data are wrong.
        Harmless = "harmless",
        /// A call returned an error.
        Reported = "reported",
        /// Synced data are wrong without an error.
        Wrong = "wrong",
        /// The filesystem could not be mounted.
        Unmountable = "unmountable",
    }
}

/// A fault with its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DescribedFault {
    /// Place of the fault.
    pub place: String,
    /// Content of the place.
    pub block: BlockContent,
    /// The verdict.
    pub verdict: FaultVerdict,
    /// Whether a sync returned success after an error, but its data are lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost_after_error: bool,
    /// Error or wrong data that followed.
    pub effect: String,
}

impl FaultCounts {
    /// Counts a verdict.
    pub const fn count(&mut self, verdict: FaultVerdict) {
        self.faults += 1;
        *match verdict {
            FaultVerdict::Harmless => &mut self.harmless,
            FaultVerdict::Reported => &mut self.reported,
            FaultVerdict::Wrong => &mut self.wrong,
            FaultVerdict::Unmountable => &mut self.unmountable,
        } += 1;
    }

    /// Returns the sum. Counts of imported reports do not overflow.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            faults: self.faults.saturating_add(other.faults),
            harmless: self.harmless.saturating_add(other.harmless),
            reported: self.reported.saturating_add(other.reported),
            wrong: self.wrong.saturating_add(other.wrong),
            unmountable: self.unmountable.saturating_add(other.unmountable),
            read_only: self.read_only.saturating_add(other.read_only),
            lost_after_error: self.lost_after_error.saturating_add(other.lost_after_error),
            found_by_checker: self.found_by_checker.saturating_add(other.found_by_checker),
            repairs: self.repairs.saturating_add(other.repairs),
            lost_after_repair: self.lost_after_repair.saturating_add(other.lost_after_repair),
        }
    }
}

impl DiskFaults {
    /// Maximum number of described faults of each kind.
    const DESCRIBED: usize = 2;

    /// Returns the counts of faults in blocks with this content.
    pub const fn of(&mut self, block: BlockContent) -> &mut FaultCounts {
        match block {
            BlockContent::Data => &mut self.data,
            BlockContent::Other => &mut self.other,
        }
    }

    /// Adds a description, unless there are enough of its verdict.
    pub fn describe(&mut self, fault: DescribedFault) {
        let kind = |fault: &DescribedFault| (fault.verdict, fault.lost_after_error);
        let alike = self.described.iter().filter(|known| kind(known) == kind(&fault));
        if fault.verdict != FaultVerdict::Harmless && alike.count() < Self::DESCRIBED {
            self.described.push(fault);
        }
    }

    /// Adds the faults of another round.
    pub fn add(&mut self, other: &Self) {
        self.places = self.places.max(other.places);
        self.data = self.data.plus(&other.data);
        self.other = self.other.plus(&other.other);
        for (call, count) in &other.reported_by {
            let sum = self.reported_by.entry(call.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
        other.described.iter().for_each(|fault| self.describe(fault.clone()));
    }

    /// Returns the counts of all faults.
    pub const fn total(&self) -> FaultCounts {
        self.data.plus(&self.other)
    }

    /// Returns the share of faults without wrong data that no call reported, in percent. Returns
    /// `None` without faults.
    pub fn share(&self) -> Option<f64> {
        let all = self.total();
        let right = all.faults.saturating_sub(all.wrong);
        (all.faults > 0).then(|| 100.0 * f64::from(right) / f64::from(all.faults))
    }
}
