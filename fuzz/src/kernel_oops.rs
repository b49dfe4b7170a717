//! Kernel messages of crashes and hangs, on a guest's console and in this machine's log, and the
//! verdict on them.

use backend::kernel_log::call_trace::CallTrace;
use backend::kernel_log::{console, hung_tasks};
use backend::{CellEnd, CellResultBuilder, GuestEnd, StallKind, kernel_log};
use model::wire::CellEvent;
use model::{CellResult, KernelEvent, Nanos, Status};

use crate::property::survives_json;
use crate::sample::TEST;

/// Maximum lines of a console to keep, plus the note about omitted lines.
const MAX_LINES: usize = 501;

/// Parses the input as the console output of a guest.
pub fn run(input: &[u8]) {
    let lines = console::lines(input);
    assert!(lines.len() <= MAX_LINES);
    assert!(lines.iter().all(|line| !line.text.contains('\n')));
    let count = lines.len();
    let events = kernel_log::events_for_guest(lines);
    let grouped: usize = events.iter().map(|event| event.lines.len()).sum();
    assert_eq!(grouped, count, "no line is lost");
    let last_words = console::last_line(input);
    assert!(!last_words.contains('\n'));
    let stacks = hung_tasks::hung_task_stacks(input);
    let text = String::from_utf8_lossy(input);
    if let Some(trace) = CallTrace::find(text.lines()) {
        assert_eq!(trace.lines().lines().count(), trace.0.len());
    }
    explained(CellEnd::Done, &events);
    let end = GuestEnd::PoweredOff;
    explained(CellEnd::Guest { end, last_words }, &events);
    let stall = StallKind::Silence(Nanos::from_secs(60));
    let hung = CellEnd::Hung { stall, stacks, unkillable: false };
    explained(hung, &events);
}

/// Each planned phase is listed once, and a cell with a failure gives the reason in one line.
fn explained(ending: CellEnd, events: &[KernelEvent]) {
    let mut collector = CellResultBuilder::new(&TEST);
    let step = TEST.phases[0].name.clone();
    collector.apply(CellEvent::Begin { step });
    let result: CellResult = collector.finish(ending, Some(events.to_vec()));
    assert_eq!(result.phases.len(), TEST.phases.len());
    if result.status != Status::Ok {
        let failure = result.failure.as_ref().expect("it says why");
        assert!(!failure.reason.is_empty() && !failure.reason.contains('\n'));
    }
    survives_json(&result);
}
