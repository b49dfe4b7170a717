//! Two hosts that run the same campaign at the same time, with a shared cache and simulated guests.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::{Cacheable, CachedExecutor, CellCache, CellKey, DirectoryStore, Executor};
use campaign::run::{
    CampaignEnd, CellBackend, CellThreads, CellUpdate, RunLimits, StopFlag, in_memory,
};
use model::wire::{AbortReason, CellEvent, CellJob, WorkTarget};
use model::{
    Calibration, CampaignResults, Cell, CellId, CellResult, Environment, MountId, Nanos, Test,
};

/// Number of runs per seed, on all hosts.
type Runs = Arc<Mutex<BTreeMap<u64, u32>>>;

/// A guest whose result is determined by the seed, on every host that is not broken.
struct MadeUp {
    runs: Runs,
    is_broken: bool,
}

impl Executor for MadeUp {
    fn execute(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<CellResult, AbortReason> {
        Ok(self.execute_checked(job, observe)?.0)
    }
}

impl Cacheable for MadeUp {
    fn key(&self, job: &CellJob) -> io::Result<Option<CellKey>> {
        Ok(Some(CellKey::sha256(&job.seed.to_le_bytes())))
    }

    fn execute_checked(
        &mut self,
        job: &CellJob,
        _: &mut dyn FnMut(&CellEvent),
    ) -> Result<(CellResult, bool), AbortReason> {
        *self.runs.lock().unwrap().entry(job.seed).or_default() += 1;
        thread::sleep(Duration::from_millis(2));
        let mut result = in_memory::ok_result(&job.test);
        result.phases[0].elapsed = Nanos(job.seed % 1000 + u64::from(self.is_broken));
        Ok((result, true))
    }

    fn stop_requested(&self) -> bool {
        false
    }
}

/// A host that runs two cells in parallel.
struct CacheHost {
    workers: CellThreads,
    news: Receiver<CellUpdate>,
}

impl CacheHost {
    fn new(cache: CellCache, runs: Runs, is_broken: bool, checks: Option<u64>) -> Self {
        let (say, news) = mpsc::channel();
        let work = move |cell: &Cell, test: &Test, observe: &mut dyn FnMut(&CellEvent)| {
            let runs = Arc::clone(&runs);
            let guest = MadeUp { runs, is_broken };
            let mut executor = CachedExecutor::new(guest, Some(cache.clone()), checks);
            executor.execute(&job(cell, test), observe)
        };
        Self { workers: CellThreads::new(Arc::new(work), StopFlag::default(), say), news }
    }
}

impl CellBackend for CacheHost {
    type Error = std::convert::Infallible;

    fn parallel_cells(&self) -> usize {
        2
    }

    fn environment(&mut self) -> Result<Environment, Self::Error> {
        Ok(in_memory::environment())
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, Self::Error> {
        Ok(None)
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        self.workers.start(cell, test);
    }

    fn next_update(&mut self) -> CellUpdate {
        self.news.recv().expect("the workers hold its other end")
    }
}

fn job(cell: &Cell, test: &Test) -> CellJob {
    CellJob {
        version: model::wire::VERSION,
        cell: CellId(0),
        target: WorkTarget::Directory {
            path: "/".into(),
            top: "/".into(),
            mount: MountId { device: (0, 0), mount: 0, inode: 0 },
        },
        source: None,
        archives: None,
        memory_limit: None,
        test: test.clone(),
        age: None,
        aged: None,
        seed: cell.seed,
        stacks_after: None,
        sampling: None,
        rank: None,
    }
}

/// Runs the campaign on one host and returns its results. A broken host reruns some cached cells.
fn campaign(cells: &Path, runs: &Runs, is_broken: bool) -> CampaignResults {
    const ROUNDS: u32 = 120;
    let catalog = config::Catalog::builtin().unwrap();
    let contenders = vec![catalog.contender("ext4").unwrap()];
    let campaign = in_memory::campaign(contenders, ROUNDS);
    let shelf = Arc::new(DirectoryStore::open_shared(cells).unwrap());
    let cache = CellCache::shared(shelf, sys::secret_key::SecretKey::new([7; 32])).unwrap();
    let checks = is_broken.then_some(campaign.seed);
    let mut host = CacheHost::new(cache, Arc::clone(runs), is_broken, checks);
    let (mut results, limits) = (in_memory::MemorySink::new(&campaign), RunLimits::default());
    let ended = campaign::run::run(&mut results, &mut host, &limits, &(), &StopFlag::default());
    assert_eq!(ended.unwrap(), CampaignEnd::Complete);
    results.read().clone()
}

fn of_cells(results: &CampaignResults) -> Vec<&CellResult> {
    let cells = results.cells.iter();
    cells.map(|cell| cell.result.as_ref().expect("it is complete")).collect()
}

#[test]
fn of_two_hosts_that_run_a_campaign_at_once_each_cell_is_run_by_one() {
    let (directory, runs) = (tempfile::tempdir().unwrap(), Runs::default());
    let both = thread::scope(|scope| {
        let host = || scope.spawn(|| campaign(directory.path(), &runs, false));
        [host(), host()].map(|host| host.join().unwrap())
    });
    let [one, other] = both.each_ref().map(of_cells);
    let runs = runs.lock().unwrap();
    assert_eq!(runs.len(), one.len());
    assert!(runs.values().all(|times| *times == 1), "{runs:?}");
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one.phases, other.phases);
        assert!(one.from_cache != other.from_cache, "one of them has run it");
    }
}

#[test]
fn host_with_a_different_result_reports_the_first_difference() {
    let (directory, runs) = (tempfile::tempdir().unwrap(), Runs::default());
    campaign(directory.path(), &runs, false);
    let results = campaign(directory.path(), &runs, true);
    let mut ran = of_cells(&results);
    ran.retain(|result| !result.from_cache);
    assert!(!ran.is_empty(), "one in twenty is run again");
    for result in ran {
        let ns = result.phases[0].elapsed.0;
        let told = format!(
            "this result differs from an earlier run of an equal cell: phase write took {} ns, and takes {ns} ns now; the new result is kept",
            ns - 1
        );
        assert_eq!(result.remarks, [told]);
    }
}
