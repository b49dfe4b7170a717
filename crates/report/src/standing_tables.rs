//! How contenders stand over all tests, as tables: counts of marks and ties, and the groups of tests with
//! their ranks.

use analyse::{Analysis, Score};

use crate::plain_table::{PlainTable, percent};
use crate::scale::three_figures;
use crate::text::clean;

/// For each contender in how many phases it is best, first or tied for it, worst, and not ok.
pub(crate) fn counts(analysis: &Analysis) -> PlainTable {
    let mut table = PlainTable::new(&[
        "contender",
        ">best",
        ">first or tied for it",
        ">worst",
        ">with a failed round",
        ">phases",
    ]);
    for standing in &analysis.standings {
        table.push(vec![
            clean(&standing.contender),
            standing.best.to_string(),
            standing.first.to_string(),
            standing.worst.to_string(),
            standing.failed.to_string(),
            standing.phases.to_string(),
        ]);
    }
    table
}

/// For each contender its cost and rank in each group of tests and over all; `None` where no group has
/// a figure.
pub(crate) fn groups(analysis: &Analysis) -> Option<PlainTable> {
    let overall = &analysis.overall;
    if overall.groups.is_empty() {
        return None;
    }
    let titles = overall
        .groups
        .iter()
        .map(|g| format!(">{}", g.group.title()));
    let heading: Vec<String> = ["contender".to_owned()]
        .into_iter()
        .chain(titles)
        .chain([">all alike".to_owned()])
        .collect();
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    let mut table = PlainTable::new(&heading);
    for (index, contender) in analysis.contenders.iter().enumerate() {
        let scores = overall.groups.iter().map(|g| &g.scores[index]);
        let scores = scores.chain(overall.total.get(index)).map(cell);
        table.push([clean(contender)].into_iter().chain(scores).collect());
    }
    Some(table)
}

/// `1.17 (2=)`: the cost and the rank, with `=` where it is shared; without a rank where figures are
/// missing.
fn cell(score: &Score) -> String {
    let Some(ratio) = &score.ratio else {
        return "none".to_owned();
    };
    let cost = three_figures(ratio.median);
    match (score.place, score.missing) {
        (Some(place), _) if place.tied_with > 0 => format!("{cost} ({}=)", place.rank),
        (Some(place), _) => format!("{cost} ({})", place.rank),
        (None, 0) => cost,
        (None, missing) => format!("{cost} (lacks {missing})"),
    }
}

/// At which weights the order changes, a sentence each.
pub(crate) fn flips(analysis: &Analysis) -> Vec<String> {
    let name = |place: usize| clean(&analysis.contenders[place]);
    let flips = analysis.overall.flips.iter();
    flips
        .map(|flip| {
            format!(
                "{} leads where all groups weigh alike, {} where {} has more than {} % of the weight.",
                name(flip.from),
                name(flip.to),
                flip.group.title(),
                percent(flip.share)
            )
        })
        .collect()
}
