//! Two hosts that run the same campaign at once, with a shared cache and guests that are made up.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use model::{
    Calibration, CampaignResults, Cell, CellId, CellResult, Environment, MountIdentity, Nanos, Test,
};
use orchestrate::{Backend, Ended, Limits, News, Stop, Workers, in_memory};
use run::{CachedExecutor, CellCache, CellKey, DirectoryShelf, Executor, Repeatable};
use wire::{Event, Job, Stopped, Target};

/// How often each seed was run, on all hosts.
type Runs = Arc<Mutex<BTreeMap<u64, u32>>>;

/// A guest whose result follows from the seed, on every host that is not broken.
struct MadeUp {
    runs: Runs,
    is_broken: bool,
}

impl Executor for MadeUp {
    fn execute(
        &mut self,
        job: &Job,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<CellResult, Stopped> {
        Ok(self.execute_and_judge(job, observe)?.0)
    }
}

impl Repeatable for MadeUp {
    fn key(&self, job: &Job) -> io::Result<Option<CellKey>> {
        Ok(Some(CellKey::of(&job.seed.to_le_bytes())))
    }

    fn execute_and_judge(
        &mut self,
        job: &Job,
        _: &mut dyn FnMut(&Event),
    ) -> Result<(CellResult, bool), Stopped> {
        *self.runs.lock().unwrap().entry(job.seed).or_default() += 1;
        thread::sleep(Duration::from_millis(2));
        let mut result = in_memory::success(&job.test);
        result.phases[0].wall = Nanos(job.seed % 1000 + u64::from(self.is_broken));
        Ok((result, true))
    }

    fn is_to_stop(&self) -> bool {
        false
    }
}

/// A host that runs two cells side by side.
struct Host {
    workers: Workers,
    news: Receiver<News>,
}

impl Host {
    fn new(cache: CellCache, runs: Runs, is_broken: bool, checks: Option<u64>) -> Self {
        let (say, news) = mpsc::channel();
        let work = move |cell: &Cell, test: &Test, observe: &mut dyn FnMut(&Event)| {
            let runs = Arc::clone(&runs);
            let guest = MadeUp { runs, is_broken };
            let mut executor = CachedExecutor::new(guest, Some(cache.clone()), checks);
            executor.execute(&job(cell, test), observe)
        };
        Self {
            workers: Workers::new(Arc::new(work), Stop::default(), say),
            news,
        }
    }
}

impl Backend for Host {
    type Error = std::convert::Infallible;

    fn side_by_side(&self) -> usize {
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

    fn next(&mut self) -> News {
        self.news.recv().expect("the workers hold its other end")
    }
}

fn job(cell: &Cell, test: &Test) -> Job {
    Job {
        version: wire::VERSION,
        cell: CellId(0),
        target: Target::Directory {
            path: "/".into(),
            top: "/".into(),
            mount: MountIdentity {
                device: (0, 0),
                mount: 0,
                inode: 0,
            },
        },
        source: None,
        archives: None,
        test: test.clone(),
        age: None,
        aged: None,
        seed: cell.seed,
        stacks_after: None,
        sampling: None,
    }
}

/// What a host came to. One that is broken runs some cells again that are there.
fn campaign(cells: &Path, runs: &Runs, is_broken: bool) -> CampaignResults {
    const ROUNDS: u32 = 120;
    let catalog = catalog::Catalog::builtin().unwrap();
    let contenders = vec![catalog.contender("ext4").unwrap()];
    let campaign = in_memory::campaign(contenders, ROUNDS);
    let shelf = Arc::new(DirectoryShelf::shared(cells).unwrap());
    let cache = CellCache::shared(shelf, [7; run::SECRET]).unwrap();
    let checks = is_broken.then_some(campaign.seed);
    let mut host = Host::new(cache, Arc::clone(runs), is_broken, checks);
    let (mut results, limits) = (in_memory::Results::new(&campaign), Limits::default());
    let ended = orchestrate::run(&mut results, &mut host, &limits, &(), &Stop::default());
    assert_eq!(ended.unwrap(), Ended::Complete);
    results.read().clone()
}

fn of_cells(results: &CampaignResults) -> Vec<&CellResult> {
    let cells = results.cells.iter();
    cells
        .map(|cell| cell.result.as_ref().expect("it is complete"))
        .collect()
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
fn a_host_that_comes_to_something_else_is_told_with_the_first_value_that_differs() {
    let (directory, runs) = (tempfile::tempdir().unwrap(), Runs::default());
    campaign(directory.path(), &runs, false);
    let results = campaign(directory.path(), &runs, true);
    let mut ran = of_cells(&results);
    ran.retain(|result| !result.from_cache);
    assert!(!ran.is_empty(), "one in twenty is run again");
    for result in ran {
        let ns = result.phases[0].wall.0;
        let told = format!(
            "an equal cell that was run before came to something else: phase write took {} ns, and takes {ns} ns now; the new \
             result is kept",
            ns - 1
        );
        assert_eq!(result.remarks, [told]);
    }
}
