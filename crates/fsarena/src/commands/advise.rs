//! `fsarena advise`: which contender of a campaign suits a use, and why.

use std::process::ExitCode;

use analyse::Analysis;
use anyhow::Context;
use model::CampaignResults;
use serde_json::{Value, json};

use crate::arguments::cli::Globals;
use crate::arguments::report_args::AdviseArgs;
use crate::output::exit::{Code, Refused};
use crate::output::text::{line, print, print_json};
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
        let of = |analysis: &Analysis| -> Vec<Value> {
            let uses = analysis.uses.iter();
            uses.map(|one| json!({ "use": one.name, "advice": analyse::advise(one) }))
                .collect()
        };
        let by_disk = analysis.by_disk.iter();
        let by_disk: Vec<Value> = by_disk
            .map(|part| json!({ "disk": part.disk, "uses": of(&part.analysis) }))
            .collect();
        print_json(&json!({
            "campaign": results.id,
            "name": results.campaign.name,
            "uses": of(analysis),
            "by_disk": by_disk,
        }))?;
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
    let of = |analysis: &Analysis| {
        let mut uses = analysis.uses.iter();
        let scores = uses.find(|scores| scores.name == wanted.name);
        scores
            .map(analyse::advise)
            .context("the use is not in the catalog")
    };
    let by_disk = analysis.by_disk.iter();
    let by_disk = by_disk.map(|part| Ok((part, of(&part.analysis)?)));
    let by_disk: Vec<_> = by_disk.collect::<anyhow::Result<_>>()?;
    if globals.json {
        let disks = by_disk.iter();
        let disks: Vec<_> = disks
            .map(|(part, advice)| json!({ "disk": part.disk, "advice": advice }))
            .collect();
        let value = json!({
            "campaign": results.id,
            "name": results.campaign.name,
            "use": wanted,
            "advice": of(&analysis)?,
            "by_disk": disks,
        });
        print_json(&value)?;
    } else if by_disk.is_empty() {
        print(&report::advice_text(&of(&analysis)?, &analysis, &results))?;
    } else {
        // Who is on another disk is no alternative.
        for (number, (part, advice)) in by_disk.iter().enumerate() {
            let gap = if number == 0 { "" } else { "\n" };
            let text = report::advice_text(advice, &part.analysis, &results);
            print(&format!("{gap}On {}\n{text}", line(&part.disk)))?;
        }
    }
    Ok(Code::Done.into())
}
