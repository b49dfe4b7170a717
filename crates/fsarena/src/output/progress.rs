//! What a person, or a program, sees while a campaign runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use model::{Calibration, Cell, CellId, CellResult, Status};
use orchestrate::{Observer, Position};
use serde_json::json;
use wire::Event;

use crate::output::text as output;

/// How often a bar is drawn while nothing happens.
const TICK: Duration = Duration::from_millis(200);

/// How progress is shown.
pub enum Progress {
    /// A bar on the terminal, with the time left.
    Bar(ProgressBar, Running),
    /// Nothing but notes and cells that are not ok, where standard error is no terminal.
    Notes,
    /// An event for each cell and step on standard output, as JSON lines.
    Json,
    /// Nothing.
    Quiet,
}

/// What is said of each cell that runs now.
pub type Running = RefCell<BTreeMap<CellId, String>>;

impl Progress {
    /// The way that suits the options and the terminal.
    pub fn choose(json: bool, quiet: bool) -> Self {
        if json {
            Self::Json
        } else if quiet {
            Self::Quiet
        } else if io::stderr().is_terminal() {
            Self::Bar(bar(), Running::default())
        } else {
            Self::Notes
        }
    }

    /// Says something that is no cell: how an image gets on, why something was left out.
    pub fn note(&self, text: &str) {
        match self {
            Self::Bar(bar, _) => bar.suspend(|| output::remark(text)),
            Self::Notes => output::remark(text),
            Self::Json => emit(&json!({ "event": "note", "text": text })),
            Self::Quiet => {}
        }
    }

    /// Does something that writes to the terminal itself, while no bar is drawn there.
    pub fn stand_aside<T>(&self, work: impl FnOnce() -> T) -> T {
        match self {
            Self::Bar(bar, _) => bar.suspend(work),
            Self::Notes | Self::Json | Self::Quiet => work(),
        }
    }

    /// The image is being written.
    pub fn preparing(&self, done: u64, total: u64) {
        if let Self::Bar(bar, _) = self {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message("writing the image once, so that no result holds its allocation");
        }
    }

    /// The campaign is over, or is left for later.
    pub fn finish(&self) {
        if let Self::Bar(bar, _) = self {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn note(&self, text: &str) {
        Self::note(self, text);
    }

    fn calibrating(&self) {
        if let Self::Bar(bar, _) = self {
            bar.set_message("measuring fsarena itself, and the device without a filesystem");
        }
    }

    fn calibrated(&self, calibration: &Calibration) {
        if let Self::Json = self {
            emit(&json!({ "event": "calibration", "calibration": calibration }));
        }
    }

    fn begin(&self, cell: &Cell, position: Position) {
        match self {
            Self::Bar(bar, running) => {
                place(bar, position);
                running.borrow_mut().insert(cell.id, name(cell));
                bar.set_message(all(running));
            }
            Self::Json => emit(&json!({
                "event": "cell-begin", "cell": cell, "done": position.done,
                "total": position.total, "left_ns": position.left,
            })),
            Self::Notes | Self::Quiet => {}
        }
    }

    fn event(&self, cell: &Cell, event: &Event) {
        match (self, event) {
            (Self::Bar(bar, running), Event::Begin { step }) => {
                let doing = format!("{} · {step}", name(cell));
                running.borrow_mut().insert(cell.id, doing);
                bar.set_message(all(running));
            }
            (Self::Json, Event::Begin { .. } | Event::Progress { .. }) => {
                emit(&json!({ "event": "cell-step", "cell": cell.id, "agent": event }));
            }
            _ => {}
        }
    }

    fn end(&self, cell: &Cell, result: &CellResult, position: Position) {
        let failure = result.failure.as_ref().map(|f| f.reason.as_str());
        if let Self::Bar(bar, running) = self {
            running.borrow_mut().remove(&cell.id);
            place(bar, position);
        }
        if !matches!(self, Self::Json) {
            for remark in result.remarks.iter().filter(|_| !result.from_cache) {
                self.note(&format!("{}: {}", name(cell), output::line(remark)));
            }
        }
        match self {
            Self::Bar(..) | Self::Notes if result.status != Status::Ok => {
                let reason = output::line(failure.unwrap_or_default());
                self.note(&format!("{}: {}: {reason}", name(cell), result.status));
            }
            Self::Json => emit(&json!({
                "event": "cell-end", "cell": cell, "status": result.status,
                "reason": failure, "elapsed_ns": result.elapsed,
                "done": position.done, "total": position.total,
            })),
            Self::Bar(..) | Self::Notes | Self::Quiet => {}
        }
    }

    fn dropped(&self, cell: &Cell) {
        if let Self::Bar(bar, running) = self {
            running.borrow_mut().remove(&cell.id);
            bar.set_message(all(running));
        }
    }
}

/// Moves the bar to where the campaign is.
fn place(bar: &ProgressBar, position: Position) {
    bar.set_length(position.total);
    bar.set_position(position.done);
    let written = position
        .written
        .map(|bytes| format!(", {bytes} written"))
        .unwrap_or_default();
    bar.set_prefix(format!(
        "{}/{}, {} left{written}",
        position.done, position.total, position.left
    ));
}

/// All cells that run, side by side.
fn all(running: &Running) -> String {
    let running = running.borrow();
    let cells: Vec<&str> = running.values().map(String::as_str).collect();
    cells.join(" │ ")
}

fn name(cell: &Cell) -> String {
    format!(
        "{} · {} · round {}",
        output::line(&cell.contender),
        cell.test,
        cell.round
    )
}

/// Writes an event; a reader that went away is no reason to lose the campaign.
fn emit(event: &serde_json::Value) {
    let _ = writeln!(io::stdout(), "{event}");
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style =
        ProgressStyle::with_template("{spinner} [{elapsed_precise}] {bar:30} {prefix} {wide_msg}")
            .expect("the template is valid");
    bar.set_style(style.progress_chars("━╸ "));
    let watched = bar.downgrade();
    let tick = move || {
        while let Some(bar) = watched.upgrade().filter(|bar| !bar.is_finished()) {
            bar.tick();
            thread::sleep(TICK);
        }
    };
    // Where no thread can be started it moves with the cells alone. The bar's own thread would panic.
    let _ = thread::Builder::new().spawn(tick);
    bar
}

#[cfg(test)]
mod tests {
    use model::Nanos;

    use super::*;

    #[test]
    fn cells_that_run_side_by_side_are_all_named_and_those_that_have_ended_are_not() {
        let progress = Progress::Bar(ProgressBar::hidden(), Running::default());
        let cell = |id, contender: &str| Cell {
            id: CellId(id),
            contender: contender.into(),
            suite: "tree".into(),
            test: "tree".into(),
            round: 1,
            seed: 7,
        };
        let position = Position {
            done: 0,
            total: 2,
            left: Nanos(0),
            written: None,
        };
        let (hpfs, jfs) = (cell(0, "hpfs"), cell(1, "jfs"));
        progress.begin(&hpfs, position);
        progress.begin(&jfs, position);
        let step = "mkfs".to_owned();
        progress.event(&jfs, &Event::Begin { step });
        let Progress::Bar(bar, _) = &progress else {
            panic!("it is a bar");
        };
        assert_eq!(
            bar.message(),
            "hpfs · tree · round 1 │ jfs · tree · round 1 · mkfs"
        );
        let result = crate::fixture::failed_cell().result.unwrap();
        progress.end(
            &hpfs,
            &result,
            Position {
                done: 1,
                ..position
            },
        );
        progress.begin(&jfs, position);
        assert_eq!(bar.message(), "jfs · tree · round 1");
    }
}
