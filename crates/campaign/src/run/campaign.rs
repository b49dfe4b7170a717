//! One session of a campaign: starts cells, evaluates their results and decides when there are
//! enough rounds.

mod further_cells;
mod progress;

use std::cell::Cell as CellOf;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::Ordering;

use crate::plan::{Forecast, PastDurations, ThroughputModel, WriteEstimates};
use model::wire::AbortReason;
use model::{
    BackendKind, Bytes, Campaign, Cell, CellId, CellRecord, CellResult, Failure, HostNoise, Nanos,
    PhaseResult, Status, Test, UseCase,
};
use sys::io::clock;

use crate::run::reruns::{self, RerunBudget};
use crate::run::write_budget::WriteBudget;
use crate::run::{CellBackend, CellUpdate, Observer, ResultSink, StopFlag};

/// Maximum number of starts of a cell whose machine is lost.
const MAX_CELL_STARTS: u32 = 2;
/// Number of parallel cells above which the remaining time is not estimated for every start and end
/// of a cell.
const FORECAST_THROTTLE_ABOVE: usize = 1000;
/// Minimum interval between estimates when many cells run in parallel.
const MIN_FORECAST_INTERVAL: Nanos = Nanos::from_secs(1);

/// End of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignEnd {
    /// Every cell has a result.
    Complete,
    /// The user asked to stop, or the backend accepts no more cells in this session. The remaining
    /// cells can run later.
    Interrupted,
}

/// Reason that a campaign ended early.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError<L: std::error::Error, B: std::error::Error> {
    /// A result could not be stored.
    #[error("{0}")]
    Ledger(L),
    /// The machine could not be inspected or calibrated.
    #[error("{0}")]
    Backend(B),
    /// A cell could not run, or its result would be meaningless, for a reason unrelated to its
    /// filesystem. The campaign can continue once the cause is fixed.
    #[error("{0}")]
    EnvironmentFault(String),
}

/// Write limit of a campaign, and inputs for estimating the remaining time.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// Maximum bytes written to disks that wear out, over all sessions; `None` if cells write to
    /// memory.
    pub written: Option<Bytes>,
    /// Whether the user gave that limit. If so, a cell that could exceed it does not start.
    pub named: bool,
    /// Bytes that each session writes before its first cell.
    pub preparation: Bytes,
    /// Assumed speed of the machine.
    pub pace: ThroughputModel,
    /// Durations of cells in earlier campaigns.
    pub experience: PastDurations,
    /// Use cases whose answers the budget is spent on, in addition to those of the test categories.
    pub uses: Vec<UseCase>,
    /// Whether the campaign ends if other programs keep the machine busy.
    pub exclusive: bool,
    /// Work in addition to that of the campaign.
    pub more: Option<MoreWork>,
}

/// Work that a resumed campaign gets in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoreWork {
    /// Time in addition to the rest of the budget.
    Time(Nanos),
    /// Rounds of every test, up to this number.
    Rounds(u32),
}

impl MoreWork {
    /// Adds the work to a campaign whose cells took `spent` until now. An interrupted campaign still
    /// has the rest of its budget.
    pub fn add_to(self, campaign: &mut Campaign, spent: Nanos) {
        match self {
            Self::Time(more) => {
                let all = campaign.budget.map(|all| all.max(spent).0.saturating_add(more.0));
                campaign.budget = all.map(Nanos);
            }
            Self::Rounds(rounds) => campaign.rounds = campaign.rounds.max(rounds),
        }
    }
}

/// Runs every planned cell that has no result, and adds rounds if the campaign's stopping rule or
/// budget needs them.
///
/// Cells start in the order of the plan. Each result is stored before the next cell takes its
/// place.
///
/// # Errors
/// Returns the errors of [`CampaignError`]. Cells that are still running end when the backend is
/// dropped.
pub fn run<L: ResultSink, B: CellBackend>(
    ledger: &mut L,
    backend: &mut B,
    limits: &RunLimits,
    observer: &dyn Observer,
    stop: &StopFlag,
) -> Result<CampaignEnd, CampaignError<L::Error, B::Error>> {
    // From here on, no other process runs cells of the campaign. One may have until now.
    let environment = backend.environment().map_err(CampaignError::Backend)?;
    let stored = ledger.load().map_err(CampaignError::Ledger)?;
    if let Some(before) =
        stored.environments.last().filter(|_| stored.campaign.backend != BackendKind::Vm)
        && filesystems(&before.device) != filesystems(&environment.device)
    {
        return Err(CampaignError::EnvironmentFault(format!(
            "the campaign ran on {} before, and {} is another filesystem",
            before.device, environment.device
        )));
    }
    ledger.begin_session(&environment).map_err(CampaignError::Ledger)?;
    let mut forecast = Forecast::new(&stored.campaign, limits.pace, &limits.experience);
    forecast.plan(stored.cells.iter().map(|c| &c.cell));
    let mut finished = BTreeSet::new();
    for c in &stored.cells {
        if let Some(result) = &c.result {
            forecast.record_result(&c.cell, result);
            finished.insert(c.cell.id);
        }
    }
    let writes = WriteEstimates::from_campaign(&stored.campaign);
    let earlier = stored.total_cell_time();
    let earlier = Nanos(earlier.0 / (backend.parallel_cells() as u64).max(1));
    let mut campaign = stored.campaign;
    let planned_rounds = campaign.rounds;
    if let Some(more) = limits.more {
        more.add_to(&mut campaign, earlier);
    }
    let mut run = CampaignRun {
        uses: &limits.uses,
        exclusive: limits.exclusive,
        begun: clock::now(),
        earlier,
        left_out: BTreeSet::new(),
        is_put_off_told: false,
        estimated: CellOf::default(),
        ledger,
        backend,
        observer,
        stop,
        forecast,
        finished,
        written: limits.written.map(|most| {
            // Each session prepares a new disk.
            let sessions = stored.environments.len() as u64 + 1;
            let prepared = limits.preparation.0.saturating_mul(sessions);
            written(&stored.cells, &writes, prepared, most, limits.named)
        }),
        writes,
        calibrated: stored.calibration.is_some(),
        again: RerunBudget::from_cells(&stored.cells),
        running: BTreeMap::new(),
        campaign,
        plan: stored.cells.into_iter().map(|c| c.cell).collect(),
    };
    let ended = run.plan_further_rounds(planned_rounds).and_then(|()| run.rounds());
    if let Some(written) = run.written {
        let (so_far, most) = (written.used(), written.limit());
        // Without a limit of the user, `most` only ends repetitions.
        let limit = match (limits.named, so_far > most) {
            (false, _) => String::new(),
            (true, false) => format!("; the limit is {most}"),
            (true, true) => format!("; the limit is {most}; the last cell was completed"),
        };
        if most > Bytes(0) {
            observer.note(&format!("written: {}{limit}", so_far.format_like(most)));
        }
    }
    ended
}

/// Returns the types of the filesystems in the description of storage: `ext4` of `/srv/a on ext4 on /dev/vda`. Names of
/// devices may change between sessions.
fn filesystems(device: &str) -> Vec<&str> {
    let below = device.split(" on ").skip(1).filter_map(|text| text.split(' ').next());
    below.filter(|word| !word.starts_with('/')).collect()
}

/// Counts the bytes already written and those reserved for cells without a result.
fn written(
    cells: &[CellRecord],
    writes: &WriteEstimates,
    prepared: u64,
    most: Bytes,
    named: bool,
) -> WriteBudget {
    let each = cells.iter().filter_map(|c| Some((&c.cell, c.result.as_ref()?)));
    let so_far = each
        .fold(prepared, |sum, (cell, result)| sum.saturating_add(spent(writes, cell, result).0));
    let unfinished = cells.iter().filter(|c| c.result.is_none());
    let reserved = writes.total(unfinished.map(|c| &c.cell));
    WriteBudget::new(Bytes(so_far), reserved, most, named)
}

/// Returns the bytes a cell wrote, including a first run that was replaced.
fn spent(writes: &WriteEstimates, cell: &Cell, result: &CellResult) -> Bytes {
    let first = result.first.as_ref();
    let first = first.map_or(Bytes(0), |first| writes.actual(cell, &first.phases));
    Bytes(writes.actual(cell, &result.phases).0.saturating_add(first.0))
}

/// Whether the write limit allows a cell to run a second time. Its first run is not counted yet.
fn may_rerun(
    written: Option<WriteBudget>,
    writes: &WriteEstimates,
    cell: &Cell,
    first: &CellResult,
) -> bool {
    let both = spent(writes, cell, first).0.saturating_add(writes.expected(cell).0);
    written.is_none_or(|written| written.refusal(Bytes(both), writes.metadata(cell)).is_none())
}

/// A running campaign.
struct CampaignRun<'a, L, B> {
    ledger: &'a mut L,
    backend: &'a mut B,
    observer: &'a dyn Observer,
    stop: &'a StopFlag,
    campaign: Campaign,
    plan: Vec<Cell>,
    finished: BTreeSet<CellId>,
    running: BTreeMap<CellId, RunningCells>,
    /// Whether the harness and the raw device were measured.
    calibrated: bool,
    /// Bytes written to disks that wear out, if cells write to any.
    written: Option<WriteBudget>,
    /// Expected bytes written by each cell.
    writes: WriteEstimates,
    /// Forecast of cell durations.
    forecast: Forecast,
    /// Budget for rerunning disturbed cells.
    again: RerunBudget,
    /// Use cases whose answers the budget is spent on.
    uses: &'a [UseCase],
    /// Whether the campaign ends if other programs keep the machine busy.
    exclusive: bool,
    /// Start of this session, on the clock of [`clock::now`].
    begun: Nanos,
    /// Time taken by the cells of earlier sessions.
    earlier: Nanos,
    /// Suite and name of tests that do not fit into the budget.
    left_out: BTreeSet<(String, String)>,
    /// Whether the note about cells that another host runs was sent.
    is_put_off_told: bool,
    /// The latest estimate of the remaining time, and the time at which it was made.
    estimated: CellOf<Option<(Nanos, (Nanos, Nanos))>>,
}

/// A running cell.
struct RunningCells {
    cell: Cell,
    /// The test, with its repetitions reduced to the remaining write budget.
    test: Test,
    /// Number of starts, including those after the machine was lost.
    attempts: u32,
    /// The first result, if the cell is running again because of a disturbance.
    first: Option<CellResult>,
    /// Start of the cell, on the clock of [`clock::now`].
    since: Nanos,
}

/// Effect of an update on the campaign.
enum NextStep {
    /// Continue.
    GoOn,
    /// The user asked to stop.
    Interrupted,
    /// The campaign must stop for this reason.
    Withdrawn(String),
    /// The cell is running on another host; run others first.
    Later(Cell),
}

type Outcome<T, L, B> =
    Result<T, CampaignError<<L as ResultSink>::Error, <B as CellBackend>::Error>>;

impl<L: ResultSink, B: CellBackend> CampaignRun<'_, L, B> {
    fn rounds(&mut self) -> Outcome<CampaignEnd, L, B> {
        self.calibrate()?;
        self.warn_of_budget();
        loop {
            let ended = self.planned_cells()?;
            if ended == CampaignEnd::Interrupted || !self.further_cells()? {
                return Ok(ended);
            }
        }
    }

    /// Measures the harness overhead and the raw device once, before the first cell, and stores the
    /// result.
    fn calibrate(&mut self) -> Outcome<(), L, B> {
        if self.calibrated || self.is_to_stop() {
            return Ok(());
        }
        self.observer.calibrating();
        let Some(taken) = self.backend.calibrate().map_err(CampaignError::Backend)? else {
            return Ok(());
        };
        let disturbance = taken.disturbance.filter(HostNoise::is_significant);
        if let Some(disturbance) = disturbance.filter(|_| self.exclusive) {
            return Err(CampaignError::EnvironmentFault(reruns::exclusive_violation(&disturbance)));
        }
        self.ledger.calibrate(&taken).map_err(CampaignError::Ledger)?;
        self.calibrated = true;
        if let Some(disturbance) = disturbance {
            self.observer.note(&reruns::noisy_host_hint(&disturbance));
        }
        self.observer.calibrated(&taken);
        Ok(())
    }

    /// Runs the planned cells that have no result.
    fn planned_cells(&mut self) -> Outcome<CampaignEnd, L, B> {
        let remaining = crate::plan::remaining(&self.plan, &self.finished);
        let (taken, left) =
            remaining.into_iter().partition::<Vec<_>, _>(|cell| self.backend.can_run(cell));
        let mut waiting = VecDeque::from(taken);
        let mut over = NextStep::GoOn;
        loop {
            while matches!(over, NextStep::GoOn) && self.has_room() {
                self.leave_out_what_does_not_fit(&mut waiting);
                let Some(cell) = waiting.pop_front() else {
                    break;
                };
                over = self.begin(cell);
            }
            if self.running.is_empty() {
                break;
            }
            let news = self.backend.next_update();
            match self.hear(news)? {
                NextStep::GoOn => {}
                // The other cells end as if the user had interrupted them.
                NextStep::Withdrawn(reason) => {
                    self.stop.store(true, Ordering::Relaxed);
                    over = NextStep::Withdrawn(reason);
                }
                NextStep::Interrupted if matches!(over, NextStep::GoOn) => {
                    over = NextStep::Interrupted;
                }
                NextStep::Interrupted => {}
                NextStep::Later(cell) => waiting.push_back(cell),
            }
        }
        match over {
            NextStep::Withdrawn(reason) => Err(CampaignError::EnvironmentFault(reason)),
            NextStep::GoOn if waiting.is_empty() && left.is_empty() => Ok(CampaignEnd::Complete),
            NextStep::GoOn | NextStep::Interrupted | NextStep::Later(_) => {
                Ok(CampaignEnd::Interrupted)
            }
        }
    }

    fn has_room(&self) -> bool {
        self.running.len() < self.backend.queue_depth().max(1) && !self.is_to_stop()
    }

    fn is_to_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn begin(&mut self, cell: Cell) -> NextStep {
        let test = match self.test_of(&cell) {
            Ok(test) => test,
            Err(reason) => return NextStep::Withdrawn(reason),
        };
        self.backend.start(&cell, &test);
        let running = RunningCells {
            test,
            attempts: 1,
            first: None,
            since: clock::now(),
            cell: cell.clone(),
        };
        self.running.insert(cell.id, running);
        self.observer.begin(&cell, self.position());
        NextStep::GoOn
    }

    /// Returns the test of a cell, with its repetitions reduced to the remaining write budget.
    /// Returns the reason if even one repetition would exceed the limit.
    fn test_of(&self, cell: &Cell) -> Result<Test, String> {
        let mut tests = self.campaign.suites.iter().flat_map(|s| &s.tests);
        let test = tests.find(|t| t.suite == cell.suite && t.name == cell.test);
        let test = test.ok_or_else(|| format!("the campaign has no test `{}`", cell.test))?;
        let Some(written) = self.written else {
            return Ok(test.clone());
        };
        match written.refusal(self.writes.expected(cell), self.writes.metadata(cell)) {
            Some(reason) => Err(reason),
            None => Ok(crate::plan::limit_iterations(test, written.remaining())),
        }
    }

    fn hear(&mut self, news: CellUpdate) -> Outcome<NextStep, L, B> {
        let id = match &news {
            CellUpdate::Note(text) => {
                self.observer.note(text);
                return Ok(NextStep::GoOn);
            }
            CellUpdate::Event(id, _)
            | CellUpdate::Finished(id, _)
            | CellUpdate::Aborted(id, _)
            | CellUpdate::ConnectionLost(id, _) => *id,
        };
        // Ignore late updates of a machine that was given up.
        let Some(running) = self.running.get(&id) else {
            return Ok(NextStep::GoOn);
        };
        match news {
            CellUpdate::Note(_) => Ok(NextStep::GoOn),
            CellUpdate::Event(_, event) => {
                self.observer.event(&running.cell, &event);
                Ok(NextStep::GoOn)
            }
            CellUpdate::Finished(_, result) => self.ended(id, *result),
            CellUpdate::Aborted(_, stopped) => self.stopped(id, stopped),
            CellUpdate::ConnectionLost(_, reason) => self.lost(id, &reason),
        }
    }

    fn ended(&mut self, id: CellId, result: CellResult) -> Outcome<NextStep, L, B> {
        let to_stop = self.is_to_stop();
        let Some(running) = self.running.get_mut(&id) else {
            return Ok(NextStep::GoOn);
        };
        let result = believed(result, &running.test);
        let is_first = running.first.is_none() && !to_stop;
        if is_first
            && self.again.should_rerun(&result)
            && may_rerun(self.written, &self.writes, &running.cell, &result)
        {
            self.again.record_rerun();
            self.observer.note(&reruns::rerun_message(&running.cell, &result));
            running.first = Some(result);
            running.since = clock::now();
            self.backend.start(&running.cell, &running.test);
            return Ok(NextStep::GoOn);
        }
        let result = match running.first.take() {
            Some(first) => reruns::merge_rerun(first, result),
            None => result,
        };
        self.keep(id, &result)
    }

    /// Handles a cell that stopped without a result; a first result from before a rerun is kept.
    fn stopped(&mut self, id: CellId, stopped: AbortReason) -> Outcome<NextStep, L, B> {
        let first = self.running.get_mut(&id).and_then(|r| r.first.take());
        let dropped = match first {
            Some(first) => {
                self.keep(id, &first)?;
                None
            }
            None => self.drop_cell(id),
        };
        Ok(match (stopped, dropped) {
            (AbortReason::Interrupted, _) => NextStep::Interrupted,
            (AbortReason::EnvironmentFault(reason), _) => NextStep::Withdrawn(reason),
            (AbortReason::OtherHost(_), None) => NextStep::GoOn,
            (AbortReason::OtherHost(host), Some(cell)) => {
                self.say_who_runs(&cell, &host);
                NextStep::Later(cell)
            }
        })
    }

    /// Reports the host that runs a postponed cell, once per session.
    fn say_who_runs(&mut self, cell: &Cell, host: &str) {
        if !std::mem::replace(&mut self.is_put_off_told, true) {
            let name = reruns::cell_label(cell);
            self.observer.note(&format!(
                "{name}: {host} runs the same cell and shares its result: others go before; so for any more of them"
            ));
        }
    }

    /// Handles a cell with unknown outcome: it runs again, unless it already has a first result.
    fn lost(&mut self, id: CellId, reason: &str) -> Outcome<NextStep, L, B> {
        let to_stop = self.is_to_stop();
        let Some(running) = self.running.get_mut(&id) else {
            return Ok(NextStep::GoOn);
        };
        if let Some(first) = running.first.take() {
            return self.keep(id, &first);
        }
        let name = reruns::cell_label(&running.cell);
        if to_stop {
            drop(self.drop_cell(id));
            return Ok(NextStep::Interrupted);
        }
        if running.attempts >= MAX_CELL_STARTS {
            drop(self.drop_cell(id));
            let times = format!("{name}: lost {MAX_CELL_STARTS} times: {reason}");
            return Ok(NextStep::Withdrawn(times));
        }
        running.attempts += 1;
        running.since = clock::now();
        self.observer.note(&format!("{name}: lost: {reason}; it runs once more"));
        self.backend.start(&running.cell, &running.test);
        Ok(NextStep::GoOn)
    }

    fn drop_cell(&mut self, id: CellId) -> Option<Cell> {
        let cell = self.running.remove(&id)?.cell;
        self.observer.cell_aborted(&cell);
        Some(cell)
    }

    /// Stores a result before anything else happens.
    fn keep(&mut self, id: CellId, result: &CellResult) -> Outcome<NextStep, L, B> {
        let Some(RunningCells { cell, .. }) = self.running.remove(&id) else {
            return Ok(NextStep::GoOn);
        };
        self.ledger.record(&cell, result).map_err(CampaignError::Ledger)?;
        let busy = self.again.noise_increased(result);
        if let Some(disturbance) = busy.filter(|_| !self.exclusive) {
            self.observer.note(&reruns::noisy_host_hint(&disturbance));
        }
        self.finished.insert(id);
        self.forecast.record_result(&cell, result);
        if let Some(written) = self.written.as_mut() {
            let (expected, spent) =
                (self.writes.expected(&cell), spent(&self.writes, &cell, result));
            if written.add(spent, expected) {
                self.observer.note(&written.exhausted_message());
            }
        }
        self.observer.end(&cell, result, self.position());
        Ok(match busy.filter(|_| self.exclusive) {
            Some(disturbance) => NextStep::Withdrawn(reruns::exclusive_violation(&disturbance)),
            None => NextStep::GoOn,
        })
    }
}

/// Returns the result if it contains each planned phase exactly once and in order, or else a
/// crashed result.
fn believed(result: CellResult, test: &Test) -> CellResult {
    let planned = test.phases.iter().map(|phase| &phase.name);
    if planned.eq(result.phases.iter().map(|phase| &phase.phase)) {
        return result;
    }
    let failure = Failure {
        step: "result".into(),
        reason: "the agent did not report each planned phase exactly once; all its results are discarded"
            .into(),
        ..Failure::default()
    };
    let crashed = |phase| PhaseResult {
        status: Status::Crashed,
        failure: Some(failure.clone()),
        ..PhaseResult::not_run(phase)
    };
    CellResult {
        status: Status::Crashed,
        phases: test.phases.iter().map(crashed).collect(),
        failure: Some(failure.clone()),
        first: None,
        ..result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_compared_by_its_filesystems() {
        let before = "/srv/a on ext4 on /dev/vda (256.0 GiB, rotating); /srv/b on xfs on /dev/vdb";
        assert_eq!(filesystems(before), ["ext4", "xfs"]);
        assert_eq!(
            filesystems("/srv/a on ext4 on /dev/sda; /srv/b on xfs on /dev/sdb"),
            ["ext4", "xfs"]
        );
        assert_eq!(filesystems("image of 1 GiB: /tmp/image-0 on tmpfs"), ["tmpfs"]);
        assert_eq!(filesystems("/dev/sdb (4 TB)"), [""; 0]);
    }
}
