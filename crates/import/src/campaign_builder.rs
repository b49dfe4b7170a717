//! What the parsers find, gathered: results with names that fit, rounds that are counted, and no more than a campaign
//! can hold.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Campaign, CampaignResults, Environment, Failure, ImportedCampaign, ImportedContender,
    ImportedResult, Metric, Nanos, Op, ReportedValue, Status, Suite, SweepPoint, WorkloadCategory,
};

use crate::names::UniqueNames;
use crate::{ImportError, InputFormat};

/// The most results that one campaign takes from outside.
pub const MAX_RESULTS: usize = 200_000;

/// What contenders are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamingOptions {
    /// What the user calls the one contender of the input, whatever it says itself.
    pub given: Option<String>,
    /// What it is called where the input does not say; such as the file.
    pub otherwise: String,
}

/// What a name stands for: with other parameters, it is another thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameKey {
    /// What the program calls it.
    pub called: String,
    /// The parameters, for people: `size 8M, threads 2`.
    pub parameters: String,
}

/// What an input holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedInput {
    /// The suite of its tests: what the program is called.
    pub suite: String,
    /// The campaign.
    pub reported: ImportedCampaign,
    /// The suite of each test that is of another one than the program's, by the name of the test.
    pub suites: BTreeMap<String, String>,
    /// What tests stand for of which the input states the parameters, by the name of the test.
    pub tests: BTreeMap<String, NameKey>,
    /// What phases stand for of which the input states the parameters, by test and phase.
    pub phases: BTreeMap<(String, String), NameKey>,
    /// Where each test that is a point of a sweep lies in it, by the name of the test.
    pub points: BTreeMap<String, SweepPoint>,
    /// By what phases are ranked that may have no number at all, by test and phase.
    pub ranked_by: BTreeMap<(String, String), Metric>,
    /// Cells that died in a step that is no phase, such as mkfs: contender, test and round, and how.
    pub died: BTreeMap<CellKey, (Status, Failure)>,
    /// What was left out, and why; a line for each kind.
    pub skipped: Vec<String>,
}

/// Contender, test and round.
pub type CellKey = (String, String, u32);

/// Results on their way into a campaign.
#[derive(Debug)]
pub struct CampaignBuilder<'a> {
    naming: &'a NamingOptions,
    found: ParsedInput,
    contenders: UniqueNames,
    /// What the contenders are called in the input.
    called: BTreeSet<String>,
    /// Those of whom it was said that they competed.
    competing: BTreeSet<String>,
    tests: UniqueNames,
    phases: BTreeMap<String, UniqueNames>,
    /// The last round of each phase of each test of each contender.
    rounds: BTreeMap<(String, String, String), u32>,
    left_out: BTreeMap<String, usize>,
}

impl<'a> CampaignBuilder<'a> {
    /// Nothing yet; `program` with its version, where it says that.
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
            },
            contenders: UniqueNames::default(),
            called: BTreeSet::new(),
            competing: BTreeSet::new(),
            tests: UniqueNames::default(),
            phases: BTreeMap::new(),
            rounds: BTreeMap::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// The program, with its version, where that is found later.
    pub fn set_program(&mut self, program: &str) {
        let program: String = program
            .chars()
            .filter(|c| !c.is_control())
            .take(80)
            .collect();
        self.found.reported.source = format!("what {program} printed");
        self.found.reported.program = program;
    }

    /// The name of the campaign.
    pub fn set_name(&mut self, name: &str) {
        if !name.trim().is_empty() {
            self.found.reported.name = name.chars().take(200).collect();
        }
    }

    /// When it was begun; of several, the first counts.
    pub fn set_started(&mut self, started: Option<Nanos>) {
        let known = &mut self.found.reported.started;
        *known = [*known, started].into_iter().flatten().min();
    }

    /// How many results there are by now.
    pub fn results(&self) -> usize {
        self.found.reported.figures.len()
    }

    /// What it ran on, to be filled where the input says it.
    pub fn environment(&mut self) -> &mut Environment {
        &mut self.found.reported.environment
    }

    /// The contender that the input calls so, or has no name for.
    ///
    /// # Errors
    /// When the user gave a name for one, and there are several.
    pub fn contender(&mut self, called: Option<&str>) -> Result<String, ImportError> {
        let called = called.unwrap_or(&self.naming.otherwise);
        self.called.insert(called.to_owned());
        match &self.naming.given {
            Some(_) if self.called.len() > 1 => {
                let names: Vec<&str> = self.called.iter().map(String::as_str).collect();
                Err(ImportError::in_file(format!(
                    "it holds several contenders ({}), and one name was given: leave that out",
                    names.join(", ")
                )))
            }
            Some(given) => Ok(self.contenders.contender(given)),
            None => Ok(self.contenders.contender(called)),
        }
    }

    /// Whether the user named the contender, so that nothing else has to.
    pub fn is_named(&self) -> bool {
        self.naming.given.is_some()
    }

    /// The name of a test that the input calls so.
    pub fn test(&mut self, called: &str) -> String {
        self.tests.slug(called)
    }

    /// The name of a test of which the input states the parameters: with others, it is another test.
    pub fn unique_test_name(&mut self, called: &str, parameters: &str) -> String {
        let name = self.tests.unique(called, parameters);
        let tests = &mut self.found.tests;
        tests
            .entry(name.clone())
            .or_insert_with(|| meant(called, parameters));
        name
    }

    /// The name of a phase of a test.
    pub fn phase(&mut self, test: &str, called: &str) -> String {
        self.phases.entry(test.to_owned()).or_default().slug(called)
    }

    /// The name of a phase of which the input states the parameters: with others, it is another phase.
    pub fn unique_phase_name(&mut self, test: &str, called: &str, parameters: &str) -> String {
        let names = self.phases.entry(test.to_owned()).or_default();
        let name = names.unique(called, parameters);
        let phases = &mut self.found.phases;
        phases
            .entry((test.to_owned(), name.clone()))
            .or_insert_with(|| meant(called, parameters));
        name
    }

    /// Says that a test is of another suite than the program's.
    pub fn set_suite(&mut self, test: &str, suite: &str) {
        self.found.suites.insert(test.to_owned(), suite.to_owned());
    }

    /// Says by what a phase is ranked, whether it has that number or not.
    pub fn set_primary_metric(&mut self, test: &str, phase: &str, metric: Metric) {
        let key = (test.to_owned(), phase.to_owned());
        self.found.ranked_by.insert(key, metric);
    }

    /// Says that a test is a point of a sweep.
    pub fn set_sweep_point(&mut self, test: &str, point: SweepPoint) {
        self.found.points.insert(test.to_owned(), point);
    }

    /// Says that a contender competed, whatever comes of it: contenders come in the order in which that was said.
    pub fn add_contender(&mut self, contender: &str) {
        if self.competing.insert(contender.to_owned()) {
            self.found.reported.contenders.push(ImportedContender {
                name: contender.to_owned(),
                filesystem: None,
            });
        }
    }

    /// Says that a cell died in a step that is no phase.
    pub fn record_failure(&mut self, cell: CellKey, status: Status, step: &str, reason: &str) {
        let failure = Failure {
            step: step.to_owned(),
            reason: reason.to_owned(),
            ..Failure::default()
        };
        self.found.died.insert(cell, (status, failure));
    }

    /// Takes a result that was found in this line. Round 0 is the next one of this phase.
    ///
    /// # Errors
    /// When there are more than a campaign can hold.
    pub fn add(&mut self, line: usize, mut figure: ImportedResult) -> Result<(), ImportError> {
        let key = (
            figure.contender.clone(),
            figure.test.clone(),
            figure.phase.clone(),
        );
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

    /// Says what is left out, and why; the same is said once, with how often.
    pub fn skip_with_reason(&mut self, what: impl Into<String>) {
        const MOST: usize = 50;
        let what = what.into();
        if self.left_out.len() < MOST || self.left_out.contains_key(&what) {
            *self.left_out.entry(what).or_insert(0) += 1;
        }
    }

    /// All of it.
    ///
    /// # Errors
    /// When it would be a campaign of more cells than can be.
    pub fn finish(mut self) -> Result<ParsedInput, ImportError> {
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
    NameKey {
        called: called.to_owned(),
        parameters: parameters.to_owned(),
    }
}

/// A format as the name of a suite.
const fn word_of(format: InputFormat) -> &'static str {
    match format {
        InputFormat::Csv => "fsarena",
        other => other.name(),
    }
}

impl NameKey {
    /// Its parameters, no longer than a line; what it is called is its name.
    fn title(&self) -> String {
        const LONGEST: usize = 100;
        let title = match self.parameters.as_str() {
            "" => &self.called,
            parameters => parameters,
        };
        let mut letters = title.chars().filter(|letter| !letter.is_control());
        let mut title: String = letters.by_ref().take(LONGEST).collect();
        if letters.next().is_some() {
            title.push('…');
        }
        title
    }
}

impl ParsedInput {
    /// As a campaign with its results.
    ///
    /// # Errors
    /// When it is none, as [`Reported::into_results`] says.
    pub fn into_results(self) -> Result<CampaignResults, ImportError> {
        let results = self.reported.into_results(&self.suite);
        let mut results = results.map_err(ImportError::in_file)?;
        for test in results
            .campaign
            .suites
            .iter_mut()
            .flat_map(|suite| &mut suite.tests)
        {
            if let Some(meant) = self.tests.get(&test.name) {
                test.title = meant.title();
            }
            test.sweep = self.points.get(&test.name).cloned();
            if let Some(point) = &test.sweep {
                let at = point.at.iter();
                let at: Vec<_> = at
                    .map(|(axis, value)| format!("{axis} {}", axis.format_long(*value)))
                    .collect();
                test.title = format!("{}: {}", point.sweep, at.join(", "));
            }
            for phase in &mut test.phases {
                let key = (test.name.clone(), phase.name.clone());
                if let (Op::External(op), Some(metric)) = (&mut phase.op, self.ranked_by.get(&key))
                {
                    op.metric = *metric;
                }
            }
        }
        for stored in &mut results.cells {
            let cell = &stored.cell;
            let key = (cell.contender.clone(), cell.test.clone(), cell.round);
            if let (Some(result), Some((status, failure))) =
                (&mut stored.result, self.died.get(&key))
            {
                result.status = *status;
                result.failure = Some(failure.clone());
            }
        }
        into_suites(&mut results, &self.suites);
        Ok(results)
    }
}

/// Gives each test to its own suite, where that is known.
fn into_suites(results: &mut CampaignResults, suites: &BTreeMap<String, String>) {
    if suites.is_empty() {
        return;
    }
    let all = results.campaign.suites.pop();
    let Some(all) = all else { return };
    let mut own: Vec<Suite> = Vec::new();
    for mut test in all.tests.clone() {
        let name = suites.get(&test.name).unwrap_or(&all.name);
        test.suite.clone_from(name);
        match own.iter_mut().find(|suite| suite.name == *name) {
            Some(suite) => suite.tests.push(test),
            None => own.push(Suite {
                name: name.clone(),
                tests: vec![test],
                ..all.clone()
            }),
        }
    }
    for stored in &mut results.cells {
        if let Some(name) = suites.get(&stored.cell.test) {
            stored.cell.suite.clone_from(name);
        }
    }
    results.campaign.suites = own;
}

/// Names the contenders in the order in which they came, and counts the cells.
pub fn complete(mut found: ParsedInput) -> Result<ParsedInput, ImportError> {
    let mut seen = BTreeSet::new();
    let mut tests = BTreeSet::new();
    let reported = &mut found.reported;
    let competed: BTreeSet<&str> = reported
        .figures
        .iter()
        .map(|f| f.contender.as_str())
        .collect();
    let known = &mut reported.contenders;
    known.retain(|one| competed.contains(one.name.as_str()));
    seen.extend(known.iter().map(|one| one.name.clone()));
    for figure in &reported.figures {
        tests.insert(figure.test.as_str());
        if seen.insert(figure.contender.clone()) {
            reported.contenders.push(ImportedContender {
                name: figure.contender.clone(),
                filesystem: None,
            });
        }
    }
    let rounds = reported.figures.iter().map(|f| f.round as usize).max();
    let cells = seen.len().saturating_mul(tests.len());
    if cells.saturating_mul(rounds.unwrap_or(0)) > MAX_RESULTS {
        return Err(ImportError::in_file(format!(
            "contenders, tests and rounds make more than {MAX_RESULTS} cells: import it in parts"
        )));
    }
    Ok(found)
}

/// A result that is ok.
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
        values: values
            .into_iter()
            .map(|(metric, value)| ReportedValue { metric, value })
            .collect(),
        latency: Vec::new(),
    }
}

/// What a phase asks of a filesystem that is called as one of the suites.
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

/// A result that there is none of, with the reason.
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
