//! The price of age and of layers: tables of pairs of contenders, one compared with the other.

pub(crate) mod ageing;
pub(crate) mod layers;

use stats::{Analysis, ComparisonResult, ComparisonVerdict, PairCost};

use crate::UnitScale;
use crate::document::Table;
use crate::document::table::ratio;
use crate::text::conclusions::describe;
use crate::text::sanitize::sanitize_line;

/// Label of the most important row.
const ALL: &str = "all results";

/// Two compared contenders by index, and the cost of the second one.
pub(crate) struct ComparedPair<'a> {
    before: usize,
    after: usize,
    cost: &'a PairCost,
}

impl<'a> ComparedPair<'a> {
    /// Returns a pair with the cost of the second contender.
    pub(crate) const fn new(before: usize, after: usize, cost: &'a PairCost) -> Self {
        Self { before, after, cost }
    }
}

/// Returns the cost of each pair, over all results and in each test category. `heading` is that of
/// the costs.
pub(crate) fn sums(analysis: &Analysis, pairs: &[ComparedPair<'_>], heading: &str) -> Table {
    let mut table = Table::new(&["filesystem", "over", ">results", heading, "verdict"]);
    for pair in pairs {
        let count = u32::try_from(pair.cost.results.len()).unwrap_or(u32::MAX);
        let groups = pair.cost.groups.iter().map(|g| (g.group.title(), g.results, &g.cost));
        let all = (ALL, count, &pair.cost.overall);
        for (over, results, cost) in [all].into_iter().chain(groups) {
            table.push(vec![
                name(analysis, pair.after),
                over.to_owned(),
                results.to_string(),
                cost.as_ref().map_or_else(|| "no whole round".to_owned(), ratio),
                cost.as_ref().map_or_else(String::new, comes_to),
            ]);
        }
    }
    table
}

/// Returns at most `most` results of each pair, with the highest cost first. `headings` are those of
/// the value before, the value after and the cost.
pub(crate) fn results(
    analysis: &Analysis,
    pairs: &[ComparedPair<'_>],
    headings: [&str; 3],
    most: usize,
) -> Table {
    let [before, after, cost] = headings;
    let mut table = Table::new(&["filesystem", "result", before, after, "unit", cost, "verdict"]);
    for pair in pairs {
        let mut results: Vec<_> = pair.cost.results.iter().collect();
        results.sort_by(|a, b| b.cost.ratio.total_cmp(&a.cost.ratio));
        for result in results.into_iter().take(most) {
            let row = &analysis.rows[result.row];
            let medians = [pair.before, pair.after].map(|contender| {
                let estimate = row.results[contender].estimate;
                estimate.map_or(0.0, |estimate| estimate.median)
            });
            let scale = UnitScale::for_metric(row.metric, medians);
            table.push(vec![
                name(analysis, pair.after),
                sanitize_line(&format!("{}/{}:{}", row.test, row.phase, row.metric)),
                scale.number(medians[0]),
                scale.number(medians[1]),
                scale.symbol().to_owned(),
                ratio(&result.cost),
                comes_to(&result.cost),
            ]);
        }
    }
    table
}

/// Returns the text of a verdict on a cost.
pub(crate) fn comes_to(cost: &ComparisonResult) -> String {
    match cost.verdict {
        ComparisonVerdict::Identical => "costs nothing".to_owned(),
        _ => describe(cost, "rounds"),
    }
}

/// Returns the name of a contender.
pub(crate) fn name(analysis: &Analysis, contender: usize) -> String {
    sanitize_line(&analysis.contenders[contender])
}
