//! The cost of ageing, as tables and sentences.

use stats::{AchievedAge, Analysis, ContenderAgeingCost};

use crate::tables::prices::{ComparedPair, PriceSection, PriceWords, cost_text, name};
use crate::text::labels::percent;
use crate::text::sanitize::sanitize_line;

const WORDS: PriceWords = PriceWords {
    id: "ageing",
    link: "Age",
    title: "The price of age",
    sides: ["fresh", "aged"],
    subject: "ageing",
    note: "Each aged filesystem compared with the same one fresh, round by round. Above 1, ageing has a cost: a test takes longer, or does less, by this factor. The 95 % interval of a single mean is in brackets; the verdict accounts for all comparisons. Space left for files is not compared, because ageing always reduces it.",
};

/// Returns the cost of ageing, with at most `most` results of each aged contender.
pub(super) fn section(analysis: &Analysis, most: usize) -> Option<PriceSection> {
    let prices = analysis.ageing.prices.iter();
    let pairs: Vec<ComparedPair<'_>> = prices.map(pair).collect();
    super::section(analysis, &WORDS, &pairs, sentences(analysis), most)
}

const fn pair(price: &ContenderAgeingCost) -> ComparedPair<'_> {
    ComparedPair::new(price.fresh, price.aged, &price.cost)
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
    let aged = name(analysis, price.aged);
    let age = analysis.resources[price.aged].age.as_deref().map(sanitize_line);
    let reached = price.reached.as_ref().map_or_else(String::new, evidence);
    format!("{aged} ({}) {}.{reached}", age.unwrap_or_default(), cost_text(analysis, &pair(price)))
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
    use crate::document::Block;
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
            .unwrap()
            .blocks
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
        assert!(section(&analysis, 1).is_none());
    }
}
