//! Parses the table of fs_mark: files created per second, a line for each iteration, which is a
//! round.
//!
//! Source of the format: `fs_mark.c` and the output of fs_mark 3.3 with and without `-v`, which adds
//! minimum, mean and maximum of six system calls in microseconds. All iterations (`-L`) use one
//! filesystem, which fills up. Threads, the sync method, subdirectories, the numbers of files, and
//! the sizes of files, names and requests are part of the test's identity. The printed number of
//! files is the sum over all iterations. A rate of 0 is an iteration that found no free space.

use model::{Campaign, ImportedResult, Metric, WorkloadCategory};

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::parse::heading::Heading;
use crate::parse::number::{number, optional, parse_ctime};
use crate::parse::place::Place;
use crate::parse::text::{flags, lines, shortened, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Letters of options that take a value (`fs_mark -h` of 3.3).
const WITH_VALUE: &str = "rSNDdlLnpstw";
/// Columns without `-v`.
const COLUMNS: usize = 5;
/// Number of columns with `-v`.
const VERBOSE: usize = COLUMNS + CALLS;
/// Minimum, mean and maximum of six system calls, which are the last columns with `-v`.
const CALLS: usize = 6 * 3;

/// Parameters that fs_mark prints before the table.
#[derive(Default)]
struct Header {
    threads: String,
    method: String,
    /// Bytes per write.
    of_write: Option<String>,
    /// Distribution over directories, if there are several.
    spread: Option<String>,
    /// Bytes per name, if not the default.
    names: Option<String>,
    /// Whether files are kept after each iteration (`-k`).
    keeps: bool,
    /// Files in each iteration, and the share of used space, according to the first one.
    first: Option<(String, String)>,
    /// Requested number of iterations (`-L`).
    iterations: Option<usize>,
    /// Line of the header or the table, until the first result.
    begun: Option<usize>,
    /// Iterations in the table, and the number of files after the last one.
    rows: usize,
    count: f64,
    /// Size of the files, from the table.
    size: String,
}

impl Header {
    /// Formats the parameters, with the file size from the table.
    fn parameters(&self, size: &str) -> String {
        let count = self.first.as_ref().map_or("", |(count, _)| count);
        let mut all = vec![format!("{count} files of {size} bytes")];
        let writes = self.of_write.iter();
        all.extend(writes.map(|bytes| format!("{bytes} bytes in each write")));
        if !self.threads.is_empty() {
            all.push(format!("threads {}", self.threads));
        }
        if !self.method.is_empty() {
            all.push(self.method.clone());
        }
        all.extend(self.spread.clone());
        all.extend(self.names.as_ref().map(|bytes| format!("names of {bytes} bytes")));
        all.extend(self.keeps.then(|| "files are kept".to_owned()));
        all.join(", ")
    }
}

/// Reads its table.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut gathering = CampaignBuilder::new(InputFormat::FsMark, "fs_mark", naming);
    let mut place_of = None;
    let mut is_table = false;
    let mut group = None;
    let mut stated = Header::default();
    let mut heading = Heading::default();
    for (line, text) in lines(bytes)? {
        let words = split_words(text);
        match words.as_slice() {
            ["#", command @ ..] if command.first().is_some_and(|c| c.ends_with("fs_mark")) => {
                end_run(&mut gathering, place_of.as_ref(), heading.name(), (&stated, group))?;
                heading.set_in_run(true);
                is_table = false;
                let given = flags(command, WITH_VALUE);
                let paths = given.iter().filter(|(letter, _)| *letter == 'd');
                place_of = Place::directories(&paths.map(|(_, path)| *path).collect::<Vec<_>>());
                let keeps = given.iter().any(|(letter, _)| *letter == 'k');
                let iterations = given.iter().find(|(letter, _)| *letter == 'L');
                let iterations = iterations.and_then(|(_, count)| count.parse().ok());
                let begun = Some(line);
                stated = Header { keeps, iterations, begun, ..Header::default() };
            }
            ["#", "Directories:", "no" | "No", ..] => stated.spread = None,
            ["#", "Directories:", spread @ ..] => {
                stated.spread = Some(shortened(spread.join(" ").trim_end_matches('.')));
            }
            ["#", "File", "names:", bytes, ..] => {
                stated.names = Some(shortened(bytes)).filter(|bytes| bytes != "40");
            }
            // Version 3.1 prints the word twice.
            ["#", "Version", "Version", version, rest @ ..]
            | ["#", "Version", version, rest @ ..] => {
                let version = version.trim_end_matches(',');
                gathering.set_program(&format!("fs_mark {version}"));
                if let [threads, "thread(s)", "starting", "at", clock @ ..] = rest {
                    stated.threads = shortened(threads);
                    gathering.set_started(parse_ctime(clock));
                }
            }
            ["#", "Sync", "method:", method @ ..] => {
                let none = method.starts_with(&["NO", "SYNC:"]);
                let called = method.join(" ");
                stated.method = shortened(called.split(':').next().unwrap_or_default());
                group = Some(if none {
                    WorkloadCategory::ManyFiles
                } else {
                    WorkloadCategory::Durable
                });
            }
            ["#", "Files", "info:", info @ ..] => {
                let of_write = info.iter().position(|word| *word == "IO");
                let of_write = of_write.and_then(|at| info.get(at + 3));
                stated.of_write = of_write.map(|bytes| shortened(bytes));
            }
            ["FSUse%", ..] => {
                if stated.rows > 0 {
                    end_run(&mut gathering, place_of.as_ref(), heading.name(), (&stated, group))?;
                }
                heading.set_in_run(true);
                is_table = true;
                (stated.first, stated.rows, stated.begun) = (None, 0, Some(line));
            }
            [] => {}
            // Iterations after the filesystem was full, and other lines without a result.
            _ if !is_table || !text.trim_start().starts_with(|c: char| c.is_ascii_digit()) => {
                heading.line(text);
            }
            _ => {
                if let [used, count, size, ..] = words.as_slice() {
                    let files = optional(count).unwrap_or(0.0);
                    match &stated.first {
                        None => stated.first = Some((shortened(count), shortened(used))),
                        Some((_, before)) if before != used && files > stated.count => gathering
                            .assume(
                                "iterations of fs_mark are rounds, although they fill one filesystem",
                            ),
                        Some(_) => {}
                    }
                    (stated.count, stated.size) = (files, shortened(size));
                }
                stated.rows += 1;
                stated.begun = None;
                heading.set_in_run(false);
                let contender = contender(&mut gathering, place_of.as_ref(), heading.name())?;
                result(&mut gathering, line, &contender, (&stated, group), &words)?;
            }
        }
    }
    end_run(&mut gathering, place_of.as_ref(), heading.name(), (&stated, group))?;
    gathering.finish()
}

fn contender(
    gathering: &mut CampaignBuilder<'_>,
    place: Option<&Place>,
    heading: Option<&str>,
) -> Result<String, ImportError> {
    gathering.contender(&StatedNames {
        place: place.cloned(),
        heading,
        is_named: true,
        ..StatedNames::default()
    })
}

/// Adds a failure for each requested iteration without a line.
fn end_run(
    gathering: &mut CampaignBuilder<'_>,
    place: Option<&Place>,
    heading: Option<&str>,
    (stated, group): (&Header, Option<WorkloadCategory>),
) -> Result<(), ImportError> {
    if let Some(line) = stated.begun {
        let what = "this run of fs_mark has no result: it was cut off or failed; remove it";
        return Err(ImportError::at_line(line, what));
    }
    let wanted = stated.iterations.unwrap_or(0).min(Campaign::MAX_ROUNDS as usize);
    if stated.rows == 0 || stated.rows >= wanted {
        return Ok(());
    }
    let contender = contender(gathering, place, heading)?;
    let test = gathering.unique_test_name("fs-mark", &stated.parameters(&stated.size));
    for iteration in stated.rows..wanted {
        let reason = format!("iteration {} of {wanted} has no result", iteration + 1);
        let taken = failed_value(&contender, &test, "create", reason);
        gathering.add(0, ImportedResult { group, ..taken })?;
    }
    Ok(())
}

fn result(
    gathering: &mut CampaignBuilder<'_>,
    line: usize,
    contender: &str,
    (stated, group): (&Header, Option<WorkloadCategory>),
    columns: &[&str],
) -> Result<(), ImportError> {
    // Version 3.1 has no column for the overhead of the program.
    let count = columns.len();
    if ![COLUMNS - 1, COLUMNS, VERBOSE - 1, VERBOSE].contains(&count) {
        let what = format!("{count} columns where fs_mark has {COLUMNS}, or {VERBOSE} with -v");
        return Err(ImportError::at_line(line, what));
    }
    let test = gathering.unique_test_name("fs-mark", &stated.parameters(columns[2]));
    let Some(rate) = optional(columns[3]).filter(|rate| *rate > 0.0) else {
        let reason = format!("it states {} files per second", shortened(columns[3]));
        let taken = failed_value(contender, &test, "create", reason);
        return gathering.add(line, ImportedResult { group, ..taken });
    };
    let mut values = vec![(Metric::Rate, rate)];
    if count >= VERBOSE - 1 {
        let calls = &columns[count - CALLS..];
        let microseconds = |column: usize| Ok(number(calls[column], line)? / 1e6);
        values.push((Metric::SyncMax, microseconds(8)?));
        values.push((Metric::CloseMean, microseconds(13)?));
        values.push((Metric::CloseMax, microseconds(14)?));
    }
    let taken = ok_value(contender, &test, "create", values);
    gathering.add(line, ImportedResult { group, ..taken })
}
