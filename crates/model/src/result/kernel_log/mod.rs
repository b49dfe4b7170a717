//! Kernel messages, grouped into events: a warning with its stack trace is a single event.

mod grouping;
mod patterns;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Deserializer, Serialize};

use crate::Nanos;

pub use grouping::events;
pub use patterns::strip_level;

/// Maximum level of a complaint (`KERN_WARNING`); lower levels are more severe.
const COMPLAINT_LEVEL: u8 = 4;

/// A line of a kernel log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Time since the start of the kernel; `None` if unknown.
    pub at: Option<Nanos>,
    /// The line as `<level> text`; levels range from 0, the most severe, to 7 (syslog(2)).
    pub text: String,
}

/// A kernel event with all its lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelEvent {
    /// The most informative line, as `<level> text`.
    pub title: String,
    /// All lines of the event, as `<level> text`.
    pub lines: Vec<String>,
    /// Whether the event concerns the cell during which it was logged.
    #[serde(default)]
    pub concern: Attribution,
}

/// Whether a kernel event concerns the cell during which it was logged. Events that certainly
/// concern another cell are not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Attribution {
    /// The event contains the cell's device, one of its programs or its control group, or was
    /// logged in the cell's guest.
    Cell,
    /// It names no object of this cell or of another one.
    #[default]
    Unknown,
}

impl KernelEvent {
    /// Creates the event of these lines, each as `<level> text`.
    fn of_lines(lines: Vec<String>) -> Self {
        Self { title: patterns::title(&lines).to_owned(), lines, concern: Attribution::Unknown }
    }

    /// Creates an event of one line, `<level> text`, that concerns the cell.
    pub fn from_line(line: impl Into<String>) -> Self {
        Self { concern: Attribution::Cell, ..Self::of_lines(vec![line.into()]) }
    }

    /// Returns the block devices that its lines contain.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        let words = self.lines.iter().flat_map(|line| patterns::split_words(line));
        words.filter(|word| patterns::is_block_device(word))
    }

    /// Returns true if one of its lines has level 4 (warning) or a more severe one.
    pub fn is_complaint(&self) -> bool {
        let levels = self.lines.iter().filter_map(|line| patterns::level(line));
        levels.min().is_some_and(|level| level <= COMPLAINT_LEVEL)
    }

    /// Returns the common part of events of its kind: its title without words that contain a digit.
    pub fn kind(&self) -> String {
        patterns::kind(&self.title)
    }
}

/// Reads events. Converts the lines in older databases to events.
pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<KernelEvent>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Logged {
        Line(String),
        Event(KernelEvent),
    }
    let logged = Vec::<Logged>::deserialize(from)?;
    let (mut lines, mut read) = (Vec::new(), Vec::new());
    for one in logged {
        match one {
            Logged::Line(text) => lines.push(LogLine { at: None, text }),
            Logged::Event(event) => read.push(event),
        }
    }
    let older = events(lines).into_iter().map(|mut event| {
        // Older versions did not store lines about other devices.
        if event.devices().next().is_some() {
            event.concern = Attribution::Cell;
        }
        event
    });
    Ok(older.chain(read).collect())
}
