//! Parses the output of IOzone: the table of `iozone -a` and single points, the spreadsheet of
//! `-R`, and the throughput test of `-t`. A point of the grid of file sizes and record sizes is a
//! test of a sweep, as in suite `iozone`.
//!
//! Source of the format: the output of IOzone 3.489 with `-a`, `-Ra`, `-i 0 -i 2`, `-O` and `-t`.
//! Sizes are kB of 1024 bytes, rates kB/s, or operations per second (`-O`), or microseconds per
//! operation (`-N`, which overrides the others). A value below the end of a heading belongs to it.
//! A test that did not run is blank or 0 (`-+n`). Tables of CPU utilization follow those of rates.
//! Options that change the work are lines before the command line, or only in the command line; they
//! are part of the name of the sweep. Versions before 3.43 write `Kbyte` and `KB`. The spreadsheet
//! that fsarena writes has a line with the name of the contender before each table.

use std::collections::{BTreeMap, BTreeSet};

use model::{Metric, SweepAxis, SweepPoint};

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::parse::heading::Heading;
use crate::parse::number::{number, optional, parse_ctime};
use crate::parse::place::Place;
use crate::parse::text::{command_of, flags, is_ended, lines, option, shortened, split_words};
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

/// Options that change the work: flag, begin of the line that states the option, and its name.
/// Values at the end of the line belong to the name.
const MODES: [(&str, &str, &str); 23] = [
    ("I", "O_DIRECT", "direct"),
    ("o", "SYNC Mode", "sync"),
    ("+D", ">>> O_DSYNC", "dsync"),
    ("+r", "Read & Write sync", "rsync"),
    ("e", "Include fsync", "fsync"),
    ("c", "Include close", "close"),
    ("B", "Using mmap", "mmap"),
    ("G", "Using msync(MS_SYNC)", "msync"),
    ("D", "Using msync(MS_ASYNC)", "msync-async"),
    ("Z", "Enable mmap & file", "mmap-and-file"),
    ("H", "POSIX async I/O (with bcopy)", "aio-copy"),
    ("k", "POSIX Async I/O (no bcopy)", "aio"),
    ("K", "Disrupted read", "disrupted"),
    ("W", "Lock file", "lock"),
    ("+l", ">>> Record locking mode", "record-lock"),
    ("+L", ">>> Record locking, shared", "shared-record-lock"),
    ("+V", ">>> Shared file", "shared-file"),
    ("m", "Multi_buffer", "buffers"),
    ("p", "Purge Mode", "purge"),
    ("V", "Verify Mode", "verify"),
    ("+d", ">>> I/O Diagnostic", "diagnostic"),
    ("x", "Stonewall disabled", "no-stonewall"),
    ("U", "", "unmount"),
];
/// Maximum number of modes of a run.
const MAX_MODES: usize = 24;
/// Begins of lines before the command line that state no mode: sizes, units and names.
const NEUTRAL: [&str; 25] = [
    "Auto Mode",
    "Record Size",
    "File size set",
    "Using minimum",
    "Using maximum",
    "Using Minimum",
    "Using Maximum",
    "Excel chart",
    "OPS Mode",
    "Microseconds/op Mode",
    "Cross over",
    "No retest",
    "CPU utilization",
    "Setting no_unlink",
    "Network distribution",
    "Hostname",
    "PIT_",
    "Offset/latency",
    "Histogram",
    "Delay",
    "Machine =",
    "Error",
    "Performance measurements",
    "-M option",
    "Run began",
];
/// Flags that change neither work nor timing, or that set sizes and files.
const NEUTRAL_FLAGS: &str = "aAbCdfFghiJlLMnNOPqQrRsStTuvwXyYz";

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
    const RETESTS: [&str; 4] = ["rewrite", "reread", "frewrite", "freread"];
    let is_run = |phase: &&str| !arguments.contains(&"-+n") || !RETESTS.contains(phase);
    let phases = selected(arguments).into_iter().map(|column| PHASES[column].0);
    let phases = phases.filter(is_run).collect();
    let metric = match (count('N'), count('O')) {
        (0, 0) => Metric::Throughput,
        (0, _) => Metric::Rate,
        _ => Metric::LatencyMean,
    };
    Ok((phases, metric))
}

/// Returns the columns of the tests that the options select (`-i`), all by default.
fn selected(arguments: &[&str]) -> Vec<usize> {
    let given = flags(arguments, WITH_VALUE);
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
    let is_selected = |column: &usize| chosen.is_empty() || chosen.contains(&test(*column));
    (0..PHASES.len()).filter(is_selected).collect()
}

/// Returns the modes that a command line selects. Values of options with `+` are the next word.
fn modes_of(command: &[&str]) -> BTreeSet<String> {
    let (plus, plain): (Vec<&str>, Vec<&str>) = command.iter().partition(|w| w.starts_with("-+"));
    let mut given: Vec<(String, &str)> = flags(&plain, WITH_VALUE)
        .into_iter()
        .map(|(letter, value)| (letter.to_string(), value))
        .collect();
    given.extend(plus.iter().map(|word| (word[1..].chars().take(2).collect(), "")));
    let given = given.iter().filter(|(flag, _)| !NEUTRAL_FLAGS.contains(flag.as_str()));
    given
        .filter_map(|(flag, value)| {
            let (.., name) = MODES.iter().find(|(known, ..)| known == flag)?;
            let value = if matches!(flag.as_str(), "H" | "k") { *value } else { "" };
            Some(format!("{name}{value}"))
        })
        .collect()
}

/// Returns the mode that a line before the command line states.
fn mode_of(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || NEUTRAL.iter().any(|begin| text.starts_with(begin)) {
        return None;
    }
    let known = MODES.iter().find(|(_, begin, _)| !begin.is_empty() && text.starts_with(begin));
    match known {
        Some((.., name)) if name.starts_with("aio") => {
            let depth = text.split_whitespace().next_back().unwrap_or_default();
            Some(format!("{name}{depth}"))
        }
        Some((.., name)) => Some((*name).to_owned()),
        None => {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric());
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            Some(shortened(&words.join("-").to_lowercase()))
        }
    }
}

struct IozoneReader<'a> {
    gathering: CampaignBuilder<'a>,
    contender: Option<String>,
    place: Option<Place>,
    heading: Heading,
    /// Options that change the work.
    modes: BTreeSet<String>,
    /// Whether the current line is between the start time and the command line.
    is_in_options: bool,
    /// Whether the run has results, and whether it has ended.
    has_results: bool,
    is_complete: bool,
    /// Columns of the selected tests, if the output contains the command line.
    selected: Option<Vec<usize>>,
    /// Metric and factor of the values, according to the output.
    unit: (Metric, f64),
    /// Sizes of file and record of each process.
    of_each: Option<(u64, u64)>,
    table: Option<Ends>,
    /// File size, record size and number of columns of the last row.
    row: Option<(u64, u64, usize)>,
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
        heading: Heading::default(),
        modes: BTreeSet::new(),
        is_in_options: false,
        has_results: false,
        is_complete: false,
        selected: None,
        unit: KILOBYTES,
        of_each: None,
        table: None,
        row: None,
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
        let command = command_of(&words, "iozone");
        let begins = match words.as_slice() {
            ["Iozone:", ..] => true,
            ["Run", "began:", ..] => self.is_complete || self.has_results,
            ["Throughput", "test", ..] | ["kB" | "KB", "reclen", ..] => self.is_complete,
            _ => command.is_some() && (self.is_complete || self.has_results),
        };
        if begins {
            self.begin();
        }
        if let Some(command) = command {
            let file = option(command, "-f").or_else(|| option(command, "-F"));
            self.place = file.and_then(Place::file);
            self.selected = Some(selected(command));
            let plain: Vec<&str> =
                command.iter().copied().filter(|w| !w.starts_with("-+")).collect();
            let given = flags(&plain, WITH_VALUE);
            for (letter, unit) in [('O', "ops/sec"), ('N', "microseconds")] {
                if given.iter().any(|(given, _)| *given == letter) {
                    self.set_unit(unit);
                }
            }
            let modes = modes_of(command);
            // The lines before it state more, such as the depth of asynchronous requests.
            let is_only = !self.is_in_options;
            self.modes.extend(modes.into_iter().filter(|mode| is_only || mode == "unmount"));
            self.is_in_options = false;
            self.heading.set_in_run(words[0] == "Command");
            return Ok(());
        }
        match words.as_slice() {
            ["Iozone:", ..]
            | ["Excel", "output", ..]
            | ["The", "top", "row", ..]
            | ["Parent", "sees", ..]
            | ["Min" | "Max" | "Avg", "throughput" | "xfer", ..]
            | ["CPU", ..] => {}
            // Only the spreadsheet of the same run follows.
            ["iozone", "test", "complete."] => {
                self.is_complete = true;
                self.heading.set_in_run(false);
            }
            ["Run", "began:", clock @ ..] => {
                self.gathering.set_started(parse_ctime(clock));
                self.is_in_options = true;
            }
            ["Version", "$Revision:", version, ..] => {
                self.gathering.set_program(&format!("IOzone {version}"));
            }
            ["Output", "is", "in", unit, ..] => {
                self.is_in_options = false;
                self.set_unit(unit);
            }
            ["OPS", "Mode.", ..] if self.unit != MICROSECONDS => self.set_unit("ops/sec"),
            ["Microseconds/op", "Mode.", ..] => self.set_unit("microseconds/op"),
            ["File", "stride", "size", "set", "to", stride, ..] if *stride != "17" => {
                self.modes.insert(format!("stride{stride}"));
            }
            ["Each", _, "writes", "a", size, _, "file", "in", record, ..] => {
                self.of_each =
                    optional(size).and_then(kilobytes).zip(optional(record).and_then(kilobytes));
            }
            ["kB" | "KB", "reclen", ..] => self.table = Some(ends(text)),
            ["Children", "see", "throughput", "for", rest @ ..] => self.throughput(line, rest)?,
            [first, ..] if first.starts_with('"') => self.sheet(line, text)?,
            [] => {}
            ["Error" | "write:" | "read:" | "fsync:", ..] if self.row.is_some() => {
                self.error(line, text.trim())?;
            }
            _ if self.table.is_some() => self.row(line, text)?,
            _ if self.is_in_options && self.modes.len() < MAX_MODES => {
                self.modes.extend(mode_of(text));
            }
            _ => self.heading.line(text),
        }
        Ok(())
    }

    /// Forgets the run before.
    fn begin(&mut self) {
        self.unit = KILOBYTES;
        (self.has_results, self.is_complete) = (false, false);
        (self.is_in_options, self.has_table) = (false, false);
        self.row = None;
        (self.of_each, self.table, self.place, self.selected) = (None, None, None, None);
        self.modes.clear();
        self.heading.set_in_run(true);
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
            self.heading.line(text);
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
        let columns = self.columns(line, &values[2..], &ends)?;
        self.row = Some((size, record, columns.last().map_or(2, |column| column + 1)));
        for ((word, _), column) in values.iter().skip(2).zip(columns) {
            let phase = PHASES.get(column.saturating_sub(2)).map(|known| known.0);
            let is_none = ["nan", "inf"].contains(&word.trim_start_matches('-'));
            let Some(phase) = phase else { continue };
            if is_none {
                let what = format!("an invalid value of {phase}");
                self.gathering.skip_with_reason(what);
                continue;
            }
            let value = number(word, line)?;
            if value == 0.0 {
                let what = format!("{phase}, which was not run: its value is 0");
                self.gathering.skip_with_reason(what);
                continue;
            }
            self.point(line, phase, size, record, value)?;
        }
        Ok(())
    }

    /// Adds the failure of the operation after the last value of a row. Its cause may be in a second
    /// line.
    fn error(&mut self, line: usize, text: &str) -> Result<(), ImportError> {
        let Some((size, record, next)) = self.row.take() else { return Ok(()) };
        let selected = self.selected.clone().unwrap_or_else(|| (0..PHASES.len()).collect());
        let failed = selected.into_iter().find(|column| column + 2 >= next);
        let phase = failed.map_or("write", |column| PHASES[column].0);
        let at = BTreeMap::from([(SweepAxis::Size, size), (SweepAxis::Block, record)]);
        self.take(line, "iozone", at, phase, Err(shortened(text)))
    }

    /// Returns the heading of each value: by position, or by the selected tests if the blanks
    /// between the columns were lost.
    fn columns(
        &self,
        line: usize,
        values: &[(&str, usize)],
        ends: &[usize],
    ) -> Result<Vec<usize>, ImportError> {
        const MAX_SHIFT: usize = 4;
        if values.len() + 2 == ends.len() {
            return Ok((2..ends.len()).collect());
        }
        let nearest: Vec<usize> = values.iter().map(|(_, end)| nearest(ends, *end)).collect();
        let is_near = |(column, (_, end)): (&usize, &(&str, usize))| {
            *column >= 2 && ends[*column].abs_diff(*end) <= MAX_SHIFT
        };
        if nearest.iter().zip(values).all(is_near) && nearest.is_sorted_by(|a, b| a < b) {
            // If the blanks between the headings are lost, any value is near to some heading.
            let is_wide = ends.windows(2).any(|pair| pair[1] - pair[0] > "frewrite".len() + 1);
            if is_wide {
                return Ok(nearest);
            }
        }
        match &self.selected {
            Some(selected) if selected.len() == values.len() => {
                Ok(selected.iter().map(|column| column + 2).collect())
            }
            _ => Err(ImportError::at_line(
                line,
                format!(
                    "{} values are not below {} headings, because blanks are lost; import the original output",
                    values.len() + 2,
                    ends.len()
                ),
            )),
        }
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
        } else if title.contains("CPU utilization") {
            self.gathering.skip_with_reason("the CPU utilization of single points");
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
        let unit = rest.get(equals + 2).copied().unwrap_or_default();
        self.unit = match unit.to_ascii_lowercase().as_str() {
            "ops/sec" => (Metric::Rate, 1.0),
            "kb/sec" | "kbytes/sec" => KILOBYTES,
            "mb/sec" | "mbytes/sec" => (Metric::Throughput, 1024.0 * 1024.0),
            _ => self.unit,
        };
        let value = number(value, line)?;
        let mut at = BTreeMap::from([(SweepAxis::Threads, u64::from(threads))]);
        if let Some((size, record)) = self.of_each {
            at.extend([(SweepAxis::Size, size), (SweepAxis::Block, record)]);
        }
        self.take(line, "iozone-throughput", at, phase, Ok(value))
    }

    fn point(
        &mut self,
        line: usize,
        phase: &str,
        size: u64,
        record: u64,
        value: f64,
    ) -> Result<(), ImportError> {
        let at = BTreeMap::from([(SweepAxis::Size, size), (SweepAxis::Block, record)]);
        self.take(line, "iozone", at, phase, Ok(value))
    }

    fn take(
        &mut self,
        line: usize,
        of: &str,
        at: BTreeMap<SweepAxis, u64>,
        phase: &str,
        value: Result<f64, String>,
    ) -> Result<(), ImportError> {
        self.has_results = true;
        let contender = self.gathering.contender(&StatedNames {
            place: self.place.clone(),
            title: self.contender.as_deref(),
            heading: match self.place {
                Some(_) => self.heading.name(),
                None => self.heading.text(),
            },
            is_named: true,
            ..StatedNames::default()
        })?;
        let mut modes: Vec<&str> = self.modes.iter().map(String::as_str).collect();
        match self.unit.0 {
            Metric::Rate => modes.push("operations"),
            Metric::LatencyMean => modes.push("latency"),
            _ => {}
        }
        let sweep = [&[of], modes.as_slice()].concat().join("-");
        let mut test = sweep.clone();
        for (axis, value) in &at {
            test += &format!("-{}", axis.format_short(*value));
        }
        let test = self.gathering.unique_test_name(&test, &modes.join(", "));
        self.gathering.set_sweep_point(&test, SweepPoint { sweep, at });
        let phase = self.gathering.phase(&test, phase);
        let (metric, factor) = self.unit;
        self.gathering.set_primary_metric(&test, &phase, metric);
        let taken = match value {
            Ok(0.0) => failed_value(&contender, &test, &phase, "it states a rate of 0"),
            Ok(value) => ok_value(&contender, &test, &phase, vec![(metric, factor * value)]),
            Err(reason) => failed_value(&contender, &test, &phase, reason),
        };
        self.gathering.add(line, taken)
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
