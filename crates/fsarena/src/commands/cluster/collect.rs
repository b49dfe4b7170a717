//! `fsarena cluster collect`: stores the results of planned cells.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use batch::hosts::{HostPool, WorkerHost};
use batch::slurm::{Cluster, SlurmBackend, SlurmError, SubmitOptions};
use batch::{Batch, BatchEntry, CollectBackend, ResultDirectory, ResultState, RunKind};
use campaign::run::{CampaignEnd, RunLimits, StopFlag, StoredCampaign};
use campaign::store::{CampaignId, Store};
use model::{Bytes, Campaign, CellId, GuestConfig};

use crate::args::batch_args::{CollectArgs, ExternalScheduler, SchedulerArgs};
use crate::args::cli::GlobalArgs;
use crate::args::execution_args::SharedCache;
use crate::commands::cluster::plan::VERSION;
use crate::commands::guest as guest_command;
use crate::commands::report as report_command;
use crate::commands::run as run_command;
use crate::output::erase_question::EraseConfirmation;
use crate::output::exit::{ExitReason, UndecidedError, UsageError};
use crate::output::progress::ProgressDisplay;
use crate::output::text::{counted, line, print_note};
use crate::past_durations;
use crate::paths::{self, shell_path};
use crate::session;
use crate::ssh_host::SshHost;
use crate::stop;

/// Collects existing results, or has a scheduler run the remaining cells and collects theirs.
pub fn run(args: &CollectArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let stop = stop::install_handlers()?;
    let progress = ProgressDisplay::choose(globals.json, globals.quiet);
    let batch = Batch::open(&args.directory)?;
    let engine = engine(&args.engine, &args.shared)?;
    follow(&batch, engine, args.strict, globals, &progress, &stop)
}

/// Scheduler that runs the cells without a result.
pub enum SelectedScheduler {
    /// Slurm.
    Slurm(SubmitOptions),
    /// Hosts reached through ssh.
    Ssh {
        /// Their names.
        hosts: Vec<String>,
        /// Maximum number of concurrent tasks.
        at_once: Option<u32>,
        /// Additional options of workers.
        worker: Vec<String>,
    },
}

impl SelectedScheduler {
    /// Returns the command that resumes a plan directory.
    fn go_on(wanted: Option<&Self>, batch: &Batch) -> String {
        let on = match wanted {
            None => String::new(),
            Some(Self::Slurm(_)) => " --on slurm".to_owned(),
            Some(Self::Ssh { hosts, .. }) => format!(" --on ssh --hosts {}", hosts.join(",")),
        };
        format!("fsarena cluster collect {}{on}", shell_path(batch.path()))
    }
}

/// Follows a plan directory that is already open, and reports on the campaign.
pub fn follow(
    batch: &Batch,
    wanted: Option<SelectedScheduler>,
    strict: bool,
    globals: &GlobalArgs,
    progress: &ProgressDisplay,
    stop: &StopFlag,
) -> anyhow::Result<ExitCode> {
    match followed(batch, wanted, globals, progress, stop)? {
        CollectEnd::Complete(store, id) => report_command::after_run(&store, id, strict, globals),
        CollectEnd::Incomplete(code) => Ok(code),
    }
}

/// Outcome of a campaign over hosts.
pub enum CollectEnd {
    /// All results are in this store, under this number.
    Complete(Store, CampaignId),
    /// Results are missing, as already reported.
    Incomplete(ExitCode),
}

/// Collects or runs the cells of an open plan directory, without a report.
pub fn followed(
    batch: &Batch,
    wanted: Option<SelectedScheduler>,
    globals: &GlobalArgs,
    progress: &ProgressDisplay,
    stop: &StopFlag,
) -> anyhow::Result<CollectEnd> {
    batch.require_version(VERSION)?;
    let mut store = paths::store(globals)?;
    paths::reports(globals)?;
    let mut results = ResultDirectory::of(batch)?;
    let id = campaign_of(&store, batch)?;
    let asked = EraseConfirmation { progress, yes: false, stop };
    let go_on = SelectedScheduler::go_on(wanted.as_ref(), batch);
    let mut run = CollectedRun {
        store: &mut store,
        id,
        batch,
        results: &mut results,
        asked: &asked,
        stop,
        go_on: &go_on,
    };
    let ended = match wanted {
        None => run.collect(),
        Some(SelectedScheduler::Slurm(options)) => run.on_slurm(&options),
        Some(SelectedScheduler::Ssh { hosts, at_once, worker }) => {
            run.on_hosts(&hosts, at_once, &worker)
        }
    };
    let id = run.id;
    progress.finish();
    results.rejected().for_each(|untaken| progress.note(&untaken.to_string()));
    match (ended?, id) {
        (CampaignEnd::Complete, Some(id)) => Ok(CollectEnd::Complete(store, id)),
        (_, id) => left(&store, id, batch, &results, &asked, &go_on).map(CollectEnd::Incomplete),
    }
}

/// Returns the campaign of a plan directory in the store: the one with the same start time and
/// plan. Returns `None` before the first cell has run.
fn campaign_of(store: &Store, batch: &Batch) -> anyhow::Result<Option<CampaignId>> {
    let plan = batch.plan();
    let same_moment = store.campaigns()?;
    let same_moment = same_moment.iter().filter(|c| c.started == plan.planned);
    for summary in same_moment {
        if store.definition(summary.id)? == plan.campaign {
            return Ok(Some(summary.id));
        }
    }
    Ok(None)
}

/// Returns the campaign. Stores it on first use, once a cell can run: a stored campaign without a
/// session would be resumed on this machine.
fn begun(
    store: &mut Store,
    id: &mut Option<CampaignId>,
    batch: &Batch,
) -> anyhow::Result<CampaignId> {
    if let Some(id) = id {
        return Ok(*id);
    }
    let plan = batch.plan();
    let cells = campaign::plan::plan(&plan.campaign);
    let begun = store.begin_campaign_if_new(&plan.campaign, &cells, plan.planned)?;
    Ok(*id.insert(begun))
}

/// A session of a campaign whose results arrive as files.
struct CollectedRun<'r, 'a> {
    store: &'r mut Store,
    id: Option<CampaignId>,
    batch: &'a Batch,
    results: &'r mut ResultDirectory<'a>,
    asked: &'r EraseConfirmation<'r>,
    stop: &'r StopFlag,
    /// The command that resumes the campaign.
    go_on: &'r str,
}

impl CollectedRun<'_, '_> {
    /// Returns the cells without a result in the store.
    fn missing(&self) -> anyhow::Result<Vec<CellId>> {
        let Some(id) = self.id else {
            let entries = self.results.entries().iter();
            let first = entries.filter(|entry| entry.half == RunKind::First);
            return Ok(first.map(BatchEntry::id).collect());
        };
        Ok(self.store.open_cells(id)?)
    }

    /// Collects existing results.
    fn collect(&mut self) -> anyhow::Result<CampaignEnd> {
        let missing = self.missing()?;
        if missing.is_empty() {
            return Ok(CampaignEnd::Complete);
        }
        // Do not create a session without results.
        let is_ready = |cell: &CellId| self.results.state(*cell) == ResultState::Ready;
        if !missing.iter().any(is_ready) {
            return Ok(CampaignEnd::Interrupted);
        }
        let id = begun(self.store, &mut self.id, self.batch)?;
        let environment = self.batch.environment(self.go_on);
        let mut backend = CollectBackend::new(self.results, &environment);
        let (limits, asked) = (RunLimits::default(), self.asked);
        let (store, stop) = (&mut *self.store, self.stop);
        session::cells(
            StoredCampaign::new(store, id),
            &mut backend,
            &limits,
            asked.progress,
            stop,
            self.go_on,
        )
    }

    /// Runs the cells without a result on Slurm, and stores results as they arrive.
    fn on_slurm(&mut self, options: &SubmitOptions) -> anyhow::Result<CampaignEnd> {
        let found = Cluster::find(options, memory(&self.batch.plan().campaign), self.stop);
        if found.is_err() && self.stop.load(Ordering::SeqCst) {
            return Ok(CampaignEnd::Interrupted);
        }
        let cluster = found?;
        let Some(limits) = self.limits()? else {
            return Ok(CampaignEnd::Complete);
        };
        let (nodes, tasks) = (cluster.nodes.len(), cluster.processors);
        let (asked, id) = (self.asked, begun(self.store, &mut self.id, self.batch)?);
        says(asked, id, self.batch, &format!("{nodes} nodes of Slurm"), tasks);
        let slurm = SlurmBackend::new(self.batch, self.results, cluster, self.go_on, self.stop);
        let mut slurm = match slurm {
            Err(SlurmError::Interrupted) => return Ok(CampaignEnd::Interrupted),
            slurm => slurm?,
        };
        let ledger = StoredCampaign::new(self.store, id);
        let ended =
            session::cells(ledger, &mut slurm, &limits, asked.progress, self.stop, self.go_on);
        if ended.is_err() {
            // The results of queued tasks are no longer needed.
            slurm.cancel().into_iter().for_each(|note| asked.progress.note(note));
        }
        ended
    }

    /// Runs the remaining cells on hosts reached through ssh, and collects their results.
    fn on_hosts(
        &mut self,
        hosts: &[String],
        at_once: Option<u32>,
        worker: &[String],
    ) -> anyhow::Result<CampaignEnd> {
        let Some(limits) = self.limits()? else {
            return Ok(CampaignEnd::Complete);
        };
        let memory = memory(&self.batch.plan().campaign);
        let host = |name: &String| {
            let host = SshHost::new(name, self.batch, memory, worker, self.stop)?;
            Ok(Arc::new(host) as Arc<dyn WorkerHost>)
        };
        let count = hosts.len();
        let hosts: Vec<Arc<dyn WorkerHost>> =
            hosts.iter().map(host).collect::<anyhow::Result<_>>()?;
        let (batch, asked) = (self.batch, self.asked);
        let hosts = HostPool::new(batch, self.results, hosts, at_once, self.go_on, self.stop);
        let mut hosts = hosts?;
        let id = begun(self.store, &mut self.id, batch)?;
        let tasks = hosts.slots();
        says(asked, id, batch, &format!("{count} hosts"), tasks);
        let ledger = StoredCampaign::new(self.store, id);
        let ended =
            session::cells(ledger, &mut hosts, &limits, asked.progress, self.stop, self.go_on)?;
        if ended == CampaignEnd::Complete {
            hosts.clear();
        }
        Ok(ended)
    }

    /// Returns the limits and the inputs of the time estimate. Returns `None` if no cells remain.
    fn limits(&self) -> anyhow::Result<Option<RunLimits>> {
        if self.missing()?.is_empty() {
            return Ok(None);
        }
        let campaign = &self.batch.plan().campaign;
        let experience = past_durations::load(self.store, campaign, self.id);
        let cost = run_command::cost(campaign, Some(self.store), &experience, None)?;
        Ok(Some(RunLimits { pace: cost.pace, experience, ..RunLimits::default() }))
    }
}

/// Reports the number of cells, hosts and parallel tasks.
fn says(asked: &EraseConfirmation<'_>, id: CampaignId, batch: &Batch, who: &str, tasks: u32) {
    let cells = counted(u64::from(batch.plan().cells), "cell");
    let directory = batch.path().display();
    asked.progress.note(&format!(
        "campaign {id}: {cells} on {who}, {tasks} at a time; planned in {directory}"
    ));
}

/// Returns the scheduler that the user selected. Returns `None` if other programs start the
/// workers.
pub fn engine(
    engine: &SchedulerArgs,
    shared: &SharedCache,
) -> anyhow::Result<Option<SelectedScheduler>> {
    // Reports an unusable key once here, not in each task.
    guest_command::shared_cells(shared)?;
    let Some(on) = engine.on else {
        return Ok(None);
    };
    let mut worker = Vec::new();
    if let (Some(cache), Some(key)) = (&shared.cache, &shared.cache_key) {
        let (cache, key) =
            (guest_command::absolute_cache(cache)?, paths::absolute("--cache-key", key)?);
        for (option, path) in [("--cache", cache), ("--cache-key", key)] {
            worker.extend([option.to_owned(), path.display().to_string()]);
        }
    }
    let for_slurm =
        engine.partition.is_some() || engine.nodes.is_some() || !engine.sbatch.is_empty();
    match on {
        ExternalScheduler::Ssh if for_slurm => {
            let why =
                "--partition, --nodes and --sbatch go with --on slurm: ssh takes --hosts n1,n2";
            Err(UsageError(why.to_owned()).into())
        }
        ExternalScheduler::Ssh if engine.hosts.is_empty() => {
            let why = "--on ssh takes --hosts n1,n2: the hosts that ssh reaches";
            Err(UsageError(why.to_owned()).into())
        }
        ExternalScheduler::Slurm if !engine.hosts.is_empty() => {
            let why = "--hosts goes with --on ssh: Slurm takes --nodes LIST";
            Err(UsageError(why.to_owned()).into())
        }
        ExternalScheduler::Ssh => Ok(Some(SelectedScheduler::Ssh {
            hosts: engine.hosts.clone(),
            at_once: engine.max_running_tasks,
            worker,
        })),
        ExternalScheduler::Slurm => Ok(Some(SelectedScheduler::Slurm(SubmitOptions {
            partition: engine.partition.clone(),
            nodes: engine.nodes.clone(),
            max_running_tasks: engine.max_running_tasks,
            sbatch: engine.sbatch.clone(),
            worker,
        }))),
    }
}

/// Returns the memory of a task: the guest's memory, its disks, and QEMU.
fn memory(campaign: &Campaign) -> Bytes {
    const BESIDE: u64 = 512 << 20;
    let machine = |machine: GuestConfig| {
        machine.memory.0 + campaign.size.0.saturating_mul(u64::from(machine.disks) + 1)
    };
    let most = campaign.machines().map(machine).max();
    Bytes(most.unwrap_or(0).saturating_add(BESIDE))
}

/// Reports the missing results and the commands that produce them.
fn left(
    store: &Store,
    id: Option<CampaignId>,
    batch: &Batch,
    results: &ResultDirectory<'_>,
    asked: &EraseConfirmation<'_>,
    go_on: &str,
) -> anyhow::Result<ExitCode> {
    if asked.stop.load(Ordering::SeqCst) {
        print_note(&format!("interrupted. Resume with: {go_on}"));
        return Ok(ExitReason::Interrupted.into());
    }
    let done = match id {
        Some(id) => store.finished_cells(id)?.len(),
        None => 0,
    };
    let missing = results.missing();
    let (cells, checks): (Vec<u32>, Vec<u32>) =
        missing.iter().partition(|index| **index < batch.plan().cells);
    let program = batch.program();
    let (program, directory) = (shell_path(&program), shell_path(batch.path()));
    let whose = id.map_or_else(String::new, |id| format!("campaign {id}: "));
    asked
        .progress
        .note(&format!("{whose}{done} of {} cells have their results", batch.plan().cells));
    let run = format!("{program} cluster work {directory} --all");
    if cells.is_empty() && !checks.is_empty() {
        let ran = checks.iter().filter_map(|check| results.first_run_host(*check));
        return Err(UndecidedError(only_checks(&checks, ran.collect(), &run, batch.path())).into());
    }
    asked.progress.note(&format!("to be run: entries {}", ranges(&cells)));
    if !checks.is_empty() {
        asked.progress.note(&format!(
            "to be run on another host than the cells that they check: entries {}",
            ranges(&checks)
        ));
    }
    Err(UndecidedError(format!(
        "results are missing: on any host `{run}`, or `fsarena cluster collect {directory} --on slurm` or `--on ssh --hosts n1,n2`; \
         then `fsarena cluster collect {directory}`"
    ))
    .into())
}

/// Returns the advice for a campaign that lacks only checks. A check cannot run on the host that
/// ran its cell.
fn only_checks(checks: &[u32], ran: BTreeSet<&str>, run: &str, directory: &Path) -> String {
    let ran: Vec<&str> = ran.into_iter().collect();
    let other = match &ran[..] {
        [] => "another host than the one that ran the cell".to_owned(),
        hosts => format!("another host than {}", line(&hosts.join(", "))),
    };
    let directory = shell_path(directory);
    format!(
        "every cell has run, and checks are missing (entries {}): on {other} `{run}`, then `fsarena cluster collect {directory}`; \
         `fsarena cluster plan --check 0%` plans none",
        ranges(checks)
    )
}

/// Formats sorted numbers, with consecutive ones as ranges. A long list is truncated.
fn ranges(numbers: &[u32]) -> String {
    const MAX_COLLECT_SIZE: usize = 20;
    let words = batch::ranges(numbers);
    let mut words: Vec<&str> = words.split(',').collect();
    let more = words.len().saturating_sub(MAX_COLLECT_SIZE);
    words.truncate(MAX_COLLECT_SIZE);
    match more {
        0 => words.join(","),
        more => format!("{} and {more} more ranges", words.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_checks_need_another_host() {
        let told = only_checks(
            &[7, 8],
            BTreeSet::from(["n1"]),
            "fsarena cluster work /b --all",
            Path::new("/b"),
        );
        assert_eq!(
            told,
            "every cell has run, and checks are missing (entries 7-8): on another host than n1 `fsarena cluster work /b --all`, then \
             `fsarena cluster collect /b`; `fsarena cluster plan --check 0%` plans none"
        );
    }
}
