//! The summary of filebench: operations per second of each kind and in total.
//!
//! Source of the format: `stats.c` of filebench 1.5-alpha3, which prints the summary, and outputs
//! in its issues. In outputs of version 1.4.9, lines start with a process number, and commas
//! separate the numbers. Megabytes are 2^20 bytes. The test is named after the workload (`…
//! personality successfully loaded`).

use model::{ImportedResult, Metric};

use crate::campaign_builder::{CampaignBuilder, StatedNames, ok_value};
use crate::parse::number::{optional, split_unit};
use crate::parse::text::{lines, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Reads all summaries of the output.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut gathering = CampaignBuilder::new(InputFormat::Filebench, "filebench", naming);
    let mut workload = "filebench".to_owned();
    let mut is_table = false;
    for (line, text) in lines(bytes)? {
        let words = split_words(text);
        match behind_times(&words) {
            ["Filebench", "Version", version, ..] => {
                gathering.set_program(&format!("filebench {version}"));
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
                result(&mut gathering, line, &workload, "all", rest)?;
            }
            [operation, rest @ ..] if is_table => {
                result(&mut gathering, line, &workload, operation, rest)?;
            }
            _ => {}
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

fn result(
    gathering: &mut CampaignBuilder<'_>,
    line: usize,
    workload: &str,
    operation: &str,
    words: &[&str],
) -> Result<(), ImportError> {
    let Some(values) = values(words) else {
        return Err(ImportError::at_line(line, "it gives no number of operations per second"));
    };
    let contender = gathering.contender(&StatedNames::default())?;
    let test = gathering.test(workload);
    let phase = gathering.phase(&test, operation);
    let taken: ImportedResult = ok_value(&contender, &test, &phase, values);
    gathering.add(line, taken)
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
    let bytes = bytes.filter(|rate| *rate > 0.0);
    values.extend(bytes.map(|rate| (Metric::Throughput, rate)));
    values.extend(mean.map(|time| (Metric::LatencyMean, time)));
    values.extend(longest.map(|time| (Metric::LatencyMax, time)));
    Some(values)
}
