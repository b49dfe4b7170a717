//! Campaigns on a simulated machine: cells succeed, fail, crash, hang, return invalid results,
//! answer late or lose their machine, and the orchestrator is killed between any two of its steps.
//! Everything depends on one number, so a failure can be reproduced: `SEED=123 cargo test -p
//! campaign --test simulation`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use campaign::run::in_memory::{self, ContractViolation, MemorySink};
use campaign::run::{
    CampaignEnd, CampaignError, CellBackend, CellUpdate, ResultSink, RunLimits, StopFlag,
    StoredCampaign,
};
use campaign::store::{CampaignId, Store};
use config::Catalog;
use model::wire::{AbortReason, CellEvent};
use model::{
    Bytes, Calibration, Campaign, CampaignResults, Cell, CellId, CellResult, Contender,
    Environment, HostNoise, Nanos, PhaseResult, SeededRng, Status, StoppingRule, Test,
};

/// Number of campaigns that `make check` simulates.
const CAMPAIGNS: u64 = 40_000;
/// Number of campaigns whose results are stored in a real database.
const IN_DATABASES: u64 = 200;
/// Maximum number of sessions, more than any campaign on a machine with occasional other load
/// needs.
const MOST_SESSIONS: u32 = 2_000;

/// Reason that a sink stores no result.
#[derive(Debug, thiserror::Error)]
enum Broken {
    /// The orchestrator is killed at this point.
    #[error("killed")]
    Killed,
    #[error("{0}")]
    Misuse(#[from] ContractViolation),
    #[error("{0}")]
    Store(#[from] campaign::store::StoreError),
}

/// Random events, and the number of steps until the orchestrator is killed.
struct Chance {
    rng: SeededRng,
    steps_left: Option<u64>,
}

type SharedChance = Rc<RefCell<Chance>>;

impl Chance {
    fn one_in(&mut self, bound: u64) -> bool {
        self.rng.below(bound) == 0
    }

    /// Counts a step of the orchestrator. Returns an error if it is killed at this step.
    fn step(&mut self) -> Result<(), Broken> {
        match self.steps_left.as_mut() {
            Some(0) => Err(Broken::Killed),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// A ledger whose orchestrator may be killed before or after each write.
struct Mortal<'a, L> {
    inner: &'a mut L,
    chance: SharedChance,
}

impl<L: ResultSink> Mortal<'_, L>
where
    Broken: From<L::Error>,
{
    fn around<T>(&mut self, keep: impl FnOnce(&mut L) -> Result<T, L::Error>) -> Result<T, Broken> {
        self.chance.borrow_mut().step()?;
        let kept = keep(self.inner)?;
        self.chance.borrow_mut().step()?;
        Ok(kept)
    }
}

impl<L: ResultSink> ResultSink for Mortal<'_, L>
where
    Broken: From<L::Error>,
{
    type Error = Broken;

    fn load(&self) -> Result<CampaignResults, Broken> {
        Ok(self.inner.load()?)
    }

    fn begin_session(&mut self, environment: &Environment) -> Result<(), Broken> {
        self.around(|ledger| ledger.begin_session(environment))
    }

    fn calibrate(&mut self, calibration: &Calibration) -> Result<(), Broken> {
        self.around(|ledger| ledger.calibrate(calibration))
    }

    fn extend_plan(&mut self, cells: &[Cell]) -> Result<(), Broken> {
        self.around(|ledger| ledger.extend_plan(cells))
    }

    fn record(&mut self, cell: &Cell, result: &CellResult) -> Result<(), Broken> {
        self.around(|ledger| ledger.record(cell, result))
    }
}

/// State of the machine that survives the orchestrator: the last report of each cell.
#[derive(Default)]
struct Told {
    /// Expected stored status of each cell.
    status: BTreeMap<CellId, Status>,
    /// Cells in the order of their start in this session.
    begun: Vec<CellId>,
    /// Cells with a result in this session.
    ended: BTreeSet<CellId>,
}

/// A machine with random failures.
struct Machine<'a> {
    chance: SharedChance,
    told: &'a mut Told,
    stop: StopFlag,
    width: usize,
    running: BTreeMap<CellId, Test>,
    /// Started cells that have ended and may start again.
    again: BTreeSet<CellId>,
}

impl Machine<'_> {
    /// Returns a random end of a cell.
    fn end(&mut self, id: CellId, test: &Test) -> CellUpdate {
        let chance = &mut self.chance.borrow_mut();
        let well = in_memory::ok_result(test);
        let (status, result) = match chance.rng.below(24) {
            0 => (Status::Failed, ended(&well, Status::Failed)),
            1 => (Status::Crashed, ended(&well, Status::Crashed)),
            2 => (Status::Hung, ended(&well, Status::Hung)),
            3 => (Status::Unsupported, ended(&well, Status::Unsupported)),
            4 => (Status::Crashed, lie(well, &mut chance.rng)),
            5 => {
                return CellUpdate::Aborted(
                    id,
                    AbortReason::EnvironmentFault("the disk is in use".into()),
                );
            }
            6 => return CellUpdate::ConnectionLost(id, "the connection broke".into()),
            7 | 8 => (Status::Ok, disturbed(well)),
            9 => return CellUpdate::Aborted(id, AbortReason::OtherHost("n2".into())),
            _ => (Status::Ok, well),
        };
        self.told.status.insert(id, status);
        self.told.ended.insert(id);
        CellUpdate::Finished(id, Box::new(result))
    }

    /// Returns an unexpected update: of a cell that is not running, or has already ended.
    fn noise(&mut self) -> Option<CellUpdate> {
        let chance = &mut self.chance.borrow_mut();
        if !chance.one_in(6) {
            return None;
        }
        let id = CellId(u32::try_from(chance.rng.below(40)).unwrap());
        if self.running.contains_key(&id) {
            return None;
        }
        let result = ended(&in_memory::ok_result(&in_memory::test()), Status::Failed);
        Some(match chance.rng.below(4) {
            0 => CellUpdate::Finished(id, Box::new(result)),
            1 => CellUpdate::ConnectionLost(id, "too late".into()),
            2 => CellUpdate::Aborted(id, AbortReason::Interrupted),
            _ => CellUpdate::Note("something".into()),
        })
    }
}

fn ended(well: &CellResult, status: Status) -> CellResult {
    CellResult { status, ..well.clone() }
}

fn disturbed(well: CellResult) -> CellResult {
    CellResult {
        disturbance: Some(HostNoise {
            processors: 1,
            elapsed: Nanos::from_secs(10),
            other_cpu_time: Nanos::from_secs(9),
            ..HostNoise::default()
        }),
        ..well
    }
}

/// Returns a result in which a phase is missing, duplicated or unplanned.
fn lie(mut well: CellResult, rng: &mut SeededRng) -> CellResult {
    match rng.below(3) {
        0 => drop(well.phases.pop()),
        1 => well.phases.push(well.phases[0].clone()),
        _ => well.phases[0] = PhaseResult { phase: "another".into(), ..well.phases[0].clone() },
    }
    well
}

impl CellBackend for Machine<'_> {
    type Error = Broken;

    fn parallel_cells(&self) -> usize {
        self.width
    }

    fn environment(&mut self) -> Result<Environment, Broken> {
        self.chance.borrow_mut().step()?;
        Ok(in_memory::environment())
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, Broken> {
        self.chance.borrow_mut().step()?;
        Ok(None)
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        assert!(self.running.len() < self.width, "too many cells at once");
        let before = self.running.insert(cell.id, test.clone());
        assert!(before.is_none(), "{:?} runs twice at once", cell.id);
        if !self.told.begun.contains(&cell.id) {
            self.told.begun.push(cell.id);
        } else {
            assert!(self.again.remove(&cell.id), "{:?} began twice", cell.id);
        }
    }

    fn next_update(&mut self) -> CellUpdate {
        assert!(!self.running.is_empty(), "nothing runs, and it waits");
        if let Some(news) = self.noise() {
            return news;
        }
        let which = self.chance.borrow_mut().rng.below(self.running.len() as u64);
        let (&id, _) = self.running.iter().nth(which as usize).unwrap();
        let killed = self.chance.borrow_mut().step().is_err();
        if killed || self.chance.borrow_mut().one_in(40) {
            // The user interrupts, or the orchestrator is killed at its next step.
            self.stop.store(true, Ordering::Relaxed);
        }
        if self.stop.load(Ordering::Relaxed) {
            self.running.remove(&id);
            return CellUpdate::Aborted(id, AbortReason::Interrupted);
        }
        if self.chance.borrow_mut().one_in(3) {
            let step = "write".to_owned();
            return CellUpdate::Event(id, CellEvent::Begin { step });
        }
        let test = self.running.remove(&id).unwrap();
        let news = self.end(id, &test);
        if !matches!(news, CellUpdate::Aborted(_, AbortReason::EnvironmentFault(_))) {
            self.again.insert(id);
        }
        news
    }
}

/// Returns a campaign of random size.
fn campaign(rng: &mut SeededRng, contenders: &[Contender]) -> Campaign {
    let count = 1 + rng.below(contenders.len() as u64) as usize;
    let rounds = 1 + rng.below(3) as u32;
    let mut campaign = in_memory::campaign(contenders[..count].to_vec(), rounds);
    if rng.below(2) == 0 {
        let other = Test { name: "other".into(), ..in_memory::test() };
        campaign.suites[0].tests.push(other);
    }
    campaign.seed = rng.next_u64();
    campaign.stopping_rule = (rng.below(100) == 0).then(|| StoppingRule {
        width: 0.1,
        share: 1.0,
        max_rounds: rounds + 2,
        max_time: None,
    });
    if campaign.stopping_rule.is_none() && rng.below(1000) == 0 {
        campaign.budget = Some(Nanos::from_secs(rng.below(60)));
        campaign.rounds = 1;
    }
    campaign
}

/// Simulates one session. Returns true if the campaign is complete.
fn session<L: ResultSink>(
    ledger: &mut L,
    chance: &SharedChance,
    width: usize,
    statuses: &mut Told,
) -> bool
where
    Broken: From<L::Error>,
{
    let before = ledger.load().map_err(Broken::from).unwrap();
    let stop = StopFlag::default();
    statuses.begun.clear();
    statuses.ended.clear();
    let outcome = {
        let mut ledger = Mortal { inner: ledger, chance: Rc::clone(chance) };
        let mut machine = Machine {
            chance: Rc::clone(chance),
            told: statuses,
            stop: StopFlag::clone(&stop),
            width,
            running: BTreeMap::new(),
            again: BTreeSet::new(),
        };
        let limits = RunLimits {
            written: chance.borrow_mut().one_in(4).then_some(Bytes::mib(1 << 20)),
            ..RunLimits::default()
        };
        let outcome = campaign::run::run(&mut ledger, &mut machine, &limits, &(), &stop);
        if outcome.is_ok() {
            assert!(machine.running.is_empty(), "cells run on");
        }
        outcome
    };
    // Cells start in the order of the plan, and no cell with a result starts again.
    let after = ledger.load().map_err(Broken::from).unwrap();
    let had: BTreeSet<CellId> = with_results(&before).map(|(id, _)| id).collect();
    let mut open = after.cells.iter().map(|c| c.cell.id).filter(|id| !had.contains(id));
    for begun in &statuses.begun {
        assert_eq!(Some(*begun), open.next(), "another cell was next");
    }
    // An orchestrator that was not killed has stored every result.
    if matches!(outcome, Ok(_) | Err(CampaignError::EnvironmentFault(_))) {
        let has: BTreeSet<CellId> = with_results(&after).map(|(id, _)| id).collect();
        assert!(statuses.ended.is_subset(&has), "a result was thrown away");
    }
    match outcome {
        Ok(CampaignEnd::Complete) => true,
        Ok(CampaignEnd::Interrupted) => {
            assert!(stop.load(Ordering::Relaxed), "interrupted without a request");
            false
        }
        Err(CampaignError::Ledger(Broken::Killed) | CampaignError::Backend(Broken::Killed)) => {
            false
        }
        Err(CampaignError::EnvironmentFault(reason)) => {
            assert!(reason == "the disk is in use" || reason.contains("lost 2 times"), "{reason}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn with_results(results: &CampaignResults) -> impl Iterator<Item = (CellId, &CellResult)> {
    let cells = results.cells.iter();
    cells.filter_map(|c| Some((c.cell.id, c.result.as_ref()?)))
}

/// Runs a campaign to completion in any number of sessions and checks the stored results.
fn play<L: ResultSink>(seed: u64, ledger: &mut L, width: usize, mut rng: SeededRng)
where
    Broken: From<L::Error>,
{
    let mut told = Told::default();
    for number in 0.. {
        assert!(number < MOST_SESSIONS, "seed {seed} does not complete");
        let lives = rng.below(3) > 0;
        let chance = Rc::new(RefCell::new(Chance {
            rng: SeededRng::new(rng.next_u64()),
            steps_left: (!lives).then(|| rng.below(30)),
        }));
        if session(ledger, &chance, width, &mut told) {
            break;
        }
    }
    let results = ledger.load().map_err(Broken::from).unwrap();
    let has_run = |test: &str| {
        let mut cells = results.cells.iter();
        cells.any(|c| c.cell.test == test && c.result.is_some())
    };
    for stored in &results.cells {
        let Some(result) = &stored.result else {
            // Only a budget excludes tests, and only whole ones.
            let is_left_out = !has_run(&stored.cell.test);
            assert!(results.campaign.budget.is_some() && is_left_out, "every cell has a result");
            continue;
        };
        let told = told.status[&stored.cell.id];
        assert_eq!(result.status, told, "{:?}", stored.cell);
        assert!(!result.phases.is_empty());
    }
    let again = results
        .cells
        .iter()
        .filter(|c| c.result.as_ref().is_some_and(|result| result.first.is_some()));
    assert!(again.count() <= results.cells.len() / 10);
}

fn played(seed: u64, contenders: &[Contender]) {
    let mut rng = SeededRng::substream(seed, "simulation");
    let campaign = campaign(&mut rng, contenders);
    let width = 1 + rng.below(4) as usize;
    if !seed.is_multiple_of(CAMPAIGNS / IN_DATABASES) {
        return play(seed, &mut MemorySink::new(&campaign), width, rng);
    }
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("fsarena.db")).unwrap();
    let plan = campaign::plan::plan(&campaign);
    let id: CampaignId = store.begin_campaign(&campaign, &plan, Nanos(1)).unwrap();
    let mut stored = StoredCampaign::new(&mut store, id);
    play(seed, &mut stored, width, rng);
}

#[test]
fn each_cell_has_exactly_one_correct_result() {
    let catalog = Catalog::builtin().unwrap();
    let contenders = ["ext4", "xfs", "btrfs"].map(|name| catalog.contender(name).unwrap());
    if let Ok(seed) = std::env::var("SEED") {
        return played(seed.parse().unwrap(), &contenders);
    }
    let next = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= CAMPAIGNS {
                        return;
                    }
                    let played = AssertUnwindSafe(|| played(seed, &contenders));
                    assert!(
                        panic::catch_unwind(played).is_ok(),
                        "seed {seed} went wrong; play it again: SEED={seed} cargo test -p campaign --test simulation"
                    );
                }
            });
        }
    });
}
