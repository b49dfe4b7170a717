//! What fsarena wrote as CSV comes back as it was.

use std::collections::BTreeMap;

use analyse::{analyse, fixture};
use import::{Format, Naming, read, recognise};
use model::CampaignResults;
use report::Options;

type Values = BTreeMap<(String, String, String, u32, String), f64>;

/// Every value of every phase, by contender, test, phase, round and metric.
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
fn every_value_comes_back_under_its_name() {
    for results in [fixture::plain(), fixture::realistic(), fixture::swept()] {
        let analysis = analyse(&results);
        let csv = report::render(
            report::Format::Csv,
            &results,
            &analysis,
            &Options::default(),
        );
        assert_eq!(recognise(csv.as_bytes()), Some(Format::Csv));
        let found = read(Format::Csv, csv.as_bytes(), &Naming::default()).unwrap();
        assert_eq!(found.reported.name, results.campaign.name);
        let again = found.into_results().unwrap();
        let suites = |results: &CampaignResults| -> Vec<(String, Vec<_>)> {
            let suites = results.campaign.suites.iter();
            let tests = |suite: &model::Suite| -> Vec<_> {
                suite
                    .tests
                    .iter()
                    .map(|t| (t.name.clone(), t.sweep.clone()))
                    .collect()
            };
            suites
                .map(|suite| (suite.name.clone(), tests(suite)))
                .collect()
        };
        assert_eq!(suites(&again), suites(&results));
        assert_eq!(values(&again), values(&results));
    }
}

/// A line that was cut off is no result of its own.
#[test]
fn a_file_that_is_cut_off_is_refused() {
    let results = fixture::plain();
    let analysis = analyse(&results);
    let csv = report::render(
        report::Format::Csv,
        &results,
        &analysis,
        &Options::default(),
    );
    for end in 1..csv.len().min(2000) {
        let cut = &csv.as_bytes()[..end];
        if cut.ends_with(b"\n") {
            continue;
        }
        let error = read(Format::Csv, cut, &Naming::default());
        assert!(error.is_err(), "{end}");
    }
}
