//! What somebody uses a filesystem for: weights over groups of tests, and the features that it cannot do
//! without.
//!
//! Data only. How weights and results become a score is said in `analyse`.

use serde::{Deserialize, Serialize};

use crate::{Feature, OperatingSystem, WorkloadCategory};

/// A use, as a data file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UseCase {
    /// The word on the command line.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// How common it is: 1 comes first; those that do not say come last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
    /// Who says so: where the weights come from.
    pub source: String,
    /// What such a machine does all day, and what was left out.
    pub rationale: String,
    /// Which other systems must read it, where that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<RequiredReaders>,
    /// What is of no relevance to it, as a share of the cost; that of the report where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevant: Option<f64>,
    /// What it must not be without.
    pub needs: Vec<RequiredFeature>,
    /// What counts, and how much.
    pub weights: Vec<CategoryWeight>,
}

/// Systems of which one at least must read the filesystem as it comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredReaders {
    /// One of these must.
    pub one_of: Vec<OperatingSystem>,
    /// What cannot be done otherwise.
    #[serde(rename = "why")]
    pub rationale: String,
}

/// A feature that a use cannot do without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredFeature {
    /// The feature.
    pub feature: Feature,
    /// What breaks without it.
    #[serde(rename = "why")]
    pub rationale: String,
}

/// How much a group of tests counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CategoryWeight {
    /// The group.
    pub group: WorkloadCategory,
    /// Its weight, beside those of the other groups.
    pub weight: f64,
    /// Why so much.
    #[serde(rename = "why")]
    pub rationale: String,
}

impl UseCase {
    /// The weight of a group; 0 where the use does not name it.
    pub fn weight(&self, group: WorkloadCategory) -> f64 {
        let of_group = self.weights.iter().find(|w| w.group == group);
        of_group.map_or(0.0, |w| w.weight)
    }

    /// The sum of all weights.
    pub fn total_weight(&self) -> f64 {
        self.weights.iter().map(|w| w.weight).sum()
    }
}
