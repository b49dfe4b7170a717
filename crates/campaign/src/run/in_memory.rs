//! A campaign without a machine: a function returns the result of each cell, and results are kept
//! in memory. For tests of crates that use this one.

use std::collections::VecDeque;
use std::convert::Infallible;

use model::{
    Accelerator, AccessPattern, BackendKind as Kind, Bytes, CacheState, Calibration, Campaign,
    CampaignResults, Cell, CellId, CellRecord, CellResult, Clock, Contender, DiskModel,
    Environment, GuestConfig, GuestDisk, Io, Nanos, Op, Phase, PhaseResult, SizeProfile, Status,
    Suite, SyncAtEnd, Test,
};

use crate::run::{CellBackend, CellUpdate, ResultSink};

/// Violations of the order of ledger calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContractViolation {
    /// The plan does not contain the cell.
    #[error("{0:?} is not planned")]
    Unplanned(CellId),
    /// The cell already has a result.
    #[error("{0:?} has a result already")]
    Twice(CellId),
    /// A result was recorded before a session began.
    #[error("no session was begun")]
    NoSession,
    /// The campaign already has a calibration.
    #[error("the campaign was calibrated already")]
    Calibrated,
}

/// A campaign's plan and results, in memory.
#[derive(Clone, Debug)]
pub struct MemorySink(CampaignResults);

impl MemorySink {
    /// Creates a campaign with its plan and no results.
    pub fn new(campaign: &Campaign) -> Self {
        let cell = |cell| CellRecord { cell, result: None };
        Self(CampaignResults {
            id: 1,
            started: Nanos(0),
            cells: crate::plan::plan(campaign).into_iter().map(cell).collect(),
            campaign: campaign.clone(),
            environments: Vec::new(),
            calibration: None,
        })
    }

    /// Returns the stored results.
    pub const fn read(&self) -> &CampaignResults {
        &self.0
    }
}

impl ResultSink for MemorySink {
    type Error = ContractViolation;

    fn load(&self) -> Result<CampaignResults, ContractViolation> {
        Ok(self.0.clone())
    }

    fn begin_session(&mut self, environment: &Environment) -> Result<(), ContractViolation> {
        self.0.environments.push(environment.clone());
        Ok(())
    }

    fn calibrate(&mut self, calibration: &Calibration) -> Result<(), ContractViolation> {
        if self.0.calibration.is_some() {
            return Err(ContractViolation::Calibrated);
        }
        self.0.calibration = Some(calibration.clone());
        Ok(())
    }

    fn extend_plan(&mut self, cells: &[Cell]) -> Result<(), ContractViolation> {
        let further = cells.iter().cloned();
        self.0.cells.extend(further.map(|cell| CellRecord { cell, result: None }));
        self.0.campaign.rounds = self.0.cells.iter().map(|c| c.cell.round).max().unwrap_or(0);
        Ok(())
    }

    fn record(&mut self, cell: &Cell, result: &CellResult) -> Result<(), ContractViolation> {
        if self.0.environments.is_empty() {
            return Err(ContractViolation::NoSession);
        }
        // Cell numbers are indices in the plan.
        let stored = self.0.cells.get_mut(cell.id.0 as usize);
        let stored = stored.filter(|stored| stored.cell == *cell);
        let stored = stored.ok_or(ContractViolation::Unplanned(cell.id))?;
        if stored.result.is_some() {
            return Err(ContractViolation::Twice(cell.id));
        }
        stored.result = Some(result.clone());
        Ok(())
    }
}

/// A backend whose cells end immediately with the result of a function.
pub struct FakeBackend<F> {
    outcome: F,
    news: VecDeque<CellUpdate>,
}

impl<F: FnMut(&Cell, &Test) -> CellResult> FakeBackend<F> {
    /// Creates a backend whose cells end with this outcome.
    pub const fn new(outcome: F) -> Self {
        Self { outcome, news: VecDeque::new() }
    }
}

impl<F: FnMut(&Cell, &Test) -> CellResult> CellBackend for FakeBackend<F> {
    type Error = Infallible;

    fn environment(&mut self) -> Result<Environment, Infallible> {
        Ok(environment())
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, Infallible> {
        Ok(None)
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        let result = (self.outcome)(cell, test);
        self.news.push_back(CellUpdate::Finished(cell.id, Box::new(result)));
    }

    fn next_update(&mut self) -> CellUpdate {
        self.news.pop_front().expect("a cell was started")
    }
}

/// Returns an empty environment.
pub fn environment() -> Environment {
    Environment::default()
}

/// Returns a test that writes a file and reads it.
pub fn test() -> Test {
    let phase = |name: &str, access| Phase {
        name: name.into(),
        cache: CacheState::Warm,
        sync_at_end: SyncAtEnd::Call,
        at_most: None,
        scaling: None,
        step: None,
        needs: None,
        from_next_host: false,
        op: Op::Io(Io { size: Some(Bytes::mib(1)), ..Io::new("file", access, Bytes::kib(64)) }),
    };
    Test {
        name: "test".into(),
        suite: "suite".into(),
        title: "A file".into(),
        rationale: "None.".into(),
        space: Bytes::mib(1),
        data: model::DataKind::default(),
        sweep: None,
        phases: vec![phase("write", AccessPattern::Write), phase("read", AccessPattern::Read)],
    }
}

/// Returns a cell with this number that belongs to no campaign.
pub fn cell(id: u32) -> Cell {
    Cell {
        id: CellId(id),
        contender: "it".into(),
        suite: "suite".into(),
        test: "test".into(),
        round: id + 1,
        seed: u64::from(id),
    }
}

/// Returns a campaign of these contenders in `rounds` rounds, with one test.
pub fn campaign(contenders: Vec<Contender>, rounds: u32) -> Campaign {
    let suite = Suite {
        name: "suite".into(),
        title: "A file".into(),
        source: "made up".into(),
        requires: Default::default(),
        archives: Vec::new(),
        baseline: None,
        tests: vec![test()],
    };
    Campaign {
        name: "in memory".into(),
        contenders,
        groups: Vec::new(),
        suites: vec![suite],
        profile: SizeProfile::Smoke,
        rounds,
        stopping_rule: None,
        budget: None,
        seed: 1,
        size: Bytes::mib(64),
        memory: None,
        backend: Kind::Loop,
        skipped: Vec::new(),
        measured_by: None,
        clock: Clock::Real,
        guest: None,
        readahead: None,
        max_written: None,
        keep_aged: false,
        source: None,
        device: None,
        work_dir: "/nowhere".into(),
        database: None,
        stall_timeout: Nanos::from_secs(60),
        host: None,
        together: Vec::new(),
        archives: Vec::new(),
        phase_limit: SizeProfile::Smoke.phase_limit(Kind::Loop),
    }
}

/// Returns a guest in virtual time with a disk of this model.
pub fn guest(model: DiskModel) -> GuestConfig {
    GuestConfig {
        memory: Bytes::mib(1024),
        processors: 1,
        accelerator: Accelerator::Tcg,
        cpu: "max".into(),
        shift: 0,
        disks: 1,
        disk: GuestDisk::Model { model },
        kernel: "6.1.0".into(),
        guest_name: "guest-1".into(),
    }
}

/// Returns the result of a successful cell.
pub fn ok_result(test: &Test) -> CellResult {
    let second = Nanos::from_secs(1);
    let phase = |phase| PhaseResult {
        elapsed: second,
        operations: 16,
        bytes: Bytes::mib(1),
        ..PhaseResult::not_run(phase)
    };
    CellResult {
        phases: test.phases.iter().map(phase).collect(),
        elapsed: second,
        ..CellResult::with_status(Status::Ok)
    }
}
