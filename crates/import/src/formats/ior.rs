//! Parses the output of IOR: the bandwidth of each repetition, which is a round.
//!
//! Source of the format: the output of IOR 3.0.1, 3.3.0 and 4.0.0 as its users publish it, and
//! "Getting started" of its documentation. Columns are found by their headings; versions before 3.3
//! have fewer columns. `bw(MiB/s)` covers opening, transfer and closing. Runs with other options
//! are separate tests.

use model::Metric;

use crate::campaign_builder::{CampaignBuilder, StatedNames, ok_value};
use crate::parse::number::{number, parse_ctime};
use crate::parse::place::Place;
use crate::parse::text::{lines, shortened, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Maximum number of options of a run: twice the number that IOR 4 prints.
const MAX_OPTIONS: usize = 50;

struct IorReader<'a> {
    gathering: CampaignBuilder<'a>,
    place: Option<Place>,
    /// The options of the run, as printed.
    options: Vec<String>,
    columns: Option<Vec<String>>,
}

/// Reads the results of all runs of the output.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut reader = IorReader {
        gathering: CampaignBuilder::new(InputFormat::Ior, "IOR", naming),
        place: None,
        options: Vec::new(),
        columns: None,
    };
    for (line, text) in lines(bytes)? {
        reader.line(line, text)?;
    }
    reader.gathering.finish()
}

impl IorReader<'_> {
    fn line(&mut self, line: usize, text: &str) -> Result<(), ImportError> {
        if let Some(version) = text.strip_prefix("IOR-") {
            let version = version.split(':').next().unwrap_or_default();
            self.gathering.set_program(&format!("IOR {version}"));
            self.options.clear();
            self.columns = None;
            return Ok(());
        }
        let words = split_words(text);
        match words.as_slice() {
            ["Began:", clock @ ..] | ["Began", ":", clock @ ..] => {
                self.gathering.set_started(parse_ctime(clock));
            }
            ["access", bandwidth, ..] if bandwidth.starts_with("bw(") => {
                self.columns = Some(words.iter().map(|&word| word.to_owned()).collect());
            }
            ["write" | "read" | "remove", _, ..] if self.columns.is_some() => {
                self.row(line, &words)?;
            }
            // A summary follows the rows.
            ["Summary", "of", ..] | ["Max", "Write:", ..] => self.columns = None,
            [first, ..] if self.columns.is_none() && !first.starts_with('-') => self.option(text),
            _ => {}
        }
        Ok(())
    }

    /// Reads an option of the run: `xfersize            : 1 MiB`, or with `=` directly after the
    /// name, as in `ordering inter file`.
    fn option(&mut self, text: &str) {
        let apart = text.split_once(" : ").or_else(|| text.split_once("= "));
        let Some((key, value)) = apart else {
            return;
        };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "Path" | "test filename" | "Test filename" => {
                self.place = Place::file(value).or(self.place.take());
            }
            // Repetitions become rounds.
            "repetitions" => {}
            "StartTime" | "Finished" | "Command line" | "Machine" | "FS" | "TestID" => {}
            _ if value.is_empty() || self.options.len() == MAX_OPTIONS => {}
            // Titles begin with the options that most often differ between runs.
            "xfersize" | "blocksize" | "tasks" | "clients" => {
                self.options.insert(0, shortened(&format!("{key} {value}")));
            }
            _ => self.options.push(shortened(&format!("{key} {value}"))),
        }
    }

    fn row(&mut self, line: usize, words: &[&str]) -> Result<(), ImportError> {
        let columns = self.columns.as_deref().unwrap_or_default();
        if words.len() != columns.len() {
            let (count, wanted) = (words.len(), columns.len());
            let what = format!("{count} columns below {wanted} headings: the line is cut off");
            return Err(ImportError::at_line(line, what));
        }
        let value = |name: &str, factor: f64| {
            let column = columns.iter().position(|column| column == name);
            let word = column.map(|column| words[column]).filter(|word| *word != "-");
            word.map(|word| Ok(number(word, line)? * factor)).transpose()
        };
        let metrics = [
            (Metric::Throughput, value("bw(MiB/s)", 1024.0 * 1024.0)?),
            (Metric::Rate, value("IOPS", 1.0)?),
            (Metric::LatencyMean, value("Latency(s)", 1.0)?),
            (Metric::Elapsed, value("total(s)", 1.0)?),
        ];
        let metrics = metrics.into_iter();
        let values = metrics.filter_map(|(metric, value)| Some((metric, value?)));
        let values = values.collect();
        let contender = self
            .gathering
            .contender(&StatedNames { place: self.place.clone(), ..StatedNames::default() })?;
        let test = self.gathering.unique_test_name("ior", &self.options.join(", "));
        self.gathering.add(line, ok_value(&contender, &test, words[0], values))
    }
}
