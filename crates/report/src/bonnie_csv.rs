//! The lines that bonnie++ 2.00 writes, so that its own `bon_csv2html` and `bon_csv2txt` show ours.
//!
//! One line for each contender, with the medians over its rounds: bon_csv2html colours each column
//! by comparing lines, and lines of rounds would be compared with each other. Format: version 1.98,
//! fifty columns, as in bon_csv2html(1) and in the source of bonnie++ 2.00 (`bon_csv2html.cpp`,
//! `bon_csv2txt.in`). What bonnie++ did not do it leaves empty, and so is a phase that is not ok. The
//! readers know no quoting and do not escape, so names lose what would break them.

use analyse::{Analysis, Figure};
use model::{CampaignResults, Metric, Op, Phase};

/// The value that both readers insist on in the first column.
const FORMAT_VERSION: &str = "1.98";
/// The version whose format this is.
const BONNIE_VERSION: &str = "2.00";
/// The longest name: the readers take lines of at most 1023 bytes.
const LONGEST_NAME: usize = 60;

/// Phases of a column pair, in bonnie++'s order: test, phase, and the figure it reports.
type Columns<const N: usize> = [(&'static str, &'static str, Metric); N];

const INPUT_OUTPUT: Columns<6> = [
    ("bonnie-chars", "putc", Metric::Throughput),
    ("bonnie-block", "write", Metric::Throughput),
    ("bonnie-block", "rewrite", Metric::Throughput),
    ("bonnie-chars", "getc", Metric::Throughput),
    ("bonnie-block", "read", Metric::Throughput),
    ("bonnie-block", "seek", Metric::Rate),
];

const FILES: Columns<6> = [
    ("bonnie-files", "create-seq", Metric::Rate),
    ("bonnie-files", "stat-seq", Metric::Rate),
    ("bonnie-files", "delete-seq", Metric::Rate),
    ("bonnie-files", "create-random", Metric::Rate),
    ("bonnie-files", "stat-random", Metric::Rate),
    ("bonnie-files", "delete-random", Metric::Rate),
];

pub(crate) fn render(results: &CampaignResults, analysis: &Analysis) -> String {
    (0..analysis.contenders.len())
        .map(|contender| line(results, analysis, contender))
        .collect()
}

fn line(results: &CampaignResults, analysis: &Analysis, contender: usize) -> String {
    let figures = Figures {
        analysis,
        contender,
    };
    let mut fields = vec![
        FORMAT_VERSION.to_owned(),
        BONNIE_VERSION.to_owned(),
        safe_name(&analysis.contenders[contender], contender),
        "1".to_owned(),
        results.campaign.seed.to_string(),
    ];
    fields.extend(file_shape(results));
    fields.extend(INPUT_OUTPUT.iter().flat_map(|column| figures.speed(column)));
    fields.extend(set_shape(results));
    fields.extend(FILES.iter().flat_map(|column| figures.speed(column)));
    let latencies = INPUT_OUTPUT.iter().chain(&FILES);
    fields.extend(latencies.map(|column| figures.latency(column)));
    format!("{}\n", fields.join(","))
}

/// File size, chunk size, number of seeks and seeking processes.
fn file_shape(results: &CampaignResults) -> [String; 4] {
    let (size, chunk) = match find(results, "bonnie-block", "write").map(|p| &p.op) {
        Some(Op::Write { size, block, .. }) => (format!("{}M", size.0 >> 20), block.0.to_string()),
        _ => (String::new(), String::new()),
    };
    let (seeks, processes) = match find(results, "bonnie-block", "seek").map(|p| &p.op) {
        Some(Op::Seek {
            operations,
            threads,
            ..
        }) => (operations.to_string(), threads.to_string()),
        _ => (String::new(), String::new()),
    };
    [size, chunk, seeks, processes]
}

/// Number of files in units of 1024, largest and smallest size, directories, chunk size.
fn set_shape(results: &CampaignResults) -> [String; 5] {
    match find(results, "bonnie-files", "create-seq").map(|p| &p.op) {
        Some(Op::Create {
            files,
            directories,
            size,
            ..
        }) => {
            let kilo = *files as f64 / 1024.0;
            let files = if kilo.fract() == 0.0 {
                kilo.to_string()
            } else {
                format!("{kilo:.2}")
            };
            let size = if size.0 == 0 {
                String::new()
            } else {
                size.0.to_string()
            };
            [
                files,
                size.clone(),
                size,
                directories.to_string(),
                String::new(),
            ]
        }
        _ => Default::default(),
    }
}

fn find<'a>(results: &'a CampaignResults, test: &str, phase: &str) -> Option<&'a Phase> {
    results
        .campaign
        .suites
        .iter()
        .flat_map(|suite| &suite.tests)
        .find(|t| t.name == test)
        .and_then(|t| t.phases.iter().find(|p| p.name == phase))
}

/// The figures of one contender.
struct Figures<'a> {
    analysis: &'a Analysis,
    contender: usize,
}

impl Figures<'_> {
    fn median(&self, test: &str, phase: &str, metric: Metric) -> Option<f64> {
        let row = self
            .analysis
            .rows
            .iter()
            .find(|r| r.test == test && r.phase == phase && r.metric == metric)?;
        let figure: &Figure = row.figures.get(self.contender)?;
        Some(figure.estimate?.median)
    }

    /// KiB or operations per second, and the processor's share.
    fn speed(&self, (test, phase, metric): &(&str, &str, Metric)) -> [String; 2] {
        let speed = self.median(test, phase, *metric);
        let share = self.median(test, phase, Metric::Cpu);
        let shown = |value: f64| match metric {
            Metric::Throughput => format!("{:.0}", value / 1024.0),
            _ if value < 1000.0 => format!("{value:.1}"),
            _ => format!("{value:.0}"),
        };
        match speed {
            Some(speed) => [
                shown(speed),
                share.map_or_else(String::new, |s| format!("{s:.0}")),
            ],
            None => Default::default(),
        }
    }

    /// The slowest operation, in the unit that bonnie++ would choose.
    fn latency(&self, (test, phase, _): &(&str, &str, Metric)) -> String {
        let Some(seconds) = self.median(test, phase, Metric::LatencyMax) else {
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

/// A name without what the readers would take for something else: they split at commas, take `#`
/// for a comment and copy all else into HTML as it is.
fn safe_name(name: &str, contender: usize) -> String {
    let safe: String = name
        .chars()
        .map(|c| match c {
            ',' => ';',
            c if c.is_ascii_alphanumeric() || " .:;=_+-/()".contains(c) => c,
            _ => '?',
        })
        .take(LONGEST_NAME)
        .collect();
    let safe = safe.trim();
    if safe.is_empty() {
        format!("contender {}", contender + 1)
    } else {
        safe.to_owned()
    }
}

#[cfg(test)]
#[path = "bonnie_csv_tests.rs"]
mod tests;
