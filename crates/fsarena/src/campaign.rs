//! A campaign from the plan to its last cell: what it works on is taken, its cells run, and nothing is left behind.

use std::sync::Arc;

use guest::Guest;
use model::{Bytes, Campaign, Cell, Environment};
use orchestrate::{Ended, Error, Limits, Stop, Stored};
use provision::{HeldDevice, ProvisionError};
use run::CellCache;
use store::{CampaignId, Store};
use sys::clock;

use crate::erase_question::Consent;
use crate::exit::{Interruption, Refused};
use crate::fit::Misfits;
use crate::ground::{Ground, Held};
use crate::progress::Progress;
use crate::run_command;
use crate::site::Site;

/// What the user gives a run of a campaign beside the campaign itself.
pub struct Means<'a> {
    /// What may be erased.
    pub consent: Consent,
    /// How many cells may run side by side, where any may.
    pub jobs: Option<u32>,
    /// The most that may be written from now on, in place of what the campaign began with.
    pub max_written: Option<Bytes>,
    /// Brings the place where results are kept that need not be brought about twice; asked for guests only.
    pub cache: &'a dyn Fn() -> Option<CellCache>,
    /// Brings the guest in which cells run; not asked where they run elsewhere, or all have.
    pub guest: &'a dyn Fn(&Campaign) -> anyhow::Result<Arc<Guest>>,
}

/// Stores a new campaign with its plan, unless something would refuse it anyway, and takes what it works on.
pub fn begin(
    store: &mut Store,
    campaign: &Campaign,
    plan: &[Cell],
    consent: &Consent,
    progress: &Progress,
    stop: &Stop,
) -> anyhow::Result<(CampaignId, Held)> {
    let held = Ground::hold(campaign, consent, progress, stop)?;
    let misfits = Misfits::of(campaign, held.device.as_ref().map(HeldDevice::size))?;
    Ground::inspect_place(campaign)?;
    misfits
        .lines()
        .for_each(|line| progress.note(&format!("unsupported: {line}")));
    let id = store.begin_campaign(campaign, plan, clock::calendar())?;
    Ok((id, held))
}

/// Runs every cell of a stored campaign that has no result yet, and leaves nothing behind. What it works on is
/// taken where it is not held already.
pub fn drive(
    store: &mut Store,
    id: CampaignId,
    held: Option<Held>,
    means: &Means<'_>,
    progress: &Progress,
    stop: &Stop,
) -> anyhow::Result<Ended> {
    let stored = store.load(id)?;
    let campaign = Campaign {
        max_written: means.max_written.or(stored.campaign.max_written),
        ..stored.campaign.clone()
    };
    if stored.cells.iter().all(|cell| cell.result.is_some()) && !orchestrate::wants_more(&stored) {
        Site::sweep(id, &campaign)?;
        progress.note(&format!(
            "campaign {id} is complete: nothing is left to run"
        ));
        return Ok(Ended::Complete);
    }
    let cost = run_command::cost(&campaign, Some(store), means.jobs)?;
    let limits = Limits {
        written: run_command::allowance(&campaign, &cost)?,
        named: campaign.max_written.is_some(),
        preparation: cost.preparation,
        pace: cost.pace,
    };
    let held = match held {
        Some(held) => held,
        None => Ground::hold(&campaign, &means.consent, progress, stop)?,
    };
    require_same_disk(&held, &stored.environments)?;
    let mut site = match Site::prepare(id, &campaign, held, means, progress, stop) {
        Err(error) if is_interruption(&error) => return Ok(Ended::Interrupted),
        other => other?,
    };
    let mut ledger = Stored { store, id };
    let ended = orchestrate::run(&mut ledger, &mut site, &limits, progress, stop);
    progress.finish();
    site.clear()?;
    ended.map_err(|error| match error {
        Error::Ledger(error) => error.into(),
        Error::Backend(error) => error.into(),
        Error::Withdrawn(reason) => Refused(format!(
            "{reason} (the campaign ends here; `fsarena resume {id}` goes on once that is mended)"
        ))
        .into(),
    })
}

fn is_interruption(error: &anyhow::Error) -> bool {
    error.is::<Interruption>() || matches!(error.downcast_ref(), Some(ProvisionError::Interrupted))
}

/// A campaign goes on on the disk on which it began, as far as disks can be told by size and number.
fn require_same_disk(held: &Held, sessions: &[Environment]) -> Result<(), Refused> {
    let before = sessions.iter().find_map(|session| session.disk.as_ref());
    let device = held.device.as_ref();
    let difference = before.zip(device.and_then(HeldDevice::identity));
    let difference = difference.and_then(|(before, now)| before.lasting_difference(now));
    match (device, difference) {
        (Some(device), Some(difference)) => Err(Refused(format!(
            "{} is not the disk on which the campaign began: {difference}; attach that one, or run anew",
            device.path().display()
        ))),
        _ => Ok(()),
    }
}
