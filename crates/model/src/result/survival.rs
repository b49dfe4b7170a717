//! Losses of a sequence of file operations in power cuts.

use serde::{Deserialize, Serialize};

use crate::FileStep;
use crate::machine::is_zero;

/// Result of a phase that cuts the power.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Survival {
    /// Sequences of operations that were tried, if the phase has a set of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sequences: u32,
    /// Sequences with an operation that the filesystem does not support.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsupported: u32,
    /// Entries of the write log: the number of positions at which the power can fail.
    pub positions: u32,
    /// Number of cuts that were tried.
    pub cuts: u32,
    /// Cuts without a loss.
    pub held: u32,
    /// Cuts after which the filesystem could not be repaired or mounted.
    pub unmountable: u32,
    /// Cuts after which the mounted filesystem could not be written.
    pub unwritable: u32,
    /// Cuts after which the checker of the filesystem found errors at the end.
    pub inconsistent: u32,
    /// Cuts with a loss after the repair command, but none if the filesystem is mounted without it.
    #[serde(default)]
    pub lost_by_repair: u32,
    /// The first broken cuts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<BrokenCut>,
    /// The shortest part of the sequence that was found to lose something, if it was searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest: Option<ShortestLoss>,
    /// Cost of the recorded steps. `None` in results of versions before 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<SequenceCost>,
}

/// Cost of recorded sequences, summed over the recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SequenceCost {
    /// Number of recordings.
    pub recordings: u32,
    /// Time of the steps, in nanoseconds.
    pub nanoseconds: u64,
    /// Flushes before the last step succeeded.
    pub flushes: u64,
    /// Bytes written to the disk, up to the unmount.
    pub written: u64,
}

impl SequenceCost {
    /// Adds the cost of other recordings. Imported results may contain any numbers.
    pub const fn add(&mut self, other: &Self) {
        self.recordings = self.recordings.saturating_add(other.recordings);
        self.nanoseconds = self.nanoseconds.saturating_add(other.nanoseconds);
        self.flushes = self.flushes.saturating_add(other.flushes);
        self.written = self.written.saturating_add(other.written);
    }

    /// Returns the mean time in milliseconds, number of flushes, and KiB written of a recording.
    pub fn means(&self) -> [f64; 3] {
        let recordings = f64::from(self.recordings.max(1));
        [(self.nanoseconds, 1e6), (self.flushes, 1.0), (self.written, 1024.0)]
            .map(|(sum, unit)| sum as f64 / unit / recordings)
    }
}

/// A power cut that broke an expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BrokenCut {
    /// The steps of its sequence, if the phase has a set of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<FileStep>,
    /// Number of entries of the write log before the cut.
    pub position: u32,
    /// Which writes in doubt the disk had kept.
    pub kept: String,
    /// Last step that had succeeded before the cut.
    pub after: String,
    /// The loss.
    pub lost: String,
}

/// A part of a sequence that loses something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShortestLoss {
    /// Steps before the recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<FileStep>,
    /// Recorded steps.
    pub steps: Vec<FileStep>,
    /// The first broken cut.
    pub broken: BrokenCut,
}

impl Survival {
    /// Maximum number of broken cuts that are described.
    pub const DESCRIBED: usize = 5;

    /// Adds the cuts of another result. Imported results may contain any counts.
    pub fn add(&mut self, other: &Self) {
        for (all, count) in [
            (&mut self.sequences, other.sequences),
            (&mut self.unsupported, other.unsupported),
            (&mut self.positions, other.positions),
            (&mut self.cuts, other.cuts),
            (&mut self.held, other.held),
            (&mut self.unmountable, other.unmountable),
            (&mut self.unwritable, other.unwritable),
            (&mut self.inconsistent, other.inconsistent),
            (&mut self.lost_by_repair, other.lost_by_repair),
        ] {
            *all = all.saturating_add(count);
        }
        if self.shortest.is_none() {
            self.shortest.clone_from(&other.shortest);
        }
        if let Some(cost) = &other.cost {
            self.cost.get_or_insert_default().add(cost);
        }
        self.broken.extend(other.broken.iter().cloned());
        self.broken.truncate(Self::DESCRIBED);
    }

    /// Returns the number of cuts with a loss.
    pub const fn lost(&self) -> u32 {
        self.cuts.saturating_sub(self.held)
    }

    /// Returns the share of cuts without a loss, in percent.
    pub fn share(&self) -> f64 {
        100.0 * f64::from(self.held.min(self.cuts)) / f64::from(self.cuts.max(1))
    }
}
