//! Checks that a JSON report can be stored in a database. Such files are untrusted, and errors
//! should refer to the report rather than to the database.

use std::collections::BTreeSet;

use model::{Campaign, CampaignResults, Cell, CellId, CellResult, Metric, check_name};

use crate::campaign_builder::check_table;

/// Maximum number of places in the tables of a report. The largest campaigns with all filesystems
/// and suites have fewer.
const MAX_TABLE_SIZE: usize = 32_000_000;
/// Minimum number of rows of a phase: its status and a measurement.
const ROWS_PER_PHASE: usize = 2;

/// Checks a campaign before it is stored.
///
/// # Errors
/// Returns a one-line error if a cell occurs twice, belongs to an unknown contender or test, or has
/// a result of an unknown session; if a name is invalid or a phase has a metric twice; or if a
/// report on it would not fit into memory.
pub fn validate(results: &CampaignResults) -> Result<(), String> {
    let campaign = &results.campaign;
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
        let mut metrics: BTreeSet<Metric> = BTreeSet::new();
        for stated in &phase.stated {
            if !metrics.insert(stated.metric) {
                return Err(format!("{} has {} twice", phase.phase, stated.metric));
            }
        }
    }
    Ok(())
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
