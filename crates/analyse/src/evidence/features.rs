//! What each contender was found able to do, merged over its cells, and the class that follows.

use model::{Bytes, CampaignResults, Class, Contender, Driver, Facts, Feature, Features, Support};
use serde::{Deserialize, Serialize};

/// What the probes of several cells came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// It worked wherever it was tried.
    Yes,
    /// It worked up to this size wherever it was tried, and in some cell no further.
    UpTo(Bytes),
    /// It worked nowhere; the reason is that of the first cell.
    No(String),
    /// It worked in some cells and not in others; the reason is that of the first that said no.
    Varies(String),
    /// No cell tried it.
    NotProbed,
}

/// A feature with what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeatureState {
    /// The feature.
    pub feature: Feature,
    /// What was found.
    pub found: Found,
}

/// The features of one contender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContenderFeatures {
    /// Name of the contender.
    pub contender: String,
    /// Who drives it.
    pub driver: Driver,
    /// The class that follows from the probes.
    pub class: Class,
    /// What the catalog knows of it, with sources.
    pub facts: Facts,
    /// Every feature, in the order of [`Feature::ALL`].
    pub features: Vec<FeatureState>,
}

/// Features of all contenders, in the campaign's order.
pub(crate) fn features(results: &CampaignResults) -> Vec<ContenderFeatures> {
    results
        .campaign
        .contenders
        .iter()
        .map(|contender| of_contender(results, contender))
        .collect()
}

fn of_contender(results: &CampaignResults, contender: &Contender) -> ContenderFeatures {
    let probed: Vec<&Features> = results
        .cells
        .iter()
        .filter(|stored| stored.cell.contender == contender.name)
        .filter_map(|stored| Some(&stored.result.as_ref()?.features))
        .collect();
    let features = Feature::ALL.map(|feature| FeatureState {
        feature,
        found: merge(feature, &probed),
    });
    ContenderFeatures {
        contender: contender.name.clone(),
        driver: contender.filesystem.driver,
        class: Class::of(contender.filesystem.is_baseline(), &merged(&features)),
        facts: contender.filesystem.facts.clone(),
        features: features.into(),
    }
}

fn merge(feature: Feature, probed: &[&Features]) -> Found {
    let answers: Vec<&Support> = probed.iter().filter_map(|f| f.0.get(&feature)).collect();
    let refusal = answers.iter().find_map(|answer| match answer {
        Support::No(reason) => Some(reason.clone()),
        Support::Yes | Support::UpTo(_) => None,
    });
    let limits = answers.iter().filter_map(|answer| match answer {
        Support::UpTo(size) => Some(*size),
        Support::Yes | Support::No(_) => None,
    });
    let worked = |answer: &&Support| !matches!(answer, Support::No(_));
    match (refusal, limits.min()) {
        (None, _) if answers.is_empty() => Found::NotProbed,
        (None, Some(size)) => Found::UpTo(size),
        (None, None) => Found::Yes,
        (Some(reason), _) if answers.iter().any(worked) => Found::Varies(reason),
        (Some(reason), _) => Found::No(reason),
    }
}

/// As one probe would say it; what varies cannot be relied on and counts as absent.
fn merged(states: &[FeatureState]) -> Features {
    let support = |state: &FeatureState| match &state.found {
        Found::Yes => Some(Support::Yes),
        Found::UpTo(size) => Some(Support::UpTo(*size)),
        Found::No(reason) | Found::Varies(reason) => Some(Support::No(reason.clone())),
        Found::NotProbed => None,
    };
    Features(
        states
            .iter()
            .filter_map(|state| Some((state.feature, support(state)?)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(answer: Option<Support>) -> Features {
        Features(answer.map(|a| (Feature::Xattrs, a)).into_iter().collect())
    }

    #[test]
    fn cells_that_disagree_are_said_to() {
        let yes = probe(Some(Support::Yes));
        let no = probe(Some(Support::No("ENOTSUP".into())));
        let none = probe(None);
        let found = |probed: &[&Features]| merge(Feature::Xattrs, probed);
        assert_eq!(found(&[&none]), Found::NotProbed);
        assert_eq!(found(&[&none, &yes]), Found::Yes);
        assert_eq!(found(&[&no, &none]), Found::No("ENOTSUP".into()));
        assert_eq!(found(&[&yes, &no]), Found::Varies("ENOTSUP".into()));
        let [small, large] = [Bytes::mib(1), Bytes::mib(2)].map(|s| probe(Some(Support::UpTo(s))));
        assert_eq!(found(&[&large, &small]), Found::UpTo(Bytes::mib(1)));
    }
}
