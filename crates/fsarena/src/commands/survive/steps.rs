//! `fsarena survive steps`: cuts the power of a simulated disk at each position of a sequence of
//! file operations.

use std::process::ExitCode;

use model::{BackendKind, Bytes, CacheState, FileStep, Op, PowerCut, SyncAtEnd, Test};

use crate::args::cli::GlobalArgs;
use crate::args::run_args::RunArgs;
use crate::args::survive_args::{CutArgs, StepsArgs};
use crate::commands::run as run_command;
use crate::commands::trace::{phase, suite_of};
use crate::output::exit::UsageError;

/// Space of a test, as that of the suite `applications`, without the files of the sequence.
const SPACE: Bytes = Bytes(8 << 20);

/// A sequence in which the power is cut.
pub struct CutSequence {
    /// Name of its test.
    pub name: String,
    /// File of the sequence; empty for the steps of a command line.
    pub source: String,
    /// Steps before the recording.
    pub prepare: Vec<FileStep>,
    /// Recorded steps.
    pub steps: Vec<FileStep>,
}

/// Runs a campaign with one test, which cuts the power in the steps.
pub fn run(args: &StepsArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let sequence = CutSequence {
        name: "steps".to_owned(),
        source: String::new(),
        prepare: args.prepare.clone(),
        steps: args.steps.clone(),
    };
    run_sequence(sequence, &args.cuts, globals)
}

/// Runs a campaign with one test, which cuts the power in a sequence.
pub fn run_sequence(
    sequence: CutSequence,
    args: &CutArgs,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let run = &args.run;
    if !run.settings.suites.is_empty() || run.study.is_some() {
        let why = "cannot run other tests with a power cut: remove --suite and --study";
        return Err(UsageError(why.to_owned()).into());
    }
    if run.settings.backend.is_some_and(|backend| backend != BackendKind::Vm) {
        let why = "cannot cut the power of a real disk: only guests have simulated disks; remove --backend";
        return Err(UsageError(why.to_owned()).into());
    }
    let source = sequence.source.clone();
    let suite = suite_of(&source, test(sequence, args));
    let mut settings = run.settings.clone();
    settings.backend = Some(BackendKind::Vm);
    let wanted = RunArgs { own_suites: vec![suite], settings, ..run.clone() };
    run_command::run(&wanted, globals)
}

/// Returns the number of blocks that a step writes.
const fn blocks_of(step: &FileStep) -> u64 {
    match step {
        FileStep::Write(_, count)
        | FileStep::WriteAt(_, _, count)
        | FileStep::Append(_, count)
        | FileStep::Allocate(_, count) => *count as u64,
        _ => 0,
    }
}

fn test(sequence: CutSequence, args: &CutArgs) -> Test {
    let CutSequence { name, prepare, steps, .. } = sequence;
    // Each part that is tried has its own files.
    let sequences = 1 + PowerCut::MAX_PARTS as u64;
    let blocks: u64 = prepare.iter().chain(&steps).map(blocks_of).sum();
    Test {
        title: format!("Power cuts in {name}: {} steps", steps.len()),
        suite: model::RECORDING.into(),
        rationale: "The changes and syncs of a program, in the order in which they began, with the power cut at each \
                    position. Contents have whole blocks."
            .into(),
        space: Bytes(SPACE.0 + sequences * FileStep::BLOCK * blocks),
        data: model::DataKind::default(),
        sweep: None,
        phases: vec![phase(
            "cuts",
            CacheState::None,
            SyncAtEnd::Call,
            Op::PowerCut(PowerCut {
                prepare,
                steps,
                expect: args.expect.into(),
                cuts: args.cuts,
                ignores_flushes: false,
                shorten: true,
            }),
        )],
        name,
    }
}
