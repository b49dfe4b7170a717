//! `fsarena survive trace`: cuts the power of a simulated disk at each position of a trace.

use std::process::ExitCode;

use model::{BackendKind, Bytes, CacheState, FileStep, Op, PowerCut, SyncAtEnd, Test};
use trace::{TraceSteps, file_steps};

use crate::args::cli::GlobalArgs;
use crate::args::run_args::RunArgs;
use crate::args::survive_args::SurviveTraceArgs;
use crate::commands::run as run_command;
use crate::commands::trace::{name_of, phase, suite_of};
use crate::output::exit::UsageError;
use crate::output::text::print_note;
use crate::traces;

/// Space of a test, as that of the suite `applications`, without the files of the trace.
const SPACE: Bytes = Bytes(8 << 20);

/// Runs a campaign with one test, which cuts the power in the steps of the trace.
pub fn run(args: &SurviveTraceArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let run = &args.run;
    if !run.settings.suites.is_empty() || run.study.is_some() {
        let why = "survive trace runs the trace; remove --suite and --study".to_owned();
        return Err(UsageError(why).into());
    }
    if run.settings.backend.is_some_and(|backend| backend != BackendKind::Vm) {
        let why = "cannot cut the power of a real disk: only guests have simulated disks; remove --backend";
        return Err(UsageError(why.to_owned()).into());
    }
    let shown = args.trace.display();
    let (_, recorded) = traces::read_named(&args.trace, globals)?;
    let steps = file_steps(&recorded)
        .map_err(|why| UsageError(format!("cannot cut the power in {shown}: {why}")))?;
    if !globals.quiet && !globals.json {
        print_note(&outline(&steps));
    }
    let test = test(args, steps);
    let mut settings = run.settings.clone();
    settings.backend = Some(BackendKind::Vm);
    let wanted = RunArgs { own_suites: vec![suite_of(&args.trace, test)], settings, ..run.clone() };
    run_command::run(&wanted, globals)
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

/// Returns the number of blocks that a step writes.
const fn blocks_of(step: &FileStep) -> u64 {
    match step {
        FileStep::Write(_, count)
        | FileStep::WriteAt(_, _, count)
        | FileStep::Allocate(_, count) => *count as u64,
        _ => 0,
    }
}

fn test(args: &SurviveTraceArgs, steps: TraceSteps) -> Test {
    let name = name_of(&args.trace);
    let blocks: u64 = steps.prepare.iter().chain(&steps.steps).map(blocks_of).sum();
    Test {
        title: format!("Power cuts in {name}: {} steps", steps.steps.len()),
        suite: model::RECORDING.into(),
        rationale: "The changes and syncs of a program, in the order in which they began, with the power cut at each \
                    position. Contents have whole blocks."
            .into(),
        space: Bytes(SPACE.0 + 2 * 4096 * blocks),
        sweep: None,
        phases: vec![phase(
            "cuts",
            CacheState::None,
            SyncAtEnd::Call,
            Op::PowerCut(PowerCut {
                prepare: steps.prepare,
                steps: steps.steps,
                expect: args.expect.into(),
                cuts: args.cuts,
                ignores_flushes: false,
            }),
        )],
        name,
    }
}
