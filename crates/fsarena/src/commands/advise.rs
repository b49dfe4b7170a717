//! `fsarena advise`: recommends a contender of a campaign for a use case, with the reasons.

use std::process::ExitCode;

use anyhow::Context;
use model::CampaignResults;
use serde_json::{Value, json};
use stats::Analysis;

use crate::args::cli::GlobalArgs;
use crate::args::report_args::AdviseArgs;
use crate::output::exit::{EnvironmentError, ExitReason};
use crate::output::text::{print_document, print_json, print_unwrapped};
use crate::paths;
use crate::settings::analysis::analysed;
use crate::settings::select_campaign;

/// Returns one sentence for each use case.
fn all(
    results: &CampaignResults,
    analysis: &Analysis,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    if globals.json {
        let of = |analysis: &Analysis| -> Vec<Value> {
            let uses = analysis.uses.iter();
            uses.map(|one| json!({ "use": one.name, "advice": stats::advise(one) })).collect()
        };
        let by_disk = analysis.by_disk.iter();
        let by_disk: Vec<Value> =
            by_disk.map(|part| json!({ "disk": part.disk, "uses": of(&part.analysis) })).collect();
        print_json(&json!({
            "campaign": results.id,
            "name": results.campaign.name,
            "uses": of(analysis),
            "by_disk": by_disk,
        }))?;
    } else {
        print_document(false, &report::answers_report(analysis, results))?;
    }
    Ok(ExitReason::Success.into())
}

/// Writes the advice.
pub fn run(args: &AdviseArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let wanted = args.for_use.as_ref().map(|name| catalog.use_case(name)).transpose()?;
    let results = select_campaign::select(args.campaign.campaign.as_deref(), globals)?.results;
    if results.cells.iter().all(|cell| cell.result.is_none()) {
        let why = format!(
            "{} has no results yet: name another one, or wait",
            select_campaign::campaign_label(&results)
        );
        return Err(EnvironmentError(why).into());
    }
    let analysis = analysed(&results, &catalog, args.relevant);
    let Some(wanted) = wanted else {
        return all(&results, &analysis, globals);
    };
    let of = |analysis: &Analysis| {
        let mut uses = analysis.uses.iter();
        let scores = uses.find(|scores| scores.name == wanted.name);
        scores.map(stats::advise).context("the use is not in the catalog")
    };
    let by_disk = analysis.by_disk.iter();
    let by_disk = by_disk.map(|part| Ok((part, of(&part.analysis)?)));
    let by_disk: Vec<_> = by_disk.collect::<anyhow::Result<_>>()?;
    if globals.json {
        let disks = by_disk.iter();
        let disks: Vec<_> =
            disks.map(|(part, advice)| json!({ "disk": part.disk, "advice": advice })).collect();
        let value = json!({
            "campaign": results.id,
            "name": results.campaign.name,
            "use": wanted,
            "advice": of(&analysis)?,
            "by_disk": disks,
        });
        print_json(&value)?;
    } else if by_disk.is_empty() {
        print_document(false, &report::advice_report(&of(&analysis)?, &analysis, &results, None))?;
    } else {
        // A contender on another disk is not an alternative.
        for (number, (part, advice)) in by_disk.iter().enumerate() {
            if number > 0 {
                print_unwrapped("\n")?;
            }
            let disk = Some(part.disk.as_str());
            let advice = report::advice_report(advice, &part.analysis, &results, disk);
            print_document(false, &advice)?;
        }
    }
    Ok(ExitReason::Success.into())
}
