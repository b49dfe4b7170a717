//! The summary of filebench: operations per second of each kind and in total.
//!
//! Source of the format: `stats.c` of filebench 1.5-alpha3, which prints the summary, and outputs
//! in its issues. In outputs of version 1.4.9, lines start with a process number, and commas
//! separate the numbers; a comma between two digits is a decimal point. Megabytes are 2^20 bytes. The
//! test is named after the workload (`… personality successfully loaded`); the numbers of files and
//! threads and the variables in the output are its parameters, except `$dir`, which is the place. A time of 0.0 is the result of rounding and no value; so is
//! one with too few digits for comparisons. Rates of operations are printed without decimals: small ones
//! are computed from the number of operations and the time of the run.

use model::{ImportedResult, Metric};

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::parse::heading::Heading;
use crate::parse::number::{is_coarse, optional, split_unit};
use crate::parse::place::Place;
use crate::parse::text::{lines, shortened, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Maximum number of file sets and kinds of threads of a workload.
const MAX_PARAMETERS: usize = 32;

/// Kind of latencies that are omitted.
const ROUNDED: &str = "latencies that are rounded by more than 5 %";

/// A line with an operation or with the sum of a run.
#[derive(Default)]
struct FilebenchRow {
    line: usize,
    operation: String,
    /// Number of operations.
    count: Option<f64>,
    values: Vec<(Metric, f64)>,
    /// Whether a latency was rounded too much.
    is_rounded: bool,
}

impl FilebenchRow {
    fn rate(&self) -> f64 {
        self.values.first().map_or(0.0, |(_, rate)| *rate)
    }

    /// Computes a small rate, which is printed without decimals, from the number of operations.
    fn refine_rate(&mut self, all: &Self) {
        const EXACT: f64 = 100.0;
        const ROUNDING: f64 = 0.51;
        let seconds = all.count.map(|count| count / all.rate());
        let rate = self.count.zip(seconds).map(|(count, seconds)| count / seconds);
        let printed = self.rate();
        let rate = rate.filter(|rate| (rate - printed).abs() <= ROUNDING && printed < EXACT);
        if let (Some((_, value)), Some(rate)) = (self.values.first_mut(), rate) {
            *value = rate;
        }
    }
}

/// Reads all summaries of the output.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut gathering = CampaignBuilder::new(InputFormat::Filebench, "filebench", naming);
    let mut workload = "filebench".to_owned();
    let mut is_table = false;
    let mut heading = Heading::default();
    let (mut parameters, mut place) = (Vec::new(), None);
    let mut rows: Vec<FilebenchRow> = Vec::new();
    let mut begun = None;
    for (line, text) in lines(bytes)? {
        let text = with_points(text);
        let words = split_words(&text);
        let rest = behind_times(&words);
        if rest.len() < words.len() {
            heading.set_in_run(true);
        }
        match rest {
            ["Filebench", "Version", version, ..] => {
                check_complete(begun.replace(line))?;
                gathering.set_program(&format!("filebench {version}"));
                heading.set_in_run(true);
                parameters.clear();
                place = None;
                is_table = false;
            }
            [called @ .., "personality"] if called.contains(&"Version") => {
                let called = called.split(|word| *word == "Version").next().unwrap_or_default();
                workload = called.join(" ");
            }
            [variable] if variable.starts_with('$') && parameters.len() < MAX_PARAMETERS => {
                match variable.strip_prefix("$dir=") {
                    Some(directory) => place = Place::directory(directory),
                    None => parameters.push(shortened(&variable[1..].replacen('=', " ", 1))),
                }
            }
            [set, "populated:", files, "files,", ..] if parameters.len() < MAX_PARAMETERS => {
                parameters.push(shortened(&format!("{set} {files} files")));
            }
            ["Starting", many, called, kind @ ("instances" | "threads")]
                if parameters.len() < MAX_PARAMETERS =>
            {
                parameters.push(shortened(&format!("{called} {many} {kind}")));
            }
            ["Shutting", "down", "processes", ..] => {
                is_table = false;
                heading.set_in_run(false);
            }
            [called @ .., "personality", "successfully", "loaded"] => {
                let called = called.split(|word| *word == "Version").next().unwrap_or_default();
                workload = called.join(" ");
            }
            ["WARNING!", "Run", "stopped", "early:"] => {
                return Err(ImportError::at_line(
                    line,
                    "the run stopped early: it needs more files (entries), or less time",
                ));
            }
            ["Per-Operation", "Breakdown"] => {
                if is_table {
                    check_complete(begun)?;
                }
                begun.get_or_insert(line);
                is_table = true;
            }
            ["IO", "Summary:", rest @ ..] => {
                is_table = false;
                begun = None;
                let run = (workload.as_str(), parameters.join(", "), stated(&place, &heading));
                let all = row(line, "all", rest)?;
                rows.iter_mut().for_each(|row| row.refine_rate(&all));
                rows.push(all);
                for row in rows.drain(..) {
                    result(&mut gathering, &run, row)?;
                }
                heading.set_in_run(false);
            }
            [operation, rest @ ..] if is_table => rows.push(row(line, operation, rest)?),
            _ => heading.line(&text),
        }
    }
    check_complete(begun)?;
    gathering.finish()
}

/// Refuses a run that began in a line and has no summary.
fn check_complete(begun: Option<usize>) -> Result<(), ImportError> {
    begun.map_or(Ok(()), |line| {
        let what = "this run has no line `IO Summary`: it was cut off or failed; remove it";
        Err(ImportError::at_line(line, what))
    })
}

/// Returns the words after `301.080:`, or `16845: 301.080:`.
fn behind_times<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    let is_time = |word: &&&str| word.strip_suffix(':').and_then(optional).is_some();
    let times = words.iter().take(2).take_while(is_time).count();
    &words[times..]
}

fn stated<'a>(place: &Option<Place>, heading: &'a Heading) -> StatedNames<'a> {
    StatedNames { place: place.clone(), heading: heading.text(), ..StatedNames::default() }
}

fn result(
    gathering: &mut CampaignBuilder<'_>,
    (workload, parameters, stated): &(&str, String, StatedNames<'_>),
    FilebenchRow { line, operation, values, is_rounded, .. }: FilebenchRow,
) -> Result<(), ImportError> {
    if is_rounded {
        gathering.skip_with_reason(ROUNDED);
    }
    let contender = gathering.contender(stated)?;
    let test = gathering.unique_test_name(workload, parameters);
    let phase = gathering.phase(&test, &operation);
    let is_none = values.first().is_none_or(|(_, rate)| *rate == 0.0);
    let taken: ImportedResult = match operation == "all" && is_none {
        true => failed_value(&contender, &test, &phase, "it states 0 operations per second"),
        false => ok_value(&contender, &test, &phase, values),
    };
    gathering.add(line, taken)
}

/// Returns a line with decimal points instead of commas between digits.
fn with_points(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_digit =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let letters = text.char_indices().map(|(at, letter)| match letter {
        ',' if is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)) => '.',
        letter => letter,
    });
    letters.collect()
}

/// Parses numbers by the unit that follows directly or in the next word: `46ops/s`, `92.019 ops/s`,
/// `[0.00ms - 0.38ms]`, `0.185 us/op`, and `20.9ms latency`, which is the mean.
fn row(line: usize, operation: &str, words: &[&str]) -> Result<FilebenchRow, ImportError> {
    let (mut rate, mut bytes, mut mean, mut longest) = (None, None, None, None);
    let mut row = FilebenchRow { line, operation: shortened(operation), ..Default::default() };
    let mut before = None;
    for (at, word) in words.iter().enumerate() {
        let word = word.trim_matches(['[', ']', ',', '(', ')']);
        let (digits, unit) = match split_unit(word) {
            Some((_, unit)) => (Some(&word[..word.len() - unit.len()]), unit),
            None => (before, word),
        };
        before = digits.filter(|_| unit.is_empty());
        let Some((digits, number)) = digits.and_then(|text| Some((text, optional(text)?))) else {
            continue;
        };
        let next = words.get(at + 1).copied().unwrap_or_default();
        let time = |per_second: f64| match is_coarse(digits) {
            true => Err(()),
            false => Ok(number / per_second),
        };
        match unit {
            "ops" => row.count = Some(number),
            "ops/s" => rate = Some(number),
            "mb/s" => bytes = Some(number * 1024.0 * 1024.0),
            "ms/op" => mean = Some(time(1e3)),
            "us/op" => mean = Some(time(1e6)),
            "ms" if next == "latency" => mean = Some(time(1e3)),
            // The time of the processor.
            "us" if next.starts_with("cpu/op") => {}
            // The minimum comes first, then the maximum.
            "ms" => longest = Some(time(1e3)),
            "us" => longest = Some(time(1e6)),
            _ => {}
        }
    }
    let Some(rate) = rate else {
        return Err(ImportError::at_line(line, "it gives no number of operations per second"));
    };
    row.is_rounded = [mean, longest].contains(&Some(Err(())));
    let exact = |time: Option<Result<f64, ()>>| time.and_then(Result::ok);
    let others = [
        (Metric::Throughput, bytes),
        (Metric::LatencyMean, exact(mean)),
        (Metric::LatencyMax, exact(longest)),
    ];
    let others = others.into_iter().filter_map(|(metric, value)| Some((metric, value?)));
    row.values.push((Metric::Rate, rate));
    row.values.extend(others.filter(|(_, value)| *value > 0.0));
    Ok(row)
}
