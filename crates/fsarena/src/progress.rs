//! What a person, or a program, sees while a campaign runs.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use model::{Calibration, Cell, CellResult, Nanos, Status};
use serde_json::json;
use wire::Event;

use crate::output;

/// How progress is shown.
pub enum Progress {
    /// A bar on the terminal, with the time left.
    Bar(ProgressBar),
    /// Nothing but notes and cells that are not ok, where standard error is no terminal.
    Notes,
    /// An event for each cell and step on standard output, as JSON lines.
    Json,
    /// Nothing.
    Quiet,
}

/// How far a campaign has come.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Cells that have a result.
    pub done: u64,
    /// Cells of the campaign.
    pub total: u64,
    /// Time left, where enough cells have run to say.
    pub left: Option<Nanos>,
}

impl Progress {
    /// The way that suits the options and the terminal.
    pub fn choose(json: bool, quiet: bool) -> Self {
        if json {
            Self::Json
        } else if quiet {
            Self::Quiet
        } else if io::stderr().is_terminal() {
            Self::Bar(bar())
        } else {
            Self::Notes
        }
    }

    /// Says something that is no cell: how an image gets on, why something was left out.
    pub fn note(&self, text: &str) {
        match self {
            Self::Bar(bar) => bar.suspend(|| output::remark(text)),
            Self::Notes => output::remark(text),
            Self::Json => emit(&json!({ "event": "note", "text": text })),
            Self::Quiet => {}
        }
    }

    /// The image is being written.
    pub fn preparing(&self, done: u64, total: u64) {
        if let Self::Bar(bar) = self {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message("writing the image once, so that no figure holds its allocation");
        }
    }

    /// The instrument and the device are being measured.
    pub fn calibrating(&self) {
        if let Self::Bar(bar) = self {
            bar.set_message("measuring fsarena itself, and the device without a filesystem");
        }
    }

    /// They have been.
    pub fn calibrated(&self, calibration: &Calibration) {
        if let Self::Json = self {
            emit(&json!({ "event": "calibration", "calibration": calibration }));
        }
    }

    /// A cell begins.
    pub fn begin(&self, cell: &Cell, position: Position) {
        match self {
            Self::Bar(bar) => {
                bar.set_length(position.total);
                bar.set_position(position.done);
                let left = position
                    .left
                    .map(|l| format!(", {l} left"))
                    .unwrap_or_default();
                bar.set_prefix(format!("{}/{}{left}", position.done, position.total));
                bar.set_message(name(cell));
            }
            Self::Json => emit(&json!({
                "event": "cell-begin", "cell": cell, "done": position.done,
                "total": position.total, "left_ns": position.left,
            })),
            Self::Notes | Self::Quiet => {}
        }
    }

    /// Something happens in a cell.
    pub fn event(&self, cell: &Cell, event: &Event) {
        match (self, event) {
            (Self::Bar(bar), Event::Begin { step }) => {
                bar.set_message(format!("{} · {step}", name(cell)));
            }
            (Self::Json, Event::Begin { .. } | Event::Progress { .. }) => {
                emit(&json!({ "event": "cell-step", "cell": cell.id, "agent": event }));
            }
            _ => {}
        }
    }

    /// A cell has its result.
    pub fn end(&self, cell: &Cell, result: &CellResult, position: Position) {
        let failure = result.failure.as_ref().map(|f| f.reason.as_str());
        match self {
            Self::Bar(_) | Self::Notes if result.status != Status::Ok => {
                let reason = output::line(failure.unwrap_or_default());
                self.note(&format!("{}: {}: {reason}", name(cell), result.status));
            }
            Self::Json => emit(&json!({
                "event": "cell-end", "cell": cell, "status": result.status,
                "reason": failure, "elapsed_ns": result.elapsed,
                "done": position.done, "total": position.total,
            })),
            Self::Bar(_) | Self::Notes | Self::Quiet => {}
        }
    }

    /// The campaign is over, or is left for later.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
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
        ProgressStyle::with_template("{spinner} [{elapsed_precise}] {bar:30} {prefix} {msg}")
            .expect("the template is valid");
    bar.set_style(style.progress_chars("━╸ "));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
