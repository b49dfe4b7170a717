//! The price of age and of layers: tables of pairs of contenders, one compared with the other.

mod ageing;
mod layers;

use stats::{Analysis, ComparisonResult, ComparisonVerdict, PairCost};

use crate::UnitScale;
use crate::document::table::ratio;
use crate::document::{Block, Table};
use crate::text::conclusions::describe;
use crate::text::labels::pluralize;
use crate::text::sanitize::sanitize_line;
use crate::text::scale::three_digits;

/// Label of the most important row.
const ALL: &str = "all results";

/// Two compared contenders by index, and the cost of the second one.
struct ComparedPair<'a> {
    before: usize,
    after: usize,
    cost: &'a PairCost,
}

impl<'a> ComparedPair<'a> {
    /// Returns a pair with the cost of the second contender.
    const fn new(before: usize, after: usize, cost: &'a PairCost) -> Self {
        Self { before, after, cost }
    }
}

/// A section of a report about costs of pairs.
pub(crate) struct PriceSection {
    /// Anchor on the page.
    pub id: &'static str,
    /// Text of the link to it.
    pub link: &'static str,
    /// Title.
    pub title: &'static str,
    /// Sentences and tables.
    pub blocks: Vec<Block>,
}

/// Words of a section.
struct PriceWords {
    id: &'static str,
    link: &'static str,
    title: &'static str,
    /// Names of both sides: `fresh` and `aged`.
    sides: [&'static str; 2],
    /// Subject of the cost: `ageing`.
    subject: &'static str,
    note: &'static str,
}

/// Returns the sections on the price of age and of layers, with at most `most` results of each pair.
/// A section without pairs is omitted.
pub(crate) fn sections(analysis: &Analysis, most: usize) -> Vec<PriceSection> {
    [ageing::section(analysis, most), layers::section(analysis, most)]
        .into_iter()
        .flatten()
        .collect()
}

fn section(
    analysis: &Analysis,
    words: &PriceWords,
    pairs: &[ComparedPair<'_>],
    sentences: Vec<String>,
    most: usize,
) -> Option<PriceSection> {
    if pairs.is_empty() {
        return None;
    }
    let [before, after] = words.sides;
    let cost = format!("cost {after} / {before}");
    let mut blocks = vec![Block::list(sentences), Block::Table(sums(analysis, pairs, &cost))];
    let headings = [&format!(">{before}"), &format!(">{after}"), cost.as_str()];
    let results = results(analysis, pairs, headings, most);
    if !results.is_empty() {
        let title = match most {
            usize::MAX => format!("Each result, {before} and {after}:"),
            _ => format!(
                "Results with the highest cost of {}, for each filesystem (the page has every result):",
                words.subject
            ),
        };
        blocks.extend([Block::Paragraph(title), Block::Table(results)]);
    }
    blocks.push(Block::Note(words.note.to_owned()));
    let PriceWords { id, link, title, .. } = *words;
    Some(PriceSection { id, link, title, blocks })
}

/// Returns the text of the cost of the second contender: `costs 2.0 times as much as a over 2 results`.
fn cost_text(analysis: &Analysis, pair: &ComparedPair<'_>) -> String {
    let before = name(analysis, pair.before);
    let results = pluralize(pair.cost.results.len() as u64, "result");
    match &pair.cost.overall {
        // Without this, the number would look like a proven fact.
        Some(cost) if matches!(cost.verdict, ComparisonVerdict::Undecided { .. }) => format!(
            "took {} times what {before} did over {results} so far, {}",
            three_digits(cost.ratio),
            comes_to(cost)
        ),
        Some(cost) => format!("costs {} times as much as {before} over {results}", ratio(cost)),
        None => format!("has no complete round to compare with {before} yet"),
    }
}

/// Returns the cost of each pair, over all results and in each test category. `heading` is that of
/// the costs.
fn sums(analysis: &Analysis, pairs: &[ComparedPair<'_>], heading: &str) -> Table {
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
fn results(
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
fn comes_to(cost: &ComparisonResult) -> String {
    match cost.verdict {
        ComparisonVerdict::Identical => "costs nothing".to_owned(),
        _ => describe(cost, "rounds"),
    }
}

/// Returns the name of a contender.
fn name(analysis: &Analysis, contender: usize) -> String {
    sanitize_line(&analysis.contenders[contender])
}
