//! The charts of the page: one for every metric of every phase, each with the table behind it.

use analyse::{Analysis, Figure, Row};
use model::{CacheState, CampaignResults, Direction, Metric, Test};

use super::{phase_id, test_id, tone_class};
use crate::overview::{entry, scale_of, status_counts};
use crate::scale::three_figures;
use crate::svg::{Bar, Chart, LABEL_COLUMNS, Value, draw};
use crate::text::{clean, prose, short_names, shorten};
use crate::{Scale, words};

/// The widest a contender's name may be in the table behind a chart.
const NAME_COLUMNS: usize = 40;

/// A test with all its phases.
pub(super) struct TestView {
    pub id: String,
    pub name: String,
    pub path: String,
    pub title: String,
    pub rationale: String,
    pub source: String,
    pub phases: Vec<PhaseView>,
}

/// A phase with the chart that judges it, and the others.
pub(super) struct PhaseView {
    pub id: String,
    pub name: String,
    pub headline: Option<ChartView>,
    pub others: Vec<ChartView>,
}

/// A chart and the table behind it.
pub(super) struct ChartView {
    pub title: &'static str,
    pub notes: Vec<String>,
    pub svg: String,
    pub unit: &'static str,
    pub figures: Vec<FigureView>,
}

/// A line of the table behind a chart.
pub(super) struct FigureView {
    pub contender: String,
    pub class: &'static str,
    pub median: String,
    pub interval: String,
    pub confidence: String,
    pub rounds: String,
    pub variation: String,
    pub rank: String,
}

pub(super) fn tests(results: &CampaignResults, analysis: &Analysis) -> Vec<TestView> {
    let labels = short_names(&analysis.contenders, LABEL_COLUMNS);
    let suites = results.campaign.suites.iter();
    let tests = suites.flat_map(|suite| suite.tests.iter().map(move |test| (suite, test)));
    // The points of a sweep are shown together.
    tests
        .enumerate()
        .filter(|(_, (_, test))| test.sweep.is_none())
        .map(|(index, (suite, test))| TestView {
            id: test_id(index),
            name: clean(&test.name),
            path: path(test),
            title: clean(&test.title),
            rationale: prose(&test.rationale),
            source: clean(&suite.source),
            phases: phases(index, test, analysis, &labels),
        })
        .collect()
}

/// `suite / test`, or one word where both have the same.
fn path(test: &Test) -> String {
    if test.suite == test.name {
        clean(&test.name)
    } else {
        clean(&format!("{} / {}", test.suite, test.name))
    }
}

/// Every phase but those that try a feature: their answers are in the feature table.
fn phases(index: usize, test: &Test, analysis: &Analysis, labels: &[String]) -> Vec<PhaseView> {
    let phases = test.phases.iter().enumerate();
    phases
        .filter(|(_, phase)| phase.op.headline() != Metric::Supported)
        .map(|(number, phase)| {
            let rows = analysis
                .rows
                .iter()
                .filter(|r| r.suite == test.suite && r.test == test.name && r.phase == phase.name);
            let (headline, others): (Vec<&Row>, Vec<&Row>) = rows.partition(|r| r.headline);
            PhaseView {
                id: phase_id(index, number),
                name: clean(&phase.name),
                headline: headline.first().map(|row| chart(row, labels)),
                others: others.into_iter().map(|row| chart(row, labels)).collect(),
            }
        })
        .collect()
}

fn chart(row: &Row, labels: &[String]) -> ChartView {
    let scale = scale_of(row);
    let order = reading_order(row);
    let chart = Chart {
        description: format!(
            "Bar chart: {} of {}, {}, by contender; the table behind it has the numbers.",
            words::title(row.metric),
            clean(&row.phase),
            words::direction(row.direction)
        ),
        unit: scale.symbol().to_owned(),
        bars: order
            .iter()
            .map(|i| bar(row, &row.figures[*i], &labels[*i], &scale))
            .collect(),
    };
    ChartView {
        title: words::title(row.metric),
        notes: notes(row),
        svg: draw(&chart),
        unit: scale.symbol(),
        figures: order
            .iter()
            .map(|i| figure(row, &row.figures[*i], &scale))
            .collect(),
    }
}

/// What is judged comes best first, what is not in the campaign's order; what has no figure last.
fn reading_order(row: &Row) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.figures.len()).collect();
    let median = |i: &usize| row.figures[*i].estimate.map(|e| e.median);
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

fn notes(row: &Row) -> Vec<String> {
    let mut notes = vec![words::direction(row.direction).to_owned()];
    if row.caches.iter().any(|cache| *cache != row.cache) {
        let taken: Vec<&str> = row.caches.iter().map(|c| words::cache(*c)).collect();
        let planned = words::cache(row.cache);
        notes.push(format!(
            "planned: {planned}, taken: {}",
            taken.join(" and ")
        ));
    } else if row.cache != CacheState::None {
        notes.push(words::cache(row.cache).to_owned());
    }
    if row.cache != CacheState::None {
        notes.push(words::end(row.ends).to_owned());
    }
    notes.extend(words::not_ranked(row.ranking).map(str::to_owned));
    notes
}

fn bar(row: &Row, figure: &Figure, label: &str, scale: &Scale) -> Bar {
    let shown = entry(row, figure, scale);
    match &figure.estimate {
        None => Bar {
            label: label.to_owned(),
            text: status_counts(figure),
            tone: shown.tone,
            value: Value::Word,
        },
        Some(estimate) => Bar {
            label: label.to_owned(),
            text: format!("{}{}", shown.text, shown.signs),
            tone: shown.tone,
            value: Value::Figure {
                median: scale.scaled(estimate.median),
                interval: (estimate.rounds > 1).then(|| {
                    let interval = estimate.interval;
                    (scale.scaled(interval.low), scale.scaled(interval.high))
                }),
                rounds: figure
                    .rounds
                    .iter()
                    .filter_map(|r| Some(scale.scaled(r.value?)))
                    .collect(),
            },
        },
    }
}

fn figure(row: &Row, figure: &Figure, scale: &Scale) -> FigureView {
    let shown = entry(row, figure, scale);
    let estimate = figure.estimate.as_ref();
    FigureView {
        contender: shorten(&clean(&figure.contender), NAME_COLUMNS),
        class: tone_class(shown.tone),
        median: format!("{}{}", shown.text, shown.signs),
        interval: estimate.map_or_else(String::new, |e| {
            format!(
                "{} … {}",
                scale.number(e.interval.low),
                scale.number(e.interval.high)
            )
        }),
        confidence: estimate.map_or_else(String::new, |e| {
            format!("{} %", three_figures(e.interval.confidence * 100.0))
        }),
        rounds: rounds(figure, scale),
        variation: estimate
            .and_then(|e| e.variation)
            .map_or_else(String::new, |v| format!("{} %", three_figures(v))),
        rank: figure.place.map_or_else(String::new, |place| {
            let tied = if place.tied_with > 0 { "=" } else { "" };
            format!("{}{tied}", place.rank)
        }),
    }
}

/// The single rounds, in order, with the word where one has no value.
fn rounds(figure: &Figure, scale: &Scale) -> String {
    let rounds: Vec<String> = figure
        .rounds
        .iter()
        .map(|round| match round.value {
            Some(value) => scale.number(value),
            None => round.outcome.to_string(),
        })
        .collect();
    rounds.join("; ")
}
