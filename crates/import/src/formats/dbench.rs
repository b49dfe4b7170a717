//! Parses the summary of dbench: throughput of all clients, and the latency of each kind of
//! operation.
//!
//! Source of the format: the output of dbench 4.00, and of 3.x, which counts `procs` instead of
//! clients. `MB` is 10^6 bytes; latencies are milliseconds. The number of clients is part of the
//! test's name.

use model::Metric;

use crate::campaign_builder::{CampaignBuilder, StatedNames, ok_value};
use crate::parse::number::{number, split_unit};
use crate::parse::text::{lines, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// A line of the table: operation, count, mean and maximum latency.
type DbenchRow<'a> = (usize, &'a str, [&'a str; 3]);

/// Reads its summary.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut gathering = CampaignBuilder::new(InputFormat::Dbench, "dbench", naming);
    let mut rows: Vec<DbenchRow<'_>> = Vec::new();
    let mut is_table = false;
    for (line, text) in lines(bytes)? {
        let words = split_words(text);
        match words.as_slice() {
            ["dbench", "version", version, ..] => {
                gathering.set_program(&format!("dbench {version}"));
            }
            ["Operation", "Count", "AvgLat", "MaxLat"] => is_table = true,
            ["Throughput", rate, "MB/sec", rest @ ..] => {
                is_table = false;
                let clients = |word: &str| {
                    let at = rest.iter().position(|known| *known == word)?;
                    rest.get(at.checked_sub(1)?)
                };
                let clients = clients("clients").or_else(|| clients("procs"));
                let test = clients.map_or("dbench".to_owned(), |many| format!("dbench-{many}"));
                let test = gathering.test(&test);
                let contender = gathering.contender(&StatedNames::default())?;
                let mut values = vec![(Metric::Throughput, number(rate, line)? * 1e6)];
                let longest = rest.iter().position(|word| word.starts_with("max_latency="));
                let longest = longest.and_then(|at| split_unit(&rest[at]["max_latency=".len()..]));
                values.extend(longest.map(|(time, _)| (Metric::LatencyMax, time / 1e3)));
                gathering.add(line, ok_value(&contender, &test, "all", values))?;
                for (line, operation, [_, mean, longest]) in rows.drain(..) {
                    let phase = gathering.phase(&test, operation);
                    let values = vec![
                        (Metric::LatencyMean, number(mean, line)? / 1e3),
                        (Metric::LatencyMax, number(longest, line)? / 1e3),
                    ];
                    gathering.add(line, ok_value(&contender, &test, &phase, values))?;
                }
            }
            &[operation, count, mean, longest] if is_table => {
                rows.push((line, operation, [count, mean, longest]));
            }
            _ => {}
        }
    }
    gathering.finish()
}
