//! Parses the summary of dbench: throughput of all clients, and the latency of each kind of
//! operation.
//!
//! Source of the format: `dbench.c` and the output of dbench 4.00, and of 3.x, which counts `procs`
//! instead of clients. `MB` is 10^6 bytes; latencies are milliseconds. The number of clients and
//! synchronous modes (`-s`, `-S`) are part of the test's name, the load and its duration of its
//! parameters. A throughput of 0 or a failed child is a failure. Latencies have three decimals: those
//! of a few microseconds are rounded too much for comparisons.

use model::Metric;

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::parse::heading::Heading;
use crate::parse::number::{is_coarse, number, optional, split_unit};
use crate::parse::text::{lines, shortened, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// A line of the table: operation, count, mean and maximum latency.
type DbenchRow<'a> = (usize, &'a str, [&'a str; 3]);

/// Kind of latencies that are omitted.
const ROUNDED: &str = "latencies that are rounded by more than 5 %";

/// Reads its summary.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut gathering = CampaignBuilder::new(InputFormat::Dbench, "dbench", naming);
    let mut rows: Vec<DbenchRow<'_>> = Vec::new();
    let mut is_table = false;
    let mut heading = Heading::default();
    let (mut load, mut failure) = (String::new(), None);
    let mut begun = None;
    for (line, text) in lines(bytes)? {
        let words = split_words(text);
        match words.as_slice() {
            ["dbench", "version", version, ..] => {
                check_complete(begun.replace(line))?;
                rows.clear();
                gathering.set_program(&format!("dbench {version}"));
                (load, failure) = (String::new(), None);
                heading.set_in_run(true);
            }
            ["Running", "for", time, _, "with", "load", file, ..] => {
                load = shortened(&format!("load {}, {time} s", file.trim_matches('\'')));
                heading.set_in_run(true);
            }
            ["Child", .., "failed", "with", "status", _] => failure = Some(shortened(text.trim())),
            ["Operation", "Count", "AvgLat", "MaxLat"] => {
                is_table = true;
                begun.get_or_insert(line);
                heading.set_in_run(true);
            }
            ["Throughput", rate, "MB/sec", rest @ ..] => {
                (is_table, begun) = (false, None);
                heading.set_in_run(false);
                let clients = |word: &str| {
                    let at = rest.iter().position(|known| *known == word)?;
                    rest.get(at.checked_sub(1)?)
                };
                let clients = clients("clients").or_else(|| clients("procs"));
                let mut test = clients.map_or("dbench".to_owned(), |many| format!("dbench-{many}"));
                let mut parameters = Vec::new();
                for mode in ["open", "dirs"] {
                    if rest
                        .windows(2)
                        .any(|w| w[0] == "(sync" && w[1].trim_end_matches(')') == mode)
                    {
                        test += &format!("-sync-{mode}");
                        parameters.push(format!("sync {mode}"));
                    }
                }
                parameters.extend(Some(load.clone()).filter(|load| !load.is_empty()));
                let test = gathering.unique_test_name(&test, &parameters.join(", "));
                let contender = gathering.contender(&StatedNames {
                    heading: heading.text(),
                    ..StatedNames::default()
                })?;
                let rate = optional(rate).filter(|rate| *rate > 0.0);
                let failed = failure.take().or_else(|| {
                    rate.is_none().then(|| format!("it states no throughput: {}", shortened(text)))
                });
                if let Some(reason) = failed {
                    rows.clear();
                    gathering.add(line, failed_value(&contender, &test, "all", reason))?;
                    continue;
                }
                let rate = rate.map(|rate| (Metric::Throughput, rate * 1e6));
                let mut values: Vec<(Metric, f64)> = rate.into_iter().collect();
                let longest = rest.iter().position(|word| word.starts_with("max_latency="));
                // A mail may encode `=` as `=3D`.
                let longest =
                    longest.map(|at| rest[at]["max_latency=".len()..].trim_start_matches("3D"));
                let longest =
                    longest.and_then(split_unit).filter(|(_, unit)| ["", "ms"].contains(unit));
                values.extend(longest.map(|(time, _)| (Metric::LatencyMax, time / 1e3)));
                gathering.add(line, ok_value(&contender, &test, "all", values))?;
                for (line, operation, [_, mean, longest]) in rows.drain(..) {
                    let phase = gathering.phase(&test, operation);
                    let mut values = Vec::new();
                    for (metric, time) in
                        [(Metric::LatencyMean, mean), (Metric::LatencyMax, longest)]
                    {
                        let value = number(time, line)? / 1e3;
                        match is_coarse(time) {
                            true => gathering.skip_with_reason(ROUNDED),
                            false => values.push((metric, value)),
                        }
                    }
                    if !values.is_empty() {
                        gathering.add(line, ok_value(&contender, &test, &phase, values))?;
                    }
                }
            }
            &[operation, count, mean, longest] if is_table => {
                rows.push((line, operation, [count, mean, longest]));
            }
            [_, _, _, "MB/sec", ..] | [_, "cleanup", ..] => {}
            _ => heading.line(text),
        }
    }
    check_complete(begun)?;
    gathering.finish()
}

/// Refuses a run that began in a line and has no result.
fn check_complete(begun: Option<usize>) -> Result<(), ImportError> {
    begun.map_or(Ok(()), |line| {
        let what = "this run has no line `Throughput`: it was cut off; remove it";
        Err(ImportError::at_line(line, what))
    })
}
