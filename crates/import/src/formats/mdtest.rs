//! The summary of mdtest: operations on files and directories per second.
//!
//! Source of the format: `mdtest.c` of IOR 4 and published outputs of mdtest 1.9 to 4.1. mdtest
//! prints maximum, minimum, mean and standard deviation over its iterations, but not the iterations
//! themselves. The mean is imported as one round. Statistics per rank precede those per iteration.
//! Operations with a rate of 0 were not run. The numbers of tasks and files are part of the test's
//! identity, and so are all options that do more than choose phases or places.

use std::collections::BTreeSet;

use model::Metric;

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::parse::heading::Heading;
use crate::parse::number::{number, optional, parse_us_date};
use crate::parse::place::Place;
use crate::parse::text::{flags, lines, option, shortened, split_words};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Reads all summaries of rates in the output.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let mut gathering = CampaignBuilder::new(InputFormat::Mdtest, "mdtest", naming);
    let (mut place_of, mut is_place_given) = (None, false);
    let mut options = String::new();
    let mut parameters = String::new();
    let mut table = MdtestTable::default();
    let mut heading = Heading::default();
    for (line, text) in lines(bytes)? {
        if let Some(version) = text.trim_start().strip_prefix("mdtest-") {
            table.end(&mut gathering, (&place_of, &heading), &parameters)?;
            heading.set_in_run(true);
            (place_of, is_place_given) = (None, false);
            options.clear();
            table.expected.clear();
            let version = version.split_whitespace().next().unwrap_or_default();
            gathering.set_program(&format!("mdtest {version}"));
        }
        let words = split_words(text);
        let is_end = |first: &&str| ["--", "SUMMARY", "SUMMARY:"].contains(first);
        if table.is_behind && words.first().is_some_and(|first| !is_end(first)) {
            table.end(&mut gathering, (&place_of, &heading), &parameters)?;
            heading.set_in_run(false);
        }
        match words.as_slice() {
            ["Path", ":", path] | ["Path:", path] if !is_place_given => {
                place_of = Place::directories(&path.split('@').collect::<Vec<_>>());
            }
            ["Command", "line", "used:", command @ ..] => {
                let unquoted = command.iter().map(|word| word.trim_matches(['\'', '"']));
                let command: Vec<&str> = unquoted.collect();
                let path = option(&command, "-d").filter(|path| path.starts_with('/'));
                place_of =
                    path.and_then(|path| Place::directories(&path.split('@').collect::<Vec<_>>()));
                is_place_given = place_of.is_some();
                options = work_of(&command);
                table.expected = phases(&command);
            }
            ["--", "started", "at", day, time, ..] => {
                gathering.set_started(parse_us_date(day, time));
            }
            // Example: `4 tasks, 1000 files/directories`.
            [tasks, "tasks,", ..] if number(tasks, line).is_ok() => {
                let place = place_of.as_ref().and_then(|place: &Place| place.test.clone());
                let all = [Some(words.join(" ")), Some(options.clone()), place];
                let all = all.into_iter().flatten().filter(|part| !part.is_empty());
                parameters = shortened(&all.collect::<Vec<_>>().join(", "));
            }
            ["SUMMARY", "rate" | "rate:", ..] | ["SUMMARY:", ..] => {
                table.end(&mut gathering, (&place_of, &heading), &parameters)?;
                (table.is_open, table.line) = (true, line);
                iterations(&mut gathering, text);
            }
            // The table is complete.
            ["SUMMARY", ..] | ["--", ..] => {
                table.close();
                heading.set_in_run(false);
            }
            [] => table.is_behind = !table.rows.is_empty(),
            [fence] if fence.starts_with("```") => table.is_behind = !table.rows.is_empty(),
            ["Operation" | "---------", ..] => {}
            _ if table.is_open => {
                let contender = contender(&mut gathering, &place_of, &heading)?;
                let called = row(&mut gathering, line, &contender, &parameters, &words)?;
                table.rows.insert(called);
            }
            _ => heading.line(text),
        }
    }
    table.end(&mut gathering, (&place_of, &heading), &parameters)?;
    gathering.finish()
}

fn contender(
    gathering: &mut CampaignBuilder<'_>,
    place: &Option<Place>,
    heading: &Heading,
) -> Result<String, ImportError> {
    gathering.contender(&StatedNames {
        place: place.clone(),
        heading: heading.name(),
        is_named: true,
        ..StatedNames::default()
    })
}

/// The current table of rates.
#[derive(Default)]
struct MdtestTable {
    is_open: bool,
    /// Whether an empty line follows the rows.
    is_behind: bool,
    /// Line of its heading.
    line: usize,
    /// Operations with a row, in the spelling of phases.
    rows: BTreeSet<String>,
    /// Operations that the command line requests.
    expected: Vec<String>,
}

impl MdtestTable {
    fn close(&mut self) {
        (self.is_open, self.is_behind) = (false, false);
        self.rows.clear();
    }

    /// Ends a table after which no line follows. Its last row is that of the removal of the tree. If
    /// that is missing, the requested operations without a row failed.
    fn end(
        &mut self,
        gathering: &mut CampaignBuilder<'_>,
        (place, heading): (&Option<Place>, &Heading),
        parameters: &str,
    ) -> Result<(), ImportError> {
        if self.is_open && !self.rows.contains("tree-removal") {
            if self.rows.is_empty() {
                let what = "the table of mdtest has no row: it is cut off; remove it";
                return Err(ImportError::at_line(self.line, what));
            }
            let contender = contender(gathering, place, heading)?;
            let test = gathering.unique_test_name("mdtest", parameters);
            for phase in self.expected.iter().filter(|phase| !self.rows.contains(*phase)) {
                let reason = "it was requested and has no result: the table is cut off";
                // The printed form, so that the phase is that of other tables.
                let printed = phase[..1].to_uppercase() + &phase[1..].replace('-', " ");
                let phase = gathering.phase(&test, &printed);
                gathering.add(self.line, failed_value(&contender, &test, &phase, reason))?;
            }
            if self.expected.is_empty() {
                gathering.skip_with_reason("the end of a table, which is cut off");
            }
        }
        self.close();
        Ok(())
    }
}

/// Returns the options that change the work, sorted. Others select phases, places, printed
/// values, or numbers of tasks and files, which are parameters already.
fn work_of(command: &[&str]) -> String {
    const NEUTRAL: &str = "dnvVpPZxflsCTErUG";
    let given = flags(command, WITH_VALUE).into_iter();
    let given = given.filter(|(letter, _)| !NEUTRAL.contains(*letter));
    // 0 is the default of these.
    let given = given.filter(|(letter, value)| !("webzWI".contains(*letter) && *value == "0"));
    let mut all: BTreeSet<String> =
        given.map(|(letter, value)| format!("-{letter} {value}").trim_end().to_owned()).collect();
    all.remove("-i 1");
    let long = command.iter().filter(|word| word.starts_with("--"));
    all.extend(long.map(|word| (*word).to_owned()));
    all.into_iter().collect::<Vec<_>>().join(" ")
}

/// Letters of options that take a value (`mdtest --help` of 4.1).
const WITH_VALUE: &str = "abBdefGiIlnNpsVwWxz";

/// Returns the phases for which mdtest prints a rate with these options. With `-C` and similar
/// options, only the selected phases run. Renaming of directories is only predicted if it is
/// requested, because versions before 4.1 do not rename by default.
pub fn phases(arguments: &[&str]) -> Vec<String> {
    let given = flags(arguments, WITH_VALUE);
    let has = |letter: char| given.iter().any(|(given, _)| *given == letter);
    let chooses = "CTErU".chars().any(has);
    let is_run = |letter: char| !chooses || has(letter);
    let actions =
        [('C', "creation"), ('T', "stat"), ('E', "read"), ('U', "rename"), ('r', "removal")];
    let mut all = Vec::new();
    for (kind, other) in [("directory", 'F'), ("file", 'D'), ("tree", ' ')] {
        let is_printed = |letter: char| match (kind, letter) {
            ("directory", 'E') | ("file", 'U') | ("tree", 'T' | 'E' | 'U') => false,
            (_, 'U') => has('U'),
            _ => is_run(letter),
        };
        let of_kind = actions.iter().filter(|(letter, _)| is_printed(*letter));
        if !has(other) {
            all.extend(of_kind.map(|(_, action)| format!("{kind}-{action}")));
        }
    }
    all
}

/// `(of 10 iterations)`.
fn iterations(gathering: &mut CampaignBuilder<'_>, text: &str) {
    let count = text.split("(of ").nth(1).and_then(|rest| rest.split(' ').next());
    match count.and_then(|count| count.parse::<u32>().ok()) {
        Some(0 | 1) | None => {}
        Some(count) => gathering.skip_with_reason(format!(
            "Max, Min and Std Dev over {count} iterations: mdtest prints no single iterations, and their mean is one round"
        )),
    }
}

/// Adds the result of a line and returns its operation. Example: `File creation : 7147.432 6789.531 6996.044 132.149`. In versions before 4
/// the colon follows, in the oldest directly after the name.
fn row(
    gathering: &mut CampaignBuilder<'_>,
    line: usize,
    contender: &str,
    parameters: &str,
    words: &[&str],
) -> Result<String, ImportError> {
    let is_value = |word: &&str| {
        optional(word).is_some() || matches!(word.trim_start_matches('-'), "nan" | "inf")
    };
    let first = words.iter().position(is_value).filter(|first| *first > 0);
    let Some(first) = first.filter(|first| words.len() - first >= 4) else {
        return Err(ImportError::at_line(line, "a line of the summary is cut off"));
    };
    let called = words[..first].join(" ");
    let called = called.trim_end_matches([' ', ':']);
    let operation = shortened(&called.to_lowercase().replace(' ', "-"));
    let stated = words[words.len() - 2];
    let mean = if is_value(&stated) { optional(stated) } else { Some(number(stated, line)?) };
    let Some(mean) = mean else {
        let test = gathering.unique_test_name("mdtest", parameters);
        let phase = gathering.phase(&test, called);
        let reason = format!("it states a rate of {stated}");
        gathering.add(line, failed_value(contender, &test, &phase, reason))?;
        return Ok(operation);
    };
    if mean == 0.0 {
        gathering.skip_with_reason(format!("{called}, which mdtest did not run: its rate is 0"));
        return Ok(operation);
    }
    let test = gathering.unique_test_name("mdtest", parameters);
    let phase = gathering.phase(&test, called);
    gathering.add(line, ok_value(contender, &test, &phase, vec![(Metric::Rate, mean)]))?;
    Ok(operation)
}
