//! `fsarena survive trace`: cuts the power of a simulated disk at each position of a trace.

use std::process::ExitCode;

use trace::{TraceSteps, file_steps};

use crate::args::cli::GlobalArgs;
use crate::args::survive_args::SurviveTraceArgs;
use crate::commands::survive::steps::{CutSequence, run_sequence};
use crate::commands::trace::name_of;
use crate::output::exit::UsageError;
use crate::output::text::{line, print_note};
use crate::traces;

/// Runs a campaign with one test, which cuts the power in the steps of the trace.
pub fn run(args: &SurviveTraceArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let shown = args.trace.display();
    let (_, recorded) = traces::read_named(&args.trace, globals)?;
    let steps = file_steps(&recorded)
        .map_err(|why| UsageError(format!("cannot cut the power in {shown}: {why}")))?;
    if !globals.quiet && !globals.json {
        print_note(&outline(&steps));
    }
    let sequence = CutSequence {
        name: name_of(&args.trace),
        source: line(&shown.to_string()),
        prepare: steps.prepare,
        steps: steps.steps,
    };
    run_sequence(sequence, &args.cuts, globals)
}

/// Returns the number of steps, and the calls that have none.
fn outline(steps: &TraceSteps) -> String {
    let omitted = steps.omitted.iter().map(|(call, count)| format!("{count} × {call}"));
    let omitted: Vec<String> = omitted.collect();
    let without = match omitted.is_empty() {
        true => String::new(),
        false => format!("; without a step: {}", omitted.join(", ")),
    };
    format!("{} steps of the trace change or sync files{without}", steps.steps.len())
}
