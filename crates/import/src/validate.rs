//! Checks that a JSON report can be stored in a database. Such files are untrusted, and errors
//! should refer to the report rather than to the database.

use std::collections::BTreeSet;
use std::io;

use model::{Campaign, CampaignResults, Cell, CellId, CellResult, Metric, Survival, check_name};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CharEscape, Formatter};

use crate::parsed_input::check_table;

/// Maximum number of places in the tables of a report. The largest campaigns with all filesystems
/// and suites have fewer.
const MAX_TABLE_SIZE: usize = 32_000_000;
/// Minimum number of rows of a phase: its status and a measurement.
const ROWS_PER_PHASE: usize = 2;

/// Checks a campaign before it is stored.
///
/// # Errors
/// Returns a one-line error if a cell occurs twice, belongs to an unknown contender or test, or has
/// a result of an unknown session; if a name is invalid or a phase has a metric twice; if counts of
/// power cuts are impossible; or if a text is too long or a report would not fit into memory.
pub fn validate(results: &CampaignResults) -> Result<(), String> {
    let campaign = &results.campaign;
    check_texts(results)?;
    for suite in &campaign.suites {
        name(&suite.name)?;
        let tests = suite.tests.iter();
        let phases = tests.clone().flat_map(|test| &test.phases);
        let names = tests.map(|test| &test.name);
        names.chain(phases.map(|phase| &phase.name)).try_for_each(|called| name(called))?;
    }
    let mut contenders: BTreeSet<&str> = BTreeSet::new();
    for one in &campaign.contenders {
        if !contenders.insert(&one.name) {
            return Err(format!("two contenders are named {}", one.name));
        }
        let evidence = one.filesystem.facts.power_cuts.as_ref();
        if evidence.is_some_and(|known| known.cuts == 0 || known.lost > known.cuts) {
            return Err(format!("{} has an impossible number of power cuts or losses", one.name));
        }
    }
    let tests = campaign.suites.iter().flat_map(|suite| {
        let tests = suite.tests.iter();
        tests.map(|test| (suite.name.as_str(), test.name.as_str()))
    });
    let tests: BTreeSet<(&str, &str)> = tests.collect();
    let (mut numbers, mut cells) = (BTreeSet::new(), BTreeSet::new());
    for stored in &results.cells {
        let Cell { id: CellId(id), contender, suite, test, round, .. } = &stored.cell;
        if !contenders.contains(contender.as_str()) {
            return Err(format!("cell {id} is of no contender of the campaign"));
        }
        if !tests.contains(&(suite.as_str(), test.as_str())) {
            return Err(format!("cell {id} is of no test of the campaign"));
        }
        if !numbers.insert(id) || !cells.insert((contender, suite, test, round)) {
            return Err(format!("cell {id} occurs twice"));
        }
        if let Some(result) = &stored.result {
            if results.environments.is_empty() {
                return Err(format!("cell {id} has a result, and there is no session"));
            }
            of_cell(result).map_err(|why| format!("cell {id}: {why}"))?;
        }
    }
    check_size(results)
}

/// Checks that reports on a campaign fit into memory.
///
/// # Errors
/// Returns a one-line error with the size of the campaign if they do not.
pub fn check_size(results: &CampaignResults) -> Result<(), String> {
    let mut rows = BTreeSet::new();
    for stored in &results.cells {
        let Cell { suite, test, .. } = &stored.cell;
        for phase in stored.result.iter().flat_map(|result| &result.phases) {
            let metrics = phase.measurements().into_iter().map(|one| Some(one.metric));
            let of_phase = metrics.chain([None]);
            rows.extend(of_phase.map(|metric| (suite, test, phase.phase.as_str(), metric)));
        }
    }
    check_rows(&results.campaign, rows.len())
}

/// Checks before a campaign runs that reports on it can fit into memory.
///
/// # Errors
/// Returns a one-line error with the size of the campaign if they cannot.
pub fn check_plan(campaign: &Campaign) -> Result<(), String> {
    check_rows(campaign, 0)
}

/// Checks a report with a row for each planned phase, and at least with the number found.
fn check_rows(campaign: &Campaign, found: usize) -> Result<(), String> {
    let tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
    let phases: usize = tests.map(|test| test.phases.len()).sum();
    let rounds = campaign.rounds as usize;
    let rows = phases.saturating_mul(ROWS_PER_PHASE).max(found).max(1);
    check_table(campaign.contenders.len(), rows, rounds, MAX_TABLE_SIZE)
}

fn of_cell(result: &CellResult) -> Result<(), String> {
    for phase in &result.phases {
        name(&phase.phase)?;
        if phase.survival.as_ref().is_some_and(|survival| !is_possible(survival)) {
            return Err(format!(
                "{} has an impossible number of power cuts or losses",
                phase.phase
            ));
        }
        let mut metrics: BTreeSet<Metric> = BTreeSet::new();
        for stated in &phase.stated {
            if !metrics.insert(stated.metric) {
                return Err(format!("{} has {} twice", phase.phase, stated.metric));
            }
        }
    }
    Ok(())
}

/// Returns true if the counts can be those of a measurement.
fn is_possible(survival: &Survival) -> bool {
    let of_cuts = [survival.held, survival.unmountable, survival.unwritable, survival.inconsistent];
    of_cuts.iter().all(|count| *count <= survival.cuts)
        && survival.lost_by_repair <= survival.lost()
        && survival.broken.len() <= Survival::DESCRIBED.min(survival.lost() as usize)
}

/// Checks the length of all texts. Reports repeat them.
fn check_texts(results: &CampaignResults) -> Result<(), String> {
    let mut to = Serializer::with_formatter(io::sink(), TextLengths::default());
    results.serialize(&mut to).map_err(|error| error.to_string())
}

/// Maximum length of a text in bytes.
const MAX_TEXT: usize = 64 * 1024;
/// Texts of any length: output of programs, stacks, and requests to a disk.
const EVIDENCE: [&str; 3] = ["output", "stacks", "packed"];

/// Fails at the first text that is too long.
#[derive(Default)]
struct TextLengths {
    /// Last key of an object.
    key: String,
    is_key: bool,
    /// Length of the current text so far.
    length: usize,
}

impl TextLengths {
    fn add(&mut self, bytes: usize) -> io::Result<()> {
        self.length += bytes;
        match self.length > MAX_TEXT && (self.is_key || !EVIDENCE.contains(&self.key.as_str())) {
            true if self.is_key => {
                Err(io::Error::other(format!("a key has more than {MAX_TEXT} bytes")))
            }
            true => Err(io::Error::other(format!("`{}` has more than {MAX_TEXT} bytes", self.key))),
            false => Ok(()),
        }
    }
}

impl Formatter for TextLengths {
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W, _: bool) -> io::Result<()> {
        self.is_key = true;
        self.key.clear();
        Ok(())
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_key = false;
        Ok(())
    }

    fn begin_string<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.length = 0;
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.is_key && self.key.len() + fragment.len() <= MAX_TEXT {
            self.key += fragment;
        }
        self.add(fragment.len())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        _: CharEscape,
    ) -> io::Result<()> {
        self.add(1)
    }
}

fn name(called: &str) -> Result<(), String> {
    check_name(called).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use stats::fixture;

    use super::*;

    fn told(change: impl FnOnce(&mut CampaignResults)) -> String {
        let mut results = fixture::plain();
        assert_eq!(validate(&results), Ok(()));
        change(&mut results);
        validate(&results).unwrap_err()
    }

    #[test]
    fn reports_of_fsarena_are_sound() {
        let all = [fixture::realistic(), fixture::swept(), fixture::calibrated(), fixture::aged()];
        for results in all {
            assert_eq!(validate(&results), Ok(()));
        }
    }

    #[test]
    fn refuses_reports_that_do_not_fit_into_memory() {
        let many = |count: usize, results: &mut CampaignResults| {
            let contender = results.campaign.contenders[0].clone();
            results.campaign.contenders.extend((0..count).map(|number| model::Contender {
                name: format!("c{number}"),
                ..contender.clone()
            }));
        };
        let refused = "more than 1414 contenders are more than a report can compare";
        let full = told(|results| many(1500, results));
        assert!(full.starts_with(refused), "{full}");
        let empty = told(|results| {
            many(1500, results);
            results.cells.iter_mut().for_each(|stored| stored.result = None);
        });
        assert!(empty.starts_with(refused), "{empty}");
        let planned = told(|results| {
            many(1400, results);
            results.cells.iter_mut().for_each(|stored| stored.result = None);
            let phases = &mut results.campaign.suites[0].tests[0].phases;
            let phase = phases[0].clone();
            phases.resize(9, phase);
        });
        assert!(planned.contains("are more than a report can compare"), "{planned}");
    }

    #[test]
    fn refuses_impossible_counts_of_power_cuts() {
        let facts = |cuts: u32, lost: u32| {
            told(|results| {
                let filesystem = &mut results.campaign.contenders[0].filesystem;
                let evidence = model::PowerCutEvidence {
                    cuts,
                    lost,
                    worst: String::new(),
                    source: "x".into(),
                };
                filesystem.facts.power_cuts = Some(evidence);
            })
        };
        let measured = |survival: Survival| {
            told(|results| {
                let result = results.cells.iter_mut().find_map(|cell| cell.result.as_mut());
                result.unwrap().phases[0].survival = Some(survival);
            })
        };
        let counts = |cuts, held| Survival { cuts, held, ..Survival::default() };
        let broken = model::BrokenCut {
            steps: Vec::new(),
            position: 0,
            kept: String::new(),
            after: String::new(),
            lost: String::new(),
        };
        for refused in [
            facts(1, u32::MAX),
            facts(0, 0),
            measured(counts(1, 2)),
            measured(Survival { unmountable: 2, ..counts(1, 0) }),
            measured(Survival { lost_by_repair: 1, ..counts(1, 1) }),
            measured(Survival { broken: vec![broken.clone()], ..counts(1, 1) }),
            measured(Survival { broken: vec![broken; 6], ..counts(9, 0) }),
        ] {
            assert!(refused.ends_with("impossible number of power cuts or losses"), "{refused}");
        }
    }

    #[test]
    fn refuses_long_texts_except_evidence() {
        let long = || "x\n".repeat(MAX_TEXT);
        let title = told(|results| results.campaign.suites[0].title = long());
        assert_eq!(title, "`title` has more than 65536 bytes");
        let lost = told(|results| {
            let broken = model::BrokenCut {
                steps: Vec::new(),
                position: 0,
                kept: String::new(),
                after: String::new(),
                lost: long(),
            };
            let survival = Survival { cuts: 1, broken: vec![broken], ..Survival::default() };
            let result = results.cells.iter_mut().find_map(|cell| cell.result.as_mut());
            result.unwrap().phases[0].survival = Some(survival);
        });
        assert_eq!(lost, "`lost` has more than 65536 bytes");
        let mut results = fixture::plain();
        let failure = model::Failure { stacks: vec![long()], ..model::Failure::default() };
        let result = results.cells.iter_mut().find_map(|cell| cell.result.as_mut());
        result.unwrap().failure = Some(failure);
        assert_eq!(validate(&results), Ok(()));
    }

    #[test]
    fn a_planned_campaign_is_refused_if_its_report_cannot_fit() {
        let mut campaign = fixture::realistic().campaign;
        assert_eq!(check_plan(&campaign), Ok(()));
        let contender = campaign.contenders[0].clone();
        campaign.contenders.resize(1400, contender);
        let refused = check_plan(&campaign).unwrap_err();
        assert!(refused.starts_with("1400 contenders in "), "{refused}");
    }

    #[test]
    fn refuses_reports_that_a_database_cannot_store() {
        let twice = told(|results| {
            let mut again = results.cells[0].clone();
            again.cell.id = CellId(9999);
            results.cells.push(again);
        });
        assert_eq!(twice, "cell 9999 occurs twice");
        let number = told(|results| {
            results.cells[1].cell.id = results.cells[0].cell.id;
        });
        assert!(number.ends_with("occurs twice"), "{number}");
        let session = told(|results| results.environments.clear());
        assert!(session.ends_with("there is no session"), "{session}");
        let twice = told(|results| {
            let again = results.campaign.contenders[0].clone();
            results.campaign.contenders.push(again);
        });
        assert!(twice.starts_with("two contenders are named "), "{twice}");
        let other = told(|results| results.cells[0].cell.contender = "x".into());
        assert!(other.contains("no contender"), "{other}");
        let other = told(|results| results.cells[0].cell.test = "x".into());
        assert!(other.contains("no test"), "{other}");
        let name = told(|results| results.campaign.suites[0].tests[0].name = "A b".into());
        assert!(name.contains("A b"), "{name}");
        let phase = told(|results| {
            let result = results.cells.iter_mut().find_map(|cell| cell.result.as_mut());
            result.unwrap().phases[0].phase = "é".into();
        });
        assert!(phase.contains('é'), "{phase}");
    }
}
