//! The content of an input: its campaign, and the meaning of its tests, phases and rounds.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CampaignResults, Failure, ImportedCampaign, ImportedContender, ImportedResult, Metric, Op,
    Status, Suite, SweepPoint,
};

use crate::ImportError;
use crate::parse::text::shortened;

/// Maximum number of results in an imported campaign.
pub const MAX_RESULTS: usize = 200_000;
/// Maximum number of places in the tables of an imported campaign's report. A report has a row for
/// each metric of each phase, with every round of every contender, and compares every pair of
/// contenders in every row.
pub const MAX_TABLE_SIZE: usize = 2_000_000;

/// Tests of one name, and phases of one test, whose parameters are compared for titles.
const MAX_COMPARED: usize = 32;

/// Meaning of a name. The same name with other parameters is a different test or phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameKey {
    /// Name in the program's output.
    pub called: String,
    /// Human-readable parameters: `size 8M, threads 2`.
    pub parameters: String,
}

/// Content of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedInput {
    /// Default suite of the tests, named after the program.
    pub suite: String,
    /// The campaign.
    pub reported: ImportedCampaign,
    /// Suite of each test that is not in the default suite, by the name of the test.
    pub suites: BTreeMap<String, String>,
    /// Meaning of each test with known parameters, by the name of the test.
    pub tests: BTreeMap<String, NameKey>,
    /// Meaning of each phase with known parameters, by test and phase.
    pub phases: BTreeMap<(String, String), NameKey>,
    /// Sweep point of each test in a sweep, by the name of the test.
    pub points: BTreeMap<String, SweepPoint>,
    /// Ranking metric of phases that may have no value, by test and phase.
    pub ranked_by: BTreeMap<(String, String), Metric>,
    /// Cells that died in a step outside the phases, such as mkfs: contender, test and round, with
    /// status and failure.
    pub died: BTreeMap<ImportedCellKey, (Status, Failure)>,
    /// Skipped parts of the input and the reasons, one line for each kind.
    pub skipped: Vec<String>,
    /// Assumptions about the rounds.
    pub assumptions: BTreeSet<String>,
    /// Origin of each contender's name that the input does not state as such.
    pub assumed: BTreeMap<String, &'static str>,
    /// Exact places of each phase's rounds, by contender, test and phase.
    pub places: BTreeMap<ImportedPhaseKey, BTreeSet<String>>,
    /// Headings of each phase's rounds.
    pub headings: BTreeMap<ImportedPhaseKey, BTreeSet<String>>,
    /// Options of each phase that distinguish it from others, by test and phase.
    pub described: BTreeMap<(String, String), Vec<String>>,
    /// Number of files that were read.
    pub files: usize,
}

/// Key of a cell: contender, test and round.
pub type ImportedCellKey = (String, String, u32);

/// Key of a phase of a contender: contender, test and phase.
pub type ImportedPhaseKey = (String, String, String);

impl NameKey {
    /// Returns the title of a test: its parameters, or else its name. Parameters that
    /// not all `others` of this name have come first.
    fn title(&self, others: &[&Self]) -> String {
        if self.parameters.is_empty() {
            return one_line(&self.called);
        }
        let all: Vec<BTreeSet<&str>> =
            others.iter().map(|other| other.parameters.split(", ").collect()).collect();
        let is_common = |part: &&str| all.iter().all(|parts| parts.contains(part));
        let (common, own): (Vec<&str>, Vec<&str>) =
            self.parameters.split(", ").partition(is_common);
        let has = |flag: &str| own.iter().any(|part| flag_of(part) == flag);
        let lacks = all.iter().flatten().filter(|part| part.starts_with('-') && !is_common(part));
        let lacks: BTreeSet<&str> =
            lacks.map(|part| flag_of(part)).filter(|flag| !has(flag)).collect();
        let lacks = lacks.into_iter().map(|flag| format!("no {flag}"));
        let own = own.into_iter().map(str::to_owned).chain(lacks);
        let parts = own.chain(common.into_iter().map(str::to_owned));
        one_line(&parts.collect::<Vec<_>>().join(", "))
    }
}

/// Returns an option without its value.
fn flag_of(part: &str) -> &str {
    part.split([' ', '=']).next().unwrap_or(part)
}

/// Truncates a title to one line.
fn one_line(title: &str) -> String {
    const MAX_TITLE: usize = 100;
    let mut letters = title.chars().filter(|letter| !letter.is_control());
    let mut title: String = letters.by_ref().take(MAX_TITLE).collect();
    if letters.next().is_some() {
        title.push('…');
    }
    title
}

/// Returns the title of a test from the options of its phases: those of all phases, then the others
/// of each phase. Returns `None` if a phase has no known options.
fn title_of_phases(phases: &[(&str, &Vec<String>)]) -> Option<String> {
    let (_, first) = phases.first()?;
    let is_common = |part: &&String| phases.iter().all(|(_, parts)| parts.contains(part));
    let common: Vec<&str> = first.iter().filter(is_common).map(String::as_str).collect();
    let each = phases.iter().filter_map(|(phase, parts)| {
        let others: Vec<&str> =
            parts.iter().filter(|part| !is_common(part)).map(String::as_str).collect();
        (!others.is_empty()).then(|| format!("{phase}: {}", others.join(", ")))
    });
    let each = each.collect::<Vec<_>>().join("; ");
    let common = common.join(", ");
    let all: Vec<&str> =
        [common.as_str(), &each].into_iter().filter(|part| !part.is_empty()).collect();
    (!all.is_empty()).then(|| one_line(&all.join("; ")))
}

impl ParsedInput {
    /// Describes in one line each assumption about the contenders that the user should check.
    pub fn assumptions(&self) -> Vec<String> {
        const MAX_NAMES: usize = 4;
        let mut lines = Vec::new();
        let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, after) in self.assumed.iter().filter(|(name, _)| self.has(name)) {
            named.entry(after).or_default().push(name);
        }
        let named = named.into_iter().map(|(after, names)| {
            let more = names.len().saturating_sub(MAX_NAMES);
            let shown = names[..names.len() - more].join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{shown}{more} after {after}")
        });
        let named: Vec<String> = named.collect();
        if !named.is_empty() {
            lines.push(format!(
                "contenders are named {}; --contender NAME or --contender-from changes that",
                named.join("; ")
            ));
        }
        lines.extend(self.assumptions.iter().cloned());
        lines.extend(self.sometimes_too_fast());
        lines.extend(self.far_apart());
        lines
    }

    /// Names the phases that were too fast in some rounds only.
    fn sometimes_too_fast(&self) -> Option<String> {
        let mut phases: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
        for figure in &self.reported.figures {
            let rounds = phases.entry((&figure.contender, &figure.phase)).or_default();
            rounds.0 += usize::from(figure.too_fast);
            rounds.1 += 1;
        }
        let some = phases.into_iter().filter(|(_, (fast, all))| *fast > 0 && fast < all);
        let some = some.map(|((contender, phase), (fast, all))| {
            format!("{phase} of {contender} in {fast} of {all} rounds")
        });
        let some: Vec<String> = some.take(4).collect();
        (!some.is_empty()).then(|| {
            format!(
                "too fast to be timed were {}: its other rounds are its slowest, and the result is at least as good",
                some.join(", ")
            )
        })
    }

    fn has(&self, contender: &str) -> bool {
        self.reported.contenders.iter().any(|known| known.name == contender)
    }

    /// Names the phase whose rounds differ most, if they differ more than rounds of one filesystem
    /// usually do.
    fn far_apart(&self) -> Option<String> {
        const USUAL: f64 = 5.0;
        let mut ranges: BTreeMap<_, (f64, f64)> = BTreeMap::new();
        for figure in self.reported.figures.iter().filter(|figure| !figure.too_fast) {
            let Some(first) = figure.values.first().filter(|first| first.value > 0.0) else {
                continue;
            };
            let names = (figure.contender.as_str(), figure.test.as_str(), figure.phase.as_str());
            let range = ranges.entry((names, first.metric)).or_insert((first.value, first.value));
            *range = (range.0.min(first.value), range.1.max(first.value));
        }
        let of = ranges.into_iter().map(|((names, _), (least, most))| (most / least, names));
        let (times, (contender, test, phase)) = of.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let split = if self.files == 1 { "split the file and " } else { "" };
        (times >= USUAL).then(|| {
            format!(
                "rounds of {contender} are one filesystem, although {test}/{phase} differs {times:.0}-fold; if they are not, {split}use NAME=FILE"
            )
        })
    }

    /// Converts the content to a campaign with results.
    ///
    /// # Errors
    /// Returns an error if [`ParsedInput::into_results`] fails.
    pub fn into_results(self) -> Result<CampaignResults, ImportError> {
        let results = self.reported.into_results(&self.suite);
        let mut results = results.map_err(ImportError::in_file)?;
        let mut alike: BTreeMap<&str, Vec<&NameKey>> = BTreeMap::new();
        for meant in self.tests.values() {
            alike.entry(&meant.called).or_default().push(meant);
        }
        for test in results.campaign.suites.iter_mut().flat_map(|suite| &mut suite.tests) {
            if let Some(meant) = self.tests.get(&test.name) {
                // Titles of many tests are compared with the first ones only.
                let others = alike.get(meant.called.as_str()).map_or(&[][..], Vec::as_slice);
                test.title = meant.title(&others[..others.len().min(MAX_COMPARED)]);
            }
            let described: Vec<(&str, &Vec<String>)> = test
                .phases
                .iter()
                .take(MAX_COMPARED)
                .filter_map(|phase| {
                    let key = (test.name.clone(), phase.name.clone());
                    Some((phase.name.as_str(), self.described.get(&key)?))
                })
                .collect();
            if let Some(title) = title_of_phases(&described) {
                test.title = title;
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

/// Moves each test into its suite if the suite is known.
fn into_suites(results: &mut CampaignResults, suites: &BTreeMap<String, String>) {
    if suites.is_empty() {
        return;
    }
    let all = results.campaign.suites.pop();
    let Some(mut all) = all else { return };
    let mut own: Vec<Suite> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for mut test in std::mem::take(&mut all.tests) {
        let name = suites.get(&test.name).unwrap_or(&all.name);
        test.suite.clone_from(name);
        let place = *places.entry(name.clone()).or_insert(own.len());
        match own.get_mut(place) {
            Some(suite) => suite.tests.push(test),
            None => own.push(Suite { name: name.clone(), tests: vec![test], ..all.clone() }),
        }
    }
    for stored in &mut results.cells {
        if let Some(name) = suites.get(&stored.cell.test) {
            stored.cell.suite.clone_from(name);
        }
    }
    results.campaign.suites = own;
}

/// Lists the contenders in the order of the results, and checks the number of cells, and that all
/// rounds of a phase are of one place.
pub fn complete(mut found: ParsedInput) -> Result<ParsedInput, ImportError> {
    let places = found.places.iter().map(|known| ("path", known));
    let headings = found.headings.iter().map(|known| ("title", known));
    for (from, ((contender, test, phase), known)) in places.chain(headings) {
        let mut shown = known.iter().map(|text| shortened(text));
        if let (Some(one), Some(other)) = (shown.next(), shown.next()) {
            return Err(ImportError::in_file(format!(
                "runs of {test}/{phase} under `{one}` and `{other}` may be one contender ({contender}) or several; use --contender NAME for one, --contender-from {from} for several"
            )));
        }
    }
    let mut seen = BTreeSet::new();
    let mut tests = BTreeSet::new();
    let reported = &mut found.reported;
    let competed: BTreeSet<&str> = reported.figures.iter().map(|f| f.contender.as_str()).collect();
    let known = &mut reported.contenders;
    known.retain(|one| competed.contains(one.name.as_str()));
    seen.extend(known.iter().map(|one| one.name.clone()));
    for figure in &reported.figures {
        tests.insert(figure.test.as_str());
        if seen.insert(figure.contender.clone()) {
            reported
                .contenders
                .push(ImportedContender { name: figure.contender.clone(), filesystem: None });
        }
    }
    let rounds = reported.figures.iter().map(|f| f.round as usize).max().unwrap_or(0);
    let cells = seen.len().saturating_mul(tests.len());
    if cells.saturating_mul(rounds) > MAX_RESULTS {
        return Err(ImportError::in_file(format!(
            "contenders, tests and rounds make more than {MAX_RESULTS} cells: import it in parts"
        )));
    }
    let rows: BTreeSet<_> = reported.figures.iter().flat_map(rows).collect();
    check_table(seen.len(), rows.len(), rounds, MAX_TABLE_SIZE).map_err(ImportError::in_file)?;
    Ok(found)
}

/// Returns the rows of a report in which a result appears: its phase and each of its metrics.
fn rows(figure: &ImportedResult) -> impl Iterator<Item = (&str, &str, Option<Metric>)> {
    let metrics = figure.values.iter().map(|value| Some(value.metric));
    metrics.chain([None]).map(|metric| (figure.test.as_str(), figure.phase.as_str(), metric))
}

/// Checks that a report on this number of contenders fits into memory, even without results.
pub fn check_contenders(count: usize) -> Result<(), String> {
    let most = MAX_TABLE_SIZE.isqrt();
    match count > most {
        true => Err(format!(
            "more than {most} contenders are more than a report can compare: take fewer contenders"
        )),
        false => Ok(()),
    }
}

/// Checks that a report on these numbers of contenders, rows and rounds fits into memory.
///
/// # Errors
/// Returns an error in one line if its tables have more than `most` places.
pub fn check_table(
    contenders: usize,
    rows: usize,
    rounds: usize,
    most: usize,
) -> Result<(), String> {
    check_contenders(contenders)?;
    let columns = contenders.saturating_mul(contenders.max(rounds));
    match columns.saturating_mul(rows) > most {
        true => Err(format!(
            "{contenders} contenders in {rows} results and {rounds} rounds are more than a report can compare: take fewer contenders, or a part of the results"
        )),
        false => Ok(()),
    }
}
