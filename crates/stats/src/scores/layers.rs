//! The cost of layers: compares each contender that has a layer with the same one without it.

use model::{CampaignResults, Contender};
use serde::Serialize;

use crate::scores::pair_costs::{ContenderPair, PairCost, PairTable};
use crate::{Margin, ResultRow};

/// Cost of a layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LayerCost {
    /// Name of the layer.
    pub layer: String,
    /// Index of the contender without the layer in the campaign's order.
    pub without: usize,
    /// Index of the contender with the layer.
    pub with: usize,
    /// Cost with the layer, as a multiple of the cost without it.
    #[serde(flatten)]
    pub cost: PairCost,
}

/// Returns the cost of each layer whose filesystem also competes without it.
pub(crate) fn layers(
    results: &CampaignResults,
    rows: &[ResultRow],
    margin: Margin,
) -> Vec<LayerCost> {
    let pairs = pairs(&results.campaign.contenders);
    if pairs.is_empty() {
        return Vec::new();
    }
    let own: Vec<ContenderPair> = pairs.iter().map(|(pair, _)| *pair).collect();
    let costs = PairTable::new(results, rows, margin).costs(&own);
    let cost = |((pair, layer), cost): ((ContenderPair, String), PairCost)| LayerCost {
        layer,
        without: pair.0,
        with: pair.1,
        cost,
    };
    pairs.into_iter().zip(costs).map(cost).collect()
}

/// Returns pairs of contenders that differ only in a layer, with its name.
fn pairs(contenders: &[Contender]) -> Vec<(ContenderPair, String)> {
    let mut pairs = Vec::new();
    for (with, contender) in contenders.iter().enumerate() {
        let Some(layer) = contender.filesystem.layers.last() else { continue };
        let is_without = |other: &Contender| {
            // A layer of several disks adds its disks.
            let mut own = other.own.clone();
            own.disks = contender.own.disks;
            other.filesystem.name == layer.on
                && other.mkfs_options == contender.mkfs_options
                && other.mount_options == contender.mount_options
                && own == contender.own
        };
        if let Some(without) = contenders.iter().position(is_without) {
            pairs.push(((without, with), layer.name.clone()));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use crate::{analyse, fixture};
    use model::FilesystemLayer;

    #[test]
    fn a_layer_is_compared_with_the_same_contender_without_it() {
        let mut results = fixture::plain();
        let contenders = &mut results.campaign.contenders;
        let on = contenders[0].filesystem.name.clone();
        contenders[1].filesystem.layers = vec![FilesystemLayer { name: "luks".into(), on }];
        contenders[1].own.disks = Some(2);
        let [cost] = &analyse(&results).layers[..] else { panic!("one layer") };
        assert_eq!((cost.layer.as_str(), cost.without, cost.with), ("luks", 0, 1));
        assert!(cost.cost.overall.unwrap().ratio > 1.0 && !cost.cost.results.is_empty());
        results.campaign.contenders[1].mount_options = vec!["noatime".into()];
        assert!(analyse(&results).layers.is_empty(), "it differs in more than the layer");
    }
}
