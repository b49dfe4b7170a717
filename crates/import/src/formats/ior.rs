//! Parses the output of IOR as text, JSON or CSV: the bandwidth of each repetition, which is a
//! round.
//!
//! Source of the format: `ior-output.c` of IOR 4 and the output of IOR 2.10, 3.0.1, 3.3.0 and 4.0.0
//! as its users publish it, and "Getting started" of its documentation. Columns are found by their
//! headings; versions before 3.3 have fewer columns, and 2.10 marks each row with `XXCEL`. `bw(MiB/s)`
//! covers opening, transfer and closing. Runs with other options are separate tests. IOR does not
//! print all of them (`-e`, `-Y`), so that those of the command line count, too. An operation that
//! the command line requests and that has no row failed; so did one with wrong data, which a warning
//! before the row of a read or after the row of a write reports.

use std::collections::BTreeSet;

use model::Metric;
use serde_json::{Map, Value};

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::parse::heading::Heading;
use crate::parse::json;
use crate::parse::number::{optional, parse_ctime};
use crate::parse::place::Place;
use crate::parse::text::{as_utf8, command_of, flags, lines, shortened, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Maximum number of options of a run: twice the number that IOR 4 prints.
const MAX_OPTIONS: usize = 50;
/// Options that most often differ between runs.
const SIZES: [&str; 4] = ["xfersize", "blocksize", "tasks", "clients"];
/// Letters of options that take a value (`ior -h` of 4.0).
const WITH_VALUE: &str = "aAbdDfGhiIjJlMnNoOQsStTUX";
/// Letters of options that choose phases or places, repeat, or are printed with the options.
const NEUTRAL: &str = "abcCdDEfFGhHiIjkKnNoOrsStTvwzZA";

/// A row of the table.
struct IorRow {
    line: usize,
    operation: String,
    values: Vec<(Metric, f64)>,
    failure: Option<String>,
}

struct IorReader<'a> {
    gathering: CampaignBuilder<'a>,
    /// The machine, the directory and the file of the run.
    machine: String,
    directory: Option<String>,
    file: Option<String>,
    /// Options of the command line that change the work.
    command: Vec<String>,
    /// Options of the command line that IOR prints, for outputs without them.
    printed: Vec<String>,
    /// Requested operations, if the output contains them.
    requested: BTreeSet<&'static str>,
    /// The options of the test, as printed.
    options: Vec<String>,
    repetitions: usize,
    columns: Option<Vec<String>>,
    rows: Vec<IorRow>,
    /// Place of the last row of a write.
    written: Option<usize>,
    /// Operation with wrong data whose row follows, and the warning.
    wrong: Option<(&'static str, String)>,
    /// First error of the run.
    error: Option<String>,
    /// Line of the banner of a run without a result so far.
    begun: Option<usize>,
    heading: Heading,
}

/// Reads the results of all runs of the output.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut reader = IorReader {
        gathering: CampaignBuilder::new(InputFormat::Ior, "IOR", naming),
        machine: String::new(),
        directory: None,
        file: None,
        command: Vec::new(),
        printed: Vec::new(),
        requested: BTreeSet::new(),
        options: Vec::new(),
        repetitions: 1,
        columns: None,
        rows: Vec::new(),
        written: None,
        wrong: None,
        error: None,
        begun: None,
        heading: Heading::default(),
    };
    if as_utf8(bytes)?.trim_start().starts_with('{') {
        reader.document(&json::read(bytes)?)?;
    } else {
        for (line, text) in lines(bytes)? {
            reader.line(line, text)?;
        }
        reader.end_run()?;
    }
    reader.gathering.finish()
}

impl IorReader<'_> {
    fn line(&mut self, line: usize, text: &str) -> Result<(), ImportError> {
        if let Some(version) = text.trim_start().strip_prefix("IOR-") {
            self.end_run()?;
            let version = version.split(':').next().unwrap_or_default();
            self.begin(version);
            self.begun = Some(line);
            self.heading.set_in_run(true);
            return Ok(());
        }
        // The rows of CSV have no blanks.
        let is_csv = text.starts_with("access,") || self.columns.is_some() && text.contains(',');
        let words = match is_csv {
            true => text.trim_end().split(',').map(str::trim).collect(),
            false => split_words(text),
        };
        let is_prose = |c: char| c.is_alphabetic() && !"ni".contains(c);
        let warning = text.to_ascii_lowercase();
        let command = command_of(&words, "ior").or_else(|| command_of(&words, "IOR"));
        match words.as_slice() {
            ["Began:", clock @ ..] | ["Began", ":", clock @ ..] => {
                self.gathering.set_started(parse_ctime(clock));
            }
            ["Options:"] | ["Summary:"] => {
                self.end_test()?;
                self.options.clear();
            }
            ["TestID" | "StartTime" | "Max", ..] | ["Summary", "of", ..] => self.end_test()?,
            [first, ..] if command.is_some_and(|_| !first.starts_with("IOR-")) => {
                // After a prompt, another run follows.
                if *first != "Command" {
                    self.end_run()?;
                }
                self.set_command(command.unwrap_or_default(), *first == "Command");
            }
            ["access", bandwidth, ..] if bandwidth.starts_with("bw(") => {
                self.columns = Some(words.iter().map(|&word| word.to_owned()).collect());
                self.begun.get_or_insert(line);
            }
            ["Finished" | "Finished:", ..] | ["Run", "finished:", ..] => {
                self.end_test()?;
                self.heading.set_in_run(false);
            }
            [] | ["------", ..] => {}
            _ if warning.contains("errors found)") && warning.contains("incorrect data on ") => {
                self.set_wrong(&warning, text.trim());
            }
            _ if text.contains("ERROR:") => {
                self.error.get_or_insert_with(|| shortened(text.trim()));
            }
            ["write" | "read" | "remove", value, ..]
                if self.columns.is_some() && !value.starts_with(is_prose) =>
            {
                self.row(line, &words)?;
            }
            [first, ..] if self.columns.is_none() && !first.starts_with('-') => {
                // Example: `xfersize            : 1 MiB`, or with `=` directly after the name, as in
                // `ordering inter file`.
                let apart = text.split_once(" : ").or_else(|| text.split_once("= "));
                let apart =
                    apart.or_else(|| text.split_once(": ").filter(|_| first.ends_with(':')));
                match apart {
                    Some((key, value)) => self.option(key.trim(), value.trim()),
                    None => self.heading.line(text),
                }
            }
            _ => self.heading.line(text),
        }
        Ok(())
    }

    fn begin(&mut self, version: &str) {
        self.gathering.set_program(&format!("IOR {version}"));
        (self.directory, self.file, self.columns) = (None, None, None);
        self.command.clear();
        self.requested.clear();
        self.machine.clear();
        self.error = None;
    }

    /// Takes an option of the test.
    fn option(&mut self, key: &str, value: &str) {
        match key {
            "Path" => self.directory = Some(value.to_owned()),
            "test filename" | "Test filename" => self.file = Some(value.to_owned()),
            "Machine" | "Machine:" => self.machine = value.to_owned(),
            "repetitions" => self.repetitions = value.parse().unwrap_or(1),
            "StartTime" | "Finished" | "FS" | "TestID" | "Used FS" | "Capacity" | "Inodes"
            | "Used Inodes" | "verbose" | "TEST" | "refnum" | "WARNING" => {}
            _ if value.is_empty() || self.options.len() == MAX_OPTIONS => {}
            // Titles begin with the options that most often differ between runs.
            _ if SIZES.contains(&key) => {
                self.options.insert(0, shortened(&format!("{key} {value}")));
            }
            _ => self.options.push(shortened(&format!("{key} {value}"))),
        }
    }

    /// Takes the options of a command line. Without -w, -r, -W and -R, IOR writes and reads. Prose
    /// that shows a prompt may omit rows.
    fn set_command(&mut self, command: &[&str], is_printed: bool) {
        let given = flags(command, WITH_VALUE);
        let has = |letter: char| given.iter().any(|(given, _)| *given == letter);
        let is_default = is_printed && !"wrWR".chars().any(has);
        let operations = [("write", has('w') || is_default), ("read", has('r') || is_default)];
        // A script may select other operations for each test.
        let operations = operations.into_iter().filter(|(_, given)| *given && !has('f'));
        self.requested = operations.map(|(operation, _)| operation).collect();
        let shown =
            |(letter, value): &(char, &str)| format!("-{letter} {value}").trim_end().to_owned();
        let printed = given.iter().filter(|(letter, _)| "acCFsz".contains(*letter));
        self.printed = printed.map(shown).collect();
        let others = given.iter().filter(|(letter, _)| !NEUTRAL.contains(*letter));
        let others = others.map(shown);
        let directives = given.iter().filter(|(letter, _)| *letter == 'O');
        let directives = directives.flat_map(|(_, value)| value.split(','));
        let directives = directives.filter(|one| !one.starts_with("summary")).map(str::to_owned);
        let long = command.iter().filter(|word| word.starts_with("--"));
        let all: BTreeSet<String> =
            others.chain(directives).chain(long.map(|word| (*word).to_owned())).collect();
        self.command = all.into_iter().take(MAX_OPTIONS).map(|one| shortened(&one)).collect();
    }

    /// Marks the operation with wrong data. The warning follows the row of a write and precedes that
    /// of a read.
    fn set_wrong(&mut self, warning: &str, text: &str) {
        let operation = if warning.contains("data on write") { "write" } else { "read" };
        let written = self.written.filter(|_| operation == "write");
        match written.and_then(|at| self.rows.get_mut(at)) {
            Some(row) => row.failure = Some(shortened(text)),
            None => self.wrong = Some((operation, shortened(text))),
        }
    }

    fn row(&mut self, line: usize, words: &[&str]) -> Result<(), ImportError> {
        let columns = self.columns.clone().unwrap_or_default();
        let words = words.strip_suffix(&["XXCEL"]).unwrap_or(words);
        if words.len() != columns.len() {
            let (count, wanted) = (words.len(), columns.len());
            let what = format!("{count} columns below {wanted} headings: the line is cut off");
            return Err(ImportError::at_line(line, what));
        }
        let fields = columns.iter().map(String::as_str).zip(words.iter().copied());
        if self.options.is_empty() {
            let stated = ["block(KiB)", "xfer(KiB)", "numTasks"];
            let stated =
                fields.clone().filter(|(name, value)| stated.contains(name) && *value != "-");
            let stated: Vec<_> = stated.map(|(name, value)| format!("{name} {value}")).collect();
            self.options = stated;
            self.options.extend(self.printed.clone());
        }
        self.take(line, words[0], fields)
    }

    /// Takes the fields of a result. Fields of operations without a transfer are `-`.
    fn take<'a>(
        &mut self,
        line: usize,
        operation: &str,
        fields: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), ImportError> {
        const MIB: f64 = 1024.0 * 1024.0;
        let mut values = Vec::new();
        let mut failure = None;
        for (name, word) in fields.filter(|(_, word)| *word != "-") {
            let (metric, factor) = match name {
                "bw(MiB/s)" | "bwMiB" => (Metric::Throughput, MIB),
                "IOPS" | "iops" => (Metric::Rate, 1.0),
                "Latency(s)" | "Latency" | "latency" => (Metric::LatencyMean, 1.0),
                "total(s)" | "totalTime" => (Metric::Elapsed, 1.0),
                "open(s)" | "openTime" => (Metric::OpenMax, 1.0),
                "close(s)" | "closeTime" => (Metric::CloseMax, 1.0),
                "wr/rd(s)" | "wrRdTime" => {
                    let what = "wr/rd(s), the time of the transfer, which no metric has";
                    self.gathering.skip_with_reason(what);
                    continue;
                }
                _ => continue,
            };
            match optional(word) {
                Some(value) if value > 0.0 || metric != Metric::Throughput => {
                    values.push((metric, value * factor));
                }
                None if !["nan", "inf"].contains(&word.trim_start_matches('-')) => {
                    let what = format!("`{}` is no number from 0 on", shortened(word));
                    return Err(ImportError::at_line(line, what));
                }
                _ if metric == Metric::Throughput => {
                    failure = Some(format!("it states a rate of {word}"));
                }
                _ => {}
            }
        }
        values.sort_by_key(|(metric, _)| match metric {
            Metric::Throughput => 0,
            Metric::Rate => 1,
            Metric::LatencyMean => 2,
            Metric::Elapsed => 3,
            _ => 4,
        });
        let wrong = self.wrong.take_if(|(wrong, _)| *wrong == operation);
        let failure = failure.or(wrong.map(|(_, warning)| warning));
        if operation == "write" {
            self.written = Some(self.rows.len());
        }
        self.rows.push(IorRow { line, operation: operation.to_owned(), values, failure });
        Ok(())
    }

    /// Ends a run. If it was stopped before its table, its requested operations failed.
    fn end_run(&mut self) -> Result<(), ImportError> {
        self.end_test()?;
        if self.begun.is_some() {
            self.columns = Some(Vec::new());
            self.end_test()?;
        }
        Ok(())
    }

    /// Refuses a run without a result, if its requested operations are not known.
    fn check_complete(&self) -> Result<(), ImportError> {
        self.begun.map_or(Ok(()), |line| {
            let what = "this run of IOR has no result: it was cut off; remove it";
            Err(ImportError::at_line(line, what))
        })
    }

    /// Adds the rows of a test, and the failures of its missing ones.
    fn end_test(&mut self) -> Result<(), ImportError> {
        if self.columns.take().is_none() {
            return Ok(());
        }
        let mut rows = std::mem::take(&mut self.rows);
        self.written = None;
        let options = std::mem::take(&mut self.options);
        let repetitions = std::mem::replace(&mut self.repetitions, 1).min(1000);
        let line = rows.last().map_or(1, |row| row.line);
        for operation in &self.requested {
            let seen = rows.iter().filter(|row| row.operation == *operation).count();
            let reason = self.wrong.take_if(|(wrong, _)| wrong == operation);
            let reason = reason.map(|(_, warning)| warning).or_else(|| self.error.clone());
            let reason = reason.unwrap_or_else(|| "it was requested and has no result".to_owned());
            rows.extend((seen..repetitions).map(|_| IorRow {
                line,
                operation: (*operation).to_owned(),
                values: Vec::new(),
                failure: Some(reason.clone()),
            }));
        }
        if rows.is_empty() {
            return self.check_complete();
        }
        self.begun = None;
        let place = self.place();
        let directory = place.as_ref().and_then(|place| place.test.clone());
        // Sizes and the command line distinguish runs best.
        let is_size =
            |option: &String| SIZES.iter().any(|size| option.split(' ').next() == Some(size));
        let (sizes, others): (Vec<String>, Vec<String>) = options.into_iter().partition(is_size);
        let all = sizes.into_iter().chain(self.command.clone()).chain(others).chain(directory);
        let parameters = all.collect::<Vec<_>>().join(", ");
        let machine = self.machine.clone();
        let machine = machine.split_whitespace().nth(1);
        let heading = self.heading.name().map(str::to_owned);
        let heading = heading.as_deref();
        let stated =
            StatedNames { place, host: machine, heading, is_named: true, ..StatedNames::default() };
        for IorRow { line, operation, values, failure } in rows {
            let contender = self.gathering.contender(&stated)?;
            let test = self.gathering.unique_test_name("ior", &parameters);
            let taken = match failure {
                Some(reason) => failed_value(&contender, &test, &operation, reason),
                None => ok_value(&contender, &test, &operation, values),
            };
            if operation != "remove" {
                self.gathering.set_primary_metric(&test, &operation, Metric::Throughput);
            }
            self.gathering.add(line, taken)?;
        }
        Ok(())
    }

    /// Returns the place of the test: the directory that IOR states, or else that of the file.
    fn place(&self) -> Option<Place> {
        let file = self.file.as_deref();
        match &self.directory {
            // IOR 4 prints the file, which may have the number of a task at its end.
            Some(path) if file.is_some_and(|file| is_file(path, file)) => Place::file(path),
            Some(directory) => {
                let place = Place::directory(directory)?;
                let exact = match file.filter(|file| file.starts_with('/')) {
                    Some(file) => file.to_owned(),
                    None => format!("{directory}/{}", file.unwrap_or_default()),
                };
                Some(Place { exact, ..place })
            }
            None => file.and_then(Place::file),
        }
    }

    /// Reads a document of `summaryFormat=JSON`.
    fn document(&mut self, document: &Map<String, Value>) -> Result<(), ImportError> {
        let field =
            |of: &Map<String, Value>, name: &str| of.get(name).map(plain).unwrap_or_default();
        self.begin(&field(document, "Version"));
        let began = field(document, "Began");
        self.gathering.set_started(parse_ctime(&split_words(&began)));
        let command = field(document, "Command line");
        self.machine = field(document, "Machine");
        let tests = document.get("tests").and_then(Value::as_array);
        for test in tests.into_iter().flatten().filter_map(Value::as_object) {
            self.set_command(&split_words(&command), false);
            self.directory = test.get("Path").map(plain);
            let named = |name| test.get(name).and_then(Value::as_object);
            let parameters = named("Parameters");
            self.file = parameters.and_then(|all| all.get("testFileName")).map(plain);
            for (key, value) in named("Options").into_iter().flatten() {
                self.option(key, &plain(value));
            }
            let is_work =
                |key: &str| !["testID", "refnum", "testFileName", "verbose"].contains(&key);
            for (key, value) in parameters.into_iter().flatten().filter(|(key, _)| is_work(key)) {
                self.option(key, &plain(value));
            }
            let mut open: Vec<&Value> = test.get("Results").into_iter().collect();
            let mut results = Vec::new();
            while let Some(value) = open.pop() {
                match value {
                    Value::Array(values) => open.extend(values.iter().rev()),
                    Value::Object(fields) => results.push(fields),
                    _ => {}
                }
            }
            self.columns = Some(Vec::new());
            for result in results {
                let operation = field(result, "access");
                if !["write", "read", "remove"].contains(&operation.as_str()) {
                    continue;
                }
                let fields: Vec<(&str, String)> =
                    result.iter().map(|(name, value)| (name.as_str(), plain(value))).collect();
                let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
                self.take(1, &operation, fields)?;
            }
            self.end_test()?;
        }
        Ok(())
    }
}

/// Returns true if a path is that of the file and has the name of a file. `-o` may name a directory.
fn is_file(path: &str, file: &str) -> bool {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let (path, file) = (last(path), last(file));
    let number = path.strip_prefix(&file).filter(|_| !file.is_empty());
    let is_number = |rest: &str| rest.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    number.is_some_and(is_number)
        && (path.contains('.') || ["file", "test", "ior"].iter().any(|word| path.contains(word)))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
