//! Findings other than results: features, failures with all their evidence, kernel complaints.

use model::{CommandRecord, FACT_TITLES, Feature, Status};
use stats::{Analysis, CellFailure, FeatureSupport, PhaseFailure};

use crate::text::command::quote_words;
use crate::text::failures::{FailureLine, failure_lines, with_error};
use crate::text::kernel_warnings::{ComplaintLine, complaint_lines};
use crate::text::labels;
use crate::text::sanitize::{clean_lines, sanitize_line};

/// A row of the feature table.
pub(super) struct FeatureView {
    pub title: &'static str,
    pub cells: Vec<FeatureCell>,
}

/// Findings on one feature.
pub(super) struct FeatureCell {
    pub text: String,
    pub class: &'static str,
}

/// A row of the table of facts.
pub(super) struct FactView {
    pub title: &'static str,
    pub cells: Vec<FactCell>,
}

/// A fact about one contender; empty if unknown.
pub(super) struct FactCell {
    pub text: String,
    pub source: String,
}

/// Rounds that ended with the same failure.
pub(super) struct FailureView {
    /// Index of the contender.
    pub number: usize,
    pub contender: String,
    pub place: String,
    pub rounds: String,
    pub reason: String,
    pub cells: Vec<EvidenceView>,
}

/// The evidence of one cell.
pub(super) struct EvidenceView {
    pub title: String,
    pub phases: Vec<(String, String, String)>,
    pub steps: Vec<StepView>,
    pub stacks: String,
    pub kernel_log: String,
    pub kernel_log_readable: bool,
}

/// A program that was run.
pub(super) struct StepView {
    pub name: String,
    pub command: String,
    pub end: String,
    pub output: String,
}

/// One kind of kernel complaint in cells that passed.
pub(super) struct ComplaintView {
    pub contender: String,
    pub extent: String,
    pub example: String,
    pub lines: String,
}

pub(super) fn features(analysis: &Analysis) -> Vec<FeatureView> {
    let row = |title, cell: &dyn Fn(&stats::ContenderFeatures) -> FeatureCell| FeatureView {
        title,
        cells: analysis.features.iter().map(cell).collect(),
    };
    let plain = |text: &str| FeatureCell { text: text.to_owned(), class: "plain" };
    let driver = row("Driver", &|c| plain(labels::driver(c.driver)));
    if !labels::has_tried(analysis) {
        return vec![driver];
    }
    let class = row("Class, as probed", &|c| plain(labels::class(c)));
    let mut rows = vec![class, driver];
    for (index, feature) in Feature::ALL.into_iter().enumerate() {
        rows.push(row(labels::feature(feature), &|c| found(&c.features[index].found)));
    }
    rows
}

/// Returns the catalog's facts about each contender: a row for each fact, with sources in a title.
pub(super) fn facts(analysis: &Analysis) -> Vec<FactView> {
    let facts = FACT_TITLES.into_iter().enumerate();
    let view = |(index, title): (usize, &'static str)| FactView {
        title,
        cells: analysis
            .features
            .iter()
            .map(|c| FactCell {
                text: sanitize_line(&c.facts.to_lines()[index]),
                source: sanitize_line(&c.facts.sources()[index].join("; ")),
            })
            .collect(),
    };
    facts.map(view).collect()
}

fn found(found: &FeatureSupport) -> FeatureCell {
    FeatureCell {
        text: labels::found(found),
        class: match found {
            FeatureSupport::Yes => "yes",
            FeatureSupport::UpTo(_) => "plain",
            FeatureSupport::No(_) | FeatureSupport::Varies(_) => "no",
            FeatureSupport::NotProbed => "absent",
        },
    }
}

/// Returns the cells that failed. An unsupported feature is not a failure.
pub(super) fn failed_cells(analysis: &Analysis) -> impl Iterator<Item = &CellFailure> {
    let cells = analysis.failures.iter();
    cells.filter(|cell| cell.status != Status::Unsupported)
}

/// Cells with the same outcome: the status, the number of cells, and a card for each event.
pub(super) type FailureGroup = (&'static str, usize, Vec<FailureView>);

pub(super) fn failures(analysis: &Analysis) -> Vec<FailureGroup> {
    let mut groups: Vec<FailureGroup> = Vec::new();
    for line in failure_lines(analysis) {
        let status = line.first().status.name();
        let card = failure(&line, analysis);
        match groups.iter_mut().find(|group| group.0 == status) {
            Some((_, count, cards)) => {
                *count += line.cells.len();
                cards.push(card);
            }
            None => groups.push((status, line.cells.len(), vec![card])),
        }
    }
    for (_, _, cards) in &mut groups {
        cards.sort_by(|a, b| a.reason.cmp(&b.reason));
    }
    groups
}

fn failure(line: &FailureLine<'_>, analysis: &Analysis) -> FailureView {
    let mut contenders = analysis.contenders.iter();
    let own = contenders.position(|name| *name == line.first().contender);
    FailureView {
        number: own.unwrap_or_default(),
        contender: sanitize_line(&line.first().contender),
        place: line.place(),
        rounds: line.rounds(),
        reason: line.reason(),
        cells: line.cells.iter().map(|cell| evidence(cell)).collect(),
    }
}

fn evidence(cell: &CellFailure) -> EvidenceView {
    EvidenceView {
        title: format!("Round {}, cell {}", cell.round, cell.cell.0),
        phases: cell
            .phases
            .iter()
            .map(|phase| {
                let status = phase.status.to_string();
                (sanitize_line(&phase.phase), status, reason(phase))
            })
            .collect(),
        steps: cell.steps.iter().map(step).collect(),
        stacks: clean_lines(&cell.stacks.join("\n\n")),
        kernel_log: clean_lines(&cell.kernel_log.join("\n")),
        kernel_log_readable: cell.kernel_log_readable,
    }
}

fn reason(phase: &PhaseFailure) -> String {
    match &phase.reason {
        Some(reason) => with_error(reason, phase.error.as_ref()),
        None => "an earlier step died".to_owned(),
    }
}

fn step(step: &CommandRecord) -> StepView {
    let end = match (step.exit, step.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "never ended".to_owned(),
    };
    StepView {
        name: sanitize_line(&step.step),
        command: quote_words(&step.command),
        end: format!("{end} after {}", step.elapsed),
        output: clean_lines(&step.output),
    }
}

pub(super) fn complaints(analysis: &Analysis) -> Vec<ComplaintView> {
    complaint_lines(analysis)
        .iter()
        .map(|complaint| ComplaintView {
            contender: complaint.contender(),
            extent: complaint.extent(),
            example: complaint.example(),
            lines: every_line(complaint),
        })
        .collect()
}

/// Returns each line of each event, prefixed by the test and round of its cell.
fn every_line(complaint: &ComplaintLine<'_>) -> String {
    let lines = complaint.events.iter().flat_map(|(cell, event)| {
        let place = format!("{}, round {}", sanitize_line(&cell.test), cell.round);
        let lines = event.lines.iter();
        lines.map(move |line| format!("{place}: {}", sanitize_line(line)))
    });
    lines.collect::<Vec<_>>().join("\n")
}
