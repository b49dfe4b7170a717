//! Parses the output of `fsarena report --format csv`: results of a campaign whose database is not
//! available.
//!
//! Source of the format: RFC 4180 and `docs/exports.md`. Lines of one phase in one round form one
//! result, with the metrics in the order of the lines. Cells that did not run give no result. A
//! line without a metric marks a cell that died in a step that is not a phase. Cache states, shares
//! and passes are not imported: only the database of a campaign and its JSON report contain them. A
//! unit or a direction that differs from the metric's is refused, and so is a duplicate value.

use std::collections::BTreeMap;

use model::{
    Campaign, Direction, ImportedResult, Metric, ReportedValue, Status, SweepAxis, SweepPoint,
    check_name,
};

use crate::campaign_builder::{CampaignBuilder, StatedNames, ok_value};
use crate::parse::number::signed;
use crate::parse::text::as_utf8;
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Required columns.
const NEEDED: [&str; 8] =
    ["contender", "suite", "test", "phase", "round", "metric", "value", "status"];
/// Maximum number of columns of a file: twice the current number.
const MAX_COLUMNS: usize = 64;

/// A record and the line on which it starts.
type ExportedRecord = (usize, Vec<String>);

/// Reads every record.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut records = records(as_utf8(bytes)?)?.into_iter();
    let header = records.next().map(|(_, fields)| fields).unwrap_or_default();
    let column = |name: &str| header.iter().position(|field| field == name);
    for name in NEEDED {
        if column(name).is_none() {
            let what = format!("it has no column `{name}`: it is no CSV of fsarena");
            return Err(ImportError::at_line(1, what));
        }
    }
    let mut gathering = CampaignBuilder::new(InputFormat::Csv, "fsarena", naming);
    let mut figures = Figures::default();
    for (line, fields) in records {
        if fields.len() != header.len() {
            let (count, wanted) = (fields.len(), header.len());
            let what = format!("{count} fields where the first line has {wanted}: it is cut off");
            return Err(ImportError::at_line(line, what));
        }
        let field = |name: &str| column(name).map_or("", |column| fields[column].as_str());
        figures.take(&mut gathering, line, &field)?;
    }
    for (line, figure) in figures.all {
        gathering.add(line, figure)?;
    }
    gathering.finish()
}

/// Results by contender, test, phase and round, in the order of their first lines.
#[derive(Default)]
struct Figures {
    places: BTreeMap<(String, String, String, u32), usize>,
    all: Vec<(usize, ImportedResult)>,
    /// The suite of each test.
    suites: BTreeMap<String, String>,
}

impl Figures {
    fn take<'a>(
        &mut self,
        gathering: &mut CampaignBuilder<'_>,
        line: usize,
        field: &impl Fn(&'static str) -> &'a str,
    ) -> Result<(), ImportError> {
        let outside = |name: &'static str| without_apostrophe(field(name));
        gathering.set_name(outside("campaign_name"));
        let contender = gathering.contender(&StatedNames::title(Some(outside("contender"))))?;
        let (test, phase) = (outside("test"), outside("phase"));
        for name in [test, phase] {
            check_name(name).map_err(|error| ImportError::at_line(line, error.to_string()))?;
        }
        let round = field("round").parse().ok();
        let round = round.filter(|round| (1..=Campaign::MAX_ROUNDS).contains(round));
        let round =
            round.ok_or_else(|| ImportError::at_line(line, "the round is not a valid number"))?;
        let suite = place(gathering, test, field, line)?;
        let known = self.suites.entry(test.to_owned()).or_insert(suite);
        if *known != without_apostrophe(field("suite")) {
            let what = format!("{test} is in suite {known}, too: import the suites by themselves");
            return Err(ImportError::at_line(line, what));
        }
        gathering.add_contender(&contender);
        let word = field("status");
        if matches!(word, "not run yet" | "not needed" | "none") {
            return Ok(());
        }
        let reason = outside("reason");
        if field("metric").is_empty() {
            let cell = (contender, test.to_owned(), round);
            gathering.record_failure(cell, status(word, line)?, phase, reason);
            return Ok(());
        }
        let key = (contender.clone(), test.to_owned(), phase.to_owned(), round);
        let place = *self.places.entry(key).or_insert(self.all.len());
        if place == self.all.len() {
            let mut first = ok_value(&contender, test, phase, Vec::new());
            first.round = round;
            self.all.push((line, first));
        }
        let taken = &mut self.all[place].1;
        // An unmeasured phase has no status.
        match word {
            "not measured" => {}
            "too fast" => taken.too_fast = true,
            _ => taken.status = status(word, line)?,
        }
        if !reason.is_empty() {
            taken.reason = Some(reason.to_owned());
        }
        if field("value").is_empty() {
            return Ok(());
        }
        let metric: Metric =
            field("metric").parse().map_err(|error: String| ImportError::at_line(line, error))?;
        let value = signed(field("value"), line)?;
        is_of(metric, value, field).map_err(|why| ImportError::at_line(line, why))?;
        if taken.values.iter().any(|known| known.metric == metric) {
            let what = format!("{metric} of {test}/{phase} occurs twice in round {round}");
            return Err(ImportError::at_line(line, what));
        }
        taken.values.push(ReportedValue { metric, value });
        Ok(())
    }
}

/// Checks a value against the unit, the direction and the range of its metric.
fn is_of<'a>(
    metric: Metric,
    value: f64,
    field: &impl Fn(&'static str) -> &'a str,
) -> Result<(), String> {
    let unit = metric.unit().name();
    let direction = metric.direction().name();
    for (column, wanted) in [("unit", unit), ("direction", direction)] {
        let shown: String = field(column).chars().take(40).collect();
        // Between contenders with the same files, less space is better.
        let is_space = (metric, &*shown) == (Metric::SpaceTaken, Direction::Lower.name());
        if !shown.is_empty() && shown != wanted && !is_space {
            return Err(format!("the {column} of {metric} is `{wanted}`, not `{shown}`"));
        }
    }
    // A phase that frees space has a negative value. Times and rates cannot be negative.
    match value < 0.0 && ["s", "B/s", "1/s"].contains(&unit) {
        true => Err(format!("`{value}` is below zero, which no {metric} is")),
        false => Ok(()),
    }
}

/// Returns the suite of a test and records the test's point in a sweep, if any.
fn place<'a>(
    gathering: &mut CampaignBuilder<'_>,
    test: &str,
    field: &impl Fn(&'static str) -> &'a str,
    line: usize,
) -> Result<String, ImportError> {
    let suite = without_apostrophe(field("suite"));
    check_name(suite).map_err(|error| ImportError::at_line(line, error.to_string()))?;
    gathering.set_suite(test, suite);
    let of = without_apostrophe(field("sweep"));
    if of.is_empty() {
        return Ok(suite.to_owned());
    }
    check_name(of).map_err(|error| ImportError::at_line(line, error.to_string()))?;
    let mut at = BTreeMap::new();
    for axis in SweepAxis::ALL {
        let value = field(axis.name());
        if !value.is_empty() {
            let value = value.parse();
            let value =
                value.map_err(|_| ImportError::at_line(line, format!("`{axis}` is no number")))?;
            at.insert(axis, value);
        }
    }
    let of = of.to_owned();
    gathering.set_sweep_point(test, SweepPoint { sweep: of, at });
    Ok(suite.to_owned())
}

fn status(word: &str, line: usize) -> Result<Status, ImportError> {
    const ALL: [Status; 7] = [
        Status::Ok,
        Status::Unsupported,
        Status::Failed,
        Status::Crashed,
        Status::Hung,
        Status::Skipped,
        Status::Invalid,
    ];
    let known = ALL.into_iter().find(|status| status.name() == word);
    known.ok_or_else(|| {
        let shown: String = word.chars().take(40).collect();
        ImportError::at_line(line, format!("`{shown}` is no status"))
    })
}

/// Removes the apostrophe that prevents spreadsheets from interpreting a text as a formula.
fn without_apostrophe(text: &str) -> &str {
    text.strip_prefix('\'').unwrap_or(text)
}

/// Splits a text into RFC 4180 records. A quoted field may contain line ends.
fn records(text: &str) -> Result<Vec<ExportedRecord>, ImportError> {
    let mut records = Vec::new();
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let (mut line, mut begin) = (1, 1);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let field = fields.len() - 1;
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                fields[field].push('"');
                letters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            '\n' if !quoted => {
                records.push((begin, std::mem::replace(&mut fields, vec![String::new()])));
                begin = line + 1;
            }
            '\r' if !quoted && letters.peek() == Some(&'\n') => {}
            letter => fields[field].push(letter),
        }
        line += usize::from(letter == '\n');
        if fields.len() > MAX_COLUMNS {
            let what = format!("more than {MAX_COLUMNS} columns: not a CSV report of fsarena");
            return Err(ImportError::at_line(line, what));
        }
    }
    if quoted || fields.len() > 1 || !fields[0].is_empty() {
        return Err(ImportError::at_line(begin, "the last line does not end: the file is cut off"));
    }
    Ok(records)
}
