//! Selects the cells that run a second time because the machine was disturbed. The selection never
//! depends on measured values.

use model::{Cell, CellRecord, CellResult, HostNoise, Status};

/// One cell out of this number may run again, so that a busy machine does not double the duration.
const CELLS_PER_RERUN: usize = 10;
/// Number of cells that are examined together to decide whether the machine is quiet.
const NOISE_WINDOW: usize = 10;

/// The number of cells that ran again, and its limit.
pub struct RerunBudget {
    done: usize,
    most: usize,
    /// Significant disturbance of each of the latest cells, at most [`NOISE_WINDOW`] of them.
    latest: Vec<Option<HostNoise>>,
    /// Whether the warning about a busy machine was sent.
    said: bool,
}

impl RerunBudget {
    /// Creates the counters of a campaign with these stored cells.
    pub fn from_cells(cells: &[CellRecord]) -> Self {
        let results = cells.iter().filter_map(|cell| cell.result.as_ref());
        Self {
            done: results.filter(|result| result.first.is_some()).count(),
            most: cells.len() / CELLS_PER_RERUN,
            latest: Vec::new(),
            said: false,
        }
    }

    /// Returns true if a cell with this result must run again. Failed cells never do, even on a
    /// busy machine.
    pub fn should_rerun(&self, result: &CellResult) -> bool {
        let is_disturbed = result.disturbance.is_some_and(|d| d.is_significant());
        is_disturbed && result.status == Status::Ok && self.done < self.most
    }

    /// Registers a final result. Returns the latest disturbance, at most once per session, when
    /// half of the latest cells were disturbed.
    pub fn noise_increased(&mut self, result: &CellResult) -> Option<HostNoise> {
        if self.said {
            return None;
        }
        let much = result.disturbance.filter(HostNoise::is_significant);
        self.latest.push(much);
        if self.latest.len() < NOISE_WINDOW {
            return None;
        }
        let disturbed: Vec<HostNoise> = self.latest.drain(..).flatten().collect();
        self.said = 2 * disturbed.len() >= NOISE_WINDOW;
        disturbed.last().copied().filter(|_| self.said)
    }

    /// Counts a cell that runs again.
    pub const fn record_rerun(&mut self) {
        self.done += 1;
    }
}

/// Combines both results of a cell. The second one counts, even if it is worse, and contains the
/// first.
pub fn merge_rerun(first: CellResult, second: CellResult) -> CellResult {
    CellResult { first: Some(Box::new(first)), ..second }
}

/// Formats the name of a cell for messages.
pub fn cell_label(cell: &Cell) -> String {
    format!("{}, {}, round {}", cell.contender, cell.test, cell.round)
}

/// Formats the warning about a busy machine as one line.
pub fn noisy_host_hint(disturbance: &HostNoise) -> String {
    format!(
        "this machine is busy ({disturbance}): results vary more and need more rounds; stop other programs if you can"
    )
}

/// Formats the reason an exclusive campaign ends on a busy machine as one line.
pub fn exclusive_violation(disturbance: &HostNoise) -> String {
    format!("this machine does something else ({disturbance}): stop that, or leave --exclusive out")
}

/// Formats the reason that a cell runs again, as one line.
pub fn rerun_message(cell: &Cell, result: &CellResult) -> String {
    let what = result.disturbance.map_or_else(String::new, |d| format!(" ({d})"));
    let name = cell_label(cell);
    format!("{name}: other programs disturbed the measurement{what}; it runs once more")
}

#[cfg(test)]
mod tests {
    use model::{Calibration, Environment, HarnessOverhead, Nanos, RepeatedValue, Test};

    use super::*;
    use crate::run::{CampaignEnd, CellBackend, CellUpdate, RunLimits, StopFlag, in_memory};

    fn result(others: u64) -> CellResult {
        CellResult {
            disturbance: Some(HostNoise {
                processors: 1,
                elapsed: Nanos::from_secs(10),
                other_cpu_time: Nanos::from_secs(others),
                ..HostNoise::default()
            }),
            ..in_memory::ok_result(&in_memory::test())
        }
    }

    fn cells(number: u32) -> Vec<CellRecord> {
        let cell = |id| CellRecord { cell: in_memory::cell(id), result: Some(result(0)) };
        (0..number).map(cell).collect()
    }

    #[test]
    fn a_machine_is_busy_once_half_of_its_cells_are_disturbed() {
        let mut again = RerunBudget::from_cells(&[]);
        let mut said = |busy: usize| {
            let each = (0..NOISE_WINDOW).map(|n| result(if n < busy { 5 } else { 0 }));
            each.filter_map(|result| again.noise_increased(&result)).count()
        };
        let half = NOISE_WINDOW / 2;
        assert_eq!([half - 1, half, NOISE_WINDOW].map(&mut said), [0, 1, 0], "once");
    }

    #[test]
    fn a_disturbed_cell_is_run_once_more_and_its_first_result_is_kept() {
        let again = RerunBudget::from_cells(&cells(20));
        assert!(again.should_rerun(&result(5)) && !again.should_rerun(&result(1)));
        let (first, second) = (result(5), result(6));
        let kept = merge_rerun(first.clone(), second.clone());
        assert_eq!(kept.first.as_deref(), Some(&first));
        assert_eq!(kept.disturbance, second.disturbance, "better or not");
    }

    #[test]
    fn reruns_at_most_a_tenth_of_the_cells_over_all_sessions() {
        let mut stored = cells(29);
        let mut again = RerunBudget::from_cells(&stored);
        for cell in &mut stored[..2] {
            assert!(again.should_rerun(&result(5)));
            again.record_rerun();
            cell.result = Some(merge_rerun(result(5), result(5)));
        }
        assert!(!again.should_rerun(&result(5)));
        assert_eq!(RerunBudget::from_cells(&stored).done, 2);
        assert!(!RerunBudget::from_cells(&cells(9)).should_rerun(&result(5)));
    }

    /// A machine with other load during the calibration and during each cell.
    struct Busy<F> {
        measured: u64,
        cells: in_memory::FakeBackend<F>,
    }

    impl<F: FnMut(&Cell, &Test) -> CellResult> CellBackend for Busy<F> {
        type Error = std::convert::Infallible;

        fn environment(&mut self) -> Result<Environment, Self::Error> {
            self.cells.environment()
        }

        fn calibrate(&mut self) -> Result<Option<Calibration>, Self::Error> {
            let value = RepeatedValue::from_values(&[1.0]).unwrap();
            Ok(Some(Calibration {
                overhead: HarnessOverhead {
                    operation: value,
                    clock: value,
                    histogram: value,
                    marking: value,
                    verification: value,
                },
                disturbance: result(self.measured).disturbance,
                device: String::new(),
                raw_device: None,
                taken: Nanos(0),
                elapsed: Nanos(0),
            }))
        }

        fn start(&mut self, cell: &Cell, test: &Test) {
            self.cells.start(cell, test);
        }

        fn next_update(&mut self) -> CellUpdate {
            self.cells.next_update()
        }
    }

    /// Runs a campaign of 24 cells, with or without `exclusive`, and returns its outcome and the
    /// number of results.
    fn ended(
        exclusive: bool,
        measured: u64,
        in_cells: u64,
    ) -> (Result<CampaignEnd, String>, usize) {
        let catalog = config::Catalog::builtin().unwrap();
        let contenders = ["ext4", "xfs"].map(|name| catalog.contender(name).unwrap());
        let mut ledger = in_memory::MemorySink::new(&in_memory::campaign(contenders.into(), 12));
        let cells = in_memory::FakeBackend::new(|_: &Cell, _: &Test| result(in_cells));
        let mut backend = Busy { measured, cells };
        let limits = RunLimits { exclusive, ..RunLimits::default() };
        let ended = crate::run::run(&mut ledger, &mut backend, &limits, &(), &StopFlag::default());
        let stored = ledger.read().cells.iter();
        let done = stored.filter(|cell| cell.result.is_some()).count();
        (ended.map_err(|error| error.to_string()), done)
    }

    #[test]
    fn a_machine_that_does_something_else_is_refused() {
        assert_eq!(ended(false, 5, 0), (Ok(CampaignEnd::Complete), 24));
        assert_eq!(ended(true, 0, 0), (Ok(CampaignEnd::Complete), 24));
        let (refused, done) = ended(true, 5, 0);
        let told = refused.unwrap_err();
        assert!(told.contains("stop that, or leave --exclusive out"), "{told}");
        assert_eq!(done, 0);
    }

    #[test]
    fn a_machine_that_begins_to_do_something_else_ends_the_campaign() {
        assert_eq!(ended(false, 0, 5), (Ok(CampaignEnd::Complete), 24));
        let (refused, done) = ended(true, 0, 5);
        assert!(refused.unwrap_err().contains("does something else"));
        assert_eq!(done, NOISE_WINDOW);
    }

    #[test]
    fn failed_cells_are_not_rerun() {
        let failed = CellResult { status: Status::Failed, ..result(5) };
        assert!(!RerunBudget::from_cells(&cells(20)).should_rerun(&failed));
    }
}
