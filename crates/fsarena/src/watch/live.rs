//! Progress within the running cells: the process that runs a campaign writes it into a file next to
//! the database, and `watch` reads it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use campaign::run::{CampaignProgress, Observer};
use campaign::store::CampaignId;
use model::wire::CellEvent;
use model::{Bytes, Calibration, Cell, CellId, CellResult};
use serde::{Deserialize, Serialize};
use sys::fs::safe_path::SafeDir;

use crate::args::cli::GlobalArgs;
use crate::output::text::step_name;
use crate::paths;

/// Length of an interval whose rate is kept, and minimum time between two writes to the file.
const INTERVAL: Duration = Duration::from_secs(1);
/// Number of intervals that are kept.
const KEPT: usize = 60;
/// Maximum size of the file. Each cell needs less than 2 kB.
const MAX_SIZE: Bytes = Bytes::mib(1);

/// Progress of the current step of a running cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveStep {
    /// Name of the step or phase.
    pub step: String,
    /// Operations done.
    pub done: u64,
    /// Number of planned operations, if known.
    pub total: Option<u64>,
    /// Operations per second in each of the last intervals, the newest last.
    pub rates: VecDeque<f64>,
}

impl LiveStep {
    /// Returns the done share in percent, if the number of operations is known.
    pub fn percent(&self) -> Option<u64> {
        let total = self.total.filter(|total| *total > 0)?;
        Some((u128::from(self.done.min(total)) * 100 / u128::from(total)) as u64)
    }
}

/// Progress of each running cell.
pub type LiveSteps = BTreeMap<CellId, LiveStep>;

/// Returns the progress of the running cells of a campaign; empty if its process does not write any.
pub fn read(globals: &GlobalArgs, id: CampaignId) -> LiveSteps {
    let read = || {
        let (directory, name) = paths::live_file(globals, id).ok()?;
        let text = SafeDir::open(&directory).ok()?.read_own(name, MAX_SIZE.0).ok()??;
        // A file that is just being written is read again half a second later.
        serde_json::from_slice(&text).ok()
    };
    read().unwrap_or_default()
}

/// An observer that also writes the progress within cells.
pub struct LiveObserver<'a> {
    other: &'a dyn Observer,
    directory: Option<SafeDir>,
    name: String,
    state: RefCell<LiveState>,
}

/// State of the file.
#[derive(Default)]
struct LiveState {
    file: Option<File>,
    cells: BTreeMap<CellId, MeasuredStep>,
    written: Option<Instant>,
}

/// A step with the start of its current interval.
struct MeasuredStep {
    live: LiveStep,
    since: Instant,
    done: u64,
}

impl MeasuredStep {
    fn new(step: &str) -> Self {
        let live = LiveStep { step: step.to_owned(), ..LiveStep::default() };
        Self { live, since: Instant::now(), done: 0 }
    }

    /// Takes the number of finished operations, and ends the interval if it is long enough.
    fn advance(&mut self, done: u64, total: Option<u64>, now: Instant) {
        (self.live.done, self.live.total) = (done, total);
        let passed = now.duration_since(self.since);
        if passed < INTERVAL {
            return;
        }
        let rate = done.saturating_sub(self.done) as f64 / passed.as_secs_f64();
        self.live.rates.push_back(rate);
        if self.live.rates.len() > KEPT {
            self.live.rates.pop_front();
        }
        (self.since, self.done) = (now, done);
    }
}

impl<'a> LiveObserver<'a> {
    /// Creates an observer that passes everything on. If the file cannot be written, the campaign runs
    /// without it.
    pub fn new(other: &'a dyn Observer, globals: &GlobalArgs, id: CampaignId) -> Self {
        let place = paths::live_file(globals, id).ok();
        let (directory, name) = place.unzip();
        let directory = directory.and_then(|directory| SafeDir::open(&directory).ok());
        Self { other, directory, name: name.unwrap_or_default(), state: RefCell::default() }
    }

    fn write(&self, now: Instant) {
        let mut state = self.state.borrow_mut();
        let is_due = state.written.is_none_or(|last| now.duration_since(last) >= INTERVAL);
        let Some(directory) = self.directory.as_ref().filter(|_| is_due) else { return };
        state.written = Some(now);
        let live: BTreeMap<CellId, &LiveStep> =
            state.cells.iter().map(|(id, step)| (*id, &step.live)).collect();
        let Ok(text) = serde_json::to_vec(&live) else { return };
        if state.file.is_none() {
            state.file = directory.file_or_new(&self.name).ok();
        }
        let Some(file) = &state.file else { return };
        // The file is not synced, so a phase seldom waits for it.
        let _ = file.write_all_at(&text, 0).and_then(|()| file.set_len(text.len() as u64));
    }

    fn remove(&self, cell: &Cell) {
        self.state.borrow_mut().cells.remove(&cell.id);
    }
}

impl Drop for LiveObserver<'_> {
    fn drop(&mut self) {
        if let (Some(directory), true) = (&self.directory, self.state.borrow().file.is_some()) {
            // A file that stays is overwritten by the next run of the campaign.
            let _ = directory.remove(&self.name);
        }
    }
}

impl Observer for LiveObserver<'_> {
    fn note(&self, text: &str) {
        self.other.note(text);
    }

    fn calibrating(&self) {
        self.other.calibrating();
    }

    fn calibrated(&self, calibration: &Calibration) {
        self.other.calibrated(calibration);
    }

    fn begin(&self, cell: &Cell, position: CampaignProgress) {
        self.other.begin(cell, position);
    }

    fn event(&self, cell: &Cell, event: &CellEvent) {
        self.other.event(cell, event);
        let now = Instant::now();
        match event {
            CellEvent::Begin { step } => {
                self.state.borrow_mut().cells.insert(cell.id, MeasuredStep::new(&step_name(step)));
            }
            CellEvent::Progress { done, total, .. } => {
                if let Some(step) = self.state.borrow_mut().cells.get_mut(&cell.id) {
                    step.advance(*done, *total, now);
                }
            }
            _ => return,
        }
        self.write(now);
    }

    fn end(&self, cell: &Cell, result: &CellResult, position: CampaignProgress) {
        self.remove(cell);
        self.other.end(cell, result, position);
    }

    fn cell_aborted(&self, cell: &Cell) {
        self.remove(cell);
        self.other.cell_aborted(cell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_the_rate_of_its_operations() {
        let mut step = MeasuredStep::new("write");
        let begun = step.since;
        step.advance(300, Some(1000), begun + Duration::from_millis(400));
        assert!(step.live.rates.is_empty());
        step.advance(500, Some(1000), begun + Duration::from_secs(2));
        step.advance(600, Some(1000), begun + Duration::from_secs(3));
        assert_eq!(step.live.rates, [250.0, 100.0]);
        assert_eq!(step.live.percent(), Some(60));
        for second in 4..200 {
            step.advance(600, None, begun + Duration::from_secs(second));
        }
        assert_eq!((step.live.rates.len(), step.live.percent()), (KEPT, None));
    }

    #[test]
    fn watch_reads_the_progress_until_the_campaign_ends() {
        let place = tempfile::tempdir().unwrap();
        let db = Some(place.path().join("fsarena.db"));
        let globals = GlobalArgs { db, catalog: None, json: false, quiet: true, of_host: None };
        let cell = Cell {
            id: CellId(3),
            contender: "ext4".into(),
            suite: "bonnie".into(),
            test: "bonnie-block".into(),
            round: 1,
            seed: 1,
        };
        let id = CampaignId(7);
        let observer = LiveObserver::new(&(), &globals, id);
        assert!(read(&globals, id).is_empty());
        observer.event(&cell, &CellEvent::Begin { step: "write".into() });
        assert_eq!(read(&globals, id)[&cell.id].step, "write");
        assert!(read(&globals, CampaignId(8)).is_empty());
        drop(observer);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
