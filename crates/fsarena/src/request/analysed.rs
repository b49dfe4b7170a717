//! A campaign with its analysis, as every command that reports on one needs it.

use std::collections::BTreeMap;

use analyse::{Analysis, Margin, SuitesByGroup};
use catalog::Catalog;
use model::{CampaignResults, Group, Profile};

/// The analysis, with what the campaign has to say about the uses of the catalog. `relevant` is the margin, where the user
/// gave one.
pub fn analysed(results: &CampaignResults, catalog: &Catalog, relevant: Option<f64>) -> Analysis {
    let mut analysis = analyse::analyse_with(results, margin(relevant), catalog.withheld());
    analysis.weigh_uses(catalog.uses(), &suites_by_group(catalog));
    analysis
}

/// What is of no relevance, where the user says so or as usual.
pub fn margin(relevant: Option<f64>) -> Margin {
    relevant.map_or_else(Margin::default, Margin)
}

/// The suites that have tests of each group, those that run by default first.
fn suites_by_group(catalog: &Catalog) -> SuitesByGroup {
    let mut suites: SuitesByGroup = BTreeMap::new();
    for suite in catalog.suites(Profile::Quick) {
        let phases = suite.tests.iter().flat_map(|test| &test.phases);
        for group in phases.filter_map(Group::of) {
            let known = suites.entry(group).or_default();
            if !known.contains(&suite.name) {
                known.push(suite.name.clone());
            }
        }
    }
    suites
}
