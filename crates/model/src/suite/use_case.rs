//! Use cases of filesystems: weights of workload categories, and required features.
//!
//! Data only. The crate `analyse` computes scores from weights and results.

use serde::{Deserialize, Serialize};

use crate::{Feature, OperatingSystem, WorkloadCategory};

/// A use case from a data file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UseCase {
    /// Name on the command line.
    pub name: String,
    /// A title in one line.
    pub title: String,
    /// Other words for it on the command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Rank by frequency: 1 is the most common. Use cases without a rank come last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
    /// Source of the weights.
    pub source: String,
    /// Explains the typical workload of such a machine, and the omitted parts.
    pub rationale: String,
    /// Other systems that must read it, if relevant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<RequiredReaders>,
    /// Margin of relevance, as a share of the cost [default: the margin of the report].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevant: Option<f64>,
    /// Reason why it requires a filesystem that is consistent after a crash without a repair, if it
    /// does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash_recovery: Option<String>,
    /// Reason why it requires snapshots, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<String>,
    /// Required features.
    pub needs: Vec<RequiredFeature>,
    /// Weights of workload categories.
    pub weights: Vec<CategoryWeight>,
}

/// Systems of which at least one must read the filesystem without additional software.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredReaders {
    /// At least one of these must read it.
    pub one_of: Vec<OperatingSystem>,
    /// Explains the consequence if none does.
    #[serde(rename = "why")]
    pub rationale: String,
}

/// A feature required by a use case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredFeature {
    /// The feature.
    pub feature: Feature,
    /// Explains the consequence if the feature is missing.
    #[serde(rename = "why")]
    pub rationale: String,
}

/// Weight of a workload category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CategoryWeight {
    /// The group.
    pub group: WorkloadCategory,
    /// The weight, relative to the other categories.
    pub weight: f64,
    /// Explains the weight.
    #[serde(rename = "why")]
    pub rationale: String,
}

impl UseCase {
    /// Returns the weight of a workload category; 0 if the use case does not list it.
    pub fn weight(&self, group: WorkloadCategory) -> f64 {
        let of_group = self.weights.iter().find(|w| w.group == group);
        of_group.map_or(0.0, |w| w.weight)
    }

    /// Returns the sum of all weights.
    pub fn total_weight(&self) -> f64 {
        self.weights.iter().map(|w| w.weight).sum()
    }
}
