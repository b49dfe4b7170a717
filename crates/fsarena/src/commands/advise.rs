//! `fsarena advise`: which contender of a campaign suits a use, and why.

use std::collections::BTreeMap;
use std::process::ExitCode;

use catalog::Catalog;
use model::{Group, Profile};
use serde_json::json;

use crate::arguments::cli::{AdviseArgs, Globals};
use crate::output::exit::Code;
use crate::output::text::{print, print_json};
use crate::paths;
use crate::request::chosen;

/// Writes the advice.
pub fn run(args: &AdviseArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let wanted = catalog.use_named(&args.for_use)?;
    let results = chosen::campaign(args.campaign.as_deref(), globals)?;
    let advice = analyse::advise(wanted, &analyse::analyse(&results));
    if globals.json {
        let value = json!({
            "campaign": results.id,
            "name": results.campaign.name,
            "use": wanted,
            "advice": advice,
        });
        print_json(&value)?;
    } else {
        let suites = suites_by_group(&catalog);
        print(&report::advice_text(&advice, &results, &suites))?;
    }
    Ok(Code::Done.into())
}

/// The suites that have tests of each group, those that run by default first.
fn suites_by_group(catalog: &Catalog) -> BTreeMap<Group, Vec<String>> {
    let mut suites: BTreeMap<Group, Vec<String>> = BTreeMap::new();
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
