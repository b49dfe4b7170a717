//! Interference between the roles of a mix, as a table like the overview: each role by itself,
//! together with the others, and the ratio of both.

use model::{CampaignResults, Test};
use stats::{Analysis, Interference, InterferenceValues};

use crate::UnitScale;
use crate::document::table::{Style, TableCell};
use crate::tables::overview::{PhaseLine, TestBlock};
use crate::text::labels;
use crate::text::sanitize::sanitize_line;
use crate::text::scale::three_digits;

/// Title of the table.
pub(crate) const TITLE: &str = "Roles alone and combined";
/// Explanation of the table.
pub(crate) const NOTE: &str = "Each number is the median over rounds: of the role alone on the filesystem, then of the same role in the mix. The last line shows the ratio, by which the role is worse in the mix; below 1 it is better.";

/// Returns a block for each mix whose roles also ran separately.
pub(crate) fn blocks<'a>(
    results: &'a CampaignResults,
    analysis: &'a Analysis,
) -> Vec<TestBlock<'a>> {
    let suites = results.campaign.suites.iter();
    let tests: Vec<&Test> = suites.flat_map(|suite| &suite.tests).collect();
    let mixes = analysis
        .interference
        .chunk_by(|a, b| (&a.suite, &a.test, &a.phase) == (&b.suite, &b.test, &b.phase));
    let blocks = mixes.filter_map(|roles| {
        let first = roles.first()?;
        let is_it = |test: &&Test| test.suite == first.suite && test.name == first.test;
        let number = tests.iter().position(is_it)?;
        Some(TestBlock {
            test: tests[number],
            number: Some(number),
            name: sanitize_line(&first.test),
            title: format!("the roles of {}", sanitize_line(&first.phase)),
            lines: roles.iter().flat_map(lines).collect(),
        })
    });
    blocks.collect()
}

fn lines<'a>(role: &Interference) -> [PhaseLine<'a>; 3] {
    let pairs = || role.contenders.iter();
    let values = pairs().flat_map(|pair| [pair.alone, pair.mixed]);
    let scale = UnitScale::for_metric(role.metric, values.flatten());
    let direction = role.metric.direction();
    let number = |value: Option<f64>| value.map(|value| scale.number(value));
    let line = |label: String,
                unit: String,
                text: &dyn Fn(&InterferenceValues) -> Option<String>| PhaseLine {
        row: None,
        label,
        rule: None,
        unit,
        entries: pairs().map(|pair| entry(text(pair))).collect(),
    };
    let name = format!("{} {}", sanitize_line(&role.role), role.metric);
    let others: Vec<String> = role.others.iter().map(|other| sanitize_line(other)).collect();
    let unit = format!("{} {}", scale.symbol(), labels::arrow(direction));
    [
        line(format!("{name}, alone"), unit.clone(), &|pair| number(pair.alone)),
        line(format!("{name}, with {}", others.join(" and ")), unit, &|pair| number(pair.mixed)),
        line(format!("{name}, times worse"), "× ↓".into(), &|pair| {
            pair.times_worse(direction).map(three_digits)
        }),
    ]
}

fn entry(text: Option<String>) -> TableCell {
    let tone = match text {
        Some(_) => Style::Plain,
        None => Style::Missing,
    };
    TableCell { text: text.unwrap_or_else(|| "none".to_owned()), signs: String::new(), tone }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    #[test]
    fn role_has_numbers_alone_and_in_the_mix() {
        let results = fixture::mixed();
        let analysis = analyse(&results);
        let blocks = blocks(&results, &analysis);
        let lines = blocks.iter().flat_map(|block| &block.lines);
        let texts = lines.map(|line| {
            let entries = line.entries.iter().map(|entry| entry.text.clone());
            format!("{} [{}] {}", line.label, line.unit, entries.collect::<Vec<_>>().join(" "))
        });
        assert_eq!(
            texts.collect::<Vec<_>>(),
            [
                "deliver sync-p99, alone [ms ↓] 2.00 3.00 4.00",
                "deliver sync-p99, with backup [ms ↓] 20.0 30.0 none",
                "deliver sync-p99, times worse [× ↓] 10.0 10.0 none",
                "backup throughput, alone [MB/s ↑] 105 69.9 52.4",
                "backup throughput, with deliver [MB/s ↑] 52.4 35.0 none",
                "backup throughput, times worse [× ↓] 2.00 2.00 none",
            ]
        );
    }
}
