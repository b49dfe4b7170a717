//! `fsarena cluster plan`: writes a campaign to a directory. Any number of hosts can run its cells.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use backend::compatibility::Incompatibilities;
use backend::{AcquiredResources, GuestResources, LocalBackend};
use batch::{Batch, PlanInput};
use campaign::run::{CellBackend as _, StopFlag};
use guest::Guest;
use model::{BackendKind, Campaign, CampaignId, Clock, Environment};
use serde_json::json;
use sys::io::clock;

use crate::args::batch_args::PlanArgs;
use crate::args::cli::GlobalArgs;
use crate::args::run_args::RunArgs;
use crate::early_checks::EarlyChecks;
use crate::output::erase_question::EraseConfirmation;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::progress::ProgressDisplay;
use crate::output::text::{print, print_json};
use crate::paths::{self, shell_path};
use crate::settings::campaign as request;
use crate::settings::campaign::ResolvedCampaign;
use crate::stop;
use crate::traces;

/// Version of fsarena, which must be the same for planning and for running.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Creates the plan and reports its contents.
pub fn run(args: &PlanArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let stop = stop::install_handlers()?;
    let progress = ProgressDisplay::choose(globals.json, globals.quiet);
    if args.run.engine.on.is_some() || !args.run.engine.hosts.is_empty() {
        let why =
            "plan does not start cells: remove --on and --hosts, or use `fsarena run --on slurm`";
        return Err(UsageError(why.to_owned()).into());
    }
    let batch = make(&args.run, &args.output, globals, &progress, &stop)?;
    let (directory, program) = (batch.path(), batch.program());
    let plan = batch.plan();
    if globals.json {
        print_json(&json!({
            "directory": directory,
            "program": program,
            "plan": batch.plan_id(),
            "cells": plan.cells,
            "checks": plan.checks,
            "entries": batch.entries(),
        }))?;
        return Ok(ExitReason::Success.into());
    }
    let (directory, program) = (shell_path(directory), shell_path(&program));
    let checks = match plan.checks {
        0 => String::new(),
        checks => format!(", {checks} run on two hosts"),
    };
    print(&format!(
        "{directory}: {} cells{checks}\n\
         on hosts with qemu-system-x86: {program} cluster work {directory} --index N, for each N from 0 to {}\n\
         then, and at any time before: fsarena cluster collect {directory}\n",
        plan.cells,
        batch.entries().saturating_sub(1),
    ))?;
    Ok(ExitReason::Success.into())
}

/// Plans a campaign into a directory.
pub fn make(
    args: &RunArgs,
    output: &Path,
    globals: &GlobalArgs,
    progress: &ProgressDisplay,
    stop: &StopFlag,
) -> anyhow::Result<Batch> {
    Batch::require_empty(&paths::absolute("--output", output)?)?;
    let request = requested(args, globals, progress, stop)?;
    try_options(args, &request, progress, stop)?;
    write(args, output, request, globals, progress, stop)
}

/// Creates the plan, or reuses the directory if it already contains the same campaign.
pub fn make_once(
    args: &RunArgs,
    output: &Path,
    globals: &GlobalArgs,
    progress: &ProgressDisplay,
    stop: &StopFlag,
) -> anyhow::Result<Batch> {
    let directory = paths::absolute("--output", output)?;
    let existing = Batch::open(&directory);
    if existing.is_err() {
        Batch::require_empty(&directory)?;
    }
    let request = requested(args, globals, progress, stop)?;
    match existing {
        Ok(batch) if batch.plan().campaign == request.campaign => Ok(batch),
        _ => {
            try_options(args, &request, progress, stop)?;
            write(args, output, request, globals, progress, stop)
        }
    }
}

/// Tries the options of the contenders in a guest of this machine.
fn try_options(
    args: &RunArgs,
    request: &ResolvedCampaign,
    progress: &ProgressDisplay,
    stop: &StopFlag,
) -> anyhow::Result<()> {
    let checks = EarlyChecks {
        campaign: &request.campaign,
        guest: request.guest.as_ref(),
        no_cache: args.execution.no_cache,
        reach: &*paths::transport(None, stop)?,
        progress,
        stop,
    };
    checks.run(None)
}

/// Returns the requested campaign, which must be suitable for distribution over hosts.
fn requested(
    args: &RunArgs,
    globals: &GlobalArgs,
    progress: &ProgressDisplay,
    stop: &StopFlag,
) -> anyhow::Result<ResolvedCampaign> {
    if args.sessions.is_some() || args.dry_run || args.host.is_some() || args.exclusive {
        let why = "a campaign over hosts takes no --sessions, --dry-run, --host or --exclusive";
        return Err(UsageError(why.to_owned()).into());
    }
    let catalog = paths::catalog(globals)?;
    let reach = paths::transport(None, stop)?;
    let request = request::read(args, globals, &catalog, &*reach, progress, stop)?;
    require_spreadable(&request.campaign)?;
    Ok(request)
}

fn write(
    args: &RunArgs,
    output: &Path,
    request: ResolvedCampaign,
    globals: &GlobalArgs,
    progress: &ProgressDisplay,
    stop: &StopFlag,
) -> anyhow::Result<Batch> {
    let output = paths::absolute("--output", output)?;
    let ResolvedCampaign { campaign, guest } = request;
    for misfit in Incompatibilities::of(&campaign, None)?.lines() {
        progress.note(&format!("unsupported: {misfit}"));
    }
    let guest = guest.context("the campaign has no guest")?;
    let asked = EraseConfirmation { progress, yes: false, stop };
    let cells = campaign::plan::plan(&campaign);
    Ok(Batch::create(
        &output,
        &PlanInput {
            environment: environment(&campaign, &guest, &asked, stop)?,
            campaign: &campaign,
            cells: &cells,
            guest: &|to| guest.copy_to(to),
            program: &std::env::current_exe().context("cannot find this program")?,
            version: VERSION,
            traces: &traces_of(&campaign, &traces::directory(globals)?),
            checked: args.checked.per_mille(),
            planned_at: clock::realtime(),
        },
    )?)
}

/// Rejects campaigns outside virtual time, whose results would depend on the host.
fn require_spreadable(campaign: &Campaign) -> Result<(), UsageError> {
    let refuse = |why: &str| Err(UsageError(why.to_owned()));
    if campaign.backend != BackendKind::Vm || campaign.clock != Clock::Virtual {
        return refuse(
            "cannot compare results of different hosts in real time: use --backend vm --clock virtual",
        );
    }
    if campaign.stopping_rule.is_some() || campaign.budget.is_some() {
        return refuse(
            "a campaign over hosts has a fixed number of rounds: leave --budget and --until-width out, and give --rounds",
        );
    }
    if !campaign.archives.is_empty()
        || campaign.suites.iter().any(|suite| !suite.archives.is_empty())
    {
        return refuse(
            "suites that unpack archives of sources stay on one machine: leave them out (-s)",
        );
    }
    Ok(())
}

/// Returns the environment of the cells, which in virtual time is the same on every host.
fn environment(
    campaign: &Campaign,
    guest: &Arc<Guest>,
    asked: &EraseConfirmation<'_>,
    stop: &StopFlag,
) -> anyhow::Result<Environment> {
    let means = GuestResources {
        guest: Arc::clone(guest),
        cache: None,
        jobs: None,
        sampling: None,
        only_its_own: false,
        saves: false,
    };
    let held = AcquiredResources::acquire(campaign, None, asked)?;
    let id = CampaignId(i64::from(std::process::id()));
    let mut local = LocalBackend::guests(id, campaign, held, means, stop)?;
    let environment = local.environment();
    local.clear()?;
    Ok(environment?)
}

/// Returns the files of a campaign's traces.
fn traces_of(campaign: &Campaign, directory: &Path) -> Vec<PathBuf> {
    let names = traces::trace_files(campaign);
    names.map(|name| directory.join(name)).collect()
}
