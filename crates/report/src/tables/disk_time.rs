//! Time components of each phase on simulated disks: a table like the overview.

use std::collections::BTreeMap;

use model::{CampaignResults, Metric, SimulatedDiskStats};
use stats::{Analysis, ResultRow};

use crate::document::table::{Style, TableCell};
use crate::tables::overview::{PhaseLine, TestBlock, test_blocks};
use crate::text::sanitize::sanitize_line;

/// Title of the table, which explains its cells.
pub(crate) const TITLE: &str = "Where the time went, in % of each phase (CPU: no request in the simulated disk; queue: waiting for other requests; `fsarena disk requests` has every part)";

/// Unit of each phase.
const UNIT: &str = "%";

/// Maximum number of time components named; the largest are named.
const NAMED: usize = 2;
/// Minimum share of a time component to be named, in per cent.
const NAMED_FROM: f64 = 5.0;

/// Returns the phases of contenders on simulated disks, test by test; empty without simulated
/// disks.
pub(crate) fn blocks<'a>(
    results: &'a CampaignResults,
    analysis: &'a Analysis,
) -> Vec<TestBlock<'a>> {
    let works = works(results);
    if works.is_empty() {
        return Vec::new();
    }
    let mut blocks = test_blocks(results, analysis, |row| line(row, analysis, &works));
    blocks.retain(|block| !block.lines.is_empty());
    blocks
}

/// Work of the disks in each round, in order, by contender, test and phase.
type Works<'a> = BTreeMap<(&'a str, &'a str, &'a str), Vec<SimulatedDiskStats>>;

fn works(results: &CampaignResults) -> Works<'_> {
    let mut works: Works<'_> = BTreeMap::new();
    for stored in &results.cells {
        let phases = stored.result.iter().flat_map(|result| &result.phases);
        for phase in phases {
            if let Some(work) = phase.disk {
                let cell = &stored.cell;
                let key = (cell.contender.as_str(), cell.test.as_str(), phase.phase.as_str());
                works.entry(key).or_default().push(work);
            }
        }
    }
    works
}

fn line<'a>(
    row: &'a ResultRow,
    analysis: &'a Analysis,
    works: &Works<'a>,
) -> Option<PhaseLine<'a>> {
    if row.metric != Metric::Cpu {
        return None;
    }
    let of = |contender: &'a String| works.get(&(contender.as_str(), &*row.test, &*row.phase));
    let entries: Vec<TableCell> =
        analysis.contenders.iter().map(|contender| entry(of(contender))).collect();
    entries.iter().any(|entry| entry.tone == Style::Plain).then(|| PhaseLine {
        row: None,
        label: sanitize_line(&row.phase),
        rule: None,
        unit: UNIT.to_owned(),
        entries,
    })
}

fn entry(works: Option<&Vec<SimulatedDiskStats>>) -> TableCell {
    let text = works.map(|works| parts(works)).filter(|text| !text.is_empty());
    let tone = if text.is_some() { Style::Plain } else { Style::Missing };
    TableCell { text: text.unwrap_or_else(|| "-".to_owned()), signs: String::new(), tone }
}

/// Returns the largest time components over all rounds.
fn parts(works: &[SimulatedDiskStats]) -> String {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for work in works {
        for (name, time) in short(work) {
            match sums.iter_mut().find(|(other, _)| *other == name) {
                Some((_, sum)) => *sum += time,
                None => sums.push((name, time)),
            }
        }
    }
    let all: u64 = sums.iter().map(|(_, time)| time).sum();
    let mut shares: Vec<(&str, f64)> = sums
        .into_iter()
        .map(|(name, time)| (name, time as f64 / all.max(1) as f64 * 100.0))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let named = shares.iter().take(NAMED).filter(|(_, share)| *share >= NAMED_FROM);
    let named: Vec<String> = named.map(|(name, share)| format!("{name} {share:.0}")).collect();
    named.join(" ")
}

/// Returns the time components, each with a short name; related components are added.
pub(crate) fn short(work: &SimulatedDiskStats) -> [(&'static str, u64); 8] {
    [
        ("CPU", work.outside.0),
        ("seek", work.seek.0),
        ("rotation", work.rotation.0),
        ("transfer", work.command.0 + work.transfer.0),
        ("flash", work.flash.0),
        ("collect", work.collection.0),
        ("flush", work.flush.0),
        ("queue", work.waiting.0),
    ]
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use stats::{analyse, fixture};

    use super::*;

    #[test]
    fn the_largest_parts_are_named_and_others_have_a_line() {
        let mut results = fixture::plain();
        let analysis = analyse(&results);
        assert!(blocks(&results, &analysis).is_empty());
        let work = SimulatedDiskStats {
            outside: Nanos(10),
            seek: Nanos(30),
            rotation: Nanos(57),
            transfer: Nanos(3),
            ..SimulatedDiskStats::default()
        };
        let contender = results.cells[0].cell.contender.clone();
        for stored in results.cells.iter_mut().filter(|c| c.cell.contender == contender) {
            for phase in stored.result.iter_mut().flat_map(|r| &mut r.phases) {
                phase.disk = Some(work);
            }
        }
        let analysis = analyse(&results);
        let blocks = blocks(&results, &analysis);
        let place = analysis.contenders.iter().position(|c| *c == contender).unwrap();
        for line in blocks.iter().flat_map(|block| &block.lines) {
            assert_eq!(line.entries[place].text, "rotation 57 seek 30");
            let others = line.entries.iter().enumerate().filter(|(i, _)| *i != place);
            assert!({ others }.all(|(_, entry)| entry.text == "-"));
        }
        assert!(!blocks.is_empty());
    }
}
