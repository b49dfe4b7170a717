//! `fsarena delete`: deletes campaigns with their results, request logs and pages.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use backend::{CampaignDir, LocalTransport, LockOwner};
use campaign::run::StopFlag;
use campaign::store::{CampaignId, CampaignSummary, Store};
use model::{BackendKind, Bytes};
use serde_json::json;

use crate::args::cli::GlobalArgs;
use crate::args::delete_args::DeleteArgs;
use crate::output::erase_question::answer;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError, error_chain};
use crate::output::text::{counted, line, print, print_json, print_note};
use crate::paths;
use crate::settings::select_campaign;
use crate::stop;

/// Deletes all named campaigns, or none.
pub fn run(args: &DeleteArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    drop(paths::existing_store(globals)?);
    let mut store = paths::store(globals)?;
    let known = store.campaigns()?;
    let named = select_campaign::find_all(&known, &args.campaigns, "delete")?;
    for campaign in &named {
        require_idle(&store, campaign)?;
    }
    let stop = match args.yes {
        // Signals end this process as usual.
        true => StopFlag::default(),
        false => confirm(&named)?,
    };
    for campaign in &named {
        remove_leftovers(campaign, &stop)?;
    }
    let ids: Vec<CampaignId> = named.iter().map(|campaign| campaign.id).collect();
    store.delete(&ids)?;
    if let Err(error) = delete_pages(&ids, globals) {
        print_note(&format!("the pages of the campaigns remain: {}", error_chain(&error)));
    }
    let freed = store.give_space_back();
    if let Err(error) = &freed {
        print_note(&format!("the file of the database keeps its size: {error}"));
    }
    tell(&named, freed.unwrap_or(Bytes(0)), globals)?;
    Ok(ExitReason::Success.into())
}

fn delete_pages(ids: &[CampaignId], globals: &GlobalArgs) -> anyhow::Result<()> {
    if !paths::database(globals)?.with_file_name("reports").is_dir() {
        return Ok(());
    }
    let reports = paths::reports(globals)?;
    for id in ids {
        reports.remove(paths::page(globals, *id)?)?;
    }
    Ok(())
}

/// Returns an error if another process runs the campaign.
fn require_idle(store: &Store, summary: &CampaignSummary) -> anyhow::Result<()> {
    let CampaignSummary { id, campaign, done, planned, .. } = summary;
    let is_running = match CampaignDir::holder(campaign, *id) {
        LockOwner::Process => true,
        LockOwner::Dead => false,
        // A campaign that has just begun or runs on another machine has no directory here.
        LockOwner::None => {
            done < planned
                && campaign.backend != BackendKind::Imported
                && store.is_open_elsewhere()?
        }
    };
    match is_running {
        false => Ok(()),
        true => Err(EnvironmentError(format!(
            "cannot delete campaign {id}: another process runs it or uses its database; stop that, or wait until it has ended"
        ))
        .into()),
    }
}

/// Asks the user at the terminal. Returns the flag that signals set from then on.
fn confirm(named: &[&CampaignSummary]) -> anyhow::Result<StopFlag> {
    let all = named.iter().map(|campaign| called(campaign));
    let all = all.collect::<Vec<_>>().join(", ");
    if !io::stdin().is_terminal() {
        return Err(UsageError(format!(
            "cannot delete {all} without confirmation: standard input is not a terminal; add --yes"
        ))
        .into());
    }
    let stop = stop::install_handlers()?;
    let mut terminal = io::stderr();
    let results: u32 = named.iter().map(|campaign| campaign.done).sum();
    write!(
        terminal,
        "{all}: {} will be lost.\nType `yes` to delete: ",
        counted(results, "result")
    )?;
    terminal.flush()?;
    match answer(&stop)?.trim() {
        "yes" => Ok(stop),
        _ => Err(EnvironmentError(
            "nothing was deleted: confirm by typing `yes` (or use -y to skip the question)".into(),
        )
        .into()),
    }
}

/// Removes the work directory of a killed campaign, which no command would find later.
fn remove_leftovers(summary: &CampaignSummary, stop: &StopFlag) -> anyhow::Result<()> {
    let CampaignSummary { id, campaign, .. } = summary;
    match CampaignDir::holder(campaign, *id) {
        LockOwner::Dead => {
            let directory = CampaignDir::directory(campaign, *id);
            backend::remove_stale(&LocalTransport, &directory, Some((*id, campaign)), stop)
        }
        LockOwner::None | LockOwner::Process => Ok(()),
    }
}

fn called(campaign: &CampaignSummary) -> String {
    format!("campaign {} “{}”", campaign.id, line(&campaign.name))
}

/// Reports the deleted campaigns and the space that the file no longer takes.
fn tell(named: &[&CampaignSummary], freed: Bytes, globals: &GlobalArgs) -> anyhow::Result<()> {
    if globals.json {
        let deleted = named.iter().map(|campaign| {
            json!({ "campaign": campaign.id, "name": campaign.name, "results": campaign.done })
        });
        let deleted: Vec<_> = deleted.collect();
        return Ok(print_json(&json!({ "deleted": deleted, "freed": freed }))?);
    }
    if globals.quiet {
        return Ok(());
    }
    let lines = named.iter().map(|campaign| {
        let results = counted(campaign.done, "result");
        format!("deleted {} with {results}\n", called(campaign))
    });
    Ok(print(&(lines.collect::<String>() + &format!("the database is smaller by {freed}\n")))?)
}
