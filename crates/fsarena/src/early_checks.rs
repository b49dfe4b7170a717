//! Checks before a campaign is stored: whether its storage can be used, and whether mkfs and mount
//! accept the options of its contenders.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use backend::{
    AcquiredResources, AgentBackend, AgentTransport, EraseRequest, GuestResources, LocalBackend,
    MAX_MESSAGE_LENGTH, UserPrompt, shorten,
};
use campaign::run::{CellBackend, CellUpdate, StopFlag};
use guest::Guest;
use model::wire::AbortReason;
use model::{
    BackendKind, Bytes, Campaign, CampaignId, Cell, CellId, Contender, ContenderOverrides,
    GuestConfig, GuestDisk, ProgramRequirements, Status, Suite, Test,
};
use sys::io::clock;

use crate::args::cli::GlobalArgs;
use crate::commands::guest as guest_command;
use crate::output::exit::{EnvironmentError, UsageError, UserInterrupt};
use crate::output::progress::ProgressDisplay;
use crate::paths;

/// Number of the campaign that tries options. Numbers in stores begin with 1.
const TRIAL: CampaignId = CampaignId(0);
/// Name of its suite and its test.
const NAME: &str = "options";
/// Size of the first image for a trial.
const SMALL: Bytes = Bytes::mib(64);

/// A campaign that is about to be stored, or only planned.
pub struct EarlyChecks<'a> {
    /// The campaign.
    pub campaign: &'a Campaign,
    /// Guest in which cells run, if any.
    pub guest: Option<&'a Arc<Guest>>,
    /// Whether results of equal cells are not reused.
    pub no_cache: bool,
    /// Transport to the machine on which cells run.
    pub reach: &'a dyn AgentTransport,
    /// Destination of notes.
    pub progress: &'a ProgressDisplay,
    /// Set to true when the user asks to stop.
    pub stop: &'a StopFlag,
}

/// A refused contender: its name and the reason.
struct RefusedOptions {
    contender: String,
    reason: String,
}

/// A user who agrees to everything, for checks that change nothing.
struct Agreeing;

impl UserPrompt for Agreeing {
    fn note(&self, _text: &str) {}

    fn image_progress(&self, _done: u64, _total: u64) {}

    fn confirm_erase(&self, _erased: &EraseRequest<'_>) -> anyhow::Result<()> {
        Ok(())
    }
}

impl EarlyChecks<'_> {
    /// Makes the checks of a run before its first cell. Leaves no file. `erase` is the device that
    /// the run may erase; a dry run erases nothing.
    pub fn dry_run(&self, globals: &GlobalArgs, erase: Option<&Path>) -> anyhow::Result<()> {
        paths::require_writable_store(globals)?;
        self.require_writable_cache()?;
        self.inspect_storage(erase)?;
        let work_dir = &self.campaign.work_dir;
        let exists = self.campaign.host.is_some() || work_dir.exists();
        let tried = self.try_options();
        if !exists {
            // Removed only if empty, which it is unless another process uses it.
            let _ = fs::remove_dir(work_dir);
        }
        tried
    }

    /// Checks the options of the contenders. `erase` is the device that the user allows to erase.
    pub fn run(&self, erase: Option<&Path>) -> anyhow::Result<()> {
        self.require_writable_cache()?;
        if with_options(self.campaign).is_empty() {
            return Ok(());
        }
        self.inspect_storage(erase)?;
        self.try_options()
    }

    /// Checks the cache directory if the campaign cannot run without it.
    fn require_writable_cache(&self) -> anyhow::Result<()> {
        match self.campaign.keep_aged && self.campaign.host.is_none() {
            true => paths::require_writable_cache(),
            false => Ok(()),
        }
    }

    /// Checks whether the device, the directories and the source can be claimed, and whether the
    /// images fit.
    fn inspect_storage(&self, erase: Option<&Path>) -> anyhow::Result<()> {
        let Self { campaign, reach, stop, .. } = *self;
        if campaign.backend == BackendKind::Vm {
            AcquiredResources::acquire(campaign, erase, &Agreeing)?;
            return backend::check_work_dir(campaign);
        }
        let (host, _) = AgentBackend::acquire(reach, campaign, erase, false, &Agreeing, stop)?;
        host.clean_up()
    }

    /// Creates and mounts a filesystem with the options of each contender that has any. Options
    /// that fail on a small image are tried again on one of the campaign's size.
    fn try_options(&self) -> anyhow::Result<()> {
        let mut contenders = with_options(self.campaign);
        if contenders.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = contenders.iter().map(|c| c.name.as_str()).collect();
        self.progress.note(&format!(
            "trying the options of {}",
            shorten(&names.join(", "), MAX_MESSAGE_LENGTH)
        ));
        let least = contenders.iter().map(|c| c.filesystem.requires.smallest).max();
        let small = least.unwrap_or_default().max(SMALL).min(self.campaign.size);
        let mut refused = self.refused(&contenders, small)?;
        if !refused.is_empty() && small < self.campaign.size {
            contenders.retain(|c| refused.iter().any(|refused| refused.contender == c.name));
            refused = self.refused(&contenders, self.campaign.size)?;
        }
        let Some(last) = refused.pop() else {
            return Ok(());
        };
        let line = |refused: &RefusedOptions| format!("{}; correct the options", refused.reason);
        refused.iter().for_each(|refused| self.progress.note(&line(refused)));
        Err(UsageError(line(&last)).into())
    }

    /// Returns the contenders whose options mkfs or mount refuses on images of this size.
    fn refused(
        &self,
        contenders: &[Contender],
        size: Bytes,
    ) -> anyhow::Result<Vec<RefusedOptions>> {
        let trial = &trial(self.campaign, contenders, size);
        let stop = self.stop;
        let Some(guest) = self.guest else {
            let (mut host, _) =
                AgentBackend::acquire(self.reach, trial, None, false, &Agreeing, stop)?;
            host.prepare(TRIAL);
            host.environment()?;
            let refused = run_cells(&mut host, trial);
            host.clean_up()?;
            return refused;
        };
        let means = GuestResources {
            guest: Arc::clone(guest),
            cache: guest_command::cells(self.no_cache, None, &mut |_| {}),
            jobs: None,
            sampling: None,
            only_its_own: false,
            saves: false,
        };
        let held = AcquiredResources::acquire(trial, None, &Agreeing)?;
        let mut local = LocalBackend::guests(TRIAL, trial, held, means, stop)?;
        let refused = run_cells(&mut local, trial);
        local.clear()?;
        refused
    }
}

/// Returns the contenders with options of the user: one of those that differ only in their disk,
/// memory or age.
fn with_options(campaign: &Campaign) -> Vec<Contender> {
    let mut contenders: Vec<Contender> = Vec::new();
    for contender in &campaign.contenders {
        let options = |c: &Contender| {
            (c.filesystem.name.clone(), c.mkfs_options.clone(), c.mount_options.clone())
        };
        let has_options = !contender.mkfs_options.is_empty() || !contender.mount_options.is_empty();
        if has_options && !contenders.iter().any(|other| options(other) == options(contender)) {
            let own = ContenderOverrides { age: None, ..contender.own.clone() };
            contenders.push(Contender { own, ..contender.clone() });
        }
    }
    contenders
}

/// Returns a campaign that creates, mounts, unmounts and checks each filesystem once, on images.
fn trial(campaign: &Campaign, contenders: &[Contender], size: Bytes) -> Campaign {
    let guest = campaign.guest.clone().map(|machine| GuestConfig {
        disk: match machine.disk {
            GuestDisk::Device { cache } => GuestDisk::Image { cache },
            other => other,
        },
        ..machine
    });
    let test = Test {
        name: NAME.to_owned(),
        suite: NAME.to_owned(),
        title: String::new(),
        rationale: String::new(),
        space: Bytes(0),
        data: model::DataKind::default(),
        sweep: None,
        phases: Vec::new(),
    };
    let suite = Suite {
        name: NAME.to_owned(),
        title: String::new(),
        source: String::new(),
        requires: ProgramRequirements::default(),
        archives: Vec::new(),
        baseline: None,
        tests: vec![test],
    };
    Campaign {
        contenders: contenders.to_vec(),
        groups: Vec::new(),
        suites: vec![suite],
        size,
        guest,
        device: None,
        source: None,
        archives: Vec::new(),
        keep_aged: false,
        // The name of its directory contains the seed.
        seed: clock::realtime().0,
        ..campaign.clone()
    }
}

/// Runs the trial of each contender.
fn run_cells<B>(backend: &mut B, trial: &Campaign) -> anyhow::Result<Vec<RefusedOptions>>
where
    B: CellBackend<Error: Send + Sync + 'static>,
{
    let mut refused = Vec::new();
    for (contender, id) in trial.contenders.iter().zip(0..) {
        let cell = Cell {
            id: CellId(id),
            contender: contender.name.clone(),
            suite: NAME.to_owned(),
            test: NAME.to_owned(),
            round: 1,
            seed: 1,
        };
        backend.start(&cell, &trial.suites[0].tests[0]);
        let result = loop {
            match backend.next_update() {
                CellUpdate::Finished(_, result) => break result,
                CellUpdate::Aborted(_, AbortReason::Interrupted) => bail!(UserInterrupt),
                CellUpdate::Aborted(
                    _,
                    AbortReason::EnvironmentFault(why) | AbortReason::OtherHost(why),
                )
                | CellUpdate::ConnectionLost(_, why) => bail!(EnvironmentError(why)),
                CellUpdate::Event(..) | CellUpdate::Note(_) => {}
            }
        };
        let verb = match &result.failure {
            Some(failure) if failure.step == "mkfs" => "create",
            Some(failure) if failure.step == "mount" => "mount",
            _ => continue,
        };
        if let (Status::Failed, Some(failure)) = (result.status, result.failure) {
            let contender = contender.name.clone();
            let reason = format!("cannot {verb} `{contender}`: {}", failure.reason);
            refused.push(RefusedOptions { contender, reason });
        }
    }
    Ok(refused)
}
