//! `fsarena collect`: takes the results of planned cells into the store.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use batch::hosts::{Host, Hosts};
use batch::slurm::{Cluster, Options, Slurm};
use batch::{Batch, Collected, Entry, Half, Results, State};
use model::{Bytes, Campaign, CellId, GuestMachine};
use orchestrate::{Ended, Limits, Stop};
use store::{CampaignId, Store};

use crate::arguments::batch_args::{CollectArgs, Engine, EngineArgs};
use crate::arguments::cli::Globals;
use crate::arguments::machine_args::SharedCache;
use crate::campaign;
use crate::commands::guest as guest_command;
use crate::commands::plan::VERSION;
use crate::commands::report as report_command;
use crate::commands::run as run_command;
use crate::experience;
use crate::output::erase_question::Asked;
use crate::output::exit::{BadInput, Code, Refused};
use crate::output::progress::Progress;
use crate::output::text::{counted, line, remark};
use crate::paths::{self, shell_path};
use crate::ssh_host::SshHost;
use crate::stop;

/// Takes what is there, or has a scheduler run the rest and follows that.
pub fn run(args: &CollectArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let stop = stop::on_signals()?;
    let progress = Progress::choose(globals.json, globals.quiet);
    let batch = Batch::open(&args.directory)?;
    let engine = engine(&args.engine, &args.shared)?;
    follow(&batch, engine, args.strict, globals, &progress, &stop)
}

/// What is to run the cells that have no result.
pub enum Wanted {
    /// Slurm.
    Slurm(Options),
    /// Hosts that ssh reaches.
    Ssh {
        /// Their names.
        hosts: Vec<String>,
        /// Tasks at a time, at most.
        at_once: Option<u32>,
        /// Further options of workers.
        worker: Vec<String>,
    },
}

impl Wanted {
    /// The command that goes on with a directory.
    fn go_on(wanted: Option<&Self>, batch: &Batch) -> String {
        let on = match wanted {
            None => String::new(),
            Some(Self::Slurm(_)) => " --on slurm".to_owned(),
            Some(Self::Ssh { hosts, .. }) => format!(" --on ssh --hosts {}", hosts.join(",")),
        };
        format!("fsarena collect {}{on}", shell_path(batch.path()))
    }
}

/// The same for a directory that is open, and the report.
pub fn follow(
    batch: &Batch,
    wanted: Option<Wanted>,
    strict: bool,
    globals: &Globals,
    progress: &Progress,
    stop: &Stop,
) -> anyhow::Result<ExitCode> {
    match followed(batch, wanted, globals, progress, stop)? {
        Followed::Complete(store, id) => report_command::after_run(&store, id, strict, globals),
        Followed::Left(code) => Ok(code),
    }
}

/// What became of a campaign over hosts.
pub enum Followed {
    /// It is complete, in this store and under this number.
    Complete(Store, CampaignId),
    /// Results are missing, which was said.
    Left(ExitCode),
}

/// The same without a report.
pub fn followed(
    batch: &Batch,
    wanted: Option<Wanted>,
    globals: &Globals,
    progress: &Progress,
    stop: &Stop,
) -> anyhow::Result<Followed> {
    batch.require_version(VERSION)?;
    let mut store = paths::store(globals)?;
    paths::reports(globals)?;
    let mut results = Results::of(batch)?;
    let id = campaign_of(&store, batch)?;
    let asked = Asked {
        progress,
        yes: false,
        stop,
    };
    let go_on = Wanted::go_on(wanted.as_ref(), batch);
    let mut run = Run {
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
        Some(Wanted::Slurm(options)) => run.on_slurm(&options),
        Some(Wanted::Ssh {
            hosts,
            at_once,
            worker,
        }) => run.on_hosts(&hosts, at_once, &worker),
    };
    let id = run.id;
    progress.finish();
    results
        .untaken()
        .for_each(|untaken| progress.note(&untaken.to_string()));
    match (ended?, id) {
        (Ended::Complete, Some(id)) => Ok(Followed::Complete(store, id)),
        (_, id) => left(&store, id, batch, &results, &asked, &go_on).map(Followed::Left),
    }
}

/// The campaign of a directory in the store, the one that began when it was planned; nothing before any of it has run.
fn campaign_of(store: &Store, batch: &Batch) -> anyhow::Result<Option<CampaignId>> {
    let plan = batch.plan();
    let same_moment = store.campaigns()?;
    let same_moment = same_moment.iter().filter(|c| c.started == plan.planned);
    for summary in same_moment {
        if store.load(summary.id)?.campaign == plan.campaign {
            return Ok(Some(summary.id));
        }
    }
    Ok(None)
}

/// The campaign, which is stored when something of it can run: what has no session would be resumed on this machine.
fn begun(
    store: &mut Store,
    id: &mut Option<CampaignId>,
    batch: &Batch,
) -> anyhow::Result<CampaignId> {
    if let Some(id) = id {
        return Ok(*id);
    }
    let plan = batch.plan();
    let cells = plan::plan(&plan.campaign);
    let begun = store.begin_campaign_once(&plan.campaign, &cells, plan.planned)?;
    Ok(*id.insert(begun))
}

/// A session of a campaign whose results come as files.
struct Run<'r, 'a> {
    store: &'r mut Store,
    id: Option<CampaignId>,
    batch: &'a Batch,
    results: &'r mut Results<'a>,
    asked: &'r Asked<'r>,
    stop: &'r Stop,
    /// The command that goes on with it.
    go_on: &'r str,
}

impl Run<'_, '_> {
    /// Cells that have no result in the store.
    fn missing(&self) -> anyhow::Result<Vec<CellId>> {
        let Some(id) = self.id else {
            let entries = self.results.entries().iter();
            let first = entries.filter(|entry| entry.half == Half::First);
            return Ok(first.map(Entry::id).collect());
        };
        let stored = self.store.load(id)?;
        let missing = stored.cells.iter().filter(|c| c.result.is_none());
        Ok(missing.map(|c| c.cell.id).collect())
    }

    /// Takes the results that are there.
    fn collect(&mut self) -> anyhow::Result<Ended> {
        let missing = self.missing()?;
        if missing.is_empty() {
            return Ok(Ended::Complete);
        }
        // A session in which nothing is taken is none.
        let is_ready = |cell: &CellId| self.results.state(*cell) == State::Ready;
        if !missing.iter().any(is_ready) {
            return Ok(Ended::Interrupted);
        }
        let id = begun(self.store, &mut self.id, self.batch)?;
        let environment = self.batch.environment(self.go_on);
        let mut backend = Collected::new(self.results, &environment);
        let (limits, asked) = (Limits::default(), self.asked);
        let (store, stop) = (&mut *self.store, self.stop);
        campaign::cells(store, id, &mut backend, &limits, asked, stop, self.go_on)
    }

    /// Has Slurm run what has no result, and takes results as they come.
    fn on_slurm(&mut self, options: &Options) -> anyhow::Result<Ended> {
        let cluster = Cluster::find(options, memory(&self.batch.plan().campaign))?;
        let Some(limits) = self.limits()? else {
            return Ok(Ended::Complete);
        };
        let (nodes, tasks) = (cluster.nodes.len(), cluster.processors);
        let (asked, id) = (self.asked, begun(self.store, &mut self.id, self.batch)?);
        says(
            asked,
            id,
            self.batch,
            &format!("{nodes} nodes of Slurm"),
            tasks,
        );
        let mut slurm = Slurm::new(self.batch, self.results, cluster, self.go_on, self.stop)?;
        let store = &mut *self.store;
        let ended = campaign::cells(store, id, &mut slurm, &limits, asked, self.stop, self.go_on);
        if ended.is_err() {
            // Nobody waits for what is in the queue any more.
            slurm.cancel()?;
        }
        ended
    }

    /// The same with hosts that ssh reaches.
    fn on_hosts(
        &mut self,
        hosts: &[String],
        at_once: Option<u32>,
        worker: &[String],
    ) -> anyhow::Result<Ended> {
        let Some(limits) = self.limits()? else {
            return Ok(Ended::Complete);
        };
        let memory = memory(&self.batch.plan().campaign);
        let host = |name: &String| {
            let host = SshHost::new(name, self.batch, memory, worker)?;
            Ok(Arc::new(host) as Arc<dyn Host>)
        };
        let count = hosts.len();
        let hosts: Vec<Arc<dyn Host>> = hosts.iter().map(host).collect::<anyhow::Result<_>>()?;
        let (batch, asked) = (self.batch, self.asked);
        let hosts = Hosts::new(batch, self.results, hosts, at_once, self.go_on, self.stop);
        let mut hosts = hosts?;
        let id = begun(self.store, &mut self.id, batch)?;
        let tasks = hosts.slots();
        says(asked, id, batch, &format!("{count} hosts"), tasks);
        let store = &mut *self.store;
        let ended = campaign::cells(store, id, &mut hosts, &limits, asked, self.stop, self.go_on)?;
        if ended == Ended::Complete {
            hosts.clear();
        }
        Ok(ended)
    }

    /// From what the time left is estimated; nothing where nothing is left.
    fn limits(&self) -> anyhow::Result<Option<Limits>> {
        if self.missing()?.is_empty() {
            return Ok(None);
        }
        let campaign = &self.batch.plan().campaign;
        let experience = experience::of(self.store, campaign, self.id);
        let cost = run_command::cost(campaign, Some(self.store), &experience, None)?;
        Ok(Some(Limits {
            pace: cost.pace,
            experience,
            ..Limits::default()
        }))
    }
}

/// Says who runs how much at a time.
fn says(asked: &Asked<'_>, id: CampaignId, batch: &Batch, who: &str, tasks: u32) {
    let cells = counted(u64::from(batch.plan().cells), "cell");
    let directory = batch.path().display();
    asked.progress.note(&format!(
        "campaign {id}: {cells} on {who}, {tasks} at a time; planned in {directory}"
    ));
}

/// What the user wants to run the cells, where that is not whoever is there.
pub fn engine(engine: &EngineArgs, shared: &SharedCache) -> anyhow::Result<Option<Wanted>> {
    // A key that cannot be used is told here, and not by each task.
    guest_command::shared_cells(shared)?;
    let Some(on) = engine.on else {
        return Ok(None);
    };
    let mut worker = Vec::new();
    if let (Some(cache), Some(key)) = (&shared.cache, &shared.cache_key) {
        let (cache, key) = (
            guest_command::absolute_cache(cache)?,
            paths::absolute("--cache-key", key)?,
        );
        for (option, path) in [("--cache", cache), ("--cache-key", key)] {
            worker.extend([option.to_owned(), path.display().to_string()]);
        }
    }
    let for_slurm =
        engine.partition.is_some() || engine.nodes.is_some() || !engine.sbatch.is_empty();
    match on {
        Engine::Ssh if for_slurm => {
            let why =
                "--partition, --nodes and --sbatch go with --on slurm: ssh takes --hosts n1,n2";
            Err(BadInput(why.to_owned()).into())
        }
        Engine::Ssh if engine.hosts.is_empty() => {
            let why = "--on ssh takes --hosts n1,n2: the hosts that ssh reaches";
            Err(BadInput(why.to_owned()).into())
        }
        Engine::Slurm if !engine.hosts.is_empty() => {
            let why = "--hosts goes with --on ssh: Slurm takes --nodes LIST";
            Err(BadInput(why.to_owned()).into())
        }
        Engine::Ssh => Ok(Some(Wanted::Ssh {
            hosts: engine.hosts.clone(),
            at_once: engine.at_once,
            worker,
        })),
        Engine::Slurm => Ok(Some(Wanted::Slurm(Options {
            partition: engine.partition.clone(),
            nodes: engine.nodes.clone(),
            at_once: engine.at_once,
            sbatch: engine.sbatch.clone(),
            worker,
        }))),
    }
}

/// What a task takes: its guest's memory, the disks in it, and QEMU itself.
fn memory(campaign: &Campaign) -> Bytes {
    const BESIDE: u64 = 512 << 20;
    let machine = |machine: GuestMachine| {
        machine.memory.0 + campaign.size.0.saturating_mul(u64::from(machine.disks) + 1)
    };
    let most = campaign.machines().map(machine).max();
    Bytes(most.unwrap_or(0).saturating_add(BESIDE))
}

/// Says what is left, and what runs it.
fn left(
    store: &Store,
    id: Option<CampaignId>,
    batch: &Batch,
    results: &Results<'_>,
    asked: &Asked<'_>,
    go_on: &str,
) -> anyhow::Result<ExitCode> {
    if asked.stop.load(Ordering::SeqCst) {
        remark(&format!(
            "interrupted; what is in the queue is cancelled. To go on: {go_on}"
        ));
        return Ok(Code::Interrupted.into());
    }
    let done = match id {
        Some(id) => {
            let stored = store.load(id)?;
            stored.cells.iter().filter(|c| c.result.is_some()).count()
        }
        None => 0,
    };
    let missing = results.missing();
    let (cells, checks): (Vec<u32>, Vec<u32>) = missing
        .iter()
        .partition(|index| **index < batch.plan().cells);
    let program = batch.program();
    let (program, directory) = (shell_path(&program), shell_path(batch.path()));
    let whose = id.map_or_else(String::new, |id| format!("campaign {id}: "));
    asked.progress.note(&format!(
        "{whose}{done} of {} cells have their results",
        batch.plan().cells
    ));
    let run = format!("{program} work {directory} --all");
    if cells.is_empty() && !checks.is_empty() {
        let ran = checks
            .iter()
            .filter_map(|check| results.host_of_first(*check));
        return Err(Refused(only_checks(&checks, ran.collect(), &run, batch.path())).into());
    }
    asked
        .progress
        .note(&format!("to be run: entries {}", ranges(&cells)));
    if !checks.is_empty() {
        asked.progress.note(&format!(
            "to be run on another host than the cells that they check: entries {}",
            ranges(&checks)
        ));
    }
    Err(Refused(format!(
        "results are missing: on any host `{run}`, or `fsarena collect {directory} --on slurm` or `--on ssh --hosts n1,n2`; \
         then `fsarena collect {directory}`"
    ))
    .into())
}

/// What to do where every cell has run and only checks are left, which no host that ran the cells can do.
fn only_checks(checks: &[u32], ran: BTreeSet<&str>, run: &str, directory: &Path) -> String {
    let ran: Vec<&str> = ran.into_iter().collect();
    let other = match &ran[..] {
        [] => "another host than the one that ran the cell".to_owned(),
        hosts => format!("another host than {}", line(&hosts.join(", "))),
    };
    let directory = shell_path(directory);
    format!(
        "every cell has run, and checks are missing (entries {}): on {other} `{run}`, then `fsarena collect {directory}`; \
         `fsarena plan --check 0%` plans none",
        ranges(checks)
    )
}

/// Numbers in order, those that follow each other as ranges; the first of very many.
fn ranges(numbers: &[u32]) -> String {
    const MOST: usize = 20;
    let words = batch::ranges(numbers);
    let mut words: Vec<&str> = words.split(',').collect();
    let more = words.len().saturating_sub(MOST);
    words.truncate(MOST);
    match more {
        0 => words.join(","),
        more => format!("{} and {more} more ranges", words.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_to_check_is_to_be_run_elsewhere() {
        let told = only_checks(
            &[7, 8],
            BTreeSet::from(["n1"]),
            "fsarena work /b --all",
            Path::new("/b"),
        );
        assert_eq!(
            told,
            "every cell has run, and checks are missing (entries 7-8): on another host than n1 `fsarena work /b --all`, then \
             `fsarena collect /b`; `fsarena plan --check 0%` plans none"
        );
    }
}
