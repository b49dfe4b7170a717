//! Features of each contender, merged over its cells, and the class that follows from them.

use model::{
    Bytes, CampaignResults, Contender, DriverKind, Feature, Features, FilesystemFacts, PosixClass,
    ProbeResult, RecoveryMechanism,
};
use serde::Serialize;

use crate::outcomes::disk_faults::{ContenderFaults, FlippedBitRecord, disk_faults};
use crate::outcomes::survival::{self, ContenderSurvival, PowerCutRecord};

/// Result of a feature probe, merged over several cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FeatureSupport {
    /// It worked up to this size in every cell that tried it, and in some cell no further.
    Yes,
    /// It worked in no cell; the reason is from the first one.
    UpTo(Bytes),
    /// The feature worked in no cell; the reason is from the first cell.
    No(String),
    /// The feature worked in some cells only; the reason is from the first cell without it.
    Varies(String),
    /// No cell tried it.
    NotProbed,
}

/// A feature and its probe result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeatureState {
    /// The feature.
    pub feature: Feature,
    /// Probe result.
    pub found: FeatureSupport,
}

/// The features of one contender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContenderFeatures {
    /// Name of the contender.
    pub contender: String,
    /// Kind of driver of the filesystem.
    pub driver: DriverKind,
    /// The class that results from the probes.
    pub class: PosixClass,
    /// Facts in the catalog, with sources.
    pub facts: FilesystemFacts,
    /// Mechanism that keeps it consistent when the power fails, with its options. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash_recovery: Option<RecoveryMechanism>,
    /// Whether the filesystem takes snapshots. `None` if unknown, and on layers, which may take them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_snapshots: Option<bool>,
    /// Losses of synced files in power cuts, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cuts: Option<PowerCutRecord>,
    /// Whether flipped bits in data were detected, if tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flipped_bits: Option<FlippedBitRecord>,
    /// State of every feature, in the order of [`Feature::ALL`].
    pub features: Vec<FeatureState>,
}

/// Returns the features of all contenders, in the campaign's order.
pub(crate) fn features(results: &CampaignResults) -> Vec<ContenderFeatures> {
    let cuts = survival::survival(results);
    let faults = disk_faults(results);
    let contenders = results.campaign.contenders.iter();
    contenders.map(|contender| of_contender(results, &cuts, &faults, contender)).collect()
}

fn of_contender(
    results: &CampaignResults,
    cuts: &[ContenderSurvival],
    faults: &[ContenderFaults],
    contender: &Contender,
) -> ContenderFeatures {
    let probed: Vec<&Features> = results
        .cells
        .iter()
        .filter(|stored| stored.cell.contender == contender.name)
        .filter_map(|stored| Some(&stored.result.as_ref()?.features))
        .collect();
    let features =
        Feature::ALL.map(|feature| FeatureState { feature, found: merge(feature, &probed) });
    ContenderFeatures {
        contender: contender.name.clone(),
        driver: contender.filesystem.driver,
        class: PosixClass::from_features(contender.filesystem.is_baseline(), &merged(&features)),
        facts: contender.filesystem.facts.clone(),
        crash_recovery: contender.crash_recovery(),
        has_snapshots: has_snapshots(contender),
        power_cuts: survival::record(cuts, contender),
        flipped_bits: faults
            .iter()
            .find(|one| one.contender == contender.name)
            .and_then(ContenderFaults::flipped_bits),
        features: features.into(),
    }
}

/// Returns whether a contender takes snapshots. A layer may take them although the filesystem takes
/// none.
fn has_snapshots(contender: &Contender) -> Option<bool> {
    let filesystem = &contender.filesystem;
    let support = filesystem.facts.snapshots.as_ref()?;
    (support.is_some() || filesystem.layers.is_empty()).then(|| support.is_some())
}

fn merge(feature: Feature, probed: &[&Features]) -> FeatureSupport {
    let answers: Vec<&ProbeResult> = probed.iter().filter_map(|f| f.0.get(&feature)).collect();
    let refusal = answers.iter().find_map(|answer| match answer {
        ProbeResult::No(reason) => Some(reason.clone()),
        ProbeResult::Yes | ProbeResult::UpTo(_) => None,
    });
    let limits = answers.iter().filter_map(|answer| match answer {
        ProbeResult::UpTo(size) => Some(*size),
        ProbeResult::Yes | ProbeResult::No(_) => None,
    });
    let worked = |answer: &&ProbeResult| !matches!(answer, ProbeResult::No(_));
    match (refusal, limits.min()) {
        (None, _) if answers.is_empty() => FeatureSupport::NotProbed,
        (None, Some(size)) => FeatureSupport::UpTo(size),
        (None, None) => FeatureSupport::Yes,
        (Some(reason), _) if answers.iter().any(worked) => FeatureSupport::Varies(reason),
        (Some(reason), _) => FeatureSupport::No(reason),
    }
}

/// Converts the states to the results of a single probe. A feature that varies is not reliable and
/// counts as absent.
fn merged(states: &[FeatureState]) -> Features {
    let support = |state: &FeatureState| match &state.found {
        FeatureSupport::Yes => Some(ProbeResult::Yes),
        FeatureSupport::UpTo(size) => Some(ProbeResult::UpTo(*size)),
        FeatureSupport::No(reason) | FeatureSupport::Varies(reason) => {
            Some(ProbeResult::No(reason.clone()))
        }
        FeatureSupport::NotProbed => None,
    };
    Features(states.iter().filter_map(|state| Some((state.feature, support(state)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(answer: Option<ProbeResult>) -> Features {
        Features(answer.map(|a| (Feature::Xattrs, a)).into_iter().collect())
    }

    #[test]
    fn disagreeing_cells_are_reported() {
        let yes = probe(Some(ProbeResult::Yes));
        let no = probe(Some(ProbeResult::No("ENOTSUP".into())));
        let none = probe(None);
        let found = |probed: &[&Features]| merge(Feature::Xattrs, probed);
        assert_eq!(found(&[&none]), FeatureSupport::NotProbed);
        assert_eq!(found(&[&none, &yes]), FeatureSupport::Yes);
        assert_eq!(found(&[&no, &none]), FeatureSupport::No("ENOTSUP".into()));
        assert_eq!(found(&[&yes, &no]), FeatureSupport::Varies("ENOTSUP".into()));
        let [small, large] =
            [Bytes::mib(1), Bytes::mib(2)].map(|s| probe(Some(ProbeResult::UpTo(s))));
        assert_eq!(found(&[&large, &small]), FeatureSupport::UpTo(Bytes::mib(1)));
    }
}
