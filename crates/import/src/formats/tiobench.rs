//! Parses the report of tiobench.pl: rates and latencies by number of threads.
//!
//! Source of the format: the output of tiobench 0.5.0 as its own script prints it: four tables.
//! Each line has an identifier, the size of all files in MiB, the block in bytes, threads, MiB/s,
//! the processor's share in percent, mean and worst latency in ms, and the percentages of requests
//! that took longer than 2 s and 10 s. Without `--identifier` the identifier is the kernel's
//! release, which is a contender only if there are several.

use std::collections::{BTreeMap, BTreeSet};

use model::{Metric, SweepAxis, SweepPoint};

use crate::campaign_builder::{CampaignBuilder, StatedNames, ok_value};
use crate::parse::number::{number, optional};
use crate::parse::text::{is_ended, lines, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

const TABLES: [(&str, &str); 4] = [
    ("Sequential Reads", "read"),
    ("Random Reads", "random-read"),
    ("Sequential Writes", "write"),
    ("Random Writes", "random-write"),
];

/// Columns after the identifier.
const COLUMNS: usize = 10;

/// Reads the four tables.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut gathering = CampaignBuilder::new(InputFormat::Tiobench, "tiobench", naming);
    let mut table = None;
    let lines = lines(bytes)?;
    let kernels = lines.iter().filter_map(|(_, text)| kernel(&split_words(text)));
    let are_contenders = kernels.collect::<BTreeSet<_>>().len() > 1;
    // The last line of the output belongs to a table, because no text follows the last table.
    let cut = lines.len() + usize::from(is_ended(bytes));
    for (line, text) in lines {
        let title = TABLES.iter().find(|(title, _)| text.trim() == *title);
        if let Some((_, phase)) = title {
            table = Some(*phase);
        }
        let words = split_words(text);
        if line == cut && table.is_some() {
            let what = "the last line does not end: the file is cut off";
            return Err(ImportError::at_line(line, what));
        }
        let Some(phase) = table.filter(|_| words.len() > 2 && is_result(&words)) else {
            continue;
        };
        result(&mut gathering, line, phase, &words, are_contenders)?;
    }
    gathering.finish()
}

/// Returns true for a result line: not a heading or a rule, but a line that ends in numbers.
fn is_result(words: &[&str]) -> bool {
    let last = words.last().copied().unwrap_or_default();
    optional(last).is_some() && !words.contains(&"=")
}

/// Returns the identifier of a result line if it is the release of a kernel.
fn kernel(words: &[&str]) -> Option<String> {
    let first = words.len().checked_sub(COLUMNS).filter(|first| *first > 0)?;
    let identifier = words[..first].join(" ");
    let is_kernel =
        identifier.starts_with(|c: char| c.is_ascii_digit()) && identifier.contains('.');
    (is_kernel && is_result(words)).then_some(identifier)
}

fn result(
    gathering: &mut CampaignBuilder<'_>,
    line: usize,
    phase: &str,
    words: &[&str],
    are_contenders: bool,
) -> Result<(), ImportError> {
    let Some(first) = words.len().checked_sub(COLUMNS).filter(|first| *first > 0) else {
        let what = format!("{} columns where tiobench has 11: the line is cut off", words.len());
        return Err(ImportError::at_line(line, what));
    };
    let identifier = words[..first].join(" ");
    let columns = &words[first..];
    let threads: u32 = columns[2]
        .parse()
        .map_err(|_| ImportError::at_line(line, "the number of threads is not a number"))?;
    let is_kernel = kernel(words).is_some() && !are_contenders;
    if is_kernel {
        gathering.environment().kernel = format!("Linux {identifier}");
    }
    let contender =
        gathering.contender(&StatedNames::title((!is_kernel).then_some(&identifier)))?;
    let whole = |column: usize, unit: u64| {
        let size: Option<u64> = columns[column].parse().ok();
        let size = size.and_then(|size| size.checked_mul(unit));
        size.ok_or_else(|| ImportError::at_line(line, "a size is no number"))
    };
    let at = [
        (SweepAxis::Size, whole(0, 1 << 20)?),
        (SweepAxis::Block, whole(1, 1)?),
        (SweepAxis::Threads, threads.into()),
    ];
    let test = at.map(|(axis, value)| axis.format_short(value)).join("-");
    let test = format!("tiobench-{test}");
    let (of, at) = ("tiobench".to_owned(), BTreeMap::from(at));
    gathering.set_sweep_point(&test, SweepPoint { sweep: of, at });
    let value = |column: usize| number(columns[column].trim_end_matches('%'), line);
    let values = vec![
        (Metric::Throughput, value(3)? * 1024.0 * 1024.0),
        (Metric::Cpu, value(4)?),
        (Metric::LatencyMean, value(5)? / 1e3),
        (Metric::LatencyMax, value(6)? / 1e3),
        (Metric::LatencyAbove2s, value(7)?),
        (Metric::LatencyAbove10s, value(8)?),
    ];
    gathering.add(line, ok_value(&contender, &test, phase, values))
}
