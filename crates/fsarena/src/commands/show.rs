//! `fsarena show`: shows the cells of a campaign, or one cell with all its evidence.

use std::process::ExitCode;

use model::{CampaignResults, CellId, CellRecord, Environment, ExternalSource, Nanos};
use serde_json::json;

use crate::args::cli::GlobalArgs;
use crate::args::show_args::ShowArgs;
use crate::output::calibration_text;
use crate::output::cell_page;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::text::{label_and_wrap, line, moment, print, print_json, table};
use crate::settings::select_campaign;

/// Writes the requested information.
pub fn run(args: &ShowArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let results = select_campaign::select(args.campaign.campaign.as_deref(), globals)?.results;
    match args.cell.map(CellId) {
        Some(id) => {
            let cell = find(&results, id)?;
            if globals.json {
                print_json(&json!(cell))?;
            } else {
                print(&cell_page::text(cell))?;
            }
        }
        None if globals.json => print_json(&json!(results))?,
        None => print(&campaign_text(&results))?,
    }
    Ok(ExitReason::Success.into())
}

fn find(results: &CampaignResults, id: CellId) -> Result<&CellRecord, UsageError> {
    let last = results.cells.len().saturating_sub(1);
    results.cells.iter().find(|c| c.cell.id == id).ok_or_else(|| {
        UsageError(format!(
            "campaign {} has no cell {}: its cells are 0 to {last}",
            results.id, id.0
        ))
    })
}

fn campaign_text(results: &CampaignResults) -> String {
    let rows: Vec<_> = results.cells.iter().map(row).collect();
    let heading = ["cell", "round", "test", "filesystem", "status", "took", "reason"];
    let calibration = results.calibration.as_ref();
    let calibration = calibration.map(|c| calibration_text::text(c) + "\n");
    format!("{}\n{}{}", head(results), calibration.unwrap_or_default(), table(heading, &rows))
}

fn head(results: &CampaignResults) -> String {
    let campaign = &results.campaign;
    if let Some(by) = &campaign.measured_by {
        return head_of_others(results, by);
    }
    let mut facts = vec![
        ("begun", moment(results.started)),
        (
            "profile",
            format!("{}, rounds {}, seed {}", campaign.profile, campaign.rounds, campaign.seed),
        ),
        ("backend", format!("{}, size {}", campaign.backend, campaign.size)),
        ("runs", cells_done(results)),
    ];
    match campaign.together.is_empty() {
        true => facts.extend(campaign.host.as_ref().map(|host| ("host", line(host)))),
        false => facts.push(("hosts", line(&format!("{} together", campaign.together.join(", "))))),
    }
    facts.extend(campaign.memory.map(|memory| ("memory", memory.to_string())));
    let machine = campaign.describe_guest();
    facts.extend(
        machine.map(|machine| ("machine", line(&format!("{}: {machine}", campaign.clock)))),
    );
    facts.extend(results.environments.iter().map(|e| ("session", session(e))));
    under_name(results, facts)
}

/// Returns the known facts of an imported campaign.
fn head_of_others(results: &CampaignResults, by: &ExternalSource) -> String {
    let mut facts = vec![
        ("by", line(&by.program)),
        ("source", line(&by.source)),
        ("begun", moment(results.started)),
        ("runs", cells_done(results)),
    ];
    let sessions = results.environments.iter().map(session);
    let known = sessions.filter(|session| !session.is_empty());
    facts.extend(known.map(|session| ("machine", session)));
    under_name(results, facts)
}

fn under_name(results: &CampaignResults, facts: Vec<(&str, String)>) -> String {
    let mut text = format!("campaign {}: {}\n", results.id, line(&results.campaign.name));
    for (what, fact) in facts {
        text += &label_and_wrap(&format!("  {what:<8} "), &fact);
    }
    text
}

/// Returns the number of cells with a result, and how many results came from the cache.
fn cells_done(results: &CampaignResults) -> String {
    let done = || results.cells.iter().filter_map(|c| c.result.as_ref());
    let served = done().filter(|result| result.from_cache).count();
    let cached = match served {
        0 => String::new(),
        served => format!(", {served} of them from the cache"),
    };
    format!("{} of {} done{cached}", done().count(), results.cells.len())
}

/// Describes the environment of a session in one line.
fn session(environment: &Environment) -> String {
    let parts = [&environment.program, &environment.kernel, &environment.cpu, &environment.device];
    let parts = parts.into_iter().filter(|p| !p.is_empty());
    parts.map(|p| line(p)).collect::<Vec<_>>().join("; ")
}

fn row(stored: &CellRecord) -> [String; 7] {
    let cell = &stored.cell;
    let (status, took, reason) = match &stored.result {
        None => ("not run yet".to_owned(), String::new(), String::new()),
        Some(result) => (
            result.status.to_string(),
            // The duration of an imported cell is unknown.
            match result.elapsed {
                Nanos(0) => String::new(),
                took => took.to_string(),
            },
            result
                .failure
                .as_ref()
                .map(|f| format!("{}: {}", line(&f.step), line(&f.reason)))
                .unwrap_or_default(),
        ),
    };
    [
        cell.id.0.to_string(),
        cell.round.to_string(),
        line(&cell.test),
        line(&cell.contender),
        status,
        took,
        reason,
    ]
}
