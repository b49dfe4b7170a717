//! `fsarena trace`: makes traces of what was recorded, shows them, and replays them in a campaign.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use model::{
    CacheState, End, Op, Pace, Phase, Programs, Replay, Suite, Test, TraceFacts, check_name,
};
use serde_json::json;
use sys::clock;
use trace::{ImportFormat, Summary, Trace};

use crate::arguments::cli::Globals;
use crate::arguments::run_args::RunArgs;
use crate::arguments::trace_args::{
    AnonymiseArgs, ImportArgs, PaceWord, Recorded, ReplayArgs, ShowTraceArgs, TraceArgs,
    TraceCommand,
};
use crate::commands::{run as run_command, trace_make, trace_record};
use crate::output::exit::{BadInput, Code};
use crate::output::output_file;
use crate::output::text::{line, print, print_json, remark};
use crate::traces;

/// Does what is asked for with a trace.
pub fn run(args: &TraceArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    match &args.command {
        TraceCommand::Record(args) => trace_record::run(args, globals),
        TraceCommand::Make(args) => trace_make::run(args, globals),
        TraceCommand::Import(args) => import(args, globals),
        TraceCommand::Show(args) => show(args, globals),
        TraceCommand::Anonymise(args) => anonymise(args, globals),
        TraceCommand::Replay(args) => replay(args, globals),
    }
}

fn import(args: &ImportArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let text = traces::bytes(&args.file)?;
    let format = match args.format {
        Some(Recorded::Strace) => ImportFormat::Strace,
        Some(Recorded::Iolog) => ImportFormat::Iolog,
        None => trace::format_of(&text),
    };
    let below = args.below.as_ref().map(|below| match below.canonicalize() {
        // Another machine's directory is none here.
        Err(_) => below.clone(),
        Ok(found) => found,
    });
    let below = below.as_ref().map(|below| below.as_os_str().as_bytes());
    let trace = trace::import(&text, format, below)
        .map_err(|error| BadInput(format!("{}: {error}", args.file.display())))?;
    write(&args.output, &trace, globals)
}

fn anonymise(args: &AnonymiseArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let (_, trace) = traces::read(&args.file)?;
    let seed = args.seed.unwrap_or_else(|| clock::calendar().0);
    write(&args.output, &trace.anonymised(seed), globals)
}

/// Writes a trace, and says how large it is.
pub fn write(path: &Path, trace: &Trace, globals: &Globals) -> anyhow::Result<ExitCode> {
    if trace.operations.len() > trace::MOST_OPERATIONS {
        let most = trace::MOST_OPERATIONS;
        return Err(BadInput(format!(
            "at most {most} operations fit into a trace: record less"
        ))
        .into());
    }
    let operations = Summary::of(trace).operations;
    if operations == 0 {
        return Err(BadInput(nothing(trace, path)).into());
    }
    let bytes = trace.encode();
    output_file::write(path, &bytes)?;
    if !globals.quiet {
        let size = bytes.len();
        remark(&format!(
            "{}: {operations} operations in {size} bytes",
            path.display()
        ));
    }
    Ok(Code::Done.into())
}

/// Why there is no trace: what was recorded lay elsewhere, or nothing did anything.
fn nothing(trace: &Trace, path: &Path) -> String {
    let path = path.display();
    match trace.about.elsewhere {
        0 => format!("nothing was done to any file: {path} is not written"),
        elsewhere => format!(
            "nothing was done below the directory, and {elsewhere} operations elsewhere: {path} is not written; --below \
             names another directory"
        ),
    }
}

fn show(args: &ShowTraceArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let (bytes, trace) = traces::read_named(&args.file, globals)?;
    let summary = Summary::of(&trace);
    if globals.json {
        let sha256 = traces::facts(&bytes, &trace).sha256;
        print_json(&json!({
            "about": trace.about,
            "size": bytes.len(),
            "sha256": sha256,
            "summary": summary,
        }))?;
    } else {
        print(&text(&trace, &summary, bytes.len()))?;
    }
    Ok(Code::Done.into())
}

fn text(trace: &Trace, summary: &Summary, size: usize) -> String {
    let about = &trace.about;
    let each = size as f64 / summary.operations.max(1) as f64;
    let mut lines = vec![
        format!(
            "recorded by    {}{}",
            line(&about.recorder),
            if about.anonymised {
                ", names replaced"
            } else {
                ""
            }
        ),
        format!("command        {}", line(&about.command.join(" "))),
        format!("system         {}", line(&about.system)),
        format!(
            "operations     {}, {} of which failed; {} outside the directory are left out",
            summary.operations, summary.failed, about.elsewhere
        ),
        format!(
            "bytes          {} read, {} written",
            summary.read, summary.written
        ),
        format!(
            "before         {} names, {}",
            summary.before, summary.bytes_before
        ),
        format!(
            "after          {} names, {}",
            summary.after, summary.bytes_after
        ),
        format!(
            "processes      {}, with {} threads, {} side by side",
            summary.processes, summary.threads, summary.side_by_side
        ),
        format!(
            "time           {}, of which threads spent {} in operations and {} between them",
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
    lines.extend(
        calls
            .iter()
            .map(|(name, count)| format!("  {name:<16} {count:>10}")),
    );
    if !about.unseen.is_empty() {
        lines.push("not in it".into());
        lines.extend(about.unseen.iter().map(|what| format!("  {}", line(what))));
    }
    lines.join("\n") + "\n"
}

/// A campaign with one test, which replays the trace.
fn replay(args: &ReplayArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let run = &args.run;
    if !run.suites.is_empty() || run.study.is_some() {
        let why = "the trace is what is run: leave --suite and --study out".to_owned();
        return Err(BadInput(why).into());
    }
    let (bytes, trace) = traces::read_named(&args.trace, globals)?;
    let facts = traces::facts(&bytes, &trace);
    if facts.operations == 0 {
        let why = format!("{} holds no operations to replay", args.trace.display());
        return Err(BadInput(why).into());
    }
    let suite = suite(args, facts)?;
    if !run.dry_run {
        traces::keep(&bytes, globals)?;
    }
    let wanted = RunArgs {
        own_suites: vec![suite],
        ..run.clone()
    };
    run_command::run(&wanted, globals)
}

fn suite(args: &ReplayArgs, facts: TraceFacts) -> anyhow::Result<Suite> {
    let name = name_of(&args.trace);
    let space = traces::space(&facts);
    let operations = facts.operations;
    let replay = Op::Replay(Replay {
        trace: name.clone(),
        into: name.clone(),
        pace: match args.pace {
            PaceWord::Closed => Pace::Closed,
            PaceWord::Recorded => Pace::Recorded,
            PaceWord::Scaled => Pace::Scaled,
        },
        speed: args.speed,
        group: None,
        facts: Some(facts),
        data: None,
    });
    if let Err(why) = replay.descriptor().check() {
        return Err(BadInput(format!("--pace and --speed: {why}")).into());
    }
    let test = Test {
        name: name.clone(),
        suite: "trace".into(),
        title: format!("Replay of {name}: {operations} operations"),
        rationale:
            "What a program did to its files, in its order. What it computed meanwhile is left out."
                .into(),
        space,
        sweep: None,
        phases: vec![Phase {
            name: "replay".into(),
            cache: CacheState::Warm,
            ends: End::Syncfs,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            op: replay,
        }],
    };
    Ok(Suite {
        name: "trace".into(),
        title: "A trace".into(),
        source: line(&args.trace.display().to_string()),
        requires: Programs::default(),
        archives: Vec::new(),
        baseline: None,
        tests: vec![test],
    })
}

/// The name of a file as names are.
fn name_of(path: &Path) -> String {
    let stem = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let fits = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._+-".contains(letter)
    };
    let name: String = stem
        .chars()
        .map(|letter| if fits(letter) { letter } else { '-' })
        .take(64)
        .collect();
    match check_name(&name) {
        Ok(()) => name,
        Err(_) => "trace".into(),
    }
}
