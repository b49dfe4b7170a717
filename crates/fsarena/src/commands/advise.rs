//! `fsarena advise`: which contender of a campaign suits a use, and why.

use std::process::ExitCode;

use analyse::Analysis;
use anyhow::Context;
use model::CampaignResults;
use serde_json::json;

use crate::arguments::cli::{AdviseArgs, Globals};
use crate::output::exit::{Code, Refused};
use crate::output::text::{print, print_json};
use crate::paths;
use crate::request::analysed::analysed;
use crate::request::chosen;

/// A sentence for each use.
fn all(
    results: &CampaignResults,
    analysis: &Analysis,
    globals: &Globals,
) -> anyhow::Result<ExitCode> {
    if globals.json {
        let advice = analysis
            .uses
            .iter()
            .map(|one| (&one.name, analyse::advise(one)));
        let advice: Vec<_> = advice
            .map(|(name, advice)| json!({ "use": name, "advice": advice }))
            .collect();
        print_json(
            &json!({ "campaign": results.id, "name": results.campaign.name, "uses": advice }),
        )?;
    } else {
        print(&report::answers_text(analysis, results))?;
    }
    Ok(Code::Done.into())
}

/// Writes the advice.
pub fn run(args: &AdviseArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let wanted = args
        .for_use
        .as_ref()
        .map(|name| catalog.use_named(name))
        .transpose()?;
    let results = chosen::campaign(args.campaign.as_deref(), globals)?;
    if results.cells.iter().all(|cell| cell.result.is_none()) {
        let why = format!(
            "{} has no results yet: name another one, or wait",
            chosen::called(&results)
        );
        return Err(Refused(why).into());
    }
    let analysis = analysed(&results, &catalog, args.relevant);
    let Some(wanted) = wanted else {
        return all(&results, &analysis, globals);
    };
    let mut uses = analysis.uses.iter();
    let scores = uses.find(|scores| scores.name == wanted.name);
    let advice = analyse::advise(scores.context("the use is not in the catalog")?);
    if globals.json {
        let value = json!({
            "campaign": results.id,
            "name": results.campaign.name,
            "use": wanted,
            "advice": advice,
        });
        print_json(&value)?;
    } else {
        print(&report::advice_text(&advice, &analysis, &results))?;
    }
    Ok(Code::Done.into())
}
