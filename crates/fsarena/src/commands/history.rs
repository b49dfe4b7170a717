//! `fsarena history`: shows one result over the campaigns of the database, with its level changes.

use std::process::ExitCode;

use serde_json::json;
use stats::{AnalysedCampaign, analyse, history};

use crate::args::cli::GlobalArgs;
use crate::args::compare_args::HistoryArgs;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::text::{line, print_document, print_json};
use crate::paths;
use crate::settings::select_campaign;

/// Writes the history.
pub fn run(args: &HistoryArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let store = paths::existing_store(globals)?;
    let mut collector = history(&args.result, &args.contenders);
    // Keeps one campaign in memory at a time. The latest comes first, because it defines
    // comparability.
    for campaign in store.campaigns()?.iter().rev() {
        let results = select_campaign::load(&store, campaign.id)?;
        let analysis = analyse(&results);
        collector.add(AnalysedCampaign::new(&results, &analysis));
    }
    let found = collector.finish();
    if found.series.is_empty() {
        let of = match args.contenders.is_empty() {
            true => String::new(),
            false => format!(" of {}", line(&args.contenders.join(", "))),
        };
        return Err(UsageError(format!(
            "no campaign has a result `{}`{of}: TEST/PHASE as in `fsarena report`",
            args.result
        ))
        .into());
    }
    if globals.json {
        print_json(&json!(found))?;
    } else {
        print_document(false, &report::history_report(&found))?;
    }
    Ok(ExitReason::Success.into())
}
