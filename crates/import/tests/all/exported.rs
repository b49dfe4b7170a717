//! Results that fsarena exports as CSV are unchanged after an import.

use std::collections::BTreeMap;

use import::{InputFormat, NamingOptions, detect_format, read};
use model::{
    CampaignResults, Environment, Failure, ImportedCampaign, ImportedContender, ImportedResult,
    Metric, ReportedValue, Status,
};
use proptest::prelude::*;
use report::DocumentOptions;
use stats::{analyse, fixture};

type Values = BTreeMap<(String, String, String, u32, String), f64>;

/// Returns every value of every phase, by contender, test, phase, round and metric.
fn values(results: &CampaignResults) -> Values {
    let mut values = BTreeMap::new();
    for stored in &results.cells {
        let phases = stored.result.iter().flat_map(|result| &result.phases);
        for phase in phases {
            for number in phase.measurements() {
                let cell = &stored.cell;
                let key = (
                    cell.contender.clone(),
                    cell.test.clone(),
                    phase.phase.clone(),
                    cell.round,
                    number.metric.to_string(),
                );
                values.insert(key, number.value);
            }
        }
    }
    values
}

#[test]
fn all_values_survive_export_and_import() {
    for results in [fixture::plain(), fixture::realistic(), fixture::swept()] {
        let analysis = analyse(&results);
        let csv = report::render(
            report::ReportFormat::Csv,
            &results,
            &analysis,
            &DocumentOptions::default(),
        );
        assert_eq!(detect_format(csv.as_bytes()), Some(InputFormat::Csv));
        let found = read(InputFormat::Csv, csv.as_bytes(), &NamingOptions::default()).unwrap();
        assert_eq!(found.reported.name, results.campaign.name);
        let again = found.into_results().unwrap();
        let suites = |results: &CampaignResults| -> Vec<(String, Vec<_>)> {
            let suites = results.campaign.suites.iter();
            let tests = |suite: &model::Suite| -> Vec<_> {
                suite.tests.iter().map(|t| (t.name.clone(), t.sweep.clone())).collect()
            };
            suites.map(|suite| (suite.name.clone(), tests(suite))).collect()
        };
        assert_eq!(suites(&again), suites(&results));
        assert_eq!(values(&again), values(&results));
    }
}

/// The CSV content of a cell: its contender, suite, test and round, its status and failed step, and
/// its phases with their values.
type Known = (
    (String, String, String, u32),
    (Status, Option<String>),
    Vec<(String, Status, Vec<(Metric, f64)>)>,
);

/// Returns every cell that ran.
fn cells(results: &CampaignResults) -> Vec<Known> {
    let ran = results.cells.iter();
    let ran = ran.filter_map(|stored| Some((&stored.cell, stored.result.as_ref()?)));
    let known = ran.map(|(cell, result)| {
        let phases = result.phases.iter().map(|phase| {
            let values = phase.measurements().into_iter();
            let values = values.map(|number| (number.metric, number.value));
            (phase.phase.clone(), phase.status, values.collect())
        });
        (
            (cell.contender.clone(), cell.suite.clone(), cell.test.clone(), cell.round),
            (result.status, result.failure.as_ref().map(|f| f.step.clone())),
            phases.collect(),
        )
    });
    known.collect()
}

fn round_trip(results: &CampaignResults) -> CampaignResults {
    let analysis = analyse(results);
    let csv =
        report::render(report::ReportFormat::Csv, results, &analysis, &DocumentOptions::default());
    let found = read(InputFormat::Csv, csv.as_bytes(), &NamingOptions::default()).unwrap();
    found.into_results().unwrap()
}

/// Generates the status and the value of a phase.
fn phase() -> impl Strategy<Value = (Status, f64)> {
    let status = prop_oneof![
        5 => Just(Status::Ok),
        1 => Just(Status::Failed),
        1 => Just(Status::Unsupported),
        1 => Just(Status::Crashed),
    ];
    (status, -1e6..1e9)
}

/// A cell: its phases, and whether mkfs died. `None` if it did not run.
type Made = Option<(Vec<(Status, f64)>, bool)>;

fn made(cells: &[Made]) -> Option<CampaignResults> {
    const TESTS: [&str; 3] = ["one", "two", "three"];
    const CONTENDERS: [&str; 3] = ["ext4", "=xfs", "a, \"b\""];
    let place = |number: usize| {
        let round = u32::try_from(number / 9).unwrap_or(0) + 1;
        (CONTENDERS[number % 3], TESTS[number / 3 % 3], round)
    };
    let mut figures = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        let (contender, test, round) = place(number);
        let phases = cell.iter().flat_map(|(phases, _)| phases);
        for (phase, (status, value)) in phases.enumerate() {
            // Space may be negative (freed), but time may not.
            let values = [(Metric::Elapsed, value.abs()), (Metric::SpaceTaken, *value)];
            let values = values.map(|(metric, value)| ReportedValue { metric, value });
            figures.push(ImportedResult {
                round,
                status: *status,
                reason: (*status != Status::Ok).then(|| "-1\nof 2".to_owned()),
                values: match status {
                    Status::Ok => values.into(),
                    _ => Vec::new(),
                },
                ..ImportedResult::single_value(
                    contender,
                    test,
                    &format!("p{phase}"),
                    Metric::Elapsed,
                    0.0,
                )
            });
        }
    }
    let contenders =
        CONTENDERS.map(|name| ImportedContender { name: name.to_owned(), filesystem: None });
    let reported = ImportedCampaign {
        name: "made".to_owned(),
        program: "made".to_owned(),
        source: "made".to_owned(),
        started: None,
        environment: Environment::default(),
        contenders: contenders.into(),
        figures,
    };
    let mut results = reported.into_results("made").ok()?;
    for (number, cell) in cells.iter().enumerate() {
        let (contender, test, round) = place(number);
        let of_cell = results.cells.iter_mut().find(|stored| {
            let cell = &stored.cell;
            (cell.contender.as_str(), cell.test.as_str(), cell.round) == (contender, test, round)
        });
        if let (Some((_, true)), Some(result)) = (cell, of_cell.and_then(|c| c.result.as_mut())) {
            result.status = Status::Failed;
            result.failure = Some(Failure {
                step: "mkfs".to_owned(),
                reason: "it, too".to_owned(),
                ..Failure::default()
            });
            for phase in &mut result.phases {
                (phase.status, phase.failure) = (Status::Skipped, None);
                phase.stated.clear();
            }
        }
    }
    Some(results)
}

proptest! {
    #[test]
    fn the_cells_that_ran_come_back_and_no_others(
        cells_made in prop::collection::vec(
            prop::option::of((prop::collection::vec(phase(), 2), any::<bool>())),
            18,
        )
    ) {
        let Some(results) = made(&cells_made) else { return Ok(()) };
        prop_assert_eq!(cells(&round_trip(&results)), cells(&results));
    }
}

/// Planned cells that have not run are not exported.
#[test]
fn cells_that_have_not_run_do_not_come_back_as_skipped() {
    let mut results = fixture::plain();
    results.cells[1].result = None;
    let back = round_trip(&results);
    assert_eq!(back.cells.len(), results.cells.len() - 1);
}

/// A truncated line is not parsed as a shorter result.
#[test]
fn a_file_that_is_cut_off_is_refused() {
    let results = fixture::plain();
    let analysis = analyse(&results);
    let csv =
        report::render(report::ReportFormat::Csv, &results, &analysis, &DocumentOptions::default());
    for end in 1..csv.len().min(2000) {
        let cut = &csv.as_bytes()[..end];
        if cut.ends_with(b"\n") {
            continue;
        }
        let error = read(InputFormat::Csv, cut, &NamingOptions::default());
        assert!(error.is_err(), "{end}");
    }
}

#[test]
fn impossible_values_are_refused_with_the_line_number() {
    let told = |lines: &str| {
        let header =
            "contender,suite,test,phase,round,metric,value,status,unit,direction\n".to_owned();
        let text = header + lines;
        let error = read(InputFormat::Csv, text.as_bytes(), &NamingOptions::default()).unwrap_err();
        error.to_string()
    };
    let good = "a,s,t,p,1,elapsed,2,ok,s,lower\n";
    for (line, words) in [
        ("a,s,t,q,1,elapsed,2,ok,ms,lower\n", "the unit of elapsed is `s`, not `ms`"),
        ("a,s,t,q,1,elapsed,2,ok,s,higher\n", "the direction of elapsed is `lower`"),
        ("a,s,t,q,1,elapsed,-2,ok,,\n", "`-2` is below zero"),
        ("a,s,t,p,1,elapsed,3,ok,,\n", "elapsed of t/p occurs twice in round 1"),
        ("a,other,t,p,2,elapsed,3,ok,,\n", "t is in suite s, too"),
    ] {
        let told = told(&format!("{good}{line}"));
        assert!(told.starts_with(&format!("line 3: {words}")), "{told}");
    }
}
