//! Parses the output of IOzone: the table of `iozone -a` and single points, the spreadsheet of
//! `-R`, and the throughput test of `-t`. A point of the grid of file sizes and record sizes is a
//! test of a sweep, as in suite `iozone`.
//!
//! Source of the format: the output of IOzone 3.489 with `-a`, `-Ra`, `-i 0 -i 2`, `-O` and `-t`.
//! Sizes are kB of 1024 bytes, rates kB/s, or operations per second (`-O`), or microseconds per
//! operation (`-N`, which overrides the others). A value below the end of a heading belongs to it.
//! A test that did not run is blank in the table and 0 in the spreadsheet. The spreadsheet that
//! fsarena writes has a line with the name of the contender before each table.

use std::collections::BTreeMap;

use model::{Metric, SweepAxis, SweepPoint};

use crate::campaign_builder::{CampaignBuilder, StatedNames, ok_value};
use crate::parse::number::{number, optional, parse_ctime};
use crate::parse::place::Place;
use crate::parse::text::{flags, is_ended, lines, option, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Phases of suite `iozone`, in the order of the table's columns, with their names in the
/// spreadsheet and in the throughput test.
pub const PHASES: [(&str, &str, &str); 13] = [
    ("write", "Writer", "initial writers"),
    ("rewrite", "Re-writer", "rewriters"),
    ("read", "Reader", "readers"),
    ("reread", "Re-Reader", "re-readers"),
    ("random-read", "Random read", "random readers"),
    ("random-write", "Random write", "random writers"),
    ("backward-read", "Backward read", "reverse readers"),
    ("record-rewrite", "Record rewrite", "record rewriters"),
    ("strided-read", "Stride read", "stride readers"),
    ("fwrite", "Fwrite", "fwriters"),
    ("frewrite", "Re-Fwrite", "frewriters"),
    ("fread", "Fread", "freaders"),
    ("freread", "Re-Fread", "frereaders"),
];

/// Maximum number of columns of a table: file size, record size and all operations.
const COLUMNS: usize = 2 + PHASES.len();

/// Default unit of values: kB/s.
const KILOBYTES: (Metric, f64) = (Metric::Throughput, 1024.0);
/// Unit of values with `-N`.
const MICROSECONDS: (Metric, f64) = (Metric::LatencyMean, 1e-6);

/// End positions of the headings of a table, in characters.
type Ends = Vec<usize>;

/// Letters of options that take a value (`iozone -h` of 3.489).
const WITH_VALUE: &str = "bdfFgHijJklLnPqrsStuUVXyY";

/// Returns the phases of one point and their ranking metric for the given options.
///
/// # Errors
/// Returns an error if the options would measure more than one point.
pub fn phases(arguments: &[&str]) -> Result<(Vec<&'static str>, Metric), String> {
    let given = flags(arguments, WITH_VALUE);
    let count = |letter: char| given.iter().filter(|(given, _)| *given == letter).count();
    if "aAtul".chars().any(|letter| count(letter) > 0) || count('s') != 1 || count('r') != 1 {
        return Err("iozone runs one file size and one record size as a suite: give -s and -r once, and none of -a, -t, -l and -u".into());
    }
    let chosen: Vec<&str> =
        given.iter().filter(|(letter, _)| *letter == 'i').map(|(_, value)| *value).collect();
    let test = |column: usize| match column {
        0 | 1 => "0",
        2 | 3 => "1",
        4 | 5 => "2",
        6 => "3",
        7 => "4",
        8 => "5",
        9 | 10 => "6",
        _ => "7",
    };
    let phases = PHASES.iter().enumerate();
    let phases = phases
        .filter(|(column, _)| chosen.is_empty() || chosen.contains(&test(*column)))
        .map(|(_, (phase, ..))| *phase)
        .collect();
    let metric = match (count('N'), count('O')) {
        (0, 0) => Metric::Throughput,
        (0, _) => Metric::Rate,
        _ => Metric::LatencyMean,
    };
    Ok((phases, metric))
}

struct IozoneReader<'a> {
    gathering: CampaignBuilder<'a>,
    contender: Option<String>,
    place: Option<Place>,
    /// Metric and factor of the values, according to the output.
    unit: (Metric, f64),
    /// Sizes of file and record of each process.
    of_each: Option<(u64, u64)>,
    table: Option<Ends>,
    /// Whether a table was read. The spreadsheet then repeats its values.
    has_table: bool,
    spreadsheet: Spreadsheet,
}

/// The current block of a spreadsheet.
#[derive(Default)]
struct Spreadsheet {
    phase: Option<String>,
    records: Vec<u64>,
}

/// Reads the whole output.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut reader = IozoneReader {
        gathering: CampaignBuilder::new(InputFormat::Iozone, "IOzone", naming),
        contender: None,
        place: None,
        unit: KILOBYTES,
        of_each: None,
        table: None,
        has_table: false,
        spreadsheet: Spreadsheet::default(),
    };
    let (mut line, mut before) = (0, 0);
    for (next, text) in lines(bytes)? {
        (line, before) = (next, reader.gathering.results());
        reader.line(line, text)?;
    }
    if reader.gathering.results() > before && !is_ended(bytes) {
        return Err(ImportError::at_line(line, "the last line does not end: the file is cut off"));
    }
    reader.gathering.finish()
}

impl IozoneReader<'_> {
    fn line(&mut self, line: usize, text: &str) -> Result<(), ImportError> {
        let words = split_words(text);
        match words.as_slice() {
            ["Iozone:", ..] => self.unit = KILOBYTES,
            ["Run", "began:", clock @ ..] => self.gathering.set_started(parse_ctime(clock)),
            ["Version", "$Revision:", version, ..] => {
                self.gathering.set_program(&format!("IOzone {version}"));
            }
            ["Command", "line", "used:", command @ ..] => {
                let file = option(command, "-f").or_else(|| option(command, "-F"));
                self.place = file.and_then(Place::file);
            }
            ["Output", "is", "in", unit, ..] => self.set_unit(unit),
            ["OPS", "Mode.", ..] if self.unit != MICROSECONDS => self.set_unit("ops/sec"),
            ["Microseconds/op", "Mode.", ..] => self.set_unit("microseconds/op"),
            [
                "Each",
                "process",
                "writes",
                "a",
                size,
                "kByte",
                "file",
                "in",
                record,
                "kByte",
                ..,
            ] => {
                self.of_each =
                    optional(size).and_then(kilobytes).zip(optional(record).and_then(kilobytes));
            }
            ["kB" | "KB", "reclen", ..] => self.table = Some(ends(text)),
            ["Children", "see", "throughput", "for", rest @ ..] => self.throughput(line, rest)?,
            [first, ..] if first.starts_with('"') => self.sheet(line, text)?,
            [] => {}
            _ if self.table.is_some() => self.row(line, text)?,
            _ => {}
        }
        Ok(())
    }

    fn set_unit(&mut self, unit: &str) {
        self.unit = match unit {
            "ops/sec" => (Metric::Rate, 1.0),
            "microseconds/op" | "microseconds" => MICROSECONDS,
            "Mbytes/sec" => (Metric::Throughput, 1024.0 * 1024.0),
            _ => KILOBYTES,
        };
    }

    /// Parses a line of the table. The first other line ends the table.
    fn row(&mut self, line: usize, text: &str) -> Result<(), ImportError> {
        let values = with_ends(text);
        let mut begin = values.iter().take(2);
        if begin.any(|(word, _)| optional(word).is_none()) {
            self.table = None;
            return Ok(());
        }
        let ends = self.table.clone().unwrap_or_default();
        if values.len() > ends.len() || values.len() < 2 {
            let count = values.len();
            let what = format!("{count} values under {} headings", ends.len());
            return Err(ImportError::at_line(line, what));
        }
        self.has_table = true;
        let size = size(values[0].0, line)?;
        let record = size_of_record(values[1].0, line)?;
        let are_all = values.len() == ends.len();
        for (index, (word, end)) in values.iter().enumerate().skip(2) {
            let column = match are_all {
                true => index,
                false => nearest(&ends, *end),
            };
            let phase = PHASES.get(column.saturating_sub(2)).map(|known| known.0);
            let is_none = ["nan", "inf"].contains(&word.trim_start_matches('-'));
            if let Some(phase) = phase.filter(|_| is_none) {
                let what = format!("an invalid value of {phase}");
                self.gathering.skip_with_reason(what);
            } else if let Some(phase) = phase {
                self.point(line, phase, size, record, number(word, line)?)?;
            }
        }
        Ok(())
    }

    /// Reads a line of the spreadsheet: the name of an operation, its record sizes, or a file size
    /// with its rates.
    fn sheet(&mut self, line: usize, text: &str) -> Result<(), ImportError> {
        let (quoted, plain) = quoted(text);
        if let [title] = quoted.as_slice()
            && plain.is_empty()
        {
            self.title(title);
            return Ok(());
        }
        if self.has_table {
            return Ok(());
        }
        let Some(phase) = self.spreadsheet.phase.clone() else {
            return Ok(());
        };
        if plain.is_empty() {
            let records = quoted.iter().map(|record| size_of_record(record, line));
            self.spreadsheet.records = records.collect::<Result<_, _>>()?;
            return Ok(());
        }
        let records = self.spreadsheet.records.clone();
        let [file] = quoted.as_slice() else {
            return Err(ImportError::at_line(line, "a line of the spreadsheet has one file size"));
        };
        if plain.len() > records.len() {
            let what = format!("{} rates under {} record sizes", plain.len(), records.len());
            return Err(ImportError::at_line(line, what));
        }
        let file = size(file, line)?;
        for (word, record) in plain.iter().zip(records) {
            let rate = number(word, line)?;
            if rate > 0.0 {
                self.point(line, &phase, file, record, rate)?;
            }
        }
        Ok(())
    }

    /// Parses a line of one quoted text: the operation of the following block, the contender (as
    /// fsarena writes it), or the only record size.
    fn title(&mut self, title: &str) {
        if let Some(named) = title.strip_prefix("Contender ") {
            let end = named.rfind(", test ").unwrap_or(named.len());
            self.contender = Some(named[..end].to_owned());
            self.spreadsheet = Spreadsheet::default();
        } else if let Some(operation) = title.strip_suffix(" report") {
            let known = PHASES.iter().find(|(_, called, _)| *called == operation);
            let phase = known.map_or(operation, |(phase, ..)| phase);
            self.spreadsheet = Spreadsheet { phase: Some(phase.to_owned()), records: Vec::new() };
        } else if let Some(record) = optional(title).and_then(kilobytes) {
            self.spreadsheet.records = vec![record];
        }
    }

    /// Reads a throughput with the number of processes: `2 initial writers = 1013707.25 kB/sec`.
    fn throughput(&mut self, line: usize, rest: &[&str]) -> Result<(), ImportError> {
        let equals = rest.iter().position(|word| *word == "=");
        let (Some(equals), Some(threads)) = (equals, rest.first()) else {
            return Ok(());
        };
        let threads: u32 = threads.parse().map_err(|_| {
            ImportError::at_line(line, "it does not say how many processes there are")
        })?;
        let called = rest[1..equals.max(1)].join(" ");
        let known = PHASES.iter().find(|(.., plural)| *plural == called);
        let phase = known.map_or(called.as_str(), |(phase, ..)| phase);
        let value = rest.get(equals + 1).copied().unwrap_or_default();
        let value = number(value, line)?;
        let sweep = "iozone-throughput";
        let mut test = sweep.to_owned();
        let mut at = BTreeMap::from([(SweepAxis::Threads, u64::from(threads))]);
        if let Some((size, record)) = self.of_each {
            at.extend([(SweepAxis::Size, size), (SweepAxis::Block, record)]);
        }
        for (axis, value) in &at {
            test += &format!("-{}", axis.format_short(*value));
        }
        self.take(line, sweep, &test, at, phase, value)
    }

    fn point(
        &mut self,
        line: usize,
        phase: &str,
        size: u64,
        record: u64,
        value: f64,
    ) -> Result<(), ImportError> {
        let test = format!(
            "iozone-{}-{}",
            SweepAxis::Size.format_short(size),
            SweepAxis::Block.format_short(record)
        );
        let at = BTreeMap::from([(SweepAxis::Size, size), (SweepAxis::Block, record)]);
        self.take(line, "iozone", &test, at, phase, value)
    }

    fn take(
        &mut self,
        line: usize,
        of: &str,
        test: &str,
        at: BTreeMap<SweepAxis, u64>,
        phase: &str,
        value: f64,
    ) -> Result<(), ImportError> {
        let contender = self.gathering.contender(&StatedNames {
            place: self.place.clone(),
            title: self.contender.as_deref(),
            ..StatedNames::default()
        })?;
        let of = of.to_owned();
        self.gathering.set_sweep_point(test, SweepPoint { sweep: of, at });
        let phase = self.gathering.phase(test, phase);
        let (metric, factor) = self.unit;
        let value = vec![(metric, factor * value)];
        self.gathering.add(line, ok_value(&contender, test, &phase, value))
    }
}

/// Returns the words of a line, each with the position after its end.
fn with_ends(text: &str) -> Vec<(&str, usize)> {
    let begin = text.as_ptr() as usize;
    let words = text.split_whitespace().take(COLUMNS + 1);
    words.map(|word| (word, word.as_ptr() as usize - begin + word.len())).collect()
}

fn ends(text: &str) -> Ends {
    let words = with_ends(text).into_iter().take(COLUMNS);
    words.map(|(_, end)| end).collect()
}

/// Returns the heading whose end is nearest to the end of a value.
fn nearest(ends: &[usize], end: usize) -> usize {
    let distances = ends.iter().map(|heading| heading.abs_diff(end));
    let nearest = distances.enumerate().min_by_key(|(_, distance)| *distance);
    nearest.map_or(0, |(column, _)| column)
}

/// Splits a text into its quoted parts and its other words.
fn quoted(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut within, mut outside) = (Vec::new(), Vec::new());
    for (index, part) in text.split('"').enumerate() {
        match index % 2 {
            1 => within.push(part),
            _ => outside.extend(part.split_whitespace()),
        }
    }
    (within, outside)
}

fn kilobytes(count: f64) -> Option<u64> {
    let is_whole = count.fract() == 0.0 && count >= 1.0 && count < (1u64 << 43) as f64;
    is_whole.then(|| count as u64 * 1024)
}

fn size(text: &str, line: usize) -> Result<u64, ImportError> {
    let size = optional(text).and_then(kilobytes);
    size.ok_or_else(|| ImportError::at_line(line, "the size of the file is not a number of kB"))
}

fn size_of_record(text: &str, line: usize) -> Result<u64, ImportError> {
    let size = optional(text).and_then(kilobytes);
    size.ok_or_else(|| ImportError::at_line(line, "the size of a record is not a number of kB"))
}
