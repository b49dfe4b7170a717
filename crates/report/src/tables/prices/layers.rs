//! The cost of layers such as encryption and RAID, as tables and sentences.

use stats::{Analysis, LayerCost};

use crate::tables::prices::{ComparedPair, PriceSection, PriceWords, cost_text, name};
use crate::text::sanitize::sanitize_line;

const WORDS: PriceWords = PriceWords {
    id: "layers",
    link: "Layers",
    title: "The price of layers",
    sides: ["without", "with"],
    subject: "a layer",
    note: "Each filesystem with a layer compared with the same one without it, round by round. Above 1, the layer has a cost: a test takes longer, or does less, by this factor. The 95 % interval of a single mean is in brackets; the verdict accounts for all comparisons. Space left for files is not compared, because most layers reduce it.",
};

/// Returns the cost of layers, with at most `most` results of each.
pub(super) fn section(analysis: &Analysis, most: usize) -> Option<PriceSection> {
    let costs = analysis.layers.iter();
    let pairs: Vec<ComparedPair<'_>> = costs.clone().map(pair).collect();
    let sentences = costs.map(|cost| {
        let (layer, with) = (sanitize_line(&cost.layer), name(analysis, cost.with));
        format!("{layer}: {with} {}.", cost_text(analysis, &pair(cost)))
    });
    super::section(analysis, &WORDS, &pairs, sentences.collect(), most)
}

const fn pair(cost: &LayerCost) -> ComparedPair<'_> {
    ComparedPair::new(cost.without, cost.with, &cost.cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Block;
    use model::FilesystemLayer;
    use stats::{analyse, fixture};

    #[test]
    fn the_price_of_a_layer_is_a_sentence_and_two_tables() {
        let mut results = fixture::plain();
        assert!(section(&analyse(&results), 1).is_none());
        let contenders = &mut results.campaign.contenders;
        let on = contenders[0].filesystem.name.clone();
        contenders[1].filesystem.layers =
            vec![FilesystemLayer { name: "luks".into(), on, disks: 1, compresses: false }];
        let blocks = section(&analyse(&results), 1).unwrap().blocks;
        let [Block::List(lines), Block::Table(sums), Block::Paragraph(_), Block::Table(_), ..] =
            &blocks[..]
        else {
            panic!("{blocks:?}")
        };
        assert!(format!("{lines:?}").contains("luks: middle costs "), "{lines:?}");
        assert!(!sums.is_empty());
    }
}
