//! Progress display of a running campaign, for a terminal or as JSON.

use std::cell::{Cell as CellOf, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use campaign::run::{CampaignProgress, Observer};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use model::wire::CellEvent;
use model::{Calibration, Cell, CellId, CellResult, Nanos, Status};
use serde_json::json;

use crate::args::cli::GlobalArgs;
use crate::output::text as output;

/// Interval between updates of the bar without an event.
const TICK: Duration = Duration::from_millis(200);

/// Interval between lines with the position in a file.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum number of cells shown below the bar.
const LINES: usize = 6;

/// Output of progress.
pub enum ProgressDisplay {
    /// A bar on the terminal, with the time left.
    Bar(ProgressBar, RunningCellLine, Countdown),
    /// Notes, cells that are not ok, and the position once a minute. Used if standard error is not a
    /// terminal, or if several campaigns run.
    Notes(ProgressLog),
    /// One event for each cell and step, as JSON lines on standard output.
    Json,
    /// Nothing.
    Quiet,
}

/// Displayed text of each running cell.
pub type RunningCellLine = RefCell<BTreeMap<CellId, String>>;

/// Position in the campaign, and the time at which it was reported. Between two cells the remaining
/// time counts down.
#[derive(Clone, Default)]
pub struct Countdown(Arc<Mutex<Option<(CampaignProgress, Instant)>>>);

/// Progress as lines, for a file.
pub struct ProgressLog {
    /// Start of each line.
    prefix: String,
    /// Time of the last position.
    last: CellOf<Instant>,
}

impl Default for ProgressLog {
    fn default() -> Self {
        Self { prefix: String::new(), last: CellOf::new(Instant::now()) }
    }
}

impl ProgressLog {
    fn note(&self, text: &str) {
        output::print_note(&format!("{}{text}", self.prefix));
    }

    /// Writes the position if a minute has passed since the last time.
    fn position(&self, position: &CampaignProgress, now: Instant) {
        if now.duration_since(self.last.get()) >= LOG_INTERVAL {
            self.last.set(now);
            self.note(&beside(position, Nanos(0)));
        }
    }
}

impl Countdown {
    fn set(&self, position: CampaignProgress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((position, Instant::now()));
    }

    /// Returns the current text next to the bar.
    fn text(&self) -> String {
        let said = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.map_or_else(String::new, |(position, at)| beside(&position, Nanos::from(at.elapsed())))
    }
}

impl ProgressDisplay {
    /// Returns the output that fits the options and the terminal.
    pub fn choose(json: bool, quiet: bool) -> Self {
        if json {
            Self::Json
        } else if quiet {
            Self::Quiet
        } else if io::stderr().is_terminal() {
            let countdown = Countdown::default();
            Self::Bar(bar(countdown.clone()), RunningCellLine::default(), countdown)
        } else {
            Self::Notes(ProgressLog::default())
        }
    }

    /// Returns the output for one of several hosts that run at the same time. Each line starts with
    /// the name of the host.
    pub fn of_host(globals: &GlobalArgs) -> Self {
        match &globals.of_host {
            Some(host) if !globals.quiet && !globals.json => {
                Self::Notes(ProgressLog { prefix: format!("{host}: "), ..ProgressLog::default() })
            }
            Some(_) => Self::Quiet,
            None => Self::choose(globals.json, globals.quiet),
        }
    }

    /// Shows a message that does not belong to a cell, such as the progress of an image or a reason
    /// for an exclusion.
    pub fn note(&self, text: &str) {
        match self {
            Self::Bar(bar, ..) => bar.suspend(|| output::print_note(text)),
            Self::Notes(log) => log.note(text),
            Self::Json => emit(&json!({ "event": "note", "text": text })),
            Self::Quiet => {}
        }
    }

    /// Hides the bar while `work` writes to the terminal.
    pub fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        match self {
            Self::Bar(bar, ..) => bar.suspend(work),
            Self::Notes(_) | Self::Json | Self::Quiet => work(),
        }
    }

    /// Shows the progress of writing the image.
    pub fn preparing(&self, done: u64, total: u64) {
        if let Self::Bar(bar, ..) = self {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message("writing the image once, so that no result holds its allocation");
        }
    }

    /// Removes the bar when the campaign has finished or was interrupted.
    pub fn finish(&self) {
        if let Self::Bar(bar, ..) = self {
            bar.finish_and_clear();
        }
    }
}

impl Observer for ProgressDisplay {
    fn note(&self, text: &str) {
        Self::note(self, text);
    }

    fn calibrating(&self) {
        if let Self::Bar(bar, ..) = self {
            bar.set_message("measuring fsarena itself, and the device without a filesystem");
        }
    }

    fn calibrated(&self, calibration: &Calibration) {
        if let Self::Json = self {
            emit(&json!({ "event": "calibration", "calibration": calibration }));
        }
    }

    fn begin(&self, cell: &Cell, position: CampaignProgress) {
        match self {
            Self::Bar(bar, running, countdown) => {
                place(bar, countdown, position);
                running.borrow_mut().insert(cell.id, name(cell));
                bar.set_message(all(running));
            }
            Self::Json => emit(&json!({
                "event": "cell-begin", "cell": cell, "done": position.done,
                "total": position.total, "left_ns": position.time_left,
            })),
            Self::Notes(log) => log.position(&position, Instant::now()),
            Self::Quiet => {}
        }
    }

    fn event(&self, cell: &Cell, event: &CellEvent) {
        match (self, event) {
            (Self::Bar(bar, running, _), CellEvent::Begin { step }) => {
                let doing = format!("{} · {}", name(cell), output::step_name(step));
                running.borrow_mut().insert(cell.id, doing);
                bar.set_message(all(running));
            }
            (Self::Json, CellEvent::Begin { .. } | CellEvent::Progress { .. }) => {
                emit(&json!({ "event": "cell-step", "cell": cell.id, "agent": event }));
            }
            _ => {}
        }
    }

    fn end(&self, cell: &Cell, result: &CellResult, position: CampaignProgress) {
        let failure = result.failure.as_ref().map(|f| f.reason.as_str());
        if let Self::Bar(bar, running, countdown) = self {
            running.borrow_mut().remove(&cell.id);
            place(bar, countdown, position);
        }
        if !matches!(self, Self::Json) {
            for remark in result.remarks.iter().filter(|_| !result.from_cache) {
                self.note(&format!("{}: {}", name(cell), output::line(remark)));
            }
        }
        match self {
            Self::Bar(..) | Self::Notes(_) if result.status != Status::Ok => {
                let reason = output::line(failure.unwrap_or_default());
                self.note(&format!("{}: {}: {reason}", name(cell), result.status));
            }
            Self::Json => emit(&json!({
                "event": "cell-end", "cell": cell, "status": result.status,
                "reason": failure, "elapsed_ns": result.elapsed,
                "done": position.done, "total": position.total,
            })),
            Self::Bar(..) | Self::Notes(_) | Self::Quiet => {}
        }
    }

    fn cell_aborted(&self, cell: &Cell) {
        if let Self::Bar(bar, running, _) = self {
            running.borrow_mut().remove(&cell.id);
            bar.set_message(all(running));
        }
    }
}

/// Moves the bar to the position of the campaign.
fn place(bar: &ProgressBar, countdown: &Countdown, position: CampaignProgress) {
    countdown.set(position);
    bar.set_length(position.total);
    bar.set_position(position.done);
}

/// Returns the text next to the bar at a time since the position was reported. A cell that takes
/// longer than expected does not reduce the remaining time of later cells.
fn beside(position: &CampaignProgress, since: Nanos) -> String {
    let passed = since.min(position.next);
    let left = Nanos(position.time_left.0.saturating_sub(passed.0));
    let written = position.written.map(|bytes| format!(", {bytes} written")).unwrap_or_default();
    let most = if position.within_budget { "at most " } else { "" };
    format!("{}/{}, {most}{left} left{written}", position.done, position.total)
}

/// Returns one line for each running cell, as many as fit.
fn all(running: &RunningCellLine) -> String {
    let running = running.borrow();
    let mut lines: Vec<String> = running.values().take(LINES).cloned().collect();
    if running.len() > LINES {
        lines.push(format!("and {} more", running.len() - LINES));
    }
    lines.join("\n  ")
}

fn name(cell: &Cell) -> String {
    format!("{} · {} · round {}", output::line(&cell.contender), cell.test, cell.round)
}

/// Writes an event. A closed pipe is ignored, since it must not end the campaign.
fn emit(event: &serde_json::Value) {
    let _ = writeln!(io::stdout(), "{event}");
}

fn bar(countdown: Countdown) -> ProgressBar {
    let bar = ProgressBar::new(0);
    let beside = move |_: &ProgressState, out: &mut dyn fmt::Write| {
        // If writing to the string fails, the text is not drawn.
        let _ = out.write_str(&countdown.text());
    };
    let style =
        ProgressStyle::with_template("{spinner} [{elapsed_precise}] {bar:20} {beside}\n  {msg}")
            .expect("the template is valid")
            .with_key("beside", beside);
    bar.set_style(style.progress_chars("━╸ "));
    let watched = bar.downgrade();
    let tick = move || {
        while let Some(bar) = watched.upgrade().filter(|bar| !bar.is_finished()) {
            bar.tick();
            thread::sleep(TICK);
        }
    };
    // Without a thread the bar moves only with the cells. The library's thread would panic.
    let _ = thread::Builder::new().spawn(tick);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_counts_down_until_the_expected_end_of_a_cell() {
        let position = CampaignProgress {
            done: 1,
            total: 9,
            time_left: Nanos::from_secs(50),
            within_budget: false,
            next: Nanos::from_secs(5),
            written: None,
        };
        let shown = |seconds| beside(&position, Nanos::from_secs(seconds));
        assert_eq!(shown(0), "1/9, 50.0 s left");
        assert_eq!(shown(3), "1/9, 47.0 s left");
        assert_eq!(shown(30), "1/9, 45.0 s left");
        let position = CampaignProgress { within_budget: true, ..position };
        assert_eq!(beside(&position, Nanos(0)), "1/9, at most 50.0 s left");
    }

    #[test]
    fn a_file_gets_the_position_once_a_minute() {
        let log = ProgressLog::default();
        let begin = log.last.get();
        for (seconds, last) in [(59, 0), (61, 61), (100, 61), (121, 121)] {
            log.position(&CampaignProgress::default(), begin + Duration::from_secs(seconds));
            assert_eq!(log.last.get(), begin + Duration::from_secs(last));
        }
    }

    /// The steps in docs/json.md are those that the agent sends.
    #[test]
    fn steps_are_documented_as_they_are_printed() {
        let document = include_str!("../../../../docs/json.md");
        let row = document.lines().find(|line| line.starts_with("| `cell-step` |")).unwrap();
        let documented: Vec<serde_json::Value> = row
            .split('`')
            .filter(|part| part.starts_with('{'))
            .map(|part| serde_json::from_str(part).unwrap())
            .collect();
        let step = || "mkfs".to_owned();
        let events = [
            CellEvent::Begin { step: step() },
            CellEvent::Progress { step: step(), done: 0, total: None },
        ];
        assert_eq!(documented, events.map(|event| json!(event)));
    }

    #[test]
    fn cells_that_run_side_by_side_are_all_named_and_those_that_have_ended_are_not() {
        let progress = ProgressDisplay::Bar(
            ProgressBar::hidden(),
            RunningCellLine::default(),
            Countdown::default(),
        );
        let cell = |id, contender: &str| Cell {
            id: CellId(id),
            contender: contender.into(),
            suite: "tree".into(),
            test: "tree".into(),
            round: 1,
            seed: 7,
        };
        let position = CampaignProgress {
            done: 0,
            total: 2,
            time_left: Nanos(0),
            within_budget: false,
            next: Nanos(0),
            written: None,
        };
        let (hpfs, jfs) = (cell(0, "hpfs"), cell(1, "jfs"));
        progress.begin(&hpfs, position);
        progress.begin(&jfs, position);
        let step = "mkfs".to_owned();
        progress.event(&jfs, &CellEvent::Begin { step });
        let ProgressDisplay::Bar(bar, ..) = &progress else {
            panic!("it is a bar");
        };
        assert_eq!(bar.message(), "hpfs · tree · round 1\n  jfs · tree · round 1 · mkfs");
        let result = crate::fixture::failed_cell().result.unwrap();
        progress.end(&hpfs, &result, CampaignProgress { done: 1, ..position });
        progress.begin(&jfs, position);
        assert_eq!(bar.message(), "jfs · tree · round 1");
    }
}
