//! Processor use and page faults of each phase, as printed by time(1): a table like the overview.

use std::collections::BTreeMap;

use model::{CampaignResults, Metric, Unit};
use stats::{Analysis, ResultRow};

use crate::UnitScale;
use crate::document::table::{Style, TableCell};
use crate::tables::overview::{PhaseLine, TestBlock, test_blocks};
use crate::text::conclusions;
use crate::text::sanitize::sanitize_line;
use crate::text::scale::three_digits;

/// Meaning of a question mark, for results of programs that count no page faults.
pub(crate) const UNKNOWN: &str = "?: the program that measured did not count it.";
/// Title of the table, which explains its cells.
pub(crate) const TITLE: &str = "% of one processor (+ driver), page faults (major+minor)";

/// Unit of each phase.
const UNIT: &str = "%CPU faults";

/// Processor use of a driver below which it is omitted, in percent.
const DRIVER_FROM: f64 = 0.5;

/// Returns the phases that used processor time, by test. The hundreds of points of a sweep are only
/// in CSV and JSON.
pub(crate) fn blocks<'a>(
    results: &'a CampaignResults,
    analysis: &'a Analysis,
) -> Vec<TestBlock<'a>> {
    let rows = Rows::of(analysis);
    let mut blocks = test_blocks(results, analysis, |row| rows.line(row));
    blocks.retain(|block| !block.lines.is_empty());
    blocks
}

/// Returns a sentence for each test: the contender that needs the least processor time for all of its
/// phases, the next one and the last one. Omits contenders without a result in a phase, and points of
/// a sweep.
pub(crate) fn sentences(results: &CampaignResults, analysis: &Analysis) -> Vec<String> {
    let rows = Rows::of(analysis);
    let names = conclusions::names(&analysis.contenders);
    let tests = results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let tests = tests.filter(|test| test.sweep.is_none());
    let sentences = tests.filter_map(|test| {
        let is_it = |row: &&ResultRow| row.suite == test.suite && row.test == test.name;
        let of_test: Vec<&ResultRow> = analysis.rows.iter().filter(is_it).collect();
        sentence(&of_test, &rows, &names)
    });
    sentences.collect()
}

fn sentence(test: &[&ResultRow], rows: &Rows<'_>, names: &[String]) -> Option<String> {
    let phases = test.iter().copied().filter(|row| row.metric == Metric::Cpu);
    let phases: Vec<&ResultRow> = phases.collect();
    let first = phases.first()?;
    let needed = first.results.iter().enumerate().filter(|(_, result)| !result.set_apart);
    let needed = needed.filter_map(|(contender, _)| {
        let seconds = phases.iter().map(|row| rows.cpu_seconds(row, contender));
        Some((names[contender].as_str(), seconds.sum::<Option<f64>>()?))
    });
    let mut needed: Vec<(&str, f64)> = needed.filter(|(_, seconds)| *seconds > 0.0).collect();
    needed.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(least, seconds), others @ ..] = &needed[..] else { return None };
    let (second, last) = (others.first()?, others.last()?);
    let scale = UnitScale::for_values(Unit::Seconds, [*seconds]);
    let of = |(name, other): &(&str, f64)| match three_digits(other / seconds) {
        same if same == "1.00" => format!("{name}, as much"),
        times => format!("{name}, {times} times as much"),
    };
    let most = if others.len() > 1 { format!(" Most: {}.", of(last)) } else { String::new() };
    Some(format!(
        "In {}, {least} needs the least processor time ({}). Next: {}.{most}",
        sanitize_line(&first.test),
        scale.with_unit(*seconds),
        of(second),
    ))
}

/// Rows of a campaign by test, phase and metric.
struct Rows<'a>(BTreeMap<(&'a str, &'a str, Metric), &'a ResultRow>);

impl<'a> Rows<'a> {
    fn of(analysis: &'a Analysis) -> Self {
        let key = |row: &'a ResultRow| (row.test.as_str(), row.phase.as_str(), row.metric);
        Self(analysis.rows.iter().map(|row| (key(row), row)).collect())
    }

    fn median(&self, row: &ResultRow, metric: Metric, contender: usize) -> Option<f64> {
        let row = self.0.get(&(row.test.as_str(), row.phase.as_str(), metric))?;
        Some(row.results[contender].estimate?.median)
    }

    /// Returns the processor time of a phase, with that of a driver.
    fn cpu_seconds(&self, row: &ResultRow, contender: usize) -> Option<f64> {
        let share = self.median(row, Metric::Cpu, contender)?
            + self.median(row, Metric::CpuDriver, contender).unwrap_or(0.0);
        Some(share / 100.0 * self.median(row, Metric::Elapsed, contender)?)
    }

    /// Returns the line of a phase if the row contains processor time.
    fn line(&self, row: &'a ResultRow) -> Option<PhaseLine<'a>> {
        (row.metric == Metric::Cpu).then(|| PhaseLine {
            row: None,
            label: sanitize_line(&row.phase),
            rule: None,
            unit: UNIT.to_owned(),
            entries: (0..row.results.len()).map(|c| self.entry(row, c)).collect(),
        })
    }

    fn entry(&self, row: &'a ResultRow, contender: usize) -> TableCell {
        let median = |metric| self.median(row, metric, contender);
        let Some(agent) = median(Metric::Cpu) else {
            return TableCell { text: "-".to_owned(), signs: String::new(), tone: Style::Missing };
        };
        let driver = median(Metric::CpuDriver).filter(|share| *share >= DRIVER_FROM);
        let driver = driver.map_or_else(String::new, |share| format!("+{}", percent(share)));
        let faults = |metric| median(metric).map_or_else(|| "?".to_owned(), count);
        TableCell {
            text: format!(
                "{}{driver} {}+{}",
                percent(agent),
                faults(Metric::MajorFaults),
                faults(Metric::MinorFaults)
            ),
            signs: String::new(),
            tone: Style::Plain,
        }
    }
}

/// Formats whole per cents, with one more digit below ten.
fn percent(share: f64) -> String {
    match share {
        0.0 => "0".to_owned(),
        small if small < 9.95 => format!("{small:.1}"),
        share => format!("{share:.0}"),
    }
}

fn count(faults: f64) -> String {
    UnitScale::for_values(Unit::Count, [faults]).with_unit(faults).replace(' ', "")
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use stats::{analyse, fixture};

    use super::*;

    fn cells(results: &CampaignResults) -> Vec<(String, Vec<String>)> {
        let analysis = analyse(results);
        let blocks = blocks(results, &analysis);
        let lines = blocks.iter().flat_map(|block| &block.lines);
        lines
            .map(|line| {
                let texts = line.entries.iter().map(|entry| entry.text.clone());
                (line.label.clone(), texts.collect())
            })
            .collect()
    }

    /// Returns a campaign with the given processor time and page faults in every phase of the
    /// contender `fast`.
    fn costing(user: u64, driver: u64, major: u64, minor: u64) -> CampaignResults {
        let mut results = fixture::plain();
        for stored in &mut results.cells {
            if stored.cell.contender != "fast" {
                continue;
            }
            for phase in stored.result.iter_mut().flat_map(|r| &mut r.phases) {
                phase.elapsed = Nanos(1_000_000_000);
                phase.cpu.user = Nanos(user * 10_000_000);
                phase.cpu.system = Nanos(0);
                phase.cpu.driver = Nanos(driver * 10_000_000);
                (phase.faults.major, phase.faults.minor) = (major, minor);
            }
        }
        results
    }

    #[test]
    fn each_phase_has_its_share_of_a_processor_and_its_page_faults() {
        let shown = cells(&costing(74, 0, 3, 412));
        let phases: Vec<&str> = shown.iter().map(|(phase, _)| phase.as_str()).collect();
        assert_eq!(phases, ["write", "read"]);
        for (phase, cells) in shown {
            assert_eq!(cells[0], "74 3+412", "{phase}");
            assert_eq!(cells.len(), 3, "{phase}");
        }
    }

    #[test]
    fn processor_use_of_a_driver_is_shown_separately() {
        let shown = cells(&costing(6, 83, 0, 25_400));
        assert_eq!(shown[0].1[0], "6.0+83 0+25.4k");
    }

    #[test]
    fn each_test_has_a_conclusion_about_processor_time() {
        let results = costing(1, 1, 0, 0);
        let found = sentences(&results, &analyse(&results));
        assert_eq!(found.len(), 1, "{found:?}");
        let wanted = "In file, fast needs the least processor time (40.0 ms). Next: middle, 18.8 times as \
                      much. Most: slow, 31.2 times as much.";
        assert_eq!(found[0], wanted);
        // Without a rival there is no conclusion.
        let mut alone = costing(1, 0, 0, 0);
        alone.campaign.contenders.truncate(1);
        alone.cells.retain(|stored| stored.cell.contender == "fast");
        assert!(sentences(&alone, &analyse(&alone)).is_empty());
    }

    #[test]
    fn missing_results_are_shown_as_a_dash() {
        let shown = cells(&fixture::hostile());
        assert!(shown.iter().any(|(_, cells)| cells.iter().any(|c| c == "-")));
    }
}
