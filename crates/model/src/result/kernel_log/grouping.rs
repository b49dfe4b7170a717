//! Groups the lines of a kernel log into events. Pure.

use super::patterns::{
    continues_oom, ends_oom, ends_warning, is_block_device, is_consequence, is_part, kind,
    split_words, starts_oom, starts_report, starts_warning, strip_level,
};
use super::{KernelEvent, LogLine};
use crate::Nanos;

/// Lines this far apart always belong to different events.
const PAUSE: Nanos = Nanos::from_secs(1);
/// Messages about one device within this time form one event.
const EVENT_GROUPING_WINDOW: Nanos = Nanos(100_000_000);

/// Groups the lines of a log into events, ordered by the first line of each.
///
/// The following lines form one event: the lines between the kernel's marks around a warning or a
/// bug; a report about a memory shortage with the process that was killed; a line with its stack
/// trace, registers or dump; and messages about one block device at the same moment until one
/// repeats. Every other line is a separate event.
pub fn events(lines: impl IntoIterator<Item = LogLine>) -> Vec<KernelEvent> {
    let mut events: Vec<KernelEvent> = Vec::new();
    let mut open: Option<KernelReport> = None;
    for line in lines {
        let text = strip_level(&line.text);
        match open.as_mut().filter(|report| report.has(text, line.at)) {
            Some(report) => report.take(line),
            None => {
                let before = open.replace(KernelReport::begin(line));
                events.extend(before.map(KernelReport::close));
            }
        }
    }
    events.extend(open.map(KernelReport::close));
    events
}

/// Form of an event, derived from its first line.
enum Form {
    /// A warning or a bug between two marks. `ended` is true after the end mark.
    Warning { ended: bool },
    /// Out of memory. `ended` is true after the message about the killed process.
    OutOfMemory { ended: bool },
    /// A multi-line report without marks.
    Trace,
    /// A message about a block device.
    Device(String),
    /// A single line, with lines that may follow any line.
    Line,
}

/// An event that may be continued by further lines.
struct KernelReport {
    form: Form,
    /// The first line with its variable parts removed.
    kind: String,
    lines: Vec<String>,
    last: Option<Nanos>,
}

impl KernelReport {
    fn begin(line: LogLine) -> Self {
        let text = strip_level(&line.text);
        Self { form: Form::of(text), kind: kind(text), last: line.at, lines: vec![line.text] }
    }

    /// Returns true if a line belongs to the event.
    fn has(&self, text: &str, at: Option<Nanos>) -> bool {
        let pause = at.zip(self.last).map(|(at, last)| at.0.abs_diff(last.0));
        if pause.is_some_and(|pause| pause > PAUSE.0) {
            return false;
        }
        let begins = starts_warning(text) || starts_oom(text);
        let follows = is_part(text) || is_consequence(text);
        match &self.form {
            Form::Warning { ended: false } | Form::OutOfMemory { ended: false } => !begins,
            Form::Warning { ended: true } | Form::Trace => follows,
            Form::OutOfMemory { ended: true } => follows || continues_oom(text),
            Form::Device(name) => {
                let moment = pause.is_some_and(|pause| pause <= EVENT_GROUPING_WINDOW.0);
                let goes_on = moment && !begins && !starts_report(text) && kind(text) != self.kind;
                is_part(text) || (goes_on && device(text) == Some(name))
            }
            Form::Line => is_part(text),
        }
    }

    fn take(&mut self, line: LogLine) {
        let text = strip_level(&line.text);
        match &mut self.form {
            Form::Warning { ended } => *ended |= ends_warning(text),
            Form::OutOfMemory { ended } => *ended |= ends_oom(text),
            Form::Trace | Form::Device(_) | Form::Line => {}
        }
        self.last = line.at.or(self.last);
        self.lines.push(line.text);
    }

    fn close(self) -> KernelEvent {
        KernelEvent::of_lines(self.lines)
    }
}

impl Form {
    fn of(text: &str) -> Self {
        if starts_warning(text) {
            Self::Warning { ended: false }
        } else if starts_oom(text) {
            Self::OutOfMemory { ended: false }
        } else if starts_report(text) {
            Self::Trace
        } else {
            device(text).map_or(Self::Line, |name| Self::Device(name.to_owned()))
        }
    }
}

/// Returns the block device of a line: the first one that the line contains.
fn device(text: &str) -> Option<&str> {
    split_words(text).find(|word| is_block_device(word))
}
