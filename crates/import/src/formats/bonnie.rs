//! Parses bonnie++ output for spreadsheets: one line per run.
//!
//! Source of the format: bon_csv2html(1) and the output of bonnie++ 2.00a for versions 1.93 and
//! later, whose first column is the format version, which may end in a letter (48 columns up to
//! 1.97, 50 from 1.98, which adds the number of seeks and of seeking processes); the manual page of
//! bonnie++ 1.03 for its 27 columns, which begin with the name of the machine. Rates of a file are
//! KiB/s, others operations per second. `+++++` marks a test that was too quick to be timed: it ran,
//! and only its maximum latency has a value. Columns of tests that did not run are empty. `-x`
//! prints a line of headings first. The number of processes and the sizes and numbers of files are
//! part of the test's identity. The name may contain commas, and a mail may have wrapped the line.

use std::borrow::Cow;

use model::{ImportedResult, Metric};

use crate::campaign_builder::{CampaignBuilder, StatedNames, ok_value};
use crate::parse::number::{number, seconds};
use crate::parse::text::{lines, shortened};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Test, phase and metric of each rate, in the order of the columns.
pub const RESULTS: [(&str, &str, Metric); 12] = [
    ("bonnie-chars", "write-chars", Metric::Throughput),
    ("bonnie-block", "write", Metric::Throughput),
    ("bonnie-block", "rewrite", Metric::Throughput),
    ("bonnie-chars", "read-chars", Metric::Throughput),
    ("bonnie-block", "read", Metric::Throughput),
    ("bonnie-block", "seek", Metric::Rate),
    ("bonnie-files", "create-seq", Metric::Rate),
    ("bonnie-files", "stat-seq", Metric::Rate),
    ("bonnie-files", "delete-seq", Metric::Rate),
    ("bonnie-files", "create-random", Metric::Rate),
    ("bonnie-files", "stat-random", Metric::Rate),
    ("bonnie-files", "delete-random", Metric::Rate),
];

/// First columns of the heading line, from version 1.93 on and in version 1.03.
const HEADINGS: [[&str; 2]; 2] = [["format_version", "bonnie_version"], ["name", "file_size"]];

/// Column positions of a version.
struct BonnieLayout {
    name: usize,
    /// The first rate of the tests on one large file.
    file: usize,
    /// The first rate of the tests on many files.
    files: usize,
    latency: Option<usize>,
    columns: usize,
}

const VERSION_1_03: BonnieLayout =
    BonnieLayout { name: 0, file: 2, files: 15, latency: None, columns: 27 };
/// Maximum number of lines into which a mail wraps a result.
const MAX_WRAPPED: usize = 8;

fn layout(columns: &[&str]) -> Option<BonnieLayout> {
    let version = columns[0].strip_prefix("1.");
    let version = version.map(|version| version.trim_end_matches(|c: char| c.is_ascii_lowercase()));
    let version: Option<u32> = version.and_then(|version| version.parse().ok());
    match version {
        // Without a file (-s 0), version 1.96 omits a column.
        Some(93..=97) if columns.len() == 47 && columns[5].is_empty() => {
            Some(BonnieLayout { name: 2, file: 6, files: 23, latency: Some(35), columns: 47 })
        }
        Some(93..=97) => {
            Some(BonnieLayout { name: 2, file: 7, files: 24, latency: Some(36), columns: 48 })
        }
        Some(98..=99) => {
            Some(BonnieLayout { name: 2, file: 9, files: 26, latency: Some(38), columns: 50 })
        }
        Some(_) => None,
        None => Some(VERSION_1_03),
    }
}

/// Splits a line into columns without the blanks around them. Commas in the name do not separate
/// columns, if the columns after the name are those of a result.
fn columns(line: &str) -> Vec<Cow<'_, str>> {
    let all: Vec<&str> = line.split(',').map(str::trim).collect();
    let joined = layout(&all).and_then(|layout| {
        let more = all.len().checked_sub(layout.columns).filter(|more| *more > 0)?;
        let end = layout.name + more + 1;
        // Processes and seed follow the name, or the size of the file.
        let is_next = match layout.name {
            0 => is_size(all[end]) && all[end + 1..].iter().all(|column| is_value(column)),
            _ => all[end..end + 2].iter().all(|column| column.parse::<u64>().is_ok()),
        };
        let before = all[..layout.name].iter().copied().map(Cow::Borrowed);
        let name = Cow::Owned(all[layout.name..end].join(","));
        let after = all[end..].iter().copied().map(Cow::Borrowed);
        is_next.then(|| before.chain([name]).chain(after).collect())
    });
    joined.unwrap_or_else(|| all.into_iter().map(Cow::Borrowed).collect())
}

/// Returns true for a column of version 1.03 after the size.
fn is_value(column: &str) -> bool {
    column.is_empty()
        || is_too_quick(column)
        || column.split([':', '/']).all(|part| part.parse::<f64>().is_ok())
}

/// Returns true if a line is a result of bonnie++ or the first part of a wrapped result.
pub fn is_result(line: &str) -> bool {
    let all = columns(line);
    let columns: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    let is_version = |text: &str| text.starts_with("1.9") || text.starts_with("2.");
    match layout(&columns) {
        Some(BonnieLayout { name: 0, .. }) => {
            let is_without_file = columns.len() > 15 && columns[1..14].iter().all(|c| c.is_empty());
            let is_whole = columns.len() == VERSION_1_03.columns;
            let is_unit = |size: &str| size.ends_with(['M', 'G']);
            (is_whole && (is_size(columns[1]) || is_without_file))
                || ((6..VERSION_1_03.columns).contains(&columns.len())
                    && is_size(columns[1])
                    && is_unit(columns[1])
                    && columns[2..].iter().all(|column| is_value(column)))
        }
        Some(_) => columns.len() > 5 && is_version(columns[1]),
        None => false,
    }
}

/// Returns true if a malformed line begins like a result. Of bonnie++'s human-readable output, only
/// the headings of `-x` do.
fn is_begun(columns: &[&str]) -> bool {
    if HEADINGS.iter().any(|begin| columns.starts_with(begin)) {
        return false;
    }
    let is_version = columns[0].starts_with("1.9");
    let is_sized = columns.len() > 3 && is_size(columns[1]);
    columns.len() > 20 || is_version || is_sized
}

/// Returns true for the size of a file and of a request, such as `2G` or `300M:64k`.
fn is_size(column: &str) -> bool {
    mebibytes(column).is_some()
}

/// Returns the size of a file without its request, in MiB.
fn mebibytes(column: &str) -> Option<u64> {
    let size = column.split(':').next().unwrap_or_default();
    let factor = match size.chars().next_back()? {
        'T' => 1 << 20,
        'G' => 1024,
        'k' => return size.strip_suffix('k')?.parse::<u64>().ok().map(|kib| kib / 1024),
        _ => 1,
    };
    size.trim_end_matches(['M', 'G', 'T']).parse::<u64>().ok()?.checked_mul(factor)
}

/// Reads every CSV line. Other lines are bonnie++'s human-readable output.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut gathering = CampaignBuilder::new(InputFormat::Bonnie, "bonnie++", naming);
    let mut lines = lines(bytes)?.into_iter().peekable();
    while let Some((line, text)) = lines.next() {
        let mut text = Cow::Borrowed(text);
        for _ in 1..MAX_WRAPPED {
            let missing = |columns: &[Cow<'_, str>]| {
                let columns: Vec<&str> = columns.iter().map(AsRef::as_ref).collect();
                layout(&columns).is_some_and(|layout| columns.len() < layout.columns)
            };
            let Some((_, next)) = lines.peek() else { break };
            let joined = text.trim_end().to_owned() + next.trim();
            if !is_result(&text) || !missing(&columns(&text)) || is_result(next) {
                break;
            }
            text = Cow::Owned(joined);
            lines.next();
        }
        let all = columns(&text);
        let columns: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
        match layout(&columns) {
            Some(layout) if is_result(&text) => result(&mut gathering, line, &columns, &layout)?,
            None if columns.len() > 30 => {
                let what = format!(
                    "the format `{}` of bonnie++ is not read: lines of 1.93 to 1.99 begin with their format, and those of 1.03 with the name of the machine",
                    shortened(columns[0])
                );
                return Err(ImportError::at_line(line, what));
            }
            _ if is_begun(&columns) => {
                let count = columns.len();
                let what = format!("{count} columns are none of bonnie++'s: the line is cut off");
                return Err(ImportError::at_line(line, what));
            }
            _ => {}
        }
    }
    gathering.finish()
}

fn result(
    gathering: &mut CampaignBuilder<'_>,
    line: usize,
    columns: &[&str],
    layout: &BonnieLayout,
) -> Result<(), ImportError> {
    if columns.len() != layout.columns {
        let what = format!(
            "{} columns instead of the {} of this version of bonnie++: the line is cut off",
            columns.len(),
            layout.columns
        );
        return Err(ImportError::at_line(line, what));
    }
    gathering.set_program(&match layout.name {
        0 => "bonnie++ 1.03".to_owned(),
        _ => format!("bonnie++ {}", columns[1]),
    });
    let name = columns[layout.name].trim();
    let contender = gathering.contender(&StatedNames {
        host: Some(name),
        title: Some(name),
        ..StatedNames::default()
    })?;
    for (index, (test, phase, metric)) in RESULTS.into_iter().enumerate() {
        let at = match index {
            0..6 => layout.file + 2 * index,
            _ => layout.files + 2 * (index - 6),
        };
        if columns[at].is_empty() {
            continue;
        }
        let mut values = Vec::new();
        if !is_too_quick(columns[at]) {
            let factor = if metric == Metric::Throughput { 1024.0 } else { 1.0 };
            values.push((metric, factor * number(columns[at], line)?));
            let share = columns[at + 1];
            if !share.is_empty() && !is_too_quick(share) {
                values.push((Metric::Cpu, number(share, line)?));
            }
        }
        let longest = layout.latency.map(|first| columns[first + index]);
        values.extend(longest.and_then(seconds).map(|time| (Metric::LatencyMax, time)));
        let test = gathering.unique_test_name(test, &parameters(test, columns, layout));
        gathering.set_primary_metric(&test, phase, metric);
        let taken = ImportedResult {
            too_fast: is_too_quick(columns[at]),
            ..ok_value(&contender, &test, phase, values)
        };
        gathering.add(line, taken)?;
    }
    Ok(())
}

/// Formats the parameters of a test that its line contains.
fn parameters(test: &str, columns: &[&str], layout: &BonnieLayout) -> String {
    const FILE: [&str; 4] = ["size", "chunk", "seeks", "seekers"];
    const FILES: [&str; 5] = ["1024s of files", "largest", "smallest", "directories", "chunk"];
    let is_old = layout.name == 0;
    let (names, stated): (&[&str], _) = match test {
        "bonnie-files" => (&FILES, layout.file + 12..layout.files),
        _ => (&FILE, if is_old { 1 } else { 5 }..layout.file),
    };
    let stated = names.iter().zip(&columns[stated]);
    let processes = (!is_old).then_some((&"processes", &columns[3]));
    let stated = stated.chain(processes).filter(|(_, value)| !value.is_empty());
    let stated: Vec<String> = stated
        .map(|(name, value)| match (mebibytes(value), value.split_once(':')) {
            (Some(size), request) if *name == "size" => {
                let request = request.map(|(_, request)| format!(":{request}"));
                format!("{name} {}{}", plain(size), request.unwrap_or_default())
            }
            _ => format!("{name} {value}"),
        })
        .collect();
    stated.join(", ")
}

/// Formats a size in the largest unit: 16384 MiB are `16G`.
fn plain(mebibytes: u64) -> String {
    match mebibytes % 1024 {
        0 => format!("{}G", mebibytes / 1024),
        _ => format!("{mebibytes}M"),
    }
}

/// Returns true if the test was too quick for bonnie++ to give a rate.
fn is_too_quick(column: &str) -> bool {
    column.len() > 1 && column.bytes().all(|byte| byte == b'+')
}
