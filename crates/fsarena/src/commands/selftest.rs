//! `fsarena guest selftest`: whether anything of this machine reaches a guest's virtual time.
//!
//! Each run is a process of its own, so that nothing of one can make the next the same.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use anyhow::Context;
use batch::same::{Difference, NamedValue, difference, values};
use catalog::Catalog;
use clap::ValueEnum;
use guest::{Clock, Guest};
use model::{Bytes, CellResult, Nanos, Profile, Status, Test};
use nix::unistd::Pid;
use run::{Disk, Executor, GuestCell};
use serde_json::json;
use sys::{caches, process};
use tempfile::TempDir;

use crate::arguments::cli::Globals;
use crate::arguments::guest_args::{Condition, SelftestArgs};
use crate::commands::guest as guest_command;
use crate::disturbance::Disturbance;
use crate::output::exit::{BadInput, Code, Refused};
use crate::output::text::{line, print, print_json, print_whole, remark};
use crate::paths;

const SIZE: Bytes = Bytes::mib(512);
/// An environment that nobody has.
const PADDING: usize = 4000;

impl Condition {
    const fn words(self) -> &'static str {
        match self {
            Self::Again => "again",
            Self::Busy => "all processors busy",
            Self::Memory => "memory runs short",
            Self::Stopped => "stopped, continued",
            Self::Woken => "woken for nothing",
            Self::Elsewhere => "other surroundings",
            Self::Cold => "cold caches",
        }
    }

    /// What a difference under it points to.
    const fn suspect(self) -> &'static str {
        match self {
            Self::Again => {
                "the guest waits for something, or reads something, that is not in its memory: a disk \
                 outside, the time of day, something random"
            }
            Self::Busy => {
                "how busy this machine is reaches the guest: something is waited for that another \
                 thread of QEMU's does"
            }
            Self::Memory => {
                "how much memory is free here, or how fast it is to be had, reaches the guest"
            }
            Self::Stopped => "the time of day reaches the guest",
            Self::Woken => {
                "QEMU's main loop advances the clock while the processor runs: it was started without a \
                 recording"
            }
            Self::Elsewhere => {
                "a path, the environment or an address of this machine's is in the guest"
            }
            Self::Cold => "the guest reads from a file of this machine's while it measures",
        }
    }
}

/// How a cell went under a condition.
struct Run {
    condition: Condition,
    /// How long it took here; nothing where it was not tried.
    elapsed: Option<Nanos>,
    difference: Option<Difference>,
}

/// A cell, and what became of it under all conditions.
struct Trial {
    cell: String,
    results: Vec<NamedValue>,
    /// Virtual time of all phases together.
    measured: Nanos,
    /// How long it took here.
    elapsed: Nanos,
    runs: Vec<Run>,
}

/// Does it, or one run of it.
pub fn run(args: &SelftestArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let test = find(&catalog, &args.test)?;
    if args.once {
        return once(&catalog, args, globals, test);
    }
    // Made before anything is timed, and refused here where a contender cannot be run.
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
    Ok(if same { Code::Done } else { Code::NotAllOk }.into())
}

fn made(catalog: &Catalog, args: &SelftestArgs, globals: &Globals) -> anyhow::Result<Guest> {
    guest_command::obtain_saying(catalog, &args.made_of, globals)
}

fn cell(
    catalog: &Catalog,
    contender: &str,
    args: &SelftestArgs,
    guest: &Guest,
) -> anyhow::Result<GuestCell> {
    let disk = match args.leak {
        true => Disk::Outside,
        false => Disk::Inside,
    };
    let contender = catalog.contender(contender)?;
    Ok(GuestCell::new(contender, SIZE, disk, guest)?)
}

fn find(catalog: &Catalog, name: &str) -> anyhow::Result<Test> {
    let suites = catalog.suites(Profile::Smoke);
    let mut tests = suites.iter().flat_map(|suite| &suite.tests);
    let test = tests.find(|test| test.name == name);
    test.cloned().ok_or_else(|| {
        BadInput(format!(
            "there is no test `{name}`: see `fsarena list suites`"
        ))
        .into()
    })
}

/// One run: its result goes to standard output.
fn once(
    catalog: &Catalog,
    args: &SelftestArgs,
    globals: &Globals,
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
    print_whole(&serde_json::to_string(&result)?)?;
    Ok(Code::Done.into())
}

/// All runs of a cell; what is found is said as it is found.
fn trial(contender: &str, args: &SelftestArgs, globals: &Globals) -> anyhow::Result<Trial> {
    let cell = format!("{contender}, {}", args.test);
    let say = |text: &str| {
        if globals.json {
            Ok(())
        } else {
            print(&format!("{text}\n"))
        }
    };
    say(&format!("{}:", line(&cell)))?;
    let result = under(Condition::Again, 0, contender, args, globals)?
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
        let run = Run {
            condition,
            elapsed: result.as_ref().map(|result| result.elapsed),
            difference: result.and_then(|result| difference(&trial.results, &values(&result))),
        };
        say(&told(&run, trial.results.len()))?;
        trial.runs.push(run);
    }
    Ok(trial)
}

fn conditions(args: &SelftestArgs) -> &[Condition] {
    if args.under.is_empty() {
        Condition::value_variants()
    } else {
        &args.under
    }
}

fn told(run: &Run, results: usize) -> String {
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
    let run = |run: &Run| {
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

/// Runs the cell under a condition, so many times before; nothing where this cannot be had.
fn under(
    condition: Condition,
    number: u32,
    contender: &str,
    args: &SelftestArgs,
    globals: &Globals,
) -> anyhow::Result<Option<CellResult>> {
    let place = TempDir::with_prefix("fsarena-selftest-").context("no directory for the guest")?;
    let mut command = command(contender, args, globals)?;
    command.env("TMPDIR", place.path());
    if condition == Condition::Elsewhere {
        surround(&mut command, place.path())?;
    }
    if condition == Condition::Cold && caches::drop_all().is_err() {
        return Ok(None);
    }
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .context("a run of the cell cannot be started")?;
    let pid = Pid::from_raw(child.id().cast_signed());
    let disturbance = Disturbance::start(condition, pid, number.into());
    let disturbance = disturbance.context("cannot start a thread")?;
    let output = child.wait_with_output();
    drop(disturbance);
    let output = output.context("a run of the cell cannot be heard")?;
    if !output.status.success() {
        return Err(Refused(format!("a run of the cell ended with {}", output.status)).into());
    }
    let result: CellResult = serde_json::from_slice(&output.stdout).context("no result")?;
    if result.status != Status::Ok {
        let reason = result.failure.map_or_else(String::new, |f| f.reason);
        let status = result.status;
        return Err(Refused(format!("the cell is {status}, not ok: {}", line(&reason))).into());
    }
    for remarked in &result.remarks {
        if !globals.quiet && !globals.json {
            remark(&line(remarked));
        }
    }
    Ok(Some(result))
}

/// This program again, for one run; it ends with this one.
fn command(contender: &str, args: &SelftestArgs, globals: &Globals) -> anyhow::Result<Command> {
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
    process::end_with_this_thread(&mut command);
    Ok(command)
}

/// A longer way to files, another place to stand, more to inherit.
fn surround(command: &mut Command, place: &Path) -> anyhow::Result<()> {
    let deep = place
        .join("another place, with a name that is longer")
        .join("below it");
    fs::create_dir_all(&deep)?;
    command
        .env("TMPDIR", &deep)
        .env("FSARENA_SELFTEST", "x".repeat(PADDING))
        .current_dir("/");
    Ok(())
}

/// What all phases took; the time of a role is that of its mix.
fn time_of(result: &CellResult) -> Nanos {
    let phases = result.phases.iter();
    let phases = phases.filter(|phase| phase.role_of.is_none());
    Nanos(phases.map(|phase| phase.wall.0).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_with_its_first_result_and_what_it_points_to() {
        let run = |condition, difference| Run {
            condition,
            elapsed: Some(Nanos::from_secs(9)),
            difference,
        };
        let same = told(&run(Condition::Busy, None), 214);
        assert!(same.contains("the same 214 results"), "{same}");
        let difference = Difference {
            results: 3,
            first: ("tree-in.wall".into(), "1".into(), "2".into()),
        };
        let text = told(&run(Condition::Again, Some(difference)), 214);
        assert!(
            text.contains("3 of 214 results DIFFER, first tree-in.wall: 1 and then 2")
                && text.contains("likely: the guest waits for something"),
            "{text}"
        );
    }
}
