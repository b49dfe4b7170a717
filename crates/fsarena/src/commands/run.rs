//! `fsarena run`: runs a campaign, from the command line to the report.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use batch::slurm::Cluster;
use campaign::plan::{Cost, PastDurations};
use campaign::run::{CampaignEnd, StopFlag};
use campaign::store::{CampaignId, Store};
use model::{Bytes, Campaign, Cell, Clock};
use serde_json::json;

use crate::args::cli::GlobalArgs;
use crate::args::run_args::RunArgs;
use crate::commands::cluster::collect::{self as collect_command, SelectedScheduler};
use crate::commands::cluster::plan as plan_command;
use crate::commands::guest as guest_command;
use crate::commands::report as report_command;
use crate::commands::run_on_hosts;
use crate::commands::run_on_kernels;
use crate::early_checks::EarlyChecks;
use crate::output::cost_page;
use crate::output::erase_question::EraseConfirmation;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::progress::ProgressDisplay;
use crate::output::text as output;
use crate::past_durations;
use crate::paths;
use crate::session::{self, RunContext};
use crate::settings::campaign as request;
use crate::settings::campaign::ResolvedCampaign;
use crate::settings::resolve;
use crate::settings::together;
use crate::stale_directories::{self, SearchDirs};
use crate::stop;
use crate::traces;
use backend::compatibility::{self, Incompatibilities};
use model::wire::machine::FailureKind;

/// Plans, stores, runs and reports a campaign, once per session.
pub fn run(args: &RunArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let stop = stop::install_handlers()?;
    if args.engine.on.is_some() {
        return on_scheduler(args, globals, &stop);
    }
    let together = args.together.then(|| together::resolve(args)).transpose()?;
    let args = together.as_ref().unwrap_or(args);
    if !args.engine.hosts.is_empty() {
        return run_on_hosts::run(args, globals, &stop);
    }
    if args.checked.check.is_some() {
        let why = "on one machine no cell is checked on another: --check goes with --on".to_owned();
        return Err(UsageError(why).into());
    }
    let asked = args.settings.backend;
    let args = &resolve::with_usual_work(args, nix::unistd::geteuid().is_root());
    if args.settings.backend != asked && !globals.quiet {
        output::print_note(
            "without root, small tests run in guests; `sudo fsarena run` compares here in ten minutes",
        );
    }
    let campaigns = run_on_kernels::campaigns(args, globals, &stop)?;
    let progress = ProgressDisplay::choose(globals.json, globals.quiet);
    if let Some(note) = run_on_kernels::announcement(args, &campaigns) {
        progress.note(&note);
    }
    let mut worst = ExitReason::Success.into();
    let mut on_kernels = Vec::new();
    let mut failure = None;
    for one in campaigns {
        if one.kernel.is_some() && stop.load(Ordering::SeqCst) {
            progress.note(&one.not_started());
            worst = ExitReason::Interrupted.into();
            continue;
        }
        if let Some(kernel) = &one.kernel {
            progress.note(&format!("\nLinux {kernel}"));
        }
        let (code, id) = match sessions(&one.run, globals, &stop) {
            // A kernel that cannot be built does not stop the campaign on another one.
            Err(error) if one.kernel.is_some() && backend::kind(&error) != FailureKind::Usage => {
                progress.note(&one.not_started());
                failure.get_or_insert(error);
                continue;
            }
            ran => ran?,
        };
        if code != ExitReason::Success.into() {
            worst = code;
        }
        on_kernels.extend(id.map(|id| (one, id)));
    }
    if let Some(error) = failure {
        return Err(error);
    }
    if on_kernels.len() > 1 && !stop.load(Ordering::SeqCst) {
        progress.note(&format!("\n{}", run_on_kernels::summary(&on_kernels)));
    }
    Ok(worst)
}

/// Runs the sessions of a campaign. Returns the worst exit code, and the last campaign, if any ran.
fn sessions(
    args: &RunArgs,
    globals: &GlobalArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<(ExitCode, Option<CampaignId>)> {
    let sessions = match args.dry_run {
        true => 1,
        false => args.sessions.unwrap_or(1),
    };
    if sessions > 1
        && args.settings.storage.device.is_some()
        && args.execution.erase.erase.is_none()
    {
        let why = "each session finds the last one's filesystem on the device: --sessions takes --erase there";
        return Err(UsageError(why.to_owned()).into());
    }
    if args.dry_run
        && let Some(sessions) = args.sessions
    {
        output::print_note(&format!("{sessions} sessions, each with the following plan"));
    }
    let (mut worst, mut last) = (ExitReason::Success.into(), None);
    for session in 0..sessions {
        let code = match campaign(args, session, globals, stop)? {
            RunOutcome::Planned(code) => code,
            RunOutcome::Campaign { ended, id, store } => {
                last = Some(id);
                finish(ended, id, &store, args.execution.strict, globals)?
            }
        };
        if code != ExitReason::Success.into() {
            worst = code;
        }
        if stop.load(Ordering::SeqCst) {
            break;
        }
        if sessions > 1 && !globals.quiet {
            output::print_note(&format!("session {} of {sessions} finished", session + 1));
        }
    }
    if sessions > 1 && !globals.quiet && !stop.load(Ordering::SeqCst) {
        output::print_note(
            "`fsarena compare` combines these sessions if it is given their name; use --name to tell sides apart",
        );
    }
    Ok((worst, last))
}

/// Plans a campaign for a scheduler, and runs it there.
fn on_scheduler(
    args: &RunArgs,
    globals: &GlobalArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<ExitCode> {
    let progress = ProgressDisplay::choose(globals.json, globals.quiet);
    let (wanted, directory) = elsewhere(args, stop)?;
    let batch = plan_command::make(args, directory, globals, &progress, stop)?;
    collect_command::follow(&batch, wanted, args.execution.strict, globals, &progress, stop)
}

/// Returns the scheduler of a campaign on other hosts, and its plan directory.
pub fn elsewhere<'a>(
    args: &'a RunArgs,
    stop: &StopFlag,
) -> anyhow::Result<(Option<SelectedScheduler>, &'a Path)> {
    let Some(directory) = &args.plan else {
        let why = "--on takes --plan DIR: a directory, empty or not there yet, which with Slurm all nodes see";
        return Err(UsageError(why.to_owned()).into());
    };
    let wanted = collect_command::engine(&args.engine, &args.execution.shared)?;
    if let Some(SelectedScheduler::Slurm(_)) = wanted {
        Cluster::require(stop)?;
    }
    Ok((wanted, directory))
}

/// Outcome of one session.
pub enum RunOutcome {
    /// Only the plan was requested.
    Planned(ExitCode),
    /// The campaign was started.
    Campaign {
        /// Result of the run.
        ended: anyhow::Result<CampaignEnd>,
        /// Its number.
        id: campaign::store::CampaignId,
        /// Store that contains the campaign.
        store: Box<Store>,
    },
}

/// Plans, stores and runs a campaign. The seed in `args` is the seed of the first session.
pub fn campaign(
    args: &RunArgs,
    session: u32,
    globals: &GlobalArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<RunOutcome> {
    if args.engine.on.is_some() || !args.engine.hosts.is_empty() {
        let why = "this runs on one machine: --on and --hosts go with `fsarena run`";
        return Err(UsageError(why.to_owned()).into());
    }
    let progress = ProgressDisplay::of_host(globals);
    let catalog = paths::catalog(globals)?;
    let reach = paths::campaign_transport(args.host.as_deref(), &args.ranks, stop)?;
    let ResolvedCampaign { mut campaign, guest } =
        request::read(args, globals, &catalog, &*reach, &progress, stop)?;
    if globals.of_host.is_some() && campaign.clock == Clock::Virtual {
        let why =
            "in virtual time nothing differs between hosts: --on ssh divides the cells among them";
        return Err(UsageError(why.to_owned()).into());
    }
    if args.sessions.is_some() && campaign.clock == Clock::Virtual {
        let why =
            "in virtual time nothing differs between sessions: leave --sessions out".to_owned();
        return Err(UsageError(why).into());
    }
    campaign.seed = campaign.seed.wrapping_add(session.into());
    let plan = campaign::plan::plan(&campaign);
    let store = match args.dry_run {
        true => paths::store_if_any(globals)?,
        false => Some(paths::store(globals)?),
    };
    let experience = store.as_ref().map(|s| past_durations::load(s, &campaign, None));
    let experience = experience.unwrap_or_default();
    let cost = cost(&campaign, store.as_ref(), &experience, args.execution.jobs)?;
    let checks = EarlyChecks {
        campaign: &campaign,
        guest: guest.as_ref(),
        no_cache: args.execution.no_cache,
        reach: &*reach,
        progress: &progress,
        stop,
    };
    let Some(mut store) = store.filter(|_| !args.dry_run) else {
        checks.dry_run(globals, args.execution.erase.consent().erase.as_deref())?;
        return Ok(RunOutcome::Planned(dry_run(&campaign, &plan, &cost, globals)?));
    };
    let most = allowance(&campaign, &cost)?;
    if cost.is_large() {
        cost_page::sweep_notes(&cost, most).iter().for_each(|line| progress.note(line));
    }

    // Fail early if the directory for report pages cannot be created.
    paths::reports(globals)?;
    // Later sessions use the same machine; each host is another one.
    if session == 0 || globals.of_host.is_some() {
        checks.run(args.execution.erase.consent().erase.as_deref())?;
    }
    let note = |text: &str| progress.note(text);
    let (host, work_dir) = (campaign.host.as_deref(), &*campaign.work_dir);
    let searched = SearchDirs { reach: &*reach, host, work_dir, stop };
    stale_directories::remove(&store, &searched, None, globals, &note)?;

    let kept = traces::directory(globals)?;
    let shared = guest_command::shared_cells(&args.execution.shared)?;
    let means = RunContext {
        globals,
        traces: &kept,
        uses: catalog.uses().cloned().collect(),
        consent: args.execution.erase.consent(),
        jobs: args.execution.jobs,
        max_written: None,
        exclusive: args.exclusive,
        more: None,
        cache: &|| {
            let (execution, note) = (&args.execution, &mut |text: &str| progress.note(text));
            let own = || guest_command::cells(execution.no_cache, execution.cache_size, note);
            shared.clone().or_else(own)
        },
        guest: &|_| guest.as_ref().map(Arc::clone).context("the campaign has no guest"),
    };
    let asked = EraseConfirmation { progress: &progress, yes: means.consent.yes, stop };
    let archives = backend::required_archives(&campaign.suites)?;
    if !archives.is_empty() {
        campaign.archives = backend::fetch_archives(&*reach, archives, &asked, stop)?;
    }
    let consent = &means.consent;
    let (id, taken) =
        session::store_and_acquire(&mut store, &campaign, &plan, consent, &*reach, &asked, stop)?;
    progress.note(&format!(
        "campaign {id}: {}, seed {}",
        output::counted(plan.len() as u64, "test run"),
        campaign.seed
    ));
    let stored = store.load(id)?;
    let ended = session::run_to_end(&mut store, stored, Some(taken), &means, &*reach, &asked, stop);
    Ok(RunOutcome::Campaign { ended, id, store: Box::new(store) })
}

/// Estimates the cost of a campaign from earlier campaigns, else from the last calibration of the
/// device.
pub fn cost(
    campaign: &Campaign,
    store: Option<&Store>,
    experience: &PastDurations,
    jobs: Option<u32>,
) -> anyhow::Result<Cost> {
    let calibration = match store {
        Some(store) => store.last_calibration()?,
        None => None,
    };
    let raw_device = calibration.and_then(|c| c.raw_device);
    Ok(campaign::plan::cost(
        campaign,
        cost_page::pace(campaign, raw_device.as_ref()),
        experience,
        backend::parallel_cells(campaign, jobs) as u64,
    ))
}

/// Returns the maximum number of bytes that a campaign may write to disks of this machine. Returns
/// `None` if it writes to none of them.
pub fn allowance(campaign: &Campaign, cost: &Cost) -> Result<Option<Bytes>, EnvironmentError> {
    campaign::plan::write_limit(campaign, cost)
        .map_err(|too_much| EnvironmentError(too_much.to_string()))
}

/// Reports the plan of a dry run. Runs nothing.
fn dry_run(
    campaign: &Campaign,
    cells: &[Cell],
    cost: &Cost,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let misfits = Incompatibilities::of(campaign, compatibility::planned_device_size(campaign))?;
    let misfits: Vec<String> = misfits.lines().collect();
    let allowance = campaign::plan::write_limit(campaign, cost);
    let code = match allowance {
        Ok(_) => ExitReason::Success,
        Err(_) => ExitReason::Environment,
    };
    if globals.json {
        let plan = json!({
            "event": "dry-run",
            "campaign": campaign,
            "cost": cost,
            "unsupported": misfits,
            "max_written": allowance.ok().flatten(),
            "refused": allowance.err().map(|too_much| too_much.to_string()),
            "cells": cells,
        });
        output::print_unwrapped(&format!("{plan}\n"))?;
    } else {
        output::print(&cost_page::text(campaign, cost, &misfits, allowance))?;
    }
    Ok(code.into())
}

/// Reports the end of a campaign: the report if it is complete, the command to resume it otherwise.
pub fn finish(
    ended: anyhow::Result<CampaignEnd>,
    id: campaign::store::CampaignId,
    store: &campaign::store::Store,
    strict: bool,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    finish_resumed(ended, id, store, strict, None, globals)
}

/// Reports the end of a resumed campaign. `rest` is the rest of the time that `resume --more` gave it.
pub fn finish_resumed(
    ended: anyhow::Result<CampaignEnd>,
    id: campaign::store::CampaignId,
    store: &campaign::store::Store,
    strict: bool,
    rest: Option<Duration>,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    match ended {
        Err(error) if backend::kind(&error) == FailureKind::Interrupted => {
            interrupted("leftovers of an earlier run may still exist", id, store, rest, globals)
        }
        Err(error) => Err(error),
        Ok(CampaignEnd::Interrupted) => {
            // A session begins after all waits. Without one, no test has changed the device.
            let has_begun = !store.load(id)?.environments.is_empty();
            let device = store.definition(id)?.device.filter(|_| has_begun);
            let but = device.map_or_else(String::new, |device| {
                format!(" but the last filesystem on {}", device.display())
            });
            interrupted(&format!("all resources were cleaned up{but}"), id, store, rest, globals)
        }
        Ok(CampaignEnd::Complete) => report_command::after_run(store, id, strict, globals),
    }
}

/// Reports the remaining resources and the command to resume.
fn interrupted(
    left: &str,
    id: campaign::store::CampaignId,
    store: &campaign::store::Store,
    rest: Option<Duration>,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let device = store.definition(id)?.device;
    let rest = rest.map_or_else(String::new, |rest| format!(" --more {}s", rest.as_secs().max(1)));
    let resume = paths::resume_line(globals, id, device.as_deref()) + &rest;
    match globals.json {
        true => {
            let event = json!({ "event": "interrupted", "campaign": id.0, "resume": resume });
            output::print_unwrapped(&format!("{event}\n"))?;
        }
        false => output::print_note(&format!("interrupted; {left}. Resume with: {resume}")),
    }
    Ok(ExitReason::Interrupted.into())
}
