//! The summary of filebench: operations per second of each kind and in total.
//!
//! Source of the format: `stats.c` of filebench 1.5-alpha3, which prints the summary, and outputs
//! in its issues. In outputs of version 1.4.9, lines start with a process number, and commas
//! separate the numbers; a comma between two digits is a decimal point. Megabytes are 2^20 bytes. The
//! test is named after the workload (`… personality successfully loaded`); the numbers of files and
//! threads and the variables in the output are its parameters, except `$dir`, which is the place. A time of 0.0 is the result of rounding and no value.

use model::{ImportedResult, Metric};

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::parse::heading::Heading;
use crate::parse::number::{optional, split_unit};
use crate::parse::place::Place;
use crate::parse::text::{lines, shortened, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Maximum number of file sets and kinds of threads of a workload.
const MAX_PARAMETERS: usize = 32;

/// Reads all summaries of the output.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut gathering = CampaignBuilder::new(InputFormat::Filebench, "filebench", naming);
    let mut workload = "filebench".to_owned();
    let mut is_table = false;
    let mut heading = Heading::default();
    let (mut parameters, mut place) = (Vec::new(), None);
    for (line, text) in lines(bytes)? {
        let text = with_points(text);
        let words = split_words(&text);
        let rest = behind_times(&words);
        if rest.len() < words.len() {
            heading.set_in_run(true);
        }
        match rest {
            ["Filebench", "Version", version, ..] => {
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
            ["Per-Operation", "Breakdown"] => is_table = true,
            ["IO", "Summary:", rest @ ..] => {
                is_table = false;
                let run = (workload.as_str(), parameters.join(", "), stated(&place, &heading));
                result(&mut gathering, line, &run, "all", rest)?;
                heading.set_in_run(false);
            }
            [operation, rest @ ..] if is_table => {
                let run = (workload.as_str(), parameters.join(", "), stated(&place, &heading));
                result(&mut gathering, line, &run, operation, rest)?;
            }
            _ => heading.line(&text),
        }
    }
    gathering.finish()
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
    line: usize,
    (workload, parameters, stated): &(&str, String, StatedNames<'_>),
    operation: &str,
    words: &[&str],
) -> Result<(), ImportError> {
    let Some(values) = values(words) else {
        return Err(ImportError::at_line(line, "it gives no number of operations per second"));
    };
    let contender = gathering.contender(stated)?;
    let test = gathering.unique_test_name(workload, parameters);
    let phase = gathering.phase(&test, operation);
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
/// `[0.00ms - 0.38ms]`, and `20.9ms latency`, which is the mean.
fn values(words: &[&str]) -> Option<Vec<(Metric, f64)>> {
    let (mut rate, mut bytes, mut mean, mut longest) = (None, None, None, None);
    let mut before = None;
    for (at, word) in words.iter().enumerate() {
        let word = word.trim_matches(['[', ']', ',', '(', ')']);
        let (number, unit) = match split_unit(word) {
            Some((number, unit)) => (Some(number), unit),
            None => (before, word),
        };
        before = number.filter(|_| unit.is_empty());
        let Some(number) = number else { continue };
        match unit {
            "ops/s" => rate = Some(number),
            "mb/s" => bytes = Some(number * 1024.0 * 1024.0),
            "ms/op" => mean = Some(number / 1e3),
            "ms" if words.get(at + 1) == Some(&"latency") => mean = Some(number / 1e3),
            // The minimum comes first, then the maximum.
            "ms" => longest = Some(number / 1e3),
            _ => {}
        }
    }
    let mut values = vec![(Metric::Rate, rate?)];
    let others =
        [(Metric::Throughput, bytes), (Metric::LatencyMean, mean), (Metric::LatencyMax, longest)];
    let others = others.into_iter().filter_map(|(metric, value)| Some((metric, value?)));
    values.extend(others.filter(|(_, value)| *value > 0.0));
    Some(values)
}
