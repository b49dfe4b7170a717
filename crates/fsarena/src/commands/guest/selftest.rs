//! `fsarena guest selftest`: checks whether the state of this machine influences the virtual time
//! of a guest.
//!
//! Each run is a new process, so that no state of one run can hide a difference in the next.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use anyhow::Context;
use backend::{DiskLocation, Executor, StandaloneGuestCell};
use batch::directory::result_diff::{NamedValue, ResultDiff, difference, values};
use clap::ValueEnum;
use config::Catalog;
use guest::{Clock, Guest};
use model::{Bytes, CellResult, Nanos, SizeProfile, Status, Test};
use nix::unistd::Pid;
use serde_json::json;
use sys::io::{bounded, caches};
use sys::process;
use tempfile::TempDir;

use crate::args::cli::GlobalArgs;
use crate::args::guest_args::{SelftestArgs, SelftestCondition};
use crate::commands::guest as guest_command;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::text::{line, print, print_json, print_note, print_unwrapped};
use crate::paths;
use crate::stressor::Stressor;

const SIZE: Bytes = Bytes::mib(512);
/// Maximum size of the result of a cell.
const MAX_RESULT_SIZE: Bytes = Bytes::mib(256);
/// Length of the added environment variable, in bytes. Longer than any usual one.
const PADDING: usize = 4000;

impl SelftestCondition {
    const fn words(self) -> &'static str {
        match self {
            Self::Again => "again",
            Self::Busy => "all processors busy",
            Self::Memory => "memory runs short",
            Self::Paused => "stopped, continued",
            Self::Suspended => "woken for nothing",
            Self::OtherHost => "other surroundings",
            Self::Cold => "cold caches",
        }
    }

    /// Returns the likely cause of a difference under this condition.
    const fn suspect(self) -> &'static str {
        match self {
            Self::Again => {
                "the guest waits for something, or reads something, that is not in its memory: a disk \
                 outside, the time of day, something random"
            }
            Self::Busy => {
                "the load of this machine reaches the guest: it waits for the work of another QEMU thread"
            }
            Self::Memory => "the amount or speed of free memory on this machine reaches the guest",
            Self::Paused => "the time of day reaches the guest",
            Self::Suspended => {
                "QEMU's main loop advances the clock while the processor runs: it was started without a \
                 recording"
            }
            Self::OtherHost => {
                "a path, the environment or an address of this machine's is in the guest"
            }
            Self::Cold => "the guest reads from a file of this machine's while it measures",
        }
    }
}

/// A run of a cell under a condition.
struct SelftestRun {
    condition: SelftestCondition,
    /// Elapsed time on this machine. `None` if the condition was not available.
    elapsed: Option<Nanos>,
    difference: Option<ResultDiff>,
}

/// A cell and its results under all conditions.
struct Trial {
    cell: String,
    results: Vec<NamedValue>,
    /// Virtual time of all phases.
    measured: Nanos,
    /// Elapsed time on this machine.
    elapsed: Nanos,
    runs: Vec<SelftestRun>,
}

/// Runs the self-test, or a single run of it.
pub fn run(args: &SelftestArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let test = find(&catalog, &args.test)?;
    for contender in &args.contenders {
        catalog.contender(contender)?;
    }
    if args.once {
        return once(&catalog, args, globals, test);
    }
    // The guest is built before any timing, and contenders that cannot run are refused here.
    let guest = made(&catalog, args, globals)?;
    for contender in &args.contenders {
        cell(&catalog, contender, args, &guest)?;
    }
    let mut same = true;
    for contender in &args.contenders {
        let trial = trial(contender, args, globals)?;
        same &= trial.runs.iter().all(|run| run.difference.is_none());
        if globals.json {
            print_json(&in_json(&trial))?;
        }
    }
    Ok(if same { ExitReason::Success } else { ExitReason::SomeFailed }.into())
}

fn made(catalog: &Catalog, args: &SelftestArgs, globals: &GlobalArgs) -> anyhow::Result<Guest> {
    guest_command::obtain_with_progress(catalog, &args.made_of, &args.contenders, globals)
}

fn cell(
    catalog: &Catalog,
    contender: &str,
    args: &SelftestArgs,
    guest: &Guest,
) -> anyhow::Result<StandaloneGuestCell> {
    let disk = match args.leak {
        true => DiskLocation::HostFile,
        false => DiskLocation::GuestMemory,
    };
    let contender = catalog.contender(contender)?;
    Ok(StandaloneGuestCell::new(contender, SIZE, disk, guest)?)
}

fn find(catalog: &Catalog, name: &str) -> anyhow::Result<Test> {
    let suites = catalog.suites(SizeProfile::Smoke);
    let mut tests = suites.iter().flat_map(|suite| &suite.tests);
    let test = tests.find(|test| test.name == name);
    test.cloned().ok_or_else(|| {
        UsageError(format!("there is no test `{name}`: see `fsarena list suites`")).into()
    })
}

/// Runs the cell once, and prints the result to standard output.
fn once(
    catalog: &Catalog,
    args: &SelftestArgs,
    globals: &GlobalArgs,
    test: Test,
) -> anyhow::Result<ExitCode> {
    let guest = made(catalog, args, globals)?;
    let directory = tempfile::tempdir().context("no directory for the guest")?;
    let cell = cell(catalog, &args.contenders[0], args, &guest)?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut executor = cell.executor(guest.into(), &program, Clock::Virtual, directory.path())?;
    executor.snapshots = Some(Arc::default());
    let result = executor.execute(&cell.job(test), &mut |_| {});
    let result = result.ok().context("interrupted")?;
    print_unwrapped(&serde_json::to_string(&result)?)?;
    Ok(ExitReason::Success.into())
}

/// Runs a cell under all conditions. Reports each result immediately.
fn trial(contender: &str, args: &SelftestArgs, globals: &GlobalArgs) -> anyhow::Result<Trial> {
    let cell = format!("{contender}, {}", args.test);
    let say = |text: &str| {
        if globals.json { Ok(()) } else { print(&format!("{text}\n")) }
    };
    say(&format!("{}:", line(&cell)))?;
    let result = under(SelftestCondition::Again, 0, contender, args, globals)?
        .context("a run without conditions")?;
    let mut trial = Trial {
        cell,
        results: values(&result),
        measured: time_of(&result),
        elapsed: result.elapsed,
        runs: Vec::new(),
    };
    say(&format!(
        "  {:<20} {} results, {} ns in all phases (took {} here)",
        "first",
        trial.results.len(),
        trial.measured.0,
        trial.elapsed
    ))?;
    let runs = conditions(args).iter();
    let runs = runs.flat_map(|condition| (0..args.runs).map(move |number| (*condition, number)));
    for (condition, number) in runs {
        let result = under(condition, number, contender, args, globals)?;
        let run = SelftestRun {
            condition,
            elapsed: result.as_ref().map(|result| result.elapsed),
            difference: result.and_then(|result| difference(&trial.results, &values(&result))),
        };
        say(&told(&run, trial.results.len()))?;
        trial.runs.push(run);
    }
    Ok(trial)
}

fn conditions(args: &SelftestArgs) -> &[SelftestCondition] {
    if args.under.is_empty() { SelftestCondition::value_variants() } else { &args.under }
}

fn told(run: &SelftestRun, results: usize) -> String {
    let condition = run.condition.words();
    let Some(elapsed) = run.elapsed else {
        return format!("  {condition:<20} not tried: needs root");
    };
    let verdict = match &run.difference {
        None => format!("the same {results} results to the nanosecond (took {elapsed} here)"),
        Some(difference) => {
            let (name, one, other) = &difference.first;
            format!(
                "{} of {results} results DIFFER, first {}: {} and then {}\n  {:<20} likely: {}",
                difference.results,
                line(name),
                line(one),
                line(other),
                "",
                run.condition.suspect()
            )
        }
    };
    format!("  {condition:<20} {verdict}")
}

fn in_json(trial: &Trial) -> serde_json::Value {
    let run = |run: &SelftestRun| {
        let difference = run.difference.as_ref();
        json!({
            "condition": run.condition.words(),
            "tried": run.elapsed.is_some(),
            "elapsed": run.elapsed,
            "differing": difference.map_or(0, |d| d.results),
            "first": difference.map(|d| json!({
                "value": d.first.0, "one": d.first.1, "other": d.first.2,
            })),
            "likely": difference.map(|_| run.condition.suspect()),
        })
    };
    json!({
        "cell": trial.cell,
        "values": trial.results.len(),
        "measured": trial.measured,
        "elapsed": trial.elapsed,
        "runs": trial.runs.iter().map(run).collect::<Vec<_>>(),
    })
}

/// Runs the cell under a condition; `number` seeds the disturbance. Returns `None` if the condition
/// is not available.
fn under(
    condition: SelftestCondition,
    number: u32,
    contender: &str,
    args: &SelftestArgs,
    globals: &GlobalArgs,
) -> anyhow::Result<Option<CellResult>> {
    let place = TempDir::with_prefix("fsarena-selftest-").context("no directory for the guest")?;
    let mut command = command(contender, args, globals)?;
    command.env("TMPDIR", place.path());
    if condition == SelftestCondition::OtherHost {
        surround(&mut command, place.path())?;
    }
    if condition == SelftestCondition::Cold && caches::drop_all().is_err() {
        return Ok(None);
    }
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .context("a run of the cell cannot be started")?;
    let pid = Pid::from_raw(child.id().cast_signed());
    let disturbance = Stressor::start(condition, pid, number.into());
    let disturbance = disturbance.context("cannot start a thread")?;
    let output = bounded::output_of(child, MAX_RESULT_SIZE, &|| false);
    drop(disturbance);
    let output = output.context("a run of the cell cannot be heard")?;
    if !output.status.success() {
        return Err(
            EnvironmentError(format!("a run of the cell ended with {}", output.status)).into()
        );
    }
    let result: CellResult = serde_json::from_slice(&output.stdout).context("no result")?;
    if result.status != Status::Ok {
        let reason = result.failure.map_or_else(String::new, |f| f.reason);
        let status = result.status;
        return Err(
            EnvironmentError(format!("the cell is {status}, not ok: {}", line(&reason))).into()
        );
    }
    for remarked in &result.remarks {
        if !globals.quiet && !globals.json {
            print_note(&line(remarked));
        }
    }
    Ok(Some(result))
}

/// Returns a command that runs this program again for one run. The child process ends with this
/// process.
fn command(contender: &str, args: &SelftestArgs, globals: &GlobalArgs) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    if let Some(catalog) = &globals.catalog {
        command.arg("--catalog").arg(std::path::absolute(catalog)?);
    }
    command.args(["--quiet", "guest", "selftest", "--once", contender]);
    command.args(["--test", &args.test]);
    if args.leak {
        command.arg("--leak");
    }
    let made_of = &args.made_of;
    for (option, path) in [
        ("--kernel", &made_of.kernel),
        ("--modules", &made_of.modules),
        ("--headers", &made_of.headers),
        ("--rootfs", &made_of.rootfs),
    ] {
        if let Some(path) = path {
            command.arg(option).arg(std::path::absolute(path)?);
        }
    }
    let mirror = made_of.mirror.iter().map(|mirror| ("--mirror", mirror));
    let with = made_of.with.iter().map(|name| ("--with", name));
    for (option, value) in mirror.chain(with) {
        command.args([option, value]);
    }
    process::set_pdeathsig(&mut command);
    Ok(command)
}

/// Changes the surroundings of the process: longer paths, another working directory, larger
/// environment.
fn surround(command: &mut Command, place: &Path) -> anyhow::Result<()> {
    let deep = place.join("another place, with a name that is longer").join("below it");
    fs::create_dir_all(&deep)?;
    command.env("TMPDIR", &deep).env("FSARENA_SELFTEST", "x".repeat(PADDING)).current_dir("/");
    Ok(())
}

/// Returns the total time of all phases. Roles are part of their mix and are not counted.
fn time_of(result: &CellResult) -> Nanos {
    let phases = result.phases.iter();
    let phases = phases.filter(|phase| phase.role_of.is_none());
    Nanos(phases.map(|phase| phase.elapsed.0).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_the_first_different_result_and_its_likely_cause() {
        let run = |condition, difference| SelftestRun {
            condition,
            elapsed: Some(Nanos::from_secs(9)),
            difference,
        };
        let same = told(&run(SelftestCondition::Busy, None), 214);
        assert!(same.contains("the same 214 results"), "{same}");
        let difference =
            ResultDiff { results: 3, first: ("tree-in.wall".into(), "1".into(), "2".into()) };
        let text = told(&run(SelftestCondition::Again, Some(difference)), 214);
        assert!(
            text.contains("3 of 214 results DIFFER, first tree-in.wall: 1 and then 2")
                && text.contains("likely: the guest waits for something"),
            "{text}"
        );
    }
}
