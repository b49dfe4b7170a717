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
        for (place, layer) in contender.filesystem.layers.iter().enumerate() {
            let mut others = names(contender);
            others.remove(place);
            let is_without = |other: &Contender| {
                other.filesystem.name_without_layers() == contender.filesystem.name_without_layers()
                    && names(other) == others
                    && other.mkfs_options == contender.mkfs_options
                    && other.mount_options == contender.mount_options
            };
            let is_same = |other: &&Contender| is_without(other) && other.own == contender.own;
            // A layer of several disks adds its disks.
            let adds_disks = |other: &&Contender| {
                let mut own = contender.own.clone();
                own.disks = None;
                layer.disks > 1 && is_without(other) && other.own == own
            };
            let find = |is_it: &dyn Fn(&&Contender) -> bool| {
                contenders.iter().position(|other| is_it(&other))
            };
            if let Some(without) = find(&is_same).or_else(|| find(&adds_disks)) {
                pairs.push(((without, with), layer.name.clone()));
            }
        }
    }
    pairs
}

fn names(contender: &Contender) -> Vec<&str> {
    contender.filesystem.layers.iter().map(|layer| layer.name.as_str()).collect()
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
        let layer = |disks| FilesystemLayer {
            name: "raid".into(),
            on: on.clone(),
            disks,
            compresses: false,
        };
        contenders[1].filesystem.layers = vec![layer(2)];
        contenders[1].own.disks = Some(2);
        let [cost] = &analyse(&results).layers[..] else { panic!("one layer") };
        assert_eq!((cost.layer.as_str(), cost.without, cost.with), ("raid", 0, 1));
        assert!(cost.cost.overall.unwrap().ratio > 1.0 && !cost.cost.results.is_empty());
        results.campaign.contenders[1].filesystem.layers = vec![layer(1)];
        assert!(analyse(&results).layers.is_empty(), "a layer of one disk adds none");
        results.campaign.contenders[0].own.disks = Some(2);
        assert_eq!(analyse(&results).layers.len(), 1);
        results.campaign.contenders[1].mount_options = vec!["noatime".into()];
        assert!(analyse(&results).layers.is_empty(), "it differs in more than the layer");
    }
}
