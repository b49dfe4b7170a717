//! Tests of the page: for each phase, the table of its primary metric. The script draws the chart
//! above it, and all other metrics, from the same numbers.

use model::{CacheState, CampaignResults, Direction, Test};
use stats::{Analysis, MetricResult, ResultRow};

use super::data::{PhaseNumbers, rows_by_phase};
use super::{phase_id, test_id, tone_class};
use crate::UnitScale;
use crate::tables::overview::{entry, row_scale, status_counts};
use crate::text::conclusions::describe_rank;
use crate::text::labels;
use crate::text::sanitize::{sanitize_line, sanitize_paragraph, shorten};
use crate::text::scale::three_digits;

/// Maximum width of a contender's name in the table of a chart.
const NAME_COLUMNS: usize = 40;

/// A test with all its phases.
pub(super) struct TestView {
    pub id: String,
    /// Index among all tests.
    pub number: usize,
    pub path: String,
    pub title: String,
    pub rationale: String,
    pub source: String,
    pub phases: Vec<PhaseView>,
}

/// A phase with its primary metric.
pub(super) struct PhaseView {
    pub id: String,
    /// Index in the data of the script.
    pub number: usize,
    pub name: String,
    pub title: &'static str,
    pub notes: Vec<String>,
    pub unit: &'static str,
    pub results: Vec<ResultView>,
}

/// A line of the table of a chart.
pub(super) struct ResultView {
    /// Index of the contender.
    pub number: usize,
    pub contender: String,
    pub class: &'static str,
    pub median: String,
    pub interval: String,
    pub confidence: String,
    pub rounds: String,
    pub variation: String,
    pub place: String,
}

pub(super) fn tests(
    results: &CampaignResults,
    analysis: &Analysis,
    numbers: &PhaseNumbers,
) -> Vec<TestView> {
    let rows = rows_by_phase(analysis);
    let suites = results.campaign.suites.iter();
    let tests = suites.flat_map(|suite| suite.tests.iter().map(move |test| (suite, test)));
    // All points of a sweep are shown together.
    let tests = tests.enumerate().filter(|(_, (_, test))| test.sweep.is_none());
    let view = |(index, (suite, test)): (usize, (&model::Suite, &Test))| TestView {
        id: test_id(index),
        number: index,
        path: path(test),
        title: sanitize_line(&test.title),
        rationale: sanitize_paragraph(&test.rationale),
        source: sanitize_line(&suite.source),
        phases: test
            .phases
            .iter()
            .enumerate()
            .filter_map(|(place, phase)| {
                let key = (test.suite.as_str(), test.name.as_str(), phase.name.as_str());
                let number = *numbers.get(&(index, place))?;
                Some(of_phase(phase_id(index, place), number, rows.get(&key)?.first()?))
            })
            .collect(),
    };
    tests.map(view).collect()
}

/// Returns `suite / test`, or only one name if both are equal.
fn path(test: &Test) -> String {
    if test.suite == test.name {
        sanitize_line(&test.name)
    } else {
        sanitize_line(&format!("{} / {}", test.suite, test.name))
    }
}

fn of_phase(id: String, number: usize, row: &ResultRow) -> PhaseView {
    let scale = row_scale(row);
    PhaseView {
        id,
        number,
        name: sanitize_line(&row.phase),
        title: labels::title(row.metric),
        notes: notes(row),
        unit: scale.symbol(),
        results: reading_order(row).into_iter().map(|place| result(row, place, &scale)).collect(),
    }
}

/// Returns the order of the contenders: best first if the metric has a direction, otherwise as in
/// the campaign. Contenders without a result are last.
pub(super) fn reading_order(row: &ResultRow) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.results.len()).collect();
    let median = |i: &usize| row.results[*i].estimate.map(|e| e.median);
    order.sort_by(|a, b| match (median(a), median(b)) {
        (Some(a), Some(b)) => match row.direction {
            Direction::Higher => b.total_cmp(&a),
            Direction::Lower => a.total_cmp(&b),
            Direction::Neutral => std::cmp::Ordering::Equal,
        },
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    order
}

/// Returns the notes in the caption of a result: which direction is better, the cache state, the
/// end of the phase.
pub(super) fn notes(row: &ResultRow) -> Vec<String> {
    let mut notes = vec![labels::direction(row.direction).to_owned()];
    if row.caches.iter().any(|cache| *cache != row.cache) {
        let taken: Vec<&str> = row.caches.iter().map(|c| labels::cache(*c)).collect();
        let planned = labels::cache(row.cache);
        notes.push(format!("planned: {planned}, taken: {}", taken.join(" and ")));
    } else if row.cache != CacheState::None && row.cache != CacheState::Unknown {
        notes.push(labels::cache(row.cache).to_owned());
    }
    if row.cache != CacheState::None && row.cache != CacheState::Unknown {
        notes.push(labels::end(row.ends).to_owned());
    }
    notes.extend(labels::not_ranked(row.ranking).map(str::to_owned));
    let apart = row.results.iter().filter(|f| f.set_apart);
    let apart: Vec<String> =
        apart.map(|f| shorten(&sanitize_line(&f.contender), NAME_COLUMNS)).collect();
    if !apart.is_empty() {
        let apart = apart.join(", ");
        notes.push(format!("not ranked, as a baseline or not durable: {apart}"));
    }
    notes
}

fn result(row: &ResultRow, place: usize, scale: &UnitScale) -> ResultView {
    let result = &row.results[place];
    let shown = entry(row, result, scale);
    let estimate = result.estimate.as_ref();
    ResultView {
        number: place,
        contender: shorten(&sanitize_line(&result.contender), NAME_COLUMNS),
        class: tone_class(shown.tone),
        median: match estimate {
            Some(_) => format!("{}{}", shown.text, shown.signs),
            None => status_counts(result),
        },
        interval: estimate.map_or_else(String::new, |e| labels::interval(e, |v| scale.number(v))),
        confidence: estimate.map_or_else(String::new, |e| {
            format!("{} %", three_digits(e.interval.confidence * 100.0))
        }),
        rounds: rounds(result, scale),
        variation: estimate
            .and_then(|e| e.variation)
            .map_or_else(String::new, |v| format!("{} %", three_digits(v))),
        place: result.place.as_ref().map_or_else(String::new, describe_rank),
    }
}

/// Returns the single rounds, in order, with the status of rounds without a value.
fn rounds(result: &MetricResult, scale: &UnitScale) -> String {
    let rounds: Vec<String> = result
        .rounds
        .iter()
        .map(|round| match round.value {
            Some(value) => scale.number(value),
            None => round.outcome.to_string(),
        })
        .collect();
    rounds.join("; ")
}
