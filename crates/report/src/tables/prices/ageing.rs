//! The cost of ageing, as tables and sentences.

use stats::{AchievedAge, Analysis, ComparisonVerdict, ContenderAgeingCost};

use crate::document::Block;
use crate::document::table::ratio;
use crate::tables::prices::{ComparedPair, comes_to, name, results, sums};
use crate::text::labels::{percent, pluralize};
use crate::text::sanitize::sanitize_line;
use crate::text::scale::three_digits;

/// Title of the tables.
pub(crate) const TITLE: &str = "The price of age";
/// Title of the table of single results.
const EACH: &str = "Each result, fresh and aged:";
/// Title of the table if it contains only some results.
const WORST: &str =
    "Results with the highest cost of ageing, for each filesystem (the page has every result):";
/// Explanation of the tables.
const NOTE: &str = "Each aged filesystem compared with the same one fresh, round by round. Above 1, ageing has a cost: a test takes longer, or does less, by this factor. The 95 % interval of a single mean is in brackets; the verdict accounts for all comparisons. Space left for files is not compared, because ageing always reduces it.";
/// Heading of the costs.
const COST: &str = "cost aged / fresh";
/// Headings of the values of a result, and of its cost.
const COLUMNS: [&str; 3] = [">fresh", ">aged", COST];

/// Returns the cost of ageing in sentences and tables, with at most `most` results of each aged
/// contender; empty if no contender is aged.
pub(crate) fn section(analysis: &Analysis, most: usize) -> Vec<Block> {
    if analysis.ageing.prices.is_empty() {
        return Vec::new();
    }
    let title = if most == usize::MAX { EACH } else { WORST };
    let pairs = analysis.ageing.prices.iter();
    let pairs: Vec<ComparedPair<'_>> =
        pairs.map(|price| ComparedPair::new(price.fresh, price.aged, &price.cost)).collect();
    let mut blocks =
        vec![Block::list(sentences(analysis)), Block::Table(sums(analysis, &pairs, COST))];
    let results = results(analysis, &pairs, COLUMNS, most);
    if !results.is_empty() {
        blocks.extend([Block::Paragraph(title.to_owned()), Block::Table(results)]);
    }
    blocks.push(Block::Note(NOTE.to_owned()));
    blocks
}

/// Returns the result and cost of ageing in sentences: a line for each aged contender, and for each
/// change of order.
fn sentences(analysis: &Analysis) -> Vec<String> {
    let prices = &analysis.ageing.prices;
    let mut lines: Vec<String> = prices.iter().map(|price| of(analysis, price)).collect();
    for turn in &analysis.ageing.turns {
        let over = match turn.group {
            Some(group) => format!("in {}", group.title()),
            None => "over all results".to_owned(),
        };
        let [ahead, behind] = turn.fresh.map(|contender| name(analysis, contender));
        let [then, back] = turn.aged.map(|contender| name(analysis, contender));
        lines.push(format!(
            "The order turns {over}: {ahead} is ahead of {behind}, and {then} of {back}."
        ));
    }
    if prices.len() > 1 && analysis.ageing.turns.is_empty() {
        lines.push("No two filesystems are shown to swap places with age.".to_owned());
    }
    lines
}

fn of(analysis: &Analysis, price: &ContenderAgeingCost) -> String {
    let [fresh, aged] = [price.fresh, price.aged].map(|contender| name(analysis, contender));
    let age = analysis.resources[price.aged].age.as_deref().map(sanitize_line);
    let results = pluralize(price.cost.results.len() as u64, "result");
    let cost = match &price.cost.overall {
        // Without this, the number would look like a proven fact.
        Some(cost) if matches!(cost.verdict, ComparisonVerdict::Undecided { .. }) => format!(
            "took {} times what {fresh} did over {results} so far, {}",
            three_digits(cost.ratio),
            comes_to(cost)
        ),
        Some(cost) => format!("costs {} times as much as {fresh} over {results}", ratio(cost)),
        None => format!("has no complete round to compare with {fresh} yet"),
    };
    let reached = price.reached.as_ref().map_or_else(String::new, evidence);
    format!("{aged} ({}) {cost}.{reached}", age.unwrap_or_default())
}

fn evidence(reached: &AchievedAge) -> String {
    let layout = match (reached.layout_filled, reached.layout_aged) {
        (Some(filled), Some(aged)) => format!(
            "; {} of the blocks of its files followed the block before them on the disk when it was filled, {} when it \
             was aged",
            percent(filled),
            percent(aged)
        ),
        _ => "; this filesystem does not report the location of its files".to_owned(),
    };
    format!(
        " It was {} full, with {:.0} files{layout}. The ages of {} of its files are not yet those of the profile.",
        percent(reached.fill),
        reached.files,
        percent(reached.ages_apart)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::table::TableCell;
    use stats::{analyse, fixture};

    #[test]
    fn costs_and_changes_of_order_are_reported() {
        let analysis = analyse(&fixture::aged());
        let said = sentences(&analysis);
        assert_eq!(said.len(), 4, "{said:#?}");
        assert!(said[0].starts_with("a-aged (even, 80% full) costs 2.0"), "{}", said[0]);
        assert!(said[0].contains(
            "times as much as a over 2 results. It was 80 % full, with 5000 files; 100 % of"
        ));
        assert!(said[0].contains("93 % when it was aged. The ages of 40 % of"), "{}", said[0]);
        assert_eq!(
            said[2],
            "The order turns over all results: a is ahead of b, and b-aged of a-aged."
        );
        let tables: Vec<_> = section(&analysis, 1)
            .into_iter()
            .filter_map(|block| match block {
                Block::Table(table) => Some(table),
                _ => None,
            })
            .collect();
        let words =
            |cells: &[TableCell]| cells.iter().map(|cell| cell.text.clone()).collect::<Vec<_>>();
        let lines: Vec<String> = tables[0].cells().map(|row| words(row)[..3].join(" ")).collect();
        assert_eq!(lines[0], "a-aged all results 2");
        assert_eq!(lines.len(), 6);
        let results: Vec<_> = tables[1].cells().map(words).collect();
        assert_eq!(results.len(), 2);
        assert_eq!(results[0][1], "file/write:throughput");
        assert!(results[0][6].starts_with("costs at least"));
    }

    #[test]
    fn no_report_without_aged_contenders() {
        let analysis = analyse(&fixture::plain());
        assert_eq!(section(&analysis, 1), []);
    }
}
