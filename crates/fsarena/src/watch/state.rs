//! Displayed state of a running campaign. Derived only from stored data, without a clock or a
//! terminal.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::{CampaignResults, Cell, CellResult, Direction, Metric, Nanos, Status};
use report::UnitScale;
use stats::{Analysis, RankingState};

use crate::output::text::line;
use crate::watch::live::{LiveStep, LiveSteps};

/// Maximum number of recent failures on the screen.
const FAILURES: usize = 8;

/// Stage of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignState {
    /// A process runs the campaign.
    Running,
    /// Every cell has its result.
    Complete,
    /// The campaign ended before all cells had a result.
    Stopped,
}

/// A running cell and the estimated time since it started.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningCell {
    /// The cell.
    pub cell: Cell,
    /// Time since the start of the cell.
    pub elapsed: Nanos,
    /// Progress of its current step, if the process that runs it writes it.
    pub live: Option<LiveStep>,
}

/// A contender in a test, over all rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridCell {
    /// Number of planned rounds.
    pub planned: u32,
    /// Planned rounds with a result.
    pub done: u32,
    /// Worst status of a round.
    pub worst: Option<Status>,
    /// Cost of its phases relative to the best.
    pub cost: Option<f64>,
    /// Whether a cell of this contender and test is running.
    pub runs: bool,
}

/// A contender with its squares, one for each test.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRow {
    /// Its name.
    pub contender: String,
    /// Grid cells, in the order of the tests.
    pub squares: Vec<GridCell>,
}

/// Displayed state of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchState {
    /// Name and contents of the campaign, in one line.
    pub title: String,
    /// Stage of the campaign.
    pub stage: CampaignState,
    /// Number of planned cells.
    pub planned: usize,
    /// Planned cells with a result.
    pub done: usize,
    /// Number of cells per status other than ok.
    pub unsuccessful: BTreeMap<Status, usize>,
    /// Estimated remaining time.
    pub time_left: Nanos,
    /// Whether the remaining time is that of a budget, which may end with unused time.
    pub within_budget: bool,
    /// Cells that are running.
    pub running: Vec<RunningCell>,
    /// Names of the tests.
    pub tests: Vec<String>,
    /// The contenders.
    pub rows: Vec<GridRow>,
    /// Latest failures, newest first.
    pub failures: Vec<String>,
    /// The newest result as text.
    pub newest: Option<String>,
}

impl WatchState {
    /// Returns the state of a campaign from its results and their analysis.
    pub fn from_results(results: &CampaignResults, analysis: &Analysis) -> Self {
        let campaign = &results.campaign;
        let tests: Vec<String> = campaign
            .suites
            .iter()
            .flat_map(|suite| &suite.tests)
            .map(|test| test.name.clone())
            .collect();
        let ended = newest_first(results);
        let failures = ended
            .iter()
            .filter(|(_, result)| is_failure(result.status))
            .take(FAILURES)
            .map(|(cell, result)| failure(cell, result));
        Self {
            title: title(results),
            stage: CampaignState::Running,
            planned: results.cells.len(),
            done: ended.len(),
            unsuccessful: not_ok(results),
            time_left: Nanos(0),
            within_budget: results.campaign.budget.is_some(),
            running: Vec::new(),
            rows: rows(results, analysis, &tests),
            tests,
            failures: failures.collect(),
            newest: ended.first().map(|(cell, result)| newest(cell, result)),
        }
    }

    /// Adds the progress within the running cells.
    pub fn with_live(mut self, mut live: LiveSteps) -> Self {
        for now in &mut self.running {
            now.live = live.remove(&now.cell.id);
        }
        self
    }

    /// Adds the running cells and the remaining time.
    pub fn with_progress(mut self, running: Vec<RunningCell>, left: Nanos) -> Self {
        for now in &running {
            let test = self.tests.iter().position(|test| *test == now.cell.test);
            let mut rows = self.rows.iter_mut();
            let row = rows.find(|row| row.contender == now.cell.contender);
            if let Some((row, test)) = row.zip(test) {
                row.squares[test].runs = true;
            }
        }
        (self.running, self.time_left) = (running, left);
        self
    }
}

/// Returns true for a failure. An unsupported feature is not a failure.
pub fn is_failure(status: Status) -> bool {
    !matches!(status, Status::Ok | Status::Unsupported)
}

/// Returns a short name of a cell.
pub fn name(cell: &Cell) -> String {
    format!("{} · {} · round {}", line(&cell.contender), cell.test, cell.round)
}

fn title(results: &CampaignResults) -> String {
    let campaign = &results.campaign;
    let rounds = match campaign.rounds {
        1 => "1 round".to_owned(),
        rounds => format!("{rounds} rounds"),
    };
    let host =
        campaign.host.as_deref().map_or_else(String::new, |host| format!(", on {}", line(host)));
    format!(
        "campaign {} “{}”: {}, {}, {rounds}{host}",
        results.id,
        line(&campaign.name),
        campaign.profile,
        campaign.backend
    )
}

/// Returns the cells with a result, the last one to end first.
fn newest_first(results: &CampaignResults) -> Vec<(&Cell, &CellResult)> {
    let cells = results.cells.iter();
    let cells = cells.filter_map(|stored| Some((&stored.cell, stored.result.as_ref()?)));
    let mut cells: Vec<_> = cells.collect();
    // Cells from the cache have times of an earlier day.
    cells.sort_by_key(|(cell, result)| {
        let end = result.started.0.saturating_add(result.elapsed.0);
        Reverse((if result.from_cache { 0 } else { end }, cell.id))
    });
    cells
}

fn not_ok(results: &CampaignResults) -> BTreeMap<Status, usize> {
    let statuses = results.cells.iter().filter_map(|stored| Some(stored.result.as_ref()?.status));
    let mut counts = BTreeMap::new();
    for status in statuses.filter(|status| *status != Status::Ok) {
        *counts.entry(status).or_insert(0) += 1;
    }
    counts
}

fn failure(cell: &Cell, result: &CellResult) -> String {
    let reason = result.failure.as_ref().map_or("", |failure| &failure.reason);
    format!("{}: {}: {}", name(cell), result.status, line(reason))
}

/// Returns the results of a cell's phases, each by its primary metric, with bars over time if the
/// phase is long.
fn newest(cell: &Cell, result: &CellResult) -> String {
    let phases = result.phases.iter().filter_map(|phase| {
        if phase.status != Status::Ok {
            return Some(format!("{} {}", phase.phase, phase.status));
        }
        let metric = phase.primary_metric;
        let numbers = phase.measurements();
        let number = numbers.iter().find(|number| number.metric == metric)?;
        let value = UnitScale::for_metric(metric, [number.value]).with_unit(number.value);
        let over_time = report::speed_bars(phase).map(|bars| format!(" {bars}"));
        Some(format!("{} {value}{}", phase.phase, over_time.unwrap_or_default()))
    });
    let phases: Vec<String> = phases.collect();
    match phases.is_empty() {
        true => format!("{}: {}", name(cell), result.status),
        false => format!("{}: {}", name(cell), phases.join(", ")),
    }
}

fn rows(results: &CampaignResults, analysis: &Analysis, tests: &[String]) -> Vec<GridRow> {
    let costs = costs(analysis);
    let row = |contender: &str| {
        let square = |test: &String| GridCell {
            cost: costs.get(&(contender, test.as_str())).copied(),
            ..GridCell::default()
        };
        GridRow { contender: contender.to_owned(), squares: tests.iter().map(square).collect() }
    };
    let contenders = results.campaign.contenders.iter();
    let mut rows: Vec<GridRow> = contenders.map(|contender| row(&contender.name)).collect();
    for stored in &results.cells {
        let cell = &stored.cell;
        let row = rows.iter_mut().find(|row| row.contender == cell.contender);
        let test = tests.iter().position(|test| *test == cell.test);
        let Some((row, test)) = row.zip(test) else {
            continue;
        };
        let square = &mut row.squares[test];
        square.planned += 1;
        if let Some(result) = &stored.result {
            square.done += 1;
            square.worst = square.worst.max(Some(worst(result)));
        }
    }
    rows
}

/// Returns the displayed status of a cell. A cell counts as ok if only some of its phases are
/// unsupported.
fn worst(result: &CellResult) -> Status {
    let has_results = result.phases.iter().any(|phase| phase.status == Status::Ok);
    match result.status {
        Status::Unsupported if has_results => Status::Ok,
        status => status,
    }
}

/// Returns the cost of each contender's phases of a test relative to the best: the geometric mean
/// over comparable phases, from the medians so far.
fn costs(analysis: &Analysis) -> BTreeMap<(&str, &str), f64> {
    let mut logs: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    // Support of a feature has no cost.
    let ranked = |row: &&stats::ResultRow| {
        row.primary && row.ranking == RankingState::Ranked && row.metric != Metric::Supported
    };
    for row in analysis.rows.iter().filter(ranked) {
        let comparable = row.results.iter().filter(|result| result.is_comparable());
        let costs = comparable.filter_map(|result| {
            let cost = log_cost(row.direction, result.estimate?.median)?;
            Some((result.contender.as_str(), cost))
        });
        let costs: Vec<_> = costs.collect();
        let best = costs.iter().map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
        for (contender, cost) in costs.iter().filter(|_| costs.len() > 1) {
            let place = logs.entry((contender, &row.test)).or_default();
            place.push(cost - best);
        }
    }
    let mean = |logs: Vec<f64>| (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    logs.into_iter().map(|(key, logs)| (key, mean(logs))).collect()
}

fn log_cost(direction: Direction, median: f64) -> Option<f64> {
    let log = median.ln();
    match direction {
        _ if !log.is_finite() => None,
        Direction::Lower => Some(log),
        Direction::Higher => Some(-log),
        Direction::Neutral => None,
    }
}

#[cfg(test)]
mod tests {
    use model::{CellId, Failure, Timeline, TimelineInterval};

    use super::*;

    #[test]
    fn squares_show_rounds_failures_and_relative_cost() {
        let mut results = stats::fixture::plain();
        let analysis = stats::analyse(&results);
        let state = WatchState::from_results(&results, &analysis);
        assert_eq!((state.done, state.planned), (results.cells.len(), state.planned));
        let best = |place: usize| {
            let costs = state.rows.iter().filter_map(|row| row.squares[place].cost);
            costs.fold(f64::INFINITY, f64::min)
        };
        let with_costs = (0..state.tests.len()).filter(|place| best(*place).is_finite());
        let with_costs: Vec<usize> = with_costs.collect();
        assert!(!with_costs.is_empty());
        for place in with_costs {
            assert!((1.0..1.5).contains(&best(place)), "{}", state.tests[place]);
        }
        let newest = state.newest.expect("a cell has ended");
        assert!(newest.contains(" · round "), "{newest}");
        assert!(!newest.contains('█'), "the phases are short: {newest}");
        let (_, last) = newest_first(&results)[0];
        let mut last = last.clone();
        let intervals = (0..10).map(|index| TimelineInterval {
            index,
            operations: 1,
            ..TimelineInterval::default()
        });
        for phase in &mut last.phases {
            phase.elapsed = Nanos::from_secs(10);
            phase.timeline = Some(Timeline {
                interval: Nanos::from_secs(1),
                intervals: intervals.clone().collect(),
                ..Timeline::default()
            });
        }
        let long = super::newest(&results.cells[0].cell, &last);
        assert!(long.contains("██████████"), "{long}");

        let cell = results.cells[0].cell.clone();
        let mut failed = CellResult::with_status(Status::Failed);
        failed.started = Nanos(u64::MAX / 2);
        failed.failure = Some(Failure { reason: "no\nspace".into(), ..Failure::default() });
        results.cells[0].result = Some(failed);
        results.cells[1].result = None;
        let state = WatchState::from_results(&results, &analysis);
        assert_eq!(state.unsuccessful.get(&Status::Failed), Some(&1));
        assert_eq!(state.failures[0], format!("{}: failed: no space", name(&cell)));
        let row = state.rows.iter().find(|row| row.contender == cell.contender);
        let test = state.tests.iter().position(|test| *test == cell.test);
        let square = &row.unwrap().squares[test.unwrap()];
        assert_eq!(square.worst, Some(Status::Failed));

        let next = results.cells[1].cell.clone();
        let now = RunningCell { cell: next.clone(), elapsed: Nanos(1), live: None };
        let state = state.with_progress(vec![now], Nanos(5));
        let runs = state.rows.iter().flat_map(|row| &row.squares).filter(|square| square.runs);
        assert_eq!((runs.count(), state.time_left), (1, Nanos(5)));
        assert_ne!(next.id, CellId(0));
    }
}
