//! `fsarena cluster work`: runs planned cells on the host on which it is started.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::{fs, io, thread};

use anyhow::Context;
use backend::CellCache;
use backend::{AcquiredResources, GuestResources, LocalBackend};
use batch::{Batch, BatchEntry, BatchError, EntryRange, RunKind, WorkerShare};
use campaign::run::{CampaignEnd, CampaignError, RunLimits, StopFlag};
use guest::Guest;
use model::{Campaign, CampaignId};
use sys::io::clock;

use crate::args::batch_args::WorkArgs;
use crate::args::cli::GlobalArgs;
use crate::commands::cluster::plan::VERSION;
use crate::commands::guest as guest_command;
use crate::output::erase_question::EraseConfirmation;
use crate::output::exit::{EnvironmentError, ExitReason};
use crate::output::progress::ProgressDisplay;
use crate::output::text::{print, print_note};
use crate::paths::{self, shell_path};
use crate::stop;
use crate::traces::Traces;

/// Directory of a user's workers on a host, below the directory for temporary files.
const WORK: &str = "fsarena-work";

/// Minimum number of cells for which saving a snapshot of the booted guest pays off.
const MIN_CELLS_FOR_SNAPSHOT: usize = 3;

/// Runs the requested entries that have no result.
pub fn run(args: &WorkArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let stop = stop::install_handlers()?;
    // With --send, only results may be written to standard output.
    let progress = ProgressDisplay::choose(globals.json && !args.send, globals.quiet);
    let batch = Batch::open(&args.directory)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    batch.require_program(VERSION, &program)?;
    let host = match &args.host {
        Some(host) => host.clone(),
        None => own_name()?,
    };
    let worker = PlanWorker {
        batch: &batch,
        host: &host,
        jobs: args.jobs,
        cache: guest_command::shared_cells(&args.shared)?,
        work_dir: work_directory(args.work_dir.as_deref())?,
        progress: &progress,
        stop: &stop,
    };
    let ended = match args.index {
        Some(first) if args.send => worker.send(first, args.count),
        Some(first) => worker.part(first, args.count),
        None => worker.all(),
    };
    progress.finish();
    Ok(match ended? {
        CampaignEnd::Complete => ExitReason::Success,
        CampaignEnd::Interrupted => {
            if !args.send {
                let (program, directory) = (batch.program(), batch.path());
                let (program, directory) = (shell_path(&program), shell_path(directory));
                print_note(&format!(
                    "interrupted; the results of finished cells are in the plan. Resume with: {program} cluster work {directory} --all"
                ));
            }
            ExitReason::Interrupted
        }
    }
    .into())
}

/// Returns the host name of this machine.
fn own_name() -> anyhow::Result<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname");
    let name = name.context("this host does not say its name: give it (--as)")?;
    Ok(name.trim().to_owned())
}

/// Returns the directory for guest files on this host. A shared directory would be slow, and names
/// could collide with those of other hosts.
fn work_directory(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let around = match given {
        Some(directory) => paths::absolute("--work-dir", directory)?,
        None => std::env::temp_dir(),
    };
    Ok(below(&around))
}

fn below(around: &Path) -> PathBuf {
    around.join(format!("{WORK}-{}", nix::unistd::geteuid()))
}

/// Returns the default directory of this user's workers on this host.
pub fn worker_directory() -> PathBuf {
    below(&std::env::temp_dir())
}

/// A worker on this host.
struct PlanWorker<'a> {
    batch: &'a Batch,
    host: &'a str,
    jobs: Option<u32>,
    cache: Option<CellCache>,
    work_dir: PathBuf,
    progress: &'a ProgressDisplay,
    stop: &'a StopFlag,
}

impl PlanWorker<'_> {
    /// Runs some entries.
    fn part(&self, first: u32, count: u32) -> anyhow::Result<CampaignEnd> {
        let entries = self.batch.entries_in(EntryRange { first, count })?;
        let (ended, elsewhere) = self.entries(entries)?;
        match elsewhere.first() {
            Some(entry) => {
                Err(BatchError::SameHost { index: entry.index, host: self.host.to_owned() }.into())
            }
            None => Ok(ended),
        }
    }

    /// Runs some entries and sends their results, until the receiver closes the connection.
    fn send(&self, first: u32, count: u32) -> anyhow::Result<CampaignEnd> {
        let stop = StopFlag::clone(self.stop);
        thread::spawn(move || {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            stop.store(true, Ordering::SeqCst);
        });
        let campaign = self.campaign();
        let entries = self.batch.entries_in(EntryRange { first, count })?;
        let send = |text: &str| {
            if print(text).is_err() {
                self.stop.store(true, Ordering::SeqCst);
            }
        };
        self.run(
            &campaign,
            WorkerShare::over_connection(self.batch, &campaign, entries, self.host, &send),
        )
    }

    /// Runs all remaining entries: cells, then checks of cells that other hosts have run.
    fn all(&self) -> anyhow::Result<CampaignEnd> {
        let entries = self.batch.all()?;
        let is_cell = |entry: &BatchEntry| entry.half == RunKind::First;
        let (cells, checks): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_cell);
        let (ended, _) = self.entries(cells)?;
        if ended == CampaignEnd::Interrupted {
            return Ok(ended);
        }
        let (ended, elsewhere) = self.entries(checks)?;
        if !elsewhere.is_empty() {
            let directory = self.batch.path().display();
            self.progress.note(&format!(
                "{} cells that ran here are to run on another host, too: there, {} cluster work {directory} --all",
                elsewhere.len(),
                self.batch.program().display(),
            ));
        }
        Ok(ended)
    }

    /// Runs entries of one kind that have no result. Returns those that must run on another host.
    fn entries(&self, entries: Vec<BatchEntry>) -> anyhow::Result<(CampaignEnd, Vec<BatchEntry>)> {
        let campaign = self.campaign();
        let (share, elsewhere) = WorkerShare::new(self.batch, &campaign, entries, self.host);
        match share.is_empty() {
            true => Ok((CampaignEnd::Complete, elsewhere)),
            false => Ok((self.run(&campaign, share)?, elsewhere)),
        }
    }

    /// Returns the campaign with the paths of this host.
    fn campaign(&self) -> Campaign {
        Campaign { work_dir: self.work_dir.clone(), ..self.batch.plan().campaign.clone() }
    }

    fn run(&self, campaign: &Campaign, mut share: WorkerShare<'_>) -> anyhow::Result<CampaignEnd> {
        self.sweep();
        let guest = Arc::new(self.batch.guest()?);
        let mut local = self.local(campaign, guest, &share)?;
        let traces = Traces::of(campaign, &self.batch.traces())?;
        let ended = campaign::run::run(
            &mut share,
            &mut traces.wrap_backend(&mut local),
            &RunLimits::default(),
            self.progress,
            self.stop,
        );
        let cleared = local.clear();
        let ended = ended.map_err(|error| match error {
            CampaignError::Ledger(error) => anyhow::Error::from(error),
            CampaignError::Backend(error) => error.into(),
            CampaignError::EnvironmentFault(reason) => EnvironmentError(reason).into(),
        })?;
        cleared?;
        Ok(ended)
    }

    fn local(
        &self,
        campaign: &Campaign,
        guest: Arc<Guest>,
        share: &WorkerShare<'_>,
    ) -> anyhow::Result<LocalBackend> {
        let asked = EraseConfirmation { progress: self.progress, yes: false, stop: self.stop };
        let means = GuestResources {
            guest,
            // A check must not use the stored result of another host.
            cache: self.cache.clone().filter(|_| share.run_kind() == Some(RunKind::First)),
            jobs: self.jobs,
            sampling: None,
            only_its_own: true,
            saves: share.len() >= MIN_CELLS_FOR_SNAPSHOT,
        };
        let held = AcquiredResources::acquire(campaign, None, &asked)?;
        // Each worker of a host has a separate directory.
        let id = u64::from(std::process::id()) << 32 | clock::now().0 & 0xffff_ffff;
        let id = CampaignId(i64::try_from(id).unwrap_or(i64::MAX));
        LocalBackend::guests(id, campaign, held, means, self.stop)
    }

    /// Removes leftovers of killed workers on this host.
    fn sweep(&self) {
        for left in backend::find_stale_directories(std::slice::from_ref(&self.work_dir)) {
            if let Err(error) = backend::remove_stale_directories(&left.directory, None) {
                print_note(&format!("{}: {error}", left.directory.display()));
            }
        }
    }
}
