//! `fsarena collect`: takes the results of planned cells into the store.

use std::process::ExitCode;
use std::sync::atomic::Ordering;

use batch::slurm::{Cluster, Options, Slurm};
use batch::{Batch, Collected, Results, State};
use model::{Bytes, Campaign, GuestMachine};
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
use crate::output::exit::{Code, Refused};
use crate::output::progress::Progress;
use crate::output::text::remark;
use crate::paths;
use crate::stop;

/// Takes what is there, or has a scheduler run the rest and follows that.
pub fn run(args: &CollectArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let stop = stop::on_signals()?;
    let progress = Progress::choose(globals.json, globals.quiet);
    let batch = Batch::open(&args.directory)?;
    let options = options(&args.engine, &args.shared)?;
    follow(&batch, options, args.strict, globals, &progress, &stop)
}

/// The same for a directory that is open, and the report.
pub fn follow(
    batch: &Batch,
    slurm: Option<Options>,
    strict: bool,
    globals: &Globals,
    progress: &Progress,
    stop: &Stop,
) -> anyhow::Result<ExitCode> {
    match followed(batch, slurm, globals, progress, stop)? {
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
    slurm: Option<Options>,
    globals: &Globals,
    progress: &Progress,
    stop: &Stop,
) -> anyhow::Result<Followed> {
    batch.require_version(VERSION)?;
    let mut store = paths::store(globals)?;
    paths::reports(globals)?;
    let mut results = Results::of(batch)?;
    let id = campaign_of(&mut store, batch)?;
    let asked = Asked {
        progress,
        yes: false,
        stop,
    };
    let ended = match slurm {
        None => collect(&mut store, id, batch, &results, &asked, stop),
        Some(options) => {
            let cluster = Cluster::find(&options, memory(&batch.plan().campaign));
            let cluster = cluster.map_err(anyhow::Error::from);
            cluster.and_then(|cluster| {
                on_slurm(&mut store, id, batch, &mut results, cluster, &asked, stop)
            })
        }
    };
    progress.finish();
    results
        .untaken()
        .for_each(|untaken| progress.note(&untaken.to_string()));
    match ended? {
        Ended::Complete => Ok(Followed::Complete(store, id)),
        Ended::Interrupted => left(&store, id, batch, &results, &asked).map(Followed::Left),
    }
}

/// The campaign of a directory in the store: the one that began when it was planned, or a new one.
fn campaign_of(store: &mut Store, batch: &Batch) -> anyhow::Result<CampaignId> {
    let plan = batch.plan();
    let same_moment = store.campaigns()?;
    let same_moment = same_moment.iter().filter(|c| c.started == plan.planned);
    for summary in same_moment {
        if store.load(summary.id)?.campaign == plan.campaign {
            return Ok(summary.id);
        }
    }
    let cells = plan::plan(&plan.campaign);
    Ok(store.begin_campaign(&plan.campaign, &cells, plan.planned)?)
}

/// Takes the results that are there.
fn collect(
    store: &mut Store,
    id: CampaignId,
    batch: &Batch,
    results: &Results<'_>,
    asked: &Asked<'_>,
    stop: &Stop,
) -> anyhow::Result<Ended> {
    let stored = store.load(id)?;
    let mut missing = stored.cells.iter().filter(|c| c.result.is_none());
    let mut is_missing = missing.clone();
    if is_missing.next().is_none() {
        return Ok(Ended::Complete);
    }
    // A session in which nothing is taken is none.
    if !missing.any(|c| results.state(c.cell.id) == State::Ready) {
        return Ok(Ended::Interrupted);
    }
    let mut backend = Collected::new(results, &batch.plan().environment);
    let limits = Limits::default();
    let go_on = format!("fsarena collect {}", batch.path().display());
    campaign::cells(store, id, &mut backend, &limits, asked, stop, &go_on)
}

/// What the user asks of a scheduler, where one is to run the cells.
pub fn options(engine: &EngineArgs, shared: &SharedCache) -> anyhow::Result<Option<Options>> {
    // A key that cannot be used is told here, and not by each task.
    guest_command::shared_cells(shared)?;
    let Some(Engine::Slurm) = engine.on else {
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
    Ok(Some(Options {
        partition: engine.partition.clone(),
        nodes: engine.nodes.clone(),
        at_once: engine.at_once,
        sbatch: engine.sbatch.clone(),
        worker,
    }))
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

/// Has Slurm run what has no result, and takes results as they come.
fn on_slurm<'a>(
    store: &mut Store,
    id: CampaignId,
    batch: &'a Batch,
    results: &mut Results<'a>,
    cluster: Cluster,
    asked: &Asked<'_>,
    stop: &Stop,
) -> anyhow::Result<Ended> {
    let stored = store.load(id)?;
    if stored.cells.iter().all(|cell| cell.result.is_some()) {
        return Ok(Ended::Complete);
    }
    let experience = experience::of(store, &stored.campaign, Some(id));
    let cost = run_command::cost(&stored.campaign, Some(store), &experience, None)?;
    let limits = Limits {
        pace: cost.pace,
        experience,
        ..Limits::default()
    };
    let (nodes, tasks) = (cluster.nodes.len(), cluster.processors);
    asked.progress.note(&format!(
        "campaign {id}: {} cells on {nodes} nodes of Slurm, {tasks} at a time; planned in {}",
        stored.cells.len(),
        batch.path().display()
    ));
    let mut slurm = Slurm::new(batch, results, cluster, stop)?;
    let go_on = format!("fsarena collect {} --on slurm", batch.path().display());
    let ended = campaign::cells(store, id, &mut slurm, &limits, asked, stop, &go_on);
    if ended.is_err() {
        // Nobody waits for what is in the queue any more.
        slurm.cancel()?;
    }
    ended
}

/// Says what is left, and what runs it.
fn left(
    store: &Store,
    id: CampaignId,
    batch: &Batch,
    results: &Results<'_>,
    asked: &Asked<'_>,
) -> anyhow::Result<ExitCode> {
    if asked.stop.load(Ordering::SeqCst) {
        let directory = batch.path().display();
        remark(&format!(
            "interrupted; what is in the queue is cancelled. To go on: fsarena collect {directory} --on slurm"
        ));
        return Ok(Code::Interrupted.into());
    }
    let stored = store.load(id)?;
    let done = stored.cells.iter().filter(|c| c.result.is_some()).count();
    let missing = results.missing();
    let (cells, checks): (Vec<u32>, Vec<u32>) = missing
        .iter()
        .partition(|index| **index < batch.plan().cells);
    let program = batch.program();
    let (program, directory) = (program.display(), batch.path().display());
    asked.progress.note(&format!(
        "campaign {id}: {done} of {} cells have their results",
        stored.cells.len()
    ));
    if !cells.is_empty() {
        asked
            .progress
            .note(&format!("to be run: entries {}", ranges(&cells)));
    }
    if !checks.is_empty() {
        asked.progress.note(&format!(
            "to be run on another host than the cells that they check: entries {}",
            ranges(&checks)
        ));
    }
    let run = format!("{program} work {directory} --all");
    Err(Refused(format!(
        "results are missing: on any host `{run}`, or `fsarena collect {directory} --on slurm`; then `fsarena collect {directory}`"
    ))
    .into())
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
