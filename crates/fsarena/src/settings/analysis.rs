//! A campaign with its analysis, as the reporting commands need it.

use std::collections::BTreeMap;

use config::Catalog;
use model::{CampaignResults, SizeProfile, Test};
use stats::{Analysis, Margin, SuitesByGroup};

/// Returns the analysis, including the use cases of the catalog. `relevant` is the margin of
/// relevance, if given by the user.
pub fn analysed(results: &CampaignResults, catalog: &Catalog, relevant: Option<f64>) -> Analysis {
    let mut analysis = stats::analyse_with_margin(results, margin(relevant), catalog.withheld());
    analysis.score_use_cases(catalog.uses(), &suites_by_group(catalog));
    analysis
}

/// Returns the margin of relevance given by the user, else the default.
pub fn margin(relevant: Option<f64>) -> Margin {
    relevant.map_or_else(Margin::default, Margin)
}

/// Returns the suites with tests of each category, default suites first.
fn suites_by_group(catalog: &Catalog) -> SuitesByGroup {
    let mut suites: SuitesByGroup = BTreeMap::new();
    for suite in catalog.suites(SizeProfile::Quick) {
        for group in suite.tests.iter().flat_map(Test::categories) {
            let known = suites.entry(group).or_default();
            if !known.contains(&suite.name) {
                known.push(suite.name.clone());
            }
        }
    }
    suites
}
