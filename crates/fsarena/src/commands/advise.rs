//! `fsarena advise`: which contender of a campaign suits a use, and why.

use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;

use crate::arguments::cli::{AdviseArgs, Globals};
use crate::output::exit::Code;
use crate::output::text::{print, print_json};
use crate::paths;
use crate::request::analysed::analysed;
use crate::request::chosen;

/// Writes the advice.
pub fn run(args: &AdviseArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let wanted = catalog.use_named(&args.for_use)?;
    let results = chosen::campaign(args.campaign.as_deref(), globals)?;
    let analysis = analysed(&results, &catalog, args.relevant);
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
        print(&report::advice_text(&advice, &results))?;
    }
    Ok(Code::Done.into())
}
