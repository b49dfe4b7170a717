//! `fsarena trace`: creates traces from recordings, shows them, and replays them in a campaign.

mod make;
mod record;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use model::{
    CacheState, Op, Phase, ProgramRequirements, Replay, ReplaySpeed, Suite, SyncAtEnd, Test,
    TraceStats, check_name,
};
use serde_json::json;
use sys::io::clock;
use trace::{ImportFormat, Trace, TraceSummary};

use crate::args::cli::GlobalArgs;
use crate::args::run_args::RunArgs;
use crate::args::trace_args::{
    AnonymiseArgs, ReplaySpeedArg, ShowTraceArgs, TraceCommand, TraceImportArgs, TraceReplayArgs,
    TraceSource,
};
use crate::commands::run as run_command;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::output_file;
use crate::output::text::{line, print, print_json, print_note};
use crate::traces;

/// Runs a trace command.
pub fn run(command: &TraceCommand, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    match command {
        TraceCommand::Record(args) => record::run(args, globals),
        TraceCommand::Make(args) => make::run(args, globals),
        TraceCommand::Import(args) => import(args, globals),
        TraceCommand::Show(args) => show(args, globals),
        TraceCommand::Anonymise(args) => anonymise(args, globals),
        TraceCommand::Replay(args) => replay(args, globals),
    }
}

fn import(args: &TraceImportArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let text = traces::bytes(&args.file)?;
    let format = match args.format {
        Some(TraceSource::Strace) => ImportFormat::Strace,
        Some(TraceSource::Iolog) => ImportFormat::Iolog,
        None => trace::detect_format(&text),
    };
    let below = args.below.as_ref().map(|below| match below.canonicalize() {
        // The directory may be on another machine.
        Err(_) => below.clone(),
        Ok(found) => found,
    });
    let below = below.as_ref().map(|below| below.as_os_str().as_bytes());
    let trace = trace::import(&text, format, below)
        .map_err(|error| UsageError(format!("cannot import {}: {error}", args.file.display())))?;
    write(&args.output, &trace, globals)
}

fn anonymise(args: &AnonymiseArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let (_, trace) = traces::read(&args.file)?;
    let seed = args.seed.unwrap_or_else(|| clock::realtime().0);
    write(&args.output, &trace.anonymised(seed), globals)
}

/// Writes a trace and reports its size.
pub fn write(path: &Path, trace: &Trace, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let operations = TraceSummary::from_trace(trace).operations;
    if operations == 0 {
        return Err(UsageError(nothing(trace, path)).into());
    }
    let bytes = trace
        .encode()
        .map_err(|error| UsageError(format!("cannot write {}: {error}", path.display())))?;
    output_file::write(path, &bytes)?;
    if !globals.quiet {
        let size = bytes.len();
        print_note(&format!("{}: {operations} operations in {size} bytes", path.display()));
    }
    Ok(ExitReason::Success.into())
}

/// Returns the reason why a trace is empty: all operations were elsewhere, or no operations were
/// recorded.
fn nothing(trace: &Trace, path: &Path) -> String {
    let path = path.display();
    match trace.header.elsewhere {
        0 => format!("no file operations were recorded: {path} is not written"),
        elsewhere => format!(
            "no operations below the directory, and {elsewhere} operations elsewhere: {path} is not written; use --below to select another directory"
        ),
    }
}

fn show(args: &ShowTraceArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let (bytes, trace) = traces::read_named(&args.file, globals)?;
    let summary = TraceSummary::from_trace(&trace);
    if globals.json {
        let sha256 = traces::facts(&bytes, &trace).sha256;
        print_json(&json!({
            "about": trace.header,
            "size": bytes.len(),
            "sha256": sha256,
            "summary": summary,
        }))?;
    } else {
        print(&text(&trace, &summary, bytes.len()))?;
    }
    Ok(ExitReason::Success.into())
}

fn text(trace: &Trace, summary: &TraceSummary, size: usize) -> String {
    let about = &trace.header;
    let each = size as f64 / summary.operations.max(1) as f64;
    let mut lines = vec![
        format!(
            "recorded by    {}{}",
            line(&about.recorder),
            if about.anonymised { ", names replaced" } else { "" }
        ),
        format!("command        {}", line(&about.command.join(" "))),
        format!("system         {}", line(&about.system)),
        format!(
            "operations     {} ({} failed); {} outside the directory were omitted",
            summary.operations, summary.failed, about.elsewhere
        ),
        format!("bytes          {} read, {} written", summary.read, summary.written),
        format!("before         {} names, {}", summary.before, summary.bytes_before),
        format!("after          {} names, {}", summary.after, summary.bytes_after),
        format!(
            "processes      {}, with {} threads, {} side by side",
            summary.processes, summary.threads, summary.side_by_side
        ),
        format!(
            "time           {}; threads spent {} in operations and {} between them",
            summary.elapsed, summary.in_operations, summary.thinking
        ),
        format!("size           {size} bytes, {each:.1} for each operation"),
    ];
    lines.retain(|line| {
        !line.trim_end().ends_with("command") && !line.trim_end().ends_with("system")
    });
    lines.push("calls".into());
    let mut calls: Vec<_> = summary.calls.iter().collect();
    calls.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), **name));
    lines.extend(calls.iter().map(|(name, count)| format!("  {name:<16} {count:>10}")));
    if !about.limitations.is_empty() {
        lines.push("not in it".into());
        lines.extend(about.limitations.iter().map(|what| format!("  {}", line(what))));
    }
    lines.join("\n") + "\n"
}

/// Runs a campaign with one test, which replays the trace.
fn replay(args: &TraceReplayArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let run = &args.run;
    if !run.settings.suites.is_empty() || run.study.is_some() {
        let why = "trace replay runs the trace; remove --suite and --study".to_owned();
        return Err(UsageError(why).into());
    }
    let (bytes, trace) = traces::read_named(&args.trace, globals)?;
    let facts = traces::facts(&bytes, &trace);
    if facts.operations == 0 {
        let why = format!("{} holds no operations to replay", args.trace.display());
        return Err(UsageError(why).into());
    }
    let suite = suite(args, facts)?;
    if !run.dry_run {
        traces::store_copy(&bytes, globals)?;
    }
    let wanted = RunArgs { own_suites: vec![suite], ..run.clone() };
    run_command::run(&wanted, globals)
}

fn suite(args: &TraceReplayArgs, facts: TraceStats) -> anyhow::Result<Suite> {
    let name = name_of(&args.trace);
    let space = traces::space(&facts);
    let operations = facts.operations;
    if args.speed.is_some() != matches!(args.pace, ReplaySpeedArg::Scaled) {
        let why = "cannot replay: --speed belongs to --pace scaled; give both, or neither";
        return Err(UsageError(why.to_owned()).into());
    }
    let replay = Op::Replay(Replay {
        trace: name.clone(),
        into: name.clone(),
        pace: match args.pace {
            ReplaySpeedArg::Closed => ReplaySpeed::Closed,
            ReplaySpeedArg::Recorded => ReplaySpeed::Recorded,
            ReplaySpeedArg::Scaled => ReplaySpeed::Scaled,
        },
        speed: args.speed,
        group: None,
        facts: Some(facts),
        data: None,
    });
    if let Err(why) = replay.info().check() {
        return Err(UsageError(format!("cannot replay: {why}")).into());
    }
    let test = Test {
        title: format!("Replay of {name}: {operations} operations"),
        name,
        suite: model::RECORDING.into(),
        rationale:
            "The file operations of a program, in their original order. Computation between them is omitted."
                .into(),
        space,
        data: model::DataKind::default(),
        sweep: None,
        phases: vec![phase("replay", CacheState::Warm, SyncAtEnd::Syncfs, replay)],
    };
    Ok(suite_of(&line(&args.trace.display().to_string()), test))
}

/// Returns the only phase of a test on a trace.
pub fn phase(name: &str, cache: CacheState, sync_at_end: SyncAtEnd, op: Op) -> Phase {
    Phase {
        name: name.into(),
        cache,
        sync_at_end,
        at_most: None,
        scaling: None,
        step: None,
        needs: None,
        from_next_host: false,
        op,
    }
}

/// Returns the suite of a test on a trace, whose file is the source.
pub fn suite_of(source: &str, test: Test) -> Suite {
    Suite {
        name: model::RECORDING.into(),
        title: "A trace".into(),
        source: source.to_owned(),
        requires: ProgramRequirements::default(),
        archives: Vec::new(),
        baseline: None,
        tests: vec![test],
    }
}

/// Derives a valid name from a file name.
pub fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let fits = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._+-".contains(letter)
    };
    let name: String =
        stem.chars().map(|letter| if fits(letter) { letter } else { '-' }).take(64).collect();
    match check_name(&name) {
        Ok(()) => name,
        Err(_) => "trace".into(),
    }
}
