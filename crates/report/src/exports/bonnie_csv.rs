//! Writes the CSV lines of bonnie++ 2.00, so that `bon_csv2html` and `bon_csv2txt` can show results
//! of fsarena.
//!
//! One line for each contender, with the medians over its rounds. bon_csv2html colours each column
//! by comparing lines, so that lines of rounds would be compared with each other. Format: version
//! 1.98, fifty columns, as in bon_csv2html(1) and in the source of bonnie++ 2.00
//! (`bon_csv2html.cpp`, `bon_csv2txt.in`). bonnie++ leaves fields of omitted phases empty, and so
//! does this module for a phase that is not ok. A phase that ended too soon to be timed is `+++++`.
//! The readers know no quoting and do not escape, so characters that would break them are removed
//! from names.

use model::{
    AccessPattern, CampaignResults, Metadata, MetadataAction, Metric, Op, Phase, ReadStream,
    StreamUnit, Test, TraversalOrder, WriteStream,
};
use stats::{Analysis, MetricResult, RoundOutcome};

use crate::text::sanitize::escape_formula;

/// Value that both readers require in the first column.
const FORMAT_VERSION: &str = "1.98";
/// Version of bonnie++ that uses this format.
const BONNIE_VERSION: &str = "2.00";
/// Tests with the same operations as bonnie++.
const TESTS: [&str; 3] = ["bonnie-chars", "bonnie-block", "bonnie-files"];
/// Maximum length of a name. The readers accept lines of at most 1023 bytes.
const MAX_NAME: usize = 60;

/// A pair of columns: the operation and the metric that it reports, and the phase name used if the
/// operation is unknown (results of another program).
type BonnieColumn = (fn(&Op) -> bool, Metric, &'static str);

/// Columns for reads and writes of one large file, in bonnie++'s order.
const INPUT_OUTPUT: [BonnieColumn; 6] = [
    (
        |op| matches!(op, Op::WriteStream(WriteStream { unit: StreamUnit::Char, .. })),
        Metric::Throughput,
        "write-chars",
    ),
    (|op| access(op) == Some(AccessPattern::Write), Metric::Throughput, "write"),
    (|op| access(op) == Some(AccessPattern::Rewrite), Metric::Throughput, "rewrite"),
    (
        |op| matches!(op, Op::ReadStream(ReadStream { unit: StreamUnit::Char, .. })),
        Metric::Throughput,
        "read-chars",
    ),
    (|op| access(op) == Some(AccessPattern::Read), Metric::Throughput, "read"),
    (|op| matches!(access(op), Some(AccessPattern::Seek { .. })), Metric::Rate, "seek"),
];

/// Columns for operations on many files, in bonnie++'s order.
const FILES: [BonnieColumn; 6] = [
    (|op| creates(op, TraversalOrder::Sequential), Metric::Rate, "create-seq"),
    (|op| stats(op, TraversalOrder::Sequential), Metric::Rate, "stat-seq"),
    (|op| removes(op, TraversalOrder::Sequential), Metric::Rate, "delete-seq"),
    (|op| creates(op, TraversalOrder::Random), Metric::Rate, "create-random"),
    (|op| stats(op, TraversalOrder::Random), Metric::Rate, "stat-random"),
    (|op| removes(op, TraversalOrder::Random), Metric::Rate, "delete-random"),
];

fn access(op: &Op) -> Option<AccessPattern> {
    match op {
        Op::Io(io) => Some(io.access),
        _ => None,
    }
}

fn creates(op: &Op, wanted: TraversalOrder) -> bool {
    matches!(op, Op::Create(create) if create.order == wanted)
}

fn stats(op: &Op, wanted: TraversalOrder) -> bool {
    matches!(op, Op::Metadata(Metadata { action: MetadataAction::Stat { .. }, order, .. }) if *order == wanted)
}

fn removes(op: &Op, wanted: TraversalOrder) -> bool {
    matches!(op, Op::Metadata(Metadata { action: MetadataAction::Remove { .. }, order, .. }) if *order == wanted)
}

pub(crate) fn render(results: &CampaignResults, analysis: &Analysis) -> String {
    (0..analysis.contenders.len()).map(|contender| line(results, analysis, contender)).collect()
}

fn line(results: &CampaignResults, analysis: &Analysis, contender: usize) -> String {
    let measured = BonnieValue { results, analysis, contender };
    let mut fields = vec![
        FORMAT_VERSION.to_owned(),
        BONNIE_VERSION.to_owned(),
        safe_name(&analysis.contenders[contender], contender),
        "1".to_owned(),
        results.campaign.seed.to_string(),
    ];
    fields.extend(file_shape(results));
    fields.extend(INPUT_OUTPUT.into_iter().flat_map(|column| measured.speed(column)));
    fields.extend(set_shape(results));
    fields.extend(FILES.into_iter().flat_map(|column| measured.speed(column)));
    let latencies = INPUT_OUTPUT.into_iter().chain(FILES);
    fields.extend(latencies.map(|column| measured.latency(column)));
    format!("{}\n", fields.join(","))
}

/// Returns the file size, chunk size, number of seeks and number of seeking processes.
fn file_shape(results: &CampaignResults) -> [String; 4] {
    let [mut size, mut chunk, mut seeks, mut processes] = <[String; 4]>::default();
    if let Some(Op::Io(write)) = op(results, INPUT_OUTPUT[1]) {
        let bytes = write.size.unwrap_or_default();
        (size, chunk) = (format!("{}M", bytes.0 >> 20), write.block.0.to_string());
    }
    if let Some(Op::Io(seek)) = op(results, INPUT_OUTPUT[5]) {
        let operations = seek.operations.unwrap_or_default();
        (seeks, processes) = (operations.to_string(), seek.threads.to_string());
    }
    [size, chunk, seeks, processes]
}

/// Returns the number of files in units of 1024, largest and smallest size, directories, chunk
/// size.
fn set_shape(results: &CampaignResults) -> [String; 5] {
    let Some(Op::Create(create)) = op(results, FILES[0]) else {
        return Default::default();
    };
    let units = create.entries as f64 / 1024.0;
    let files = if units.fract() == 0.0 { units.to_string() } else { format!("{units:.2}") };
    // bonnie++ omits default values: empty files in one directory.
    let unless = |usual: u64, value: u64| {
        if value == usual { String::new() } else { value.to_string() }
    };
    let size = unless(0, create.size.0);
    [files, size.clone(), size, unless(1, create.directories), String::new()]
}

/// Finds the test and phase of a column: the first phase with that operation in the bonnie tests.
fn find(results: &CampaignResults, (is_it, _, name): BonnieColumn) -> Option<(&Test, &Phase)> {
    let is_it = |phase: &&Phase| match &phase.op {
        Op::External(_) => phase.name == name,
        op => is_it(op),
    };
    results
        .campaign
        .suites
        .iter()
        .flat_map(|suite| &suite.tests)
        .filter(|test| TESTS.contains(&test.name.as_str()))
        .find_map(|test| Some((test, test.phases.iter().find(is_it)?)))
}

fn op(results: &CampaignResults, column: BonnieColumn) -> Option<&Op> {
    find(results, column).map(|(_, phase)| &phase.op)
}

/// The results of one contender.
struct BonnieValue<'a> {
    results: &'a CampaignResults,
    analysis: &'a Analysis,
    contender: usize,
}

impl BonnieValue<'_> {
    fn result(&self, column: BonnieColumn, metric: Metric) -> Option<&MetricResult> {
        let (test, phase) = find(self.results, column)?;
        let row = self
            .analysis
            .rows
            .iter()
            .find(|r| r.test == test.name && r.phase == phase.name && r.metric == metric)?;
        row.results.get(self.contender)
    }

    fn median(&self, column: BonnieColumn, metric: Metric) -> Option<f64> {
        Some(self.result(column, metric)?.estimate?.median)
    }

    /// Returns true if the phase always ended too soon to be timed.
    fn is_too_fast(&self, column: BonnieColumn) -> bool {
        let result = self.result(column, column.1);
        result.is_some_and(|result| {
            result.estimate.is_none()
                && result.rounds.iter().any(|round| round.outcome == RoundOutcome::TooFast)
        })
    }

    /// Returns the rate in KiB or operations per second, and the processor use.
    fn speed(&self, column: BonnieColumn) -> [String; 2] {
        let Some(speed) = self.median(column, column.1) else {
            return match self.is_too_fast(column) {
                true => ["+++++", "+++"].map(str::to_owned),
                false => Default::default(),
            };
        };
        let shown = match column.1 {
            Metric::Throughput => format!("{:.0}", speed / 1024.0),
            _ if speed < 1000.0 => format!("{speed:.1}"),
            _ => format!("{speed:.0}"),
        };
        let share = self.median(column, Metric::Cpu);
        [shown, share.map_or_else(String::new, |s| format!("{s:.0}"))]
    }

    /// Returns the maximum latency, in the unit that bonnie++ would choose.
    fn latency(&self, column: BonnieColumn) -> String {
        let Some(seconds) = self.median(column, Metric::LatencyMax) else {
            return String::new();
        };
        if seconds < 0.1 {
            format!("{:.0}us", seconds * 1e6)
        } else if seconds < 100.0 {
            format!("{:.0}ms", seconds * 1e3)
        } else {
            format!("{seconds:.0}s")
        }
    }
}

/// Returns a name without characters that the readers misinterpret: they split at commas, treat `#`
/// as a comment and copy the rest into HTML unchanged. The name is also not a formula in a
/// spreadsheet.
fn safe_name(name: &str, contender: usize) -> String {
    let safe: String = name
        .chars()
        .map(|c| match c {
            ',' => ';',
            c if c.is_ascii_alphanumeric() || " .:;=_+-/()".contains(c) => c,
            _ => '?',
        })
        .take(MAX_NAME)
        .collect();
    let safe = safe.trim();
    if safe.is_empty() { format!("contender {}", contender + 1) } else { escape_formula(safe) }
}

#[cfg(test)]
#[path = "bonnie_csv_tests.rs"]
mod tests;
