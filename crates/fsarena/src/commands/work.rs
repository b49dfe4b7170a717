//! `fsarena work`: runs cells that were planned, on whichever host it is started.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::{fs, io, thread};

use anyhow::Context;
use batch::{Batch, BatchError, Entry, Half, Part, Share};
use guest::Guest;
use machine::{GuestMeans, Held, Local};
use model::{Campaign, CampaignId};
use orchestrate::{Ended, Error, Limits, Stop};
use run::CellCache;
use sys::clock;

use crate::arguments::batch_args::WorkArgs;
use crate::arguments::cli::Globals;
use crate::commands::guest as guest_command;
use crate::commands::plan::VERSION;
use crate::output::erase_question::Asked;
use crate::output::exit::{Code, Refused};
use crate::output::progress::Progress;
use crate::output::text::{print, remark};
use crate::paths;
use crate::stop;
use crate::traces::Traces;

/// Where workers of one user work on a host, below the directory for temporary files.
const WORK: &str = "fsarena-work";

/// From so many cells on it pays to save a guest that has booted, where the others begin.
const WORTH_SAVING: usize = 3;

/// Runs what is asked for and has no result.
pub fn run(args: &WorkArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let stop = stop::on_signals()?;
    // What is sent has standard output for itself.
    let progress = Progress::choose(globals.json && !args.send, globals.quiet);
    let batch = Batch::open(&args.directory)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    batch.require_program(VERSION, &program)?;
    let host = match &args.host {
        Some(host) => host.clone(),
        None => own_name()?,
    };
    let worker = Worker {
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
        Ended::Complete => Code::Done,
        Ended::Interrupted => Code::Interrupted,
    }
    .into())
}

/// What this machine calls itself.
fn own_name() -> anyhow::Result<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname");
    let name = name.context("this host does not say its name: give it (--as)")?;
    Ok(name.trim().to_owned())
}

/// Where guests have what they need, on this host: what hosts share would be slow, and others could have the same names.
fn work_directory(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let around = match given {
        Some(directory) => paths::absolute("--work-dir", directory)?,
        None => std::env::temp_dir(),
    };
    let user = nix::unistd::geteuid();
    Ok(around.join(format!("{WORK}-{user}")))
}

/// Who runs cells here.
struct Worker<'a> {
    batch: &'a Batch,
    host: &'a str,
    jobs: Option<u32>,
    cache: Option<CellCache>,
    work_dir: PathBuf,
    progress: &'a Progress,
    stop: &'a Stop,
}

impl Worker<'_> {
    /// Runs some entries.
    fn part(&self, first: u32, count: u32) -> anyhow::Result<Ended> {
        let entries = self.batch.part(Part { first, count })?;
        let (ended, elsewhere) = self.entries(entries)?;
        match elsewhere.first() {
            Some(entry) => Err(BatchError::SameHost {
                index: entry.index,
                host: self.host.to_owned(),
            }
            .into()),
            None => Ok(ended),
        }
    }

    /// Runs some entries, and sends their results, until nobody is there any more who wants them.
    fn send(&self, first: u32, count: u32) -> anyhow::Result<Ended> {
        let stop = Stop::clone(self.stop);
        thread::spawn(move || {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            stop.store(true, Ordering::SeqCst);
        });
        let campaign = self.campaign();
        let entries = self.batch.part(Part { first, count })?;
        let send = |text: &str| {
            if print(text).is_err() {
                self.stop.store(true, Ordering::SeqCst);
            }
        };
        self.run(
            &campaign,
            Share::sent(self.batch, &campaign, entries, self.host, &send),
        )
    }

    /// Runs all that is left: cells, then checks of what other hosts have run.
    fn all(&self) -> anyhow::Result<Ended> {
        let entries = self.batch.all()?;
        let is_cell = |entry: &Entry| entry.half == Half::First;
        let (cells, checks): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_cell);
        let (ended, _) = self.entries(cells)?;
        if ended == Ended::Interrupted {
            return Ok(ended);
        }
        let (ended, elsewhere) = self.entries(checks)?;
        if !elsewhere.is_empty() {
            let directory = self.batch.path().display();
            self.progress.note(&format!(
                "{} cells that ran here are to run on another host, too: there, {} work {directory} --all",
                elsewhere.len(),
                self.batch.program().display(),
            ));
        }
        Ok(ended)
    }

    /// Runs entries of one kind that have no result; gives back those that another host is to run.
    fn entries(&self, entries: Vec<Entry>) -> anyhow::Result<(Ended, Vec<Entry>)> {
        let campaign = self.campaign();
        let (share, elsewhere) = Share::new(self.batch, &campaign, entries, self.host);
        match share.is_empty() {
            true => Ok((Ended::Complete, elsewhere)),
            false => Ok((self.run(&campaign, share)?, elsewhere)),
        }
    }

    /// The campaign with this host's own paths.
    fn campaign(&self) -> Campaign {
        Campaign {
            work_dir: self.work_dir.clone(),
            ..self.batch.plan().campaign.clone()
        }
    }

    fn run(&self, campaign: &Campaign, mut share: Share<'_>) -> anyhow::Result<Ended> {
        self.sweep();
        let guest = Arc::new(self.batch.guest()?);
        let mut local = self.local(campaign, guest, &share)?;
        let traces = Traces::of(campaign, &self.batch.traces())?;
        let ended = orchestrate::run(
            &mut share,
            &mut traces.with(&mut local),
            &Limits::default(),
            self.progress,
            self.stop,
        );
        let cleared = local.clear();
        let ended = ended.map_err(|error| match error {
            Error::Ledger(error) => anyhow::Error::from(error),
            Error::Backend(error) => error.into(),
            Error::Withdrawn(reason) => Refused(reason).into(),
        })?;
        cleared?;
        Ok(ended)
    }

    fn local(
        &self,
        campaign: &Campaign,
        guest: Arc<Guest>,
        share: &Share<'_>,
    ) -> anyhow::Result<Local> {
        let asked = Asked {
            progress: self.progress,
            yes: false,
            stop: self.stop,
        };
        let means = GuestMeans {
            guest,
            // A check by what another host has kept would check nothing.
            cache: self
                .cache
                .clone()
                .filter(|_| share.half() == Some(Half::First)),
            jobs: self.jobs,
            sampling: None,
            only_its_own: true,
            saves: share.len() >= WORTH_SAVING,
        };
        let held = Held::take(campaign, None, &asked)?;
        // Workers of one host have a directory each.
        let id = u64::from(std::process::id()) << 32 | clock::now().0 & 0xffff_ffff;
        let id = CampaignId(i64::try_from(id).unwrap_or(i64::MAX));
        Local::guests(id, campaign, held, means, self.stop)
    }

    /// Removes what killed workers have left here.
    fn sweep(&self) {
        for left in machine::find_left_here(std::slice::from_ref(&self.work_dir)) {
            if let Err(error) = machine::remove_left_here(&left.directory, None) {
                remark(&format!("{}: {error}", left.directory.display()));
            }
        }
    }
}
