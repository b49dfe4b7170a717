//! Renders one cell with all its details as text. Pure.

use model::{
    CacheState, CellRecord, CellResult, CommandRecord, Failure, Features, HostNoise, Iteration,
    LatencyBucket, Nanos, PhaseResult, ProbeResult,
};
use report::{Block, Document, Item, Table, UnitScale};

use crate::output::text::{document_text, moment};

/// Meaning of the mark of a metric.
const LEGEND: &str = "* the metric that tables show and rank";
/// Minimum number of samples for a 99th percentile below the longest.
const MIN_SAMPLES_OF_P99: u64 = 100;

/// Renders the page of a cell.
pub fn text(stored: &CellRecord) -> String {
    document_text(&document(stored))
}

fn document(stored: &CellRecord) -> Document {
    let cell = &stored.cell;
    let mut document = Document::titled(format!(
        "cell {}: {}, {}/{}, round {}, seed {}",
        cell.id.0, cell.contender, cell.suite, cell.test, cell.round, cell.seed
    ));
    let Some(result) = &stored.result else {
        document.paragraph("not run yet");
        return document;
    };
    document.paragraph(format!(
        "{}{}, begun {}{}",
        result.status,
        // The duration of an imported cell is unknown.
        match result.elapsed {
            Nanos(0) => String::new(),
            took => format!(" after {took}"),
        },
        moment(result.started),
        if result.from_cache { ", from the cache: an equal cell was run then" } else { "" }
    ));
    document.blocks.extend(result.remarks.iter().cloned().map(Block::Paragraph));
    document.blocks.extend(disturbances(result).map(Block::Warning));
    document.blocks.extend(result.failure.iter().flat_map(failure));
    for (number, phase) in result.phases.iter().enumerate() {
        let legend = (number == 0).then(|| Block::Note(LEGEND.to_owned()));
        document
            .section(format!("phase {}", phase.phase), of_phase(phase).into_iter().chain(legend));
    }
    for step in &result.steps {
        document.section(format!("step {}", step.step), of_step(step));
    }
    document.section("features", [Block::Facts(features(&result.features))]);
    document.section("kernel log", [kernel_log(result)]);
    document
}

/// Returns sentences on large disturbances by other processes, and on a repetition of the cell.
fn disturbances(result: &CellResult) -> impl Iterator<Item = String> {
    let much = |result: &CellResult| result.disturbance.filter(HostNoise::is_significant);
    let last = much(result).map(|what| format!("disturbed: {what}"));
    let first = result.first.as_ref().map(|first| {
        let what = much(first).map_or_else(String::new, |what| format!(", disturbed: {what}"));
        format!("ran once before, {} after {}{what}", first.status, first.elapsed)
    });
    last.into_iter().chain(first)
}

fn failure(failure: &Failure) -> impl Iterator<Item = Block> {
    let error = failure.error.as_ref();
    let error =
        error.map(|error| format!("{} gave {} ({})", error.call, error.name, error.errno).into());
    let reason = Item::new(failure.step.as_str(), failure.reason.as_str());
    let facts = Block::List([reason].into_iter().chain(error).collect());
    [facts].into_iter().chain(failure.stacks.iter().cloned().map(Block::Verbatim))
}

fn of_phase(phase: &PhaseResult) -> Vec<Block> {
    let summary = format!(
        "{}, cache {}{}{}{}",
        phase.status,
        phase.cache,
        match (phase.elapsed, phase.cache) {
            (Nanos(0), CacheState::Unknown) => String::new(),
            (wall, _) => format!(", {wall}"),
        },
        passes(&phase.passes),
        if phase.time_limited { ", cut short by its time limit" } else { "" }
    );
    let mut table = Table::new(&["", "metric", "value"]);
    for number in phase.measurements() {
        let scale = UnitScale::for_metric(number.metric, [number.value]);
        let mark = if number.metric == phase.primary_metric { "*" } else { "" };
        table.push([mark.to_owned(), number.metric.to_string(), scale.with_unit(number.value)]);
    }
    let failure = phase.failure.iter().flat_map(failure);
    let blocks = [Block::Paragraph(summary)].into_iter().chain(failure).chain(of_hosts(phase));
    blocks.chain([Block::Table(table)]).chain(few_samples(phase)).collect()
}

/// Returns the work of each host, if several ran the phase together.
fn of_hosts(phase: &PhaseResult) -> Option<Block> {
    let mut table = Table::new(&["host", "operations", "bytes", "finished after"]);
    for host in &phase.hosts {
        table.push([
            host.host.clone(),
            host.operations.to_string(),
            host.bytes.to_string(),
            host.elapsed.to_string(),
        ]);
    }
    (!phase.hosts.is_empty()).then_some(Block::Table(table))
}

/// Returns a note if the highest percentiles are the longest operation.
fn few_samples(phase: &PhaseResult) -> Option<Block> {
    let count = |buckets: &[LatencyBucket]| buckets.iter().map(|bucket| bucket.1).sum::<u64>();
    let counts = [count(&phase.latency), count(&phase.sync)];
    let least = counts.into_iter().filter(|count| *count > 0).min()?;
    (least < MIN_SAMPLES_OF_P99).then(|| {
        Block::Note(format!(
            "{least} samples: fewer than {MIN_SAMPLES_OF_P99} have no 99th percentile but the longest"
        ))
    })
}

/// Returns the number of passes of a phase, whose counts are totals, and their range of durations.
fn passes(passes: &[Iteration]) -> String {
    let walls = || passes.iter().map(|pass| pass.elapsed);
    match walls().min().zip(walls().max()) {
        Some((least, most)) => format!(" in {} passes of {least} to {most}", passes.len()),
        None => String::new(),
    }
}

fn of_step(step: &CommandRecord) -> [Block; 3] {
    let end = match (step.exit, step.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "never ended".to_owned(),
    };
    let command: Vec<String> = step.command.iter().map(|word| model::shell_quote(word)).collect();
    [
        Block::Paragraph(format!("{end}, {}", step.elapsed)),
        Block::Paragraph(format!("$ {}", command.join(" "))),
        Block::Verbatim(step.output.clone()),
    ]
}

fn features(features: &Features) -> Vec<Item> {
    let facts = features.0.iter().map(|(feature, support)| {
        let found = match support {
            ProbeResult::Yes => "yes".to_owned(),
            ProbeResult::UpTo(size) => format!("up to {}", size.format_limit()),
            ProbeResult::No(reason) => format!("no: {reason}"),
        };
        Item::new(feature.to_string(), found)
    });
    facts.collect()
}

fn kernel_log(result: &CellResult) -> Block {
    if !result.kernel_log_readable {
        return Block::Paragraph("could not be read".to_owned());
    }
    if result.kernel_log.is_empty() {
        return Block::Paragraph("nothing".to_owned());
    }
    let lines: Vec<&str> = result.kernel_lines().map(String::as_str).collect();
    Block::Verbatim(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Nanos;

    use crate::fixture;

    #[test]
    fn a_failed_cell_shows_all_its_evidence() {
        insta::assert_snapshot!(text(&fixture::failed_cell()));
    }

    #[test]
    fn few_samples_are_named() {
        let mut cell = fixture::failed_cell();
        let note = "samples: fewer than 100 have no 99th percentile but the longest";
        assert!(!text(&cell).contains(note));
        cell.result.as_mut().unwrap().phases[0].latency[0].1 = 16;
        assert!(text(&cell).contains(&format!("16 {note}")));
    }

    #[test]
    fn names_of_a_report_from_elsewhere_move_no_cursor() {
        let hostile = "\u{1b}[2J";
        let mut cell = fixture::failed_cell();
        (cell.cell.suite, cell.cell.test) = (hostile.into(), hostile.into());
        let result = cell.result.as_mut().unwrap();
        let failures = result.phases.iter_mut().filter_map(|phase| phase.failure.as_mut());
        for failure in failures.chain(&mut result.failure) {
            failure.step = hostile.into();
            if let Some(error) = &mut failure.error {
                (error.call, error.name) = (hostile.into(), hostile.into());
            }
        }
        result.phases.iter_mut().for_each(|phase| phase.phase = hostile.into());
        result.steps.iter_mut().for_each(|step| step.step = hostile.into());
        assert!(!text(&cell).contains('\u{1b}'));
    }

    #[test]
    fn shows_that_a_cell_has_not_run() {
        let cell = CellRecord { result: None, ..fixture::failed_cell() };
        assert!(text(&cell).ends_with("not run yet\n"));
    }

    #[test]
    fn shows_the_disturbance_that_caused_a_rerun() {
        let mut cell = fixture::failed_cell();
        let result = cell.result.as_mut().unwrap();
        let first = result.clone();
        result.first = Some(Box::new(CellResult {
            disturbance: Some(HostNoise {
                processors: 1,
                elapsed: Nanos::from_secs(10),
                other_cpu_time: Nanos::from_secs(6),
                ..HostNoise::default()
            }),
            ..first
        }));
        let text = text(&cell);
        assert!(text.contains("ran once before, failed after"), "{text}");
        assert!(text.contains("disturbed: other processes 60 % of"), "{text}");
    }

    #[test]
    fn shows_cached_cells_and_remarks() {
        let mut cell = fixture::failed_cell();
        let result = cell.result.as_mut().unwrap();
        result.from_cache = true;
        result.remarks = vec!["the guest was started twice".into()];
        let text = text(&cell);
        assert!(text.contains("from the cache"), "{text}");
        assert!(text.contains("\nthe guest was started twice\n"), "{text}");
    }
}
