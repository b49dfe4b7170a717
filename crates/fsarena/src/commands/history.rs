//! `fsarena history`: one result over the campaigns of the database, with its changes of level.

use std::process::ExitCode;

use analyse::{Analysed, analyse, history};
use serde_json::json;

use crate::arguments::cli::Globals;
use crate::arguments::compare_args::HistoryArgs;
use crate::output::exit::{BadInput, Code};
use crate::output::text::{line, print, print_json};
use crate::paths;

/// Writes the history.
pub fn run(args: &HistoryArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let store = paths::existing_store(globals)?;
    let mut collector = history(&args.result, &args.contenders);
    // One campaign at a time is in memory, the latest first: it says what is comparable.
    for campaign in store.campaigns()?.iter().rev() {
        let results = store.load(campaign.id)?;
        let analysis = analyse(&results);
        collector.add(Analysed::new(&results, &analysis));
    }
    let found = collector.finish();
    if found.series.is_empty() {
        let of = match args.contenders.is_empty() {
            true => String::new(),
            false => format!(" of {}", line(&args.contenders.join(", "))),
        };
        return Err(BadInput(format!(
            "no campaign has a result `{}`{of}: TEST/PHASE as in `fsarena report`",
            args.result
        ))
        .into());
    }
    if globals.json {
        print_json(&json!(found))?;
    } else {
        print(&report::history_text(&found))?;
    }
    Ok(Code::Done.into())
}
