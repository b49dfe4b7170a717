//! Cost of a very large campaign on very many hosts for the machine that plans and collects: memory
//! and processor time of each step. Cells end immediately.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use batch::{Batch, CollectBackend, EntryRange, PlanInput, ResultDirectory, WorkerShare};
use campaign::run::in_memory::{self, FakeBackend};
use campaign::run::{
    CampaignEnd, CellBackend, CellUpdate, ResultSink, RunLimits, StopFlag, StoredCampaign,
};
use campaign::store::Store;
use clap::Args;
use config::Catalog;
use guest::GuestCopy;
use model::{
    Calibration, Campaign, CampaignResults, Cell, CellResult, Environment, Nanos, SeededRng, Test,
};
use report::{DocumentOptions, ReportFormat, render};
use sys::io::clock;

/// Options of `hosts`.
#[derive(Debug, Args)]
pub struct HostOptions {
    /// Approximate numbers of cells.
    #[arg(long, value_delimiter = ',', default_value = "10000,100000,1000000")]
    cells: Vec<u32>,
    /// Number of hosts. Each gets the same number of cells.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    hosts: u32,
    /// Directory for the campaign directory and the database; in memory, flushing has no cost.
    #[arg(long, value_name = "DIRECTORY", default_value = "/dev/shm")]
    work_dir: PathBuf,
    /// Use neither directory nor database; analyse and report results in memory.
    #[arg(long)]
    in_memory: bool,
}

/// Number of contenders and tests in the campaign; the number of rounds gives the remaining factor.
const CONTENDERS: u32 = 20;
const TESTS: u32 = 50;

/// Measures campaigns of several sizes.
pub fn run(options: &HostOptions) -> anyhow::Result<()> {
    for cells in &options.cells {
        campaign(*cells, options)?;
    }
    Ok(())
}

fn campaign(cells: u32, options: &HostOptions) -> anyhow::Result<()> {
    let rounds = cells.div_ceil(CONTENDERS * TESTS).max(2);
    let campaign = many(rounds)?;
    println!(
        "{} cells ({CONTENDERS} contenders × {TESTS} tests × {rounds} rounds), {} hosts",
        CONTENDERS * TESTS * rounds,
        options.hosts
    );
    println!("{:<12} {:>10} {:>10}", "step", "CPU [s]", "peak [MB]");
    let ran = measured("run", || {
        let mut hosts = Hosts { count: options.hosts as usize, news: VecDeque::new() };
        let mut ledger = in_memory::MemorySink::new(&campaign);
        complete(&mut ledger, &mut hosts)?;
        Ok(ledger)
    })?;
    if options.in_memory {
        return shown(ran.read());
    }
    drop(ran);
    let place = tempfile::tempdir_in(&options.work_dir)?;
    let directory = place.path().join("it");
    measured("plan", || planned(&campaign, &directory))?;
    measured("work", || work(&directory, options.hosts))?;
    let mut store = Store::open(&place.path().join("fsarena.db"))?;
    // The collector takes the cells from the campaign, and the memory is needed for results.
    fs::remove_dir_all(directory.join("cells"))?;
    let results = measured("collect", || collect(&directory, &mut store))?;
    fs::remove_dir_all(&directory)?;
    shown(&results)
}

/// Analyses results and creates the page.
fn shown(results: &CampaignResults) -> anyhow::Result<()> {
    let analysis = measured("analysis", || Ok(stats::analyse(results)))?;
    let page = measured("page", || {
        Ok(render(ReportFormat::Html, results, &analysis, &DocumentOptions::default()))
    })?;
    println!("{:<12} {:>10.1} MB\n", "the page", page.len() as f64 / 1e6);
    Ok(())
}

/// Runs a step and prints its processor time and peak memory.
fn measured<T>(name: &str, step: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    // Resets the peak memory of this process: proc(5).
    fs::write("/proc/self/clear_refs", "5")?;
    let before = processor_time()?;
    let done = step().with_context(|| format!("in the step `{name}`"))?;
    let seconds = processor_time()? - before;
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|words| words.split_whitespace().next()?.parse::<f64>().ok());
    let peak = peak.context("the kernel reports no peak memory (VmHWM)")? / 1e3;
    println!("{name:<12} {seconds:>10.2} {peak:>10.0}");
    std::io::stdout().flush()?;
    Ok(done)
}

/// Returns the processor time of this process, in seconds.
fn processor_time() -> anyhow::Result<f64> {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

fn many(rounds: u32) -> anyhow::Result<Campaign> {
    let catalog = Catalog::builtin()?;
    let base = catalog.contender("ext4").context("there is ext4")?;
    let contender = |number| {
        let mut contender = base.clone();
        contender.name = format!("contender-{number}");
        contender
    };
    let mut campaign = in_memory::campaign((0..CONTENDERS).map(contender).collect(), rounds);
    let test = |number| Test { name: format!("test-{number}"), ..in_memory::test() };
    campaign.suites[0].tests = (0..TESTS).map(test).collect();
    Ok(campaign)
}

/// Simulates the result of a cell, with a small variation.
fn outcome(cell: &Cell, test: &Test) -> CellResult {
    let mut rng = SeededRng::new(cell.seed);
    let mut result = in_memory::ok_result(test);
    for phase in &mut result.phases {
        phase.elapsed = Nanos(1_000_000_000 + rng.below(50_000_000));
    }
    result
}

/// Simulated backend with many hosts, on which cells finish in the order in which they started.
struct Hosts {
    count: usize,
    news: VecDeque<CellUpdate>,
}

impl CellBackend for Hosts {
    type Error = Infallible;

    fn parallel_cells(&self) -> usize {
        self.count
    }

    fn environment(&mut self) -> Result<Environment, Infallible> {
        Ok(in_memory::environment())
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, Infallible> {
        Ok(None)
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        let result = Box::new(outcome(cell, test));
        self.news.push_back(CellUpdate::Finished(cell.id, result));
    }

    fn next_update(&mut self) -> CellUpdate {
        self.news.pop_front().expect("a cell was started")
    }
}

fn complete<L: ResultSink, B: CellBackend>(ledger: &mut L, backend: &mut B) -> anyhow::Result<()> {
    let ended =
        campaign::run::run(ledger, backend, &RunLimits::default(), &(), &StopFlag::default());
    let ended = ended.map_err(|error| anyhow::anyhow!("{error}"))?;
    ensure!(ended == CampaignEnd::Complete, "cells have no result");
    Ok(())
}

fn planned(campaign: &Campaign, directory: &Path) -> anyhow::Result<()> {
    let carry = |_: &Path| {
        Ok(GuestCopy { name: "guest".into(), manifest: String::new(), add_ons: Vec::new() })
    };
    let planned = PlanInput {
        campaign,
        cells: &campaign::plan::plan(campaign),
        environment: in_memory::environment(),
        guest: &carry,
        program: Path::new("/bin/true"),
        version: "1",
        traces: &[],
        checked: 0,
        planned_at: clock::realtime(),
    };
    Batch::create(directory, &planned)?;
    Ok(())
}

/// Runs the part of each host, one host after the other.
fn work(directory: &Path, hosts: u32) -> anyhow::Result<()> {
    let entries = Batch::open(directory)?.entries();
    let each = entries.div_ceil(hosts);
    for first in (0..entries).step_by(each as usize) {
        let batch = Batch::open(directory)?;
        let host = format!("host-{}", first / each);
        let part = batch.entries_in(EntryRange { first, count: each })?;
        let (mut share, _) = WorkerShare::new(&batch, &batch.plan().campaign, part, &host);
        complete(&mut share, &mut FakeBackend::new(outcome))?;
    }
    Ok(())
}

/// Collects all results into a database and loads them from it.
fn collect(directory: &Path, store: &mut Store) -> anyhow::Result<CampaignResults> {
    let batch = Batch::open(directory)?;
    let results = ResultDirectory::of(&batch)?;
    let plan = batch.plan();
    let id = store.begin_campaign(
        &plan.campaign,
        &campaign::plan::plan(&plan.campaign),
        plan.planned,
    )?;
    let mut backend = CollectBackend::new(&results, &plan.environment);
    complete(&mut StoredCampaign::new(store, id), &mut backend)?;
    Ok(store.load(id)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_done_and_measured() {
        // On a disk, flushing thousands of files would take a long time.
        let memory = Path::new("/dev/shm");
        let place = match memory.is_dir() {
            true => tempfile::tempdir_in(memory).unwrap(),
            false => tempfile::tempdir().unwrap(),
        };
        let options = HostOptions {
            cells: vec![1],
            hosts: 20,
            work_dir: place.path().to_owned(),
            in_memory: false,
        };
        run(&options).unwrap();
        assert_eq!(place.path().read_dir().unwrap().count(), 0);
    }
}
