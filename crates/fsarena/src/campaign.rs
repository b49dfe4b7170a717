//! A campaign from the plan to its last cell: what it works on is taken, its cells run, and nothing is left behind.

use std::path::Path;
use std::sync::Arc;

use guest::Guest;
use machine::compatibility::Incompatibilities;
use machine::{
    AcquiredResources, AgentBackend, AgentTransport, CampaignDir, GuestResources, LocalBackend,
};
use model::{BackendKind, Bytes, Campaign, Cell, DiskIdentity, Environment, UseCase};
use orchestrate::{CampaignEnd, CampaignError, RunLimits, StopFlag, StoredCampaign};
use run::CellCache;
use storage::ExclusiveDevice;
use store::{CampaignId, Store};
use sys::clock;
use wire::machine::FailureKind;

use crate::commands::run as run_command;
use crate::output::erase_question::{EraseConfirmation, EraseConsent};
use crate::output::exit::EnvironmentError;
use crate::past_durations;
use crate::traces::Traces;

/// What the user gives a run of a campaign beside the campaign itself.
pub struct RunContext<'a> {
    /// What may be erased.
    pub consent: EraseConsent,
    /// How many cells may run side by side, where any may.
    pub jobs: Option<u32>,
    /// The most that may be written from now on, in place of what the campaign began with.
    pub max_written: Option<Bytes>,
    /// Brings the place where results are kept that need not be brought about twice; asked for guests only.
    pub cache: &'a dyn Fn() -> Option<CellCache>,
    /// Where the traces of campaigns are kept.
    pub traces: &'a Path,
    /// The uses whose answers a budget is spent on.
    pub uses: Vec<UseCase>,
    /// Whether a machine that does something else ends the campaign.
    pub exclusive: bool,
    /// Brings the guest in which cells run; not asked where they run elsewhere, or all have.
    pub guest: &'a dyn Fn(&Campaign) -> anyhow::Result<Arc<Guest>>,
}

/// What a campaign works on, held from the first look at it to its last cell.
pub enum AcquiredMachine<'a> {
    /// By the agent of the machine on whose kernel cells run.
    Host(Box<AgentBackend<'a>>),
    /// Here, for guests.
    Guests(Box<AcquiredResources>),
}

impl<'a> AcquiredMachine<'a> {
    /// Finds out whether the campaign can run at all, and takes what it works on; gives what does not fit, a line
    /// each, where it has not run before. Changes nothing.
    pub fn acquire(
        campaign: &Campaign,
        consent: &EraseConsent,
        again: bool,
        reach: &'a dyn AgentTransport,
        asked: &'a EraseConfirmation<'a>,
        stop: &StopFlag,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let erase = consent.erase.as_deref();
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
            machine::check_work_dir(campaign)?;
        }
        Ok((Self::Guests(Box::new(held)), lines))
    }

    fn disk(&self) -> Option<&DiskIdentity> {
        match self {
            Self::Host(remote) => remote.disk(),
            Self::Guests(held) => held.device.as_ref().and_then(ExclusiveDevice::identity),
        }
    }
}

/// Stores a new campaign with its plan, unless something would refuse it anyway, and takes what it works on.
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

/// Runs every cell of a stored campaign that has no result yet, and leaves nothing behind. What it works on is
/// taken where it is not taken already.
pub fn run_to_end<'a>(
    store: &mut Store,
    id: CampaignId,
    taken: Option<AcquiredMachine<'a>>,
    means: &RunContext<'_>,
    reach: &'a dyn AgentTransport,
    asked: &'a EraseConfirmation<'a>,
    stop: &StopFlag,
) -> anyhow::Result<CampaignEnd> {
    let stored = store.load(id)?;
    let campaign = Campaign {
        max_written: means.max_written.or(stored.campaign.max_written),
        ..stored.campaign.clone()
    };
    if stored.cells.iter().all(|cell| cell.result.is_some())
        && !orchestrate::needs_more_rounds(&stored, &means.uses)
    {
        let own = CampaignDir::directory(&campaign, id);
        machine::remove_stale(reach, &own, Some((id, &campaign)))?;
        asked.progress.note(&format!(
            "campaign {id} is complete: nothing is left to run"
        ));
        return Ok(CampaignEnd::Complete);
    }
    let experience = past_durations::load(store, &campaign, Some(id));
    let cost = run_command::cost(&campaign, Some(store), &experience, means.jobs)?;
    let limits = RunLimits {
        written: run_command::allowance(&campaign, &cost)?,
        named: campaign.max_written.is_some(),
        preparation: cost.preparation,
        pace: cost.pace,
        experience,
        uses: means.uses.clone(),
        exclusive: means.exclusive,
    };
    let taken = match taken {
        Some(taken) => taken,
        None => AcquiredMachine::acquire(&campaign, &means.consent, true, reach, asked, stop)?.0,
    };
    require_same_disk(&campaign, taken.disk(), &stored.environments)?;
    let traces = Traces::of(&campaign, means.traces)?;
    let go_on = format!("fsarena resume {id}");
    let ended = match taken {
        AcquiredMachine::Host(mut remote) => {
            remote.prepare(id);
            let mut carrying = traces.wrap_backend(&mut *remote);
            let ended = cells(store, id, &mut carrying, &limits, asked, stop, &go_on);
            asked.progress.finish();
            and_clear(ended, remote.clean_up())
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
            let ended = cells(
                store,
                id,
                &mut traces.wrap_backend(&mut local),
                &limits,
                asked,
                stop,
                &go_on,
            );
            asked.progress.finish();
            and_clear(ended, local.clear())
        }
    };
    match ended {
        Err(error) if machine::kind(&error) == FailureKind::Interrupted => {
            Ok(CampaignEnd::Interrupted)
        }
        ended => ended,
    }
}

/// Why a campaign ended matters more than what could not be removed behind it.
fn and_clear(
    ended: anyhow::Result<CampaignEnd>,
    cleared: anyhow::Result<()>,
) -> anyhow::Result<CampaignEnd> {
    let ended = ended?;
    cleared.map(|()| ended)
}

/// Runs the cells of a stored campaign on a backend; a command goes on with it where it ends before.
///
/// # Errors
/// When a result cannot be kept, or the backend cannot go on.
pub fn cells<B>(
    store: &mut Store,
    id: CampaignId,
    backend: &mut B,
    limits: &RunLimits,
    asked: &EraseConfirmation<'_>,
    stop: &StopFlag,
    go_on: &str,
) -> anyhow::Result<CampaignEnd>
where
    B: orchestrate::CellBackend,
    B::Error: Into<anyhow::Error>,
{
    let mut ledger = StoredCampaign { store, id };
    let ended = orchestrate::run(&mut ledger, backend, limits, asked.progress, stop);
    ended.map_err(|error| match error {
        CampaignError::Ledger(error) => error.into(),
        CampaignError::Backend(error) => error.into(),
        CampaignError::EnvironmentFault(reason) => EnvironmentError(format!(
            "{reason} (the campaign ends here; `{go_on}` goes on once that is mended)"
        ))
        .into(),
    })
}

/// A campaign goes on on the disk on which it began, as far as disks can be told by size and number.
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
            "{} is not the disk on which the campaign began: {difference}; attach that one, or run anew",
            device.display()
        ))),
        _ => Ok(()),
    }
}
