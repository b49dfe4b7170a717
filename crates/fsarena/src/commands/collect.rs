//! `fsarena collect`: takes the results of planned cells into the store.

use std::process::ExitCode;

use batch::{Batch, Collected, Results, State};
use orchestrate::{Ended, Limits, Stop};
use store::{CampaignId, Store};

use crate::arguments::batch_args::{CollectArgs, EngineArgs};
use crate::arguments::cli::Globals;
use crate::campaign;
use crate::commands::plan::VERSION;
use crate::commands::report as report_command;
use crate::output::erase_question::Asked;
use crate::output::exit::{Interruption, Refused};
use crate::output::progress::Progress;
use crate::output::text::remark;
use crate::paths;
use crate::stop;

/// Takes what is there, or has a scheduler run the rest and follows that.
pub fn run(args: &CollectArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let stop = stop::on_signals()?;
    let progress = Progress::choose(globals.json, globals.quiet);
    let batch = Batch::open(&args.directory)?;
    follow(&batch, &args.engine, args.strict, globals, &progress, &stop)
}

/// The same for a directory that is open.
pub fn follow(
    batch: &Batch,
    _engine: &EngineArgs,
    strict: bool,
    globals: &Globals,
    progress: &Progress,
    stop: &Stop,
) -> anyhow::Result<ExitCode> {
    batch.require_version(VERSION)?;
    let mut store = paths::store(globals)?;
    paths::reports(globals)?;
    let results = Results::of(batch)?;
    let id = campaign_of(&mut store, batch)?;
    let asked = Asked {
        progress,
        yes: false,
        stop,
    };
    let ended = collect(&mut store, id, batch, &results, &asked, stop);
    progress.finish();
    results
        .untaken()
        .for_each(|untaken| progress.note(&untaken.to_string()));
    match ended? {
        Ended::Complete => report_command::after_run(&store, id, strict, globals),
        Ended::Interrupted => left(&store, id, batch, &results, stop),
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
    campaign::cells(store, id, &mut backend, &limits, asked, stop)
}

/// Says what is left, and what runs it.
fn left(
    store: &Store,
    id: CampaignId,
    batch: &Batch,
    results: &Results<'_>,
    stop: &Stop,
) -> anyhow::Result<ExitCode> {
    if stop.load(std::sync::atomic::Ordering::SeqCst) {
        return Err(Interruption.into());
    }
    let stored = store.load(id)?;
    let done = stored.cells.iter().filter(|c| c.result.is_some()).count();
    let missing = results.missing();
    let (cells, checks): (Vec<u32>, Vec<u32>) = missing
        .iter()
        .partition(|index| **index < batch.plan().cells);
    let program = batch.program();
    let (program, directory) = (program.display(), batch.path().display());
    remark(&format!(
        "campaign {id}: {done} of {} cells have their results",
        stored.cells.len()
    ));
    if !cells.is_empty() {
        remark(&format!("to be run: entries {}", ranges(&cells)));
    }
    if !checks.is_empty() {
        remark(&format!(
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
