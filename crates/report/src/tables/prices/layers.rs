//! The cost of layers such as encryption and RAID, as tables and sentences.

use stats::{Analysis, ComparisonVerdict, LayerCost};

use crate::document::Block;
use crate::document::table::ratio;
use crate::tables::prices::{ComparedPair, comes_to, name, results, sums};
use crate::text::labels::pluralize;
use crate::text::sanitize::sanitize_line;
use crate::text::scale::three_digits;

/// Title of the tables.
pub(crate) const TITLE: &str = "The price of layers";
/// Title of the table of single results.
const EACH: &str = "Each result, without and with the layer:";
/// Title of the table if it contains only some results.
const WORST: &str =
    "Results with the highest cost of a layer, for each filesystem (the page has every result):";
/// Explanation of the tables.
const NOTE: &str = "Each filesystem with a layer compared with the same one without it, round by round. Above 1, the layer has a cost: a test takes longer, or does less, by this factor. The 95 % interval of a single mean is in brackets; the verdict accounts for all comparisons. Space left for files is not compared, because most layers reduce it.";
/// Heading of the costs.
const COST: &str = "cost with / without";
/// Headings of the values of a result, and of its cost.
const COLUMNS: [&str; 3] = [">without", ">with", COST];

/// Returns the cost of layers in sentences and tables, with at most `most` results of each; empty if
/// no filesystem competes both with and without a layer.
pub(crate) fn section(analysis: &Analysis, most: usize) -> Vec<Block> {
    let costs = &analysis.layers;
    if costs.is_empty() {
        return Vec::new();
    }
    let pairs: Vec<ComparedPair<'_>> =
        costs.iter().map(|cost| ComparedPair::new(cost.without, cost.with, &cost.cost)).collect();
    let sentences: Vec<String> = costs.iter().map(|cost| sentence(analysis, cost)).collect();
    let mut blocks = vec![Block::list(sentences), Block::Table(sums(analysis, &pairs, COST))];
    let results = results(analysis, &pairs, COLUMNS, most);
    if !results.is_empty() {
        let title = if most == usize::MAX { EACH } else { WORST };
        blocks.extend([Block::Paragraph(title.to_owned()), Block::Table(results)]);
    }
    blocks.push(Block::Note(NOTE.to_owned()));
    blocks
}

fn sentence(analysis: &Analysis, cost: &LayerCost) -> String {
    let [without, with] = [cost.without, cost.with].map(|contender| name(analysis, contender));
    let layer = sanitize_line(&cost.layer);
    let results = pluralize(cost.cost.results.len() as u64, "result");
    match &cost.cost.overall {
        // Without this, the number would look like a proven fact.
        Some(all) if matches!(all.verdict, ComparisonVerdict::Undecided { .. }) => format!(
            "{layer}: {with} took {} times what {without} did over {results} so far, {}.",
            three_digits(all.ratio),
            comes_to(all)
        ),
        Some(all) => {
            format!(
                "{layer}: {with} costs {} times as much as {without} over {results}.",
                ratio(all)
            )
        }
        None => format!("{layer}: {with} has no complete round to compare with {without} yet."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::FilesystemLayer;
    use stats::{analyse, fixture};

    #[test]
    fn the_price_of_a_layer_is_a_sentence_and_two_tables() {
        let mut results = fixture::plain();
        assert_eq!(section(&analyse(&results), 1), []);
        let contenders = &mut results.campaign.contenders;
        let on = contenders[0].filesystem.name.clone();
        contenders[1].filesystem.layers =
            vec![FilesystemLayer { name: "luks".into(), on, disks: 1 }];
        let blocks = section(&analyse(&results), 1);
        let [Block::List(lines), Block::Table(sums), Block::Paragraph(_), Block::Table(_), ..] =
            &blocks[..]
        else {
            panic!("{blocks:?}")
        };
        assert!(format!("{lines:?}").contains("luks: middle costs "), "{lines:?}");
        assert!(!sums.is_empty());
    }
}
