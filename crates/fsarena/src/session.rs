//! Runs a campaign: acquires its resources, runs its cells, and cleans up.

use std::path::Path;
use std::sync::Arc;

use backend::CellCache;
use backend::compatibility::Incompatibilities;
use backend::{
    AcquiredResources, AgentBackend, AgentTransport, CampaignDir, GuestResources, LocalBackend,
    TogetherBackend,
};
use campaign::run::{
    CampaignEnd, CampaignError, MoreWork, Observer, RunLimits, StopFlag, StoredCampaign,
};
use campaign::store::{CampaignId, Store};
use guest::Guest;
use model::wire::machine::FailureKind;
use model::{
    BackendKind, Bytes, Campaign, CampaignResults, Cell, DiskIdentity, Environment, UseCase,
};
use storage::ExclusiveDevice;
use sys::io::clock;

use crate::args::cli::GlobalArgs;
use crate::commands::run as run_command;
use crate::output::erase_question::{EraseConfirmation, EraseConsent};
use crate::output::exit::EnvironmentError;
use crate::past_durations;
use crate::paths;
use crate::traces::Traces;
use crate::watch::live::LiveObserver;

/// Inputs of a campaign run that are not part of the stored campaign.
pub struct RunContext<'a> {
    /// Options of the command, which also belong to the command that resumes the campaign.
    pub globals: &'a GlobalArgs,
    /// Device that the user allows to erase.
    pub consent: EraseConsent,
    /// Maximum number of cells to run in parallel, if the backend can run several.
    pub jobs: Option<u32>,
    /// Maximum number of bytes to write in this run. Overrides the limit stored with the campaign.
    pub max_written: Option<Bytes>,
    /// Opens the cell cache. Called only for guests.
    pub cache: &'a dyn Fn() -> Option<CellCache>,
    /// Directory of the traces of campaigns.
    pub traces: &'a Path,
    /// Use cases whose answers a time budget is spent on.
    pub uses: Vec<UseCase>,
    /// Whether the campaign ends if the machine becomes busy with other work.
    pub exclusive: bool,
    /// Work in addition to that of the campaign.
    pub more: Option<MoreWork>,
    /// Opens the guest in which cells run. Not called if cells run elsewhere or all have a result.
    pub guest: &'a dyn Fn(&Campaign) -> anyhow::Result<Arc<Guest>>,
}

/// Resources of a campaign, held until its last cell has finished.
pub enum AcquiredMachine<'a> {
    /// Agent of the machine on whose kernel cells run.
    Host(Box<AgentBackend<'a>>),
    /// Agents of several machines that run each cell together.
    Together(Box<TogetherBackend<'a>>),
    /// Resources of this machine, for guests.
    Guests(Box<AcquiredResources>),
}

impl<'a> AcquiredMachine<'a> {
    /// Checks whether the campaign can run, and acquires its resources. Returns one line per
    /// misfit, or no lines if the campaign ran before (`again`). Changes nothing on disk.
    pub fn acquire(
        campaign: &Campaign,
        consent: &EraseConsent,
        again: bool,
        reach: &'a dyn AgentTransport,
        asked: &'a EraseConfirmation<'a>,
        stop: &StopFlag,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let erase = consent.erase.as_deref();
        if !campaign.together.is_empty() {
            let (hosts, misfits) = TogetherBackend::acquire(reach, campaign, again, asked, stop)?;
            return Ok((Self::Together(Box::new(hosts)), misfits));
        }
        if campaign.backend != BackendKind::Vm {
            let (remote, misfits) =
                AgentBackend::acquire(reach, campaign, erase, again, asked, stop)?;
            return Ok((Self::Host(Box::new(remote)), misfits));
        }
        let held = AcquiredResources::acquire(campaign, erase, asked)?;
        let mut lines = Vec::new();
        if !again {
            let size = held.device.as_ref().map(ExclusiveDevice::size);
            lines = Incompatibilities::of(campaign, size)?.lines().collect();
            backend::check_work_dir(campaign)?;
        }
        Ok((Self::Guests(Box::new(held)), lines))
    }

    fn disk(&self) -> Option<&DiskIdentity> {
        match self {
            Self::Host(remote) => remote.disk(),
            Self::Together(_) => None,
            Self::Guests(held) => held.device.as_ref().and_then(ExclusiveDevice::identity),
        }
    }
}

/// Acquires the resources of a new campaign, then stores the campaign with its plan. Stores nothing
/// if a check fails.
pub fn store_and_acquire<'a>(
    store: &mut Store,
    campaign: &Campaign,
    plan: &[Cell],
    consent: &EraseConsent,
    reach: &'a dyn AgentTransport,
    asked: &'a EraseConfirmation<'a>,
    stop: &StopFlag,
) -> anyhow::Result<(CampaignId, AcquiredMachine<'a>)> {
    let (taken, misfits) = AcquiredMachine::acquire(campaign, consent, false, reach, asked, stop)?;
    for misfit in misfits {
        asked.progress.note(&format!("unsupported: {misfit}"));
    }
    let id = store.begin_campaign(campaign, plan, clock::realtime())?;
    Ok((id, taken))
}

/// Runs every cell of a campaign that has no result yet, and cleans up. `stored` is the campaign as
/// loaded from the store. Acquires its resources if `taken` is `None`.
pub fn run_to_end<'a>(
    store: &mut Store,
    mut stored: CampaignResults,
    taken: Option<AcquiredMachine<'a>>,
    means: &RunContext<'_>,
    reach: &'a dyn AgentTransport,
    asked: &'a EraseConfirmation<'a>,
    stop: &StopFlag,
) -> anyhow::Result<CampaignEnd> {
    let id = CampaignId(stored.id);
    let campaign = Campaign {
        max_written: means.max_written.or(stored.campaign.max_written),
        ..stored.campaign.clone()
    };
    if let Some(more) = means.more {
        let spent = stored.total_cell_time();
        more.add_to(&mut stored.campaign, spent);
    }
    if means.more.is_none()
        && stored.cells.iter().all(|cell| cell.result.is_some())
        && !campaign::run::needs_more_rounds(&stored, &means.uses)
    {
        let own = CampaignDir::directory(&campaign, id);
        backend::remove_stale(reach, &own, Some((id, &campaign)), stop)?;
        asked.progress.note(&format!("campaign {id} is complete: all test runs have results"));
        return Ok(CampaignEnd::Complete);
    }
    let experience = past_durations::load(store, &campaign, Some(id));
    // The limit of each phase stays that of the stored budget. Within a budget, the cost is that of one round, as at the
    // start of the campaign.
    let (budget, rounds) = (stored.campaign.budget, stored.campaign.rounds);
    let mut longer = Campaign { budget, rounds, ..campaign.clone() };
    if longer.budget.is_some() {
        longer.rounds = 1;
    }
    let cost = run_command::cost(&longer, Some(store), &experience, means.jobs)?;
    let limits = RunLimits {
        written: run_command::allowance(&longer, &cost)?,
        named: campaign.max_written.is_some(),
        preparation: cost.preparation,
        pace: cost.pace,
        experience,
        uses: means.uses.clone(),
        exclusive: means.exclusive,
        more: means.more,
    };
    let taken = match taken {
        Some(taken) => taken,
        None => AcquiredMachine::acquire(&campaign, &means.consent, true, reach, asked, stop)?.0,
    };
    require_same_disk(&campaign, taken.disk(), &stored.environments)?;
    let traces = Traces::of(&campaign, means.traces)?;
    let go_on = paths::resume_line(means.globals, id, campaign.device.as_deref());
    // It reads the results again, because another process may have run cells until now.
    let ledger = StoredCampaign::new(store, id);
    let live = LiveObserver::new(asked.progress, means.globals, id);
    let ended = match taken {
        AcquiredMachine::Host(mut remote) => {
            remote.prepare(id);
            let mut carrying = traces.wrap_backend(&mut *remote);
            let ended = cells(ledger, &mut carrying, &limits, &live, stop, &go_on);
            asked.progress.finish();
            and_clear(ended, remote.clean_up())
        }
        AcquiredMachine::Together(mut hosts) => {
            hosts.prepare(id);
            let mut carrying = traces.wrap_backend(&mut *hosts);
            let ended = cells(ledger, &mut carrying, &limits, &live, stop, &go_on);
            asked.progress.finish();
            and_clear(ended, hosts.clean_up())
        }
        AcquiredMachine::Guests(held) => {
            let means = GuestResources {
                guest: (means.guest)(&campaign)?,
                cache: (means.cache)(),
                jobs: means.jobs,
                sampling: None,
                only_its_own: false,
                saves: true,
            };
            let mut local = LocalBackend::guests(id, &campaign, *held, means, stop)?;
            let ended =
                cells(ledger, &mut traces.wrap_backend(&mut local), &limits, &live, stop, &go_on);
            asked.progress.finish();
            and_clear(ended, local.clear())
        }
    };
    match ended {
        Err(error) if backend::kind(&error) == FailureKind::Interrupted => {
            Ok(CampaignEnd::Interrupted)
        }
        ended => ended,
    }
}

/// Reports the error of the campaign in preference to the error of the cleanup.
fn and_clear(
    ended: anyhow::Result<CampaignEnd>,
    cleared: anyhow::Result<()>,
) -> anyhow::Result<CampaignEnd> {
    let ended = ended?;
    cleared.map(|()| ended)
}

/// Runs the cells of a stored campaign on a backend. `go_on` is the command that resumes the
/// campaign after a failure.
///
/// # Errors
/// Returns an error if a result cannot be stored, or if the backend fails.
pub fn cells<B>(
    mut ledger: StoredCampaign<'_>,
    backend: &mut B,
    limits: &RunLimits,
    observer: &dyn Observer,
    stop: &StopFlag,
    go_on: &str,
) -> anyhow::Result<CampaignEnd>
where
    B: campaign::run::CellBackend,
    B::Error: Into<anyhow::Error>,
{
    let ended = campaign::run::run(&mut ledger, backend, limits, observer, stop);
    ended.map_err(|error| match error {
        CampaignError::Ledger(error) => error.into(),
        CampaignError::Backend(error) => error.into(),
        CampaignError::EnvironmentFault(reason) => EnvironmentError(format!(
            "{reason}; the campaign stopped; fix this, then resume with `{go_on}`"
        ))
        .into(),
    })
}

/// Refuses to resume a campaign on another disk. Compares size, serial number and WWN, if known.
fn require_same_disk(
    campaign: &Campaign,
    disk: Option<&DiskIdentity>,
    sessions: &[Environment],
) -> Result<(), EnvironmentError> {
    let before = sessions.iter().find_map(|session| session.disk.as_ref());
    let difference = before.zip(disk);
    let difference = difference.and_then(|(before, now)| before.explain_permanent_change(now));
    match (&campaign.device, difference) {
        (Some(device), Some(difference)) => Err(EnvironmentError(format!(
            "cannot resume on {}: not the disk on which the campaign started: {difference}; attach that disk, or run a new campaign",
            device.display()
        ))),
        _ => Ok(()),
    }
}
