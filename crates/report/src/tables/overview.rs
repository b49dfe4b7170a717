//! The table of all phases for terminal, Markdown and HTML, with the primary metric of each phase,
//! and throughput for random I/O. Sweeps are condensed to slices, which [`crate::tables::sweeps`]
//! appends after the tests.

use std::collections::BTreeMap;

use model::{CacheState, CampaignResults, Metric, Test};
use stats::{Analysis, MetricResult, Rank, ResultRow, RobustEstimate, RoundOutcome};

use crate::UnitScale;
use crate::document::table::{Column, Row, Style, Table, TableCell};
use crate::tables::sweeps;
use crate::text::labels;
use crate::text::sanitize::sanitize_line;

/// A row of the table: a phase with its primary metric.
pub(crate) struct PhaseLine<'a> {
    /// The row of the analysis shown here, or `None` if the line follows from several rows.
    pub row: Option<&'a ResultRow>,
    /// Name of the phase, with the point in a sweep.
    pub label: String,
    /// Limit crossed between the row above and this one, shown as a line across the table.
    pub rule: Option<String>,
    /// Unit, and which direction is better.
    pub unit: String,
    /// One entry for each contender, in the campaign's order.
    pub entries: Vec<TableCell>,
}

/// The rows of one test, or of one slice of a sweep.
pub(crate) struct TestBlock<'a> {
    /// The test, or the first point of a sweep.
    pub test: &'a Test,
    /// Index among all tests of the campaign, or `None` for a sweep.
    pub number: Option<usize>,
    /// The name, and the axis of a sweep.
    pub name: String,
    /// Human-readable title in one line.
    pub title: String,
    /// Its phases.
    pub lines: Vec<PhaseLine<'a>>,
}

pub(crate) const BEST: char = '▲';
pub(crate) const WORST: char = '▼';
pub(crate) const EQUAL: char = '=';
pub(crate) const OPEN: char = '?';
pub(crate) const UNSTEADY: char = '~';
pub(crate) const PARTIAL: char = '!';
pub(crate) const WAITING: char = '…';
pub(crate) const LOWER_BOUND: char = '≥';
pub(crate) const OVERHEAD: char = '†';

/// Marks an overall result based on fewer results than those of other contenders.
pub(crate) const LACKING: char = '*';

/// Marks a result that is not durable, although durability was requested.
pub(super) const NOT_DURABLE: char = '‡';

/// Marks a phase before which the kernel was only asked to drop the data of the files.
const ADVISED: char = '°';

/// Every sign with its meaning.
pub(crate) const LEGEND: [(char, &str); 14] = [
    ('↑', "higher is better"),
    ('↓', "lower is better"),
    (BEST, "best: all others are worse by more than the margin"),
    (WORST, "worst: all others are better by more than the margin"),
    (EQUAL, "equal to the best within the margin"),
    (OPEN, "may be as good as the best: not enough rounds to say"),
    (UNSTEADY, "varies by more than 10 % between rounds"),
    (PARTIAL, "failed in some round; the result is from the others"),
    (OVERHEAD, "fsarena itself takes more than 5 % of the time"),
    (WAITING, "not all rounds have run yet"),
    (LOWER_BOUND, "cut short by a time limit; it is at least this"),
    (LACKING, "lacks results that others have; not ranked"),
    (NOT_DURABLE, "not durable, so not ranked: its syncs never reach the disk"),
    (
        ADVISED,
        "cache dropped on request (advised), not cold: names and attributes may be in memory",
    ),
];

/// Returns the meaning of a sign. Results given as a single number do not show how they vary.
pub(crate) const fn legend_text(sign: char, meaning: &'static str, single: bool) -> &'static str {
    match (sign, single) {
        (OPEN, true) => "may be as good as the best: one number each does not say",
        _ => meaning,
    }
}

/// Returns the whole table: the tests, then the sweeps.
pub(crate) fn overview<'a>(
    results: &'a CampaignResults,
    analysis: &'a Analysis,
) -> Vec<TestBlock<'a>> {
    let shown = |row: &'a ResultRow| row.shown.then(|| phase_line(row));
    let mut blocks = test_blocks(results, analysis, shown);
    blocks.extend(sweeps::blocks(results, analysis));
    blocks
}

/// Returns a block for each test that is not a point of a sweep, with the lines given by its rows.
pub(crate) fn test_blocks<'a>(
    results: &'a CampaignResults,
    analysis: &'a Analysis,
    line: impl Fn(&'a ResultRow) -> Option<PhaseLine<'a>>,
) -> Vec<TestBlock<'a>> {
    let mut lines: BTreeMap<(&str, &str), Vec<PhaseLine<'a>>> = BTreeMap::new();
    for row in &analysis.rows {
        let of_test = (row.suite.as_str(), row.test.as_str());
        lines.entry(of_test).or_default().extend(line(row));
    }
    let tests = results.campaign.suites.iter().flat_map(|s| &s.tests);
    let tests = tests.enumerate().filter(|(_, test)| test.sweep.is_none());
    let blocks = tests.map(|(number, test)| TestBlock {
        test,
        number: Some(number),
        name: sanitize_line(&test.name),
        title: sanitize_line(&test.title),
        lines: lines.remove(&(test.suite.as_str(), test.name.as_str())).unwrap_or_default(),
    });
    blocks.collect()
}

fn phase_line(row: &ResultRow) -> PhaseLine<'_> {
    let phase = sanitize_line(&row.phase);
    // The unit of a time does not identify the metric.
    let label = match row.metric {
        Metric::LatencyP99
        | Metric::SyncP99
        | Metric::Cpu
        | Metric::SpaceTaken
        | Metric::Compression
        | Metric::MinorFaults
        | Metric::MajorFaults => format!("{phase} {}", row.metric),
        _ => phase,
    };
    let label = match row.caches.contains(&CacheState::FadviseDontNeed) {
        true => format!("{label}{ADVISED}"),
        false => label,
    };
    line(row, label, &row_scale(row))
}

/// Creates the line of a row with a label and a scale.
pub(crate) fn line<'a>(row: &'a ResultRow, label: String, scale: &UnitScale) -> PhaseLine<'a> {
    PhaseLine {
        row: Some(row),
        label,
        rule: None,
        // A feature either works or does not.
        unit: match row.metric {
            Metric::Supported => String::new(),
            _ => format!("{} {}", scale.symbol(), labels::arrow(row.direction)),
        },
        entries: row.results.iter().map(|result| entry(row, result, scale)).collect(),
    }
}

/// Returns the style and the sign of a rank. A contender between the best and the worst has no
/// sign.
pub(crate) fn rank_symbol(place: Option<&Rank>) -> (Style, Option<char>) {
    match place {
        Some(place) if place.best => (Style::Best, Some(BEST)),
        Some(place) if place.worst => (Style::Worst, Some(WORST)),
        Some(place) if place.is_equal() => (Style::Plain, Some(EQUAL)),
        Some(place) if place.shortlisted => (Style::Plain, Some(OPEN)),
        _ => (Style::Plain, None),
    }
}

/// Returns the scale of a row, based on the middle one of its medians.
pub(crate) fn row_scale(row: &ResultRow) -> UnitScale {
    let medians = row.results.iter().filter_map(|f| Some(f.estimate?.median));
    UnitScale::for_metric(row.metric, medians)
}

/// Returns the table entry of one result.
pub(crate) fn entry(row: &ResultRow, result: &MetricResult, scale: &UnitScale) -> TableCell {
    match &result.estimate {
        Some(estimate) => number(row, result, estimate, scale),
        None => TableCell {
            text: status_summary(result),
            signs: String::new(),
            tone: if result.has_failed_rounds() { Style::Failed } else { Style::Missing },
        },
    }
}

fn number(
    row: &ResultRow,
    result: &MetricResult,
    estimate: &RobustEstimate,
    scale: &UnitScale,
) -> TableCell {
    let (tone, sign) = rank_symbol(result.place.as_ref());
    let bound = result.is_lower_bound(row.metric).then_some(LOWER_BOUND);
    let signs = [
        sign,
        estimate.is_unstable().then_some(UNSTEADY),
        result.has_failed_rounds().then_some(PARTIAL),
        result.is_largely_overhead().then_some(OVERHEAD),
        result.is_incomplete().then_some(WAITING),
        result.not_durable.then_some(NOT_DURABLE),
    ];
    TableCell {
        text: bound.into_iter().chain(value(row.metric, estimate.median, scale).chars()).collect(),
        signs: signs.into_iter().flatten().collect(),
        tone,
    }
}

/// Returns a number, or "yes" for a feature that was tried and worked.
fn value(metric: Metric, median: f64, scale: &UnitScale) -> String {
    if metric == Metric::Supported && median == 1.0 {
        "yes".to_owned()
    } else {
        scale.number(median)
    }
}

/// Text for a contender without any result in a test.
pub(crate) const NO_RESULT: &str = "none";

/// Returns the status of a result without a value: `failed`, `failed/crashed`, or "none" if no
/// cell was planned.
pub(crate) fn status_summary(result: &MetricResult) -> String {
    let words: Vec<&str> = result.outcome_counts().iter().map(|(o, _)| o.name()).collect();
    match words.is_empty() {
        true => NO_RESULT.to_owned(),
        false => words.join("/"),
    }
}

/// Returns the statuses with the numbers of rounds: `failed in 2 of 3 rounds`.
pub(crate) fn status_counts(result: &MetricResult) -> String {
    let rounds = result.planned_rounds();
    let counts: Vec<String> = result
        .outcome_counts()
        .iter()
        .map(|(outcome, count)| match outcome {
            RoundOutcome::NotRun => format!("{outcome}: {count} of {rounds} rounds"),
            _ => format!("{outcome} in {count} of {rounds} rounds"),
        })
        .collect();
    match counts.is_empty() {
        true => NO_RESULT.to_owned(),
        false => counts.join(", "),
    }
}

/// Returns the legend of the signs that occur in the table.
pub(crate) fn legend(blocks: &[TestBlock<'_>]) -> Vec<(char, &'static str)> {
    let lines = || blocks.iter().flat_map(|block| &block.lines);
    let occurs = |sign: char| {
        lines().any(|line| {
            line.unit.contains(sign)
                || sign == ADVISED && line.label.ends_with(sign)
                || line.entries.iter().any(|e| e.signs.contains(sign) || e.text.starts_with(sign))
        })
    };
    LEGEND.into_iter().filter(|(sign, _)| occurs(*sign)).collect()
}

impl Table {
    /// Creates a table of tests with a column for each contender.
    pub(crate) fn of_contenders(names: &[String], blocks: &[TestBlock<'_>]) -> Self {
        let mut table = Self::of_lines(names, &[]);
        for block in blocks {
            table.rows.push(Row::Group(block.name.clone(), block.title.clone()));
            table.add_lines(&block.lines);
        }
        table
    }

    /// Creates a table of the phases of one test with a column for each contender.
    pub(crate) fn of_lines(names: &[String], lines: &[PhaseLine<'_>]) -> Self {
        let numbers = ["unit"].into_iter().chain(names.iter().map(String::as_str));
        let numbers = numbers.map(|name| Column { name: name.to_owned(), right: true });
        let label = Column { name: "phase".to_owned(), right: false };
        let columns = [label].into_iter().chain(numbers).collect();
        let mut table = Self { columns, labels: 2, ..Self::default() };
        table.add_lines(lines);
        table
    }

    fn add_lines(&mut self, lines: &[PhaseLine<'_>]) {
        for line in lines {
            self.rows.extend(line.rule.clone().map(Row::Rule));
            let labels = [line.label.clone().into(), line.unit.clone().into()];
            self.push(labels.into_iter().chain(line.entries.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    #[test]
    fn every_entry_has_a_text() {
        let results = fixture::hostile();
        let analysis = analyse(&results);
        for block in overview(&results, &analysis) {
            let rows = analysis.rows.iter().filter(|row| row.shown && row.test == block.test.name);
            assert_eq!(block.lines.len(), rows.count());
            assert!(block.lines.len() >= block.test.phases.len());
            for entry in block.lines.iter().flat_map(|line| &line.entries) {
                assert!(!entry.text.is_empty());
            }
        }
    }

    #[test]
    fn the_documents_explain_every_word_instead_of_a_number() {
        let page = include_str!("../../../../docs/reading-a-result.md");
        let outcomes = RoundOutcome::ALL.into_iter().filter(|outcome| *outcome != RoundOutcome::Ok);
        for word in outcomes.map(RoundOutcome::name).chain([NO_RESULT, "not ranked"]) {
            assert!(page.contains(&format!("`{word}`")), "{word}");
        }
    }

    #[test]
    fn legend_explains_exactly_the_signs_that_occur() {
        let results = fixture::plain();
        let analysis = analyse(&results);
        let signs: String =
            legend(&overview(&results, &analysis)).iter().map(|(sign, _)| *sign).collect();
        assert_eq!(signs, "↑▲▼=");
    }

    /// N* of a knee is no sign.
    #[test]
    fn legend_has_no_sign_that_only_a_label_contains() {
        let results = fixture::plain();
        let analysis = analyse(&results);
        let mut blocks = overview(&results, &analysis);
        blocks[0].lines[0].label = "read knee, N*".to_owned();
        assert!(legend(&blocks).iter().all(|(sign, _)| *sign != LACKING));
    }

    #[test]
    fn contender_equal_to_the_best_is_marked_as_equal() {
        let mut results = fixture::plain();
        // Make `middle` as fast as `fast`, with `slow` unchanged.
        let fast: Vec<_> =
            results.cells.iter().filter(|c| c.cell.contender == "fast").cloned().collect();
        for stored in results.cells.iter_mut().filter(|c| c.cell.contender == "middle") {
            let same = fast.iter().find(|f| f.cell.round == stored.cell.round);
            stored.result = same.and_then(|f| f.result.clone());
        }
        let analysis = analyse(&results);
        let blocks = overview(&results, &analysis);
        let signs = |line: usize| -> Vec<&str> {
            blocks[0].lines[line].entries.iter().map(|e| e.signs.as_str()).collect()
        };
        assert_eq!(signs(0), ["=", "=", "▼"]);
        assert_eq!(signs(1), ["=", "=", "="]);
    }

    #[test]
    fn results_that_hold_much_of_fsarena_itself_have_its_sign() {
        let results = fixture::calibrated();
        let analysis = analyse(&results);
        let blocks = overview(&results, &analysis);
        let signed = |line: usize| -> Vec<bool> {
            let entries = blocks[0].lines[line].entries.iter();
            entries.map(|e| e.signs.contains(OVERHEAD)).collect()
        };
        assert_eq!(signed(0), [true, false, false]);
        assert_eq!(signed(1), [true, true, true]);
        assert!(legend(&blocks).iter().any(|(sign, _)| *sign == OVERHEAD));
    }

    #[test]
    fn a_feature_that_works_is_a_yes_and_not_a_one() {
        assert_eq!(
            value(Metric::Supported, 1.0, &UnitScale::for_values(model::Unit::Count, [1.0])),
            "yes"
        );
    }

    #[test]
    fn a_cache_that_was_only_asked_to_drop_files_has_a_sign() {
        let mut results = fixture::plain();
        for stored in &mut results.cells {
            for phase in stored.result.iter_mut().flat_map(|r| &mut r.phases) {
                phase.cache = CacheState::FadviseDontNeed;
            }
        }
        let analysis = analyse(&results);
        let blocks = overview(&results, &analysis);
        assert!(blocks[0].lines.iter().all(|line| line.label.ends_with(ADVISED)));
        assert!(legend(&blocks).iter().any(|(sign, _)| *sign == ADVISED));
    }

    #[test]
    fn a_total_that_was_cut_short_is_shown_as_a_lower_bound() {
        let mut results = fixture::realistic();
        for stored in &mut results.cells {
            for phase in stored.result.iter_mut().flat_map(|r| &mut r.phases) {
                phase.time_limited = phase.phase == "mkfs" && stored.cell.contender == "xfs";
            }
        }
        let analysis = analyse(&results);
        let blocks = overview(&results, &analysis);
        let xfs = &blocks[0].lines[0].entries[4];
        assert!(xfs.text.starts_with(LOWER_BOUND), "{xfs:?}");
        assert!(legend(&blocks).iter().any(|(sign, _)| *sign == LOWER_BOUND));
    }
}
