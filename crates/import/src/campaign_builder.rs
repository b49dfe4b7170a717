//! Collects the results that the parsers find: gives them valid names, counts rounds and limits
//! them to the size of a campaign.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Campaign, Environment, Failure, ImportedCampaign, ImportedContender, ImportedResult, Metric,
    Nanos, ReportedValue, Status, SweepPoint, WorkloadCategory,
};

use crate::names::UniqueNames;
use crate::parse::place::Place;
use crate::parse::text::shortened;
use crate::parsed_input::{
    ImportedCellKey, MAX_RESULTS, NameKey, ParsedInput, check_contenders, complete,
};
use crate::{ImportError, InputFormat};

/// Maximum length of a name or a directory in an input, in bytes (`PATH_MAX` in limits.h). Each
/// result has a copy.
const MAX_NAME: usize = 4096;
/// Maximum length of the parameters of a test, or of a list of paths, in bytes.
pub const MAX_PARAMETERS: usize = 4 * MAX_NAME;

/// Refuses a text that each result would copy. `what` names it.
///
/// # Errors
/// Returns an error in one line if the text is longer than `most` bytes.
pub fn check_length(what: &str, text: &str, most: usize) -> Result<(), ImportError> {
    match text.len() > most {
        true => Err(ImportError::in_file(format!(
            "{what} has {} bytes, more than {most}: `{}…`",
            text.len(),
            text.chars().take(40).collect::<String>()
        ))),
        false => Ok(()),
    }
}

/// Names for contenders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamingOptions {
    /// Name from the user for the only contender of the input. Overrides the name in the input.
    pub given: Option<String>,
    /// Default name if the input contains none, such as the file name.
    pub otherwise: String,
    /// Fact of the input that must name its contenders [default: the best one available].
    pub from: Option<NameSource>,
}

model::named_enum! {
    /// Fact of an input that names a contender.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum NameSource {
        /// The directory or file that the program worked in, as a whole.
        Path = "path",
        /// The machine.
        Host = "host",
        /// The name of the system, command or job, or the heading before a run.
        Title = "title",
    }
}

/// Names in an input that may be the contender's.
#[derive(Clone, Debug, Default)]
pub struct StatedNames<'a> {
    /// Where the program worked.
    pub place: Option<Place>,
    /// The machine.
    pub host: Option<&'a str>,
    /// The title of the run.
    pub title: Option<&'a str>,
    /// The text before the run, which may be a title.
    pub heading: Option<&'a str>,
    /// Whether the heading separates runs in one place: a heading of Markdown or the like.
    pub is_named: bool,
}

impl<'a> StatedNames<'a> {
    /// Creates the names of an input that has at most a title.
    pub fn title(title: Option<&'a str>) -> Self {
        Self { title, ..Self::default() }
    }
}

/// Collects the results of an imported campaign.
#[derive(Debug)]
pub struct CampaignBuilder<'a> {
    naming: &'a NamingOptions,
    found: ParsedInput,
    /// Programs and versions in the input.
    programs: Vec<String>,
    contenders: UniqueNames,
    /// Names of the contenders in the input.
    called: BTreeSet<String>,
    /// Exact place and heading of each contender's current run.
    working_in: BTreeMap<String, RunPlace>,
    /// Contenders that are already part of the result.
    competing: BTreeSet<String>,
    tests: UniqueNames,
    phases: BTreeMap<String, UniqueNames>,
    /// The last round of each phase, by contender and test.
    rounds: BTreeMap<(String, String, String), u32>,
    left_out: BTreeMap<String, usize>,
    /// First name of a test or phase that is too long. The next result is refused.
    too_long: Option<ImportError>,
}

/// Exact place and heading of a run, if known.
#[derive(Debug, PartialEq, Eq)]
struct RunPlace {
    exact: Option<String>,
    heading: Option<String>,
}

impl<'a> CampaignBuilder<'a> {
    /// Creates an empty collection. `program` includes the version if it is known.
    pub fn new(format: InputFormat, program: impl Into<String>, naming: &'a NamingOptions) -> Self {
        let program = program.into();
        let reported = ImportedCampaign {
            name: format.name().to_owned(),
            source: format!("what {program} printed"),
            program,
            started: None,
            environment: Environment::default(),
            contenders: Vec::new(),
            figures: Vec::new(),
        };
        Self {
            naming,
            found: ParsedInput {
                suite: word_of(format).to_owned(),
                reported,
                suites: BTreeMap::new(),
                tests: BTreeMap::new(),
                phases: BTreeMap::new(),
                points: BTreeMap::new(),
                ranked_by: BTreeMap::new(),
                died: BTreeMap::new(),
                skipped: Vec::new(),
                assumptions: BTreeSet::new(),
                assumed: BTreeMap::new(),
                places: BTreeMap::new(),
                headings: BTreeMap::new(),
                described: BTreeMap::new(),
                files: 1,
            },
            programs: Vec::new(),
            contenders: UniqueNames::default(),
            called: BTreeSet::new(),
            working_in: BTreeMap::new(),
            competing: BTreeSet::new(),
            tests: UniqueNames::default(),
            phases: BTreeMap::new(),
            rounds: BTreeMap::new(),
            left_out: BTreeMap::new(),
            too_long: None,
        }
    }

    /// Adds a program name and version that appear in the input, and replaces the default.
    pub fn set_program(&mut self, program: &str) {
        const MAX_PROGRAMS: usize = 8;
        let program: String = program.chars().filter(|c| !c.is_control()).take(80).collect();
        if self.programs.len() < MAX_PROGRAMS && !self.programs.contains(&program) {
            self.programs.push(program);
            let programs = self.programs.join(", ");
            self.found.reported.source = format!("what {programs} printed");
            self.found.reported.program = programs;
        }
    }

    /// Sets the name of the campaign.
    pub fn set_name(&mut self, name: &str) {
        if !name.trim().is_empty() {
            self.found.reported.name = name.chars().take(200).collect();
        }
    }

    /// Sets the start time of the campaign. Only the first call has an effect.
    pub fn set_started(&mut self, started: Option<Nanos>) {
        let known = &mut self.found.reported.started;
        *known = [*known, started].into_iter().flatten().min();
    }

    /// Returns the number of results so far.
    pub fn results(&self) -> usize {
        self.found.reported.figures.len()
    }

    /// Returns the environment, to be filled from the input.
    pub fn environment(&mut self) -> &mut Environment {
        &mut self.found.reported.environment
    }

    /// Returns the contender of a run with these names, or the default contender.
    ///
    /// # Errors
    /// Returns an error if the user named one contender and the input has several, or if the input
    /// lacks the fact that must name its contenders.
    pub fn contender(&mut self, stated: &StatedNames<'_>) -> Result<String, ImportError> {
        let place = stated.place.as_ref();
        let host = stated.host.filter(|host| !host.is_empty());
        let title = stated.title.filter(|title| !title.is_empty());
        let directory = place.and_then(|place| place.directory.as_deref());
        let wanted = match self.naming.from {
            Some(NameSource::Path) => Some(place.map(|place| place.exact.as_str())),
            Some(NameSource::Host) => Some(host),
            Some(NameSource::Title) => Some(title.or(stated.heading)),
            None => None,
        };
        let (called, after) = match (wanted, self.naming.from) {
            (Some(Some(called)), _) => (called, None),
            (Some(None), Some(from)) if self.naming.given.is_none() => {
                return Err(ImportError::in_file(format!(
                    "the file states no {from} to name a contender; use --contender NAME"
                )));
            }
            _ => match (title, directory) {
                (Some(title), _) => (title, (host == Some(title)).then_some("the machine")),
                (None, Some(directory)) => (directory, Some("the directory")),
                (None, None) if place.is_some() => (
                    self.naming.otherwise.as_str(),
                    Some("the input file, because it has several directories"),
                ),
                (None, None) => (self.naming.otherwise.as_str(), Some("the input file")),
            },
        };
        check_length("the name of a contender", called, MAX_NAME)?;
        if let Some(place) = place {
            check_length("a list of directories", &place.exact, MAX_PARAMETERS)?;
        }
        if !self.called.contains(called) {
            self.called.insert(called.to_owned());
        }
        check_contenders(self.called.len()).map_err(ImportError::in_file)?;
        let Some(given) = &self.naming.given else {
            let name = self.contenders.contender(called);
            let exact = place.map(|place| place.exact.as_str());
            let has_heading = title.is_none() && (exact.is_none() || stated.is_named);
            let heading = stated.heading.filter(|_| has_heading);
            let known = self.working_in.get(&name);
            let is_known = known.is_some_and(|known| {
                known.exact.as_deref() == exact && known.heading.as_deref() == heading
            });
            match wanted {
                None if is_known => {}
                None => {
                    let [exact, heading] = [exact, heading].map(|text| text.map(str::to_owned));
                    self.working_in.insert(name.clone(), RunPlace { exact, heading });
                }
                Some(_) => _ = self.working_in.remove(&name),
            }
            self.found.assumed.extend(after.map(|after| (name.clone(), after)));
            return Ok(name);
        };
        Ok(self.contenders.contender(given))
    }

    /// Returns true if the user has named the contender, so that no other name is needed.
    pub fn is_named(&self) -> bool {
        self.naming.given.is_some()
    }

    /// Notes a name that is too long, so that the next result is refused.
    fn note_length(&mut self, what: &str, called: &str, parameters: &str) {
        let checked = check_length(what, called, MAX_NAME)
            .and_then(|()| check_length("the parameters of a test", parameters, MAX_PARAMETERS));
        self.too_long = self.too_long.take().or(checked.err());
    }

    /// Returns the valid name of a test in the input.
    pub fn test(&mut self, called: &str) -> String {
        self.note_length("the name of a test", called, "");
        self.tests.slug(called)
    }

    /// Returns the name of a test with known parameters. Different parameters give a different
    /// test.
    pub fn unique_test_name(&mut self, called: &str, parameters: &str) -> String {
        self.note_length("the name of a test", called, parameters);
        let name = self.tests.unique(called, parameters);
        let tests = &mut self.found.tests;
        tests.entry(name.clone()).or_insert_with(|| meant(called, parameters));
        name
    }

    /// Returns the name of a phase of a test.
    pub fn phase(&mut self, test: &str, called: &str) -> String {
        self.note_length("the name of a phase", called, "");
        self.phases.entry(test.to_owned()).or_default().slug(called)
    }

    /// Returns the name of a phase with known parameters. Different parameters give a different
    /// phase.
    pub fn unique_phase_name(&mut self, test: &str, called: &str, parameters: &str) -> String {
        self.note_length("the name of a phase", called, parameters);
        let names = self.phases.entry(test.to_owned()).or_default();
        let name = names.unique(called, parameters);
        let phases = &mut self.found.phases;
        phases.entry((test.to_owned(), name.clone())).or_insert_with(|| meant(called, parameters));
        name
    }

    /// Assigns a test to a suite other than the program's.
    pub fn set_suite(&mut self, test: &str, suite: &str) {
        self.found.suites.insert(test.to_owned(), suite.to_owned());
    }

    /// Sets the ranking metric of a phase, even if the phase has no value of it.
    pub fn set_primary_metric(&mut self, test: &str, phase: &str, metric: Metric) {
        let key = (test.to_owned(), phase.to_owned());
        self.found.ranked_by.insert(key, metric);
    }

    /// Assigns a test to a point of a sweep.
    pub fn set_sweep_point(&mut self, test: &str, point: SweepPoint) {
        self.found.points.insert(test.to_owned(), point);
    }

    /// Sets the options of a phase, the most important ones first. They are in the title of the test.
    pub fn describe_phase(&mut self, test: &str, phase: &str, options: Vec<String>) {
        let key = (test.to_owned(), phase.to_owned());
        self.found.described.entry(key).or_insert(options);
    }

    /// Adds a contender, even if it has no results. Contenders are kept in the order of their
    /// addition.
    pub fn add_contender(&mut self, contender: &str) {
        if self.competing.insert(contender.to_owned()) {
            self.found
                .reported
                .contenders
                .push(ImportedContender { name: contender.to_owned(), filesystem: None });
        }
    }

    /// Records a cell that died in a step outside the phases.
    pub fn record_failure(
        &mut self,
        cell: ImportedCellKey,
        status: Status,
        step: &str,
        reason: &str,
    ) {
        let failure =
            Failure { step: shortened(step), reason: shortened(reason), ..Failure::default() };
        self.found.died.insert(cell, (status, failure));
    }

    /// Adds a result from this line of the input. Round 0 means the next round of the phase.
    ///
    /// # Errors
    /// Returns an error if a campaign cannot contain more results or rounds, or if a name is too
    /// long.
    pub fn add(&mut self, line: usize, mut figure: ImportedResult) -> Result<(), ImportError> {
        if let Some(why) = self.too_long.take() {
            return Err(ImportError::at_line(line, why.message));
        }
        figure.reason = figure.reason.map(|reason| shortened(&reason));
        let key = (figure.contender.clone(), figure.test.clone(), figure.phase.clone());
        if let Some(run) = self.working_in.get(&figure.contender) {
            let found = &mut self.found;
            for (all, text) in
                [(&mut found.places, &run.exact), (&mut found.headings, &run.heading)]
            {
                let Some(text) = text else { continue };
                let known = all.entry(key.clone()).or_default();
                if !known.contains(text) {
                    known.insert(text.clone());
                }
            }
        }
        let last = self.rounds.entry(key).or_insert(0);
        if figure.round == 0 {
            figure.round = *last + 1;
        }
        *last = figure.round.max(*last);
        if figure.round > Campaign::MAX_ROUNDS {
            let most = Campaign::MAX_ROUNDS;
            let (test, phase) = (&figure.test, &figure.phase);
            return Err(ImportError::at_line(
                line,
                format!(
                    "{test}/{phase} has more than {most} rounds, which no campaign has: import a part"
                ),
            ));
        }
        if self.found.reported.figures.len() == MAX_RESULTS {
            let what = format!("it holds more than {MAX_RESULTS} results: import it in parts");
            return Err(ImportError::at_line(line, what));
        }
        self.found.reported.figures.push(figure);
        Ok(())
    }

    /// Records a skipped part of the input and the reason. Equal lines are counted.
    pub fn skip_with_reason(&mut self, what: impl Into<String>) {
        const MAX_SKIPPED: usize = 50;
        let what = what.into();
        let what = if what.len() > MAX_NAME { shortened(&what) } else { what };
        if self.left_out.len() < MAX_SKIPPED || self.left_out.contains_key(&what) {
            *self.left_out.entry(what).or_insert(0) += 1;
        }
    }

    /// Records an assumption about the rounds of a phase.
    pub fn assume(&mut self, what: &str) {
        self.found.assumptions.insert(what.to_owned());
    }

    /// Returns the collected content.
    ///
    /// # Errors
    /// Returns an error if the campaign would have too many cells.
    pub fn finish(mut self) -> Result<ParsedInput, ImportError> {
        if self.called.len() > 1 && self.naming.given.is_some() {
            const MAX_NAMES: usize = 4;
            let count = self.called.len();
            let names: Vec<&str> = self.called.iter().map(String::as_str).take(MAX_NAMES).collect();
            let more = if count > MAX_NAMES { ", …" } else { "" };
            return Err(ImportError::in_file(format!(
                "it holds {count} contenders ({}{more}), and one name was given: leave that out",
                names.join(", ")
            )));
        }
        let lines = self.left_out.into_iter();
        self.found.skipped = lines
            .map(|(what, times)| match times {
                1 => what,
                times => format!("{what} ({times} times)"),
            })
            .collect();
        complete(self.found)
    }
}

fn meant(called: &str, parameters: &str) -> NameKey {
    NameKey { called: called.to_owned(), parameters: parameters.to_owned() }
}

/// Returns the name of a format as the name of a suite.
const fn word_of(format: InputFormat) -> &'static str {
    match format {
        InputFormat::Csv => "fsarena",
        other => other.name(),
    }
}

/// Creates a result with the status `ok`.
pub fn ok_value(
    contender: &str,
    test: &str,
    phase: &str,
    values: Vec<(Metric, f64)>,
) -> ImportedResult {
    ImportedResult {
        contender: contender.to_owned(),
        test: test.to_owned(),
        phase: phase.to_owned(),
        round: 0,
        group: group(phase),
        total: false,
        too_fast: false,
        status: Status::Ok,
        reason: None,
        values: values.into_iter().map(|(metric, value)| ReportedValue { metric, value }).collect(),
        latency: Vec::new(),
    }
}

/// Returns the workload category of a phase that has the same name as in the built-in suites.
pub fn group(phase: &str) -> Option<WorkloadCategory> {
    Some(match phase {
        "write" | "rewrite" | "fwrite" | "frewrite" | "write-chars" => {
            WorkloadCategory::StreamWrite
        }
        "read" | "reread" | "fread" | "freread" | "read-chars" | "backward-read"
        | "strided-read" => WorkloadCategory::StreamRead,
        "random-read" | "seek" => WorkloadCategory::RandomRead,
        "random-write" | "record-rewrite" => WorkloadCategory::RandomWrite,
        "create-seq" | "delete-seq" | "create-random" | "delete-random" => {
            WorkloadCategory::ManyFiles
        }
        "stat-seq" | "stat-random" => WorkloadCategory::Names,
        _ => return None,
    })
}

/// Returns a figure for a failed result, with the reason.
pub fn failed_value(
    contender: &str,
    test: &str,
    phase: &str,
    reason: impl Into<String>,
) -> ImportedResult {
    ImportedResult {
        status: Status::Failed,
        reason: Some(reason.into()),
        ..ok_value(contender, test, phase, Vec::new())
    }
}
