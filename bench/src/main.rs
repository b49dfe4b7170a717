//! `fsarena-bench`: compares fsarena's engine with other programs. Dispatches the subcommands:
//! `bench` compares speed, `agreement` checks that the measured values agree, `instructions` counts
//! the instructions per operation on both sides, `hosts` measures the cost of very large campaigns
//! for the collecting machine.

mod agreement;
mod bench;
mod comparison;
mod guest_paths;
mod hosts;
mod instructions;
mod paired;
mod peers;
mod plan;
mod scratch;
mod table;

use std::env;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::plan::BenchScale;
use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use comparison::{PeerBenchmark, RowResult, RunOptions, TargetVerdict};
use model::Bytes;
use scratch::{FsType, ScratchImage};
use sys::mount::namespace;

/// Markers around the generated part of the document.
const BEGIN: &str = "<!-- table: begin -->";
const END: &str = "<!-- table: end -->";

/// Compare fsarena's engine with other programs.
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: Choice,
}

#[derive(Debug, Subcommand)]
enum Choice {
    /// Compare the speed of the engine with fio, bonnie++, fs_mark, dd and a bare loop in C.
    Bench(BenchOptions),
    /// Check that the engine measures the same as bonnie++, IOzone and fio.
    Agreement(BenchOptions),
    /// Count the instructions per operation of the engine and its peers, in programs and in the
    /// kernel. Runs in guests in virtual time; the counts are the same in every run.
    Instructions(instructions::InstructionOptions),
    /// Measure the cost of a very large campaign on very many hosts for the machine that plans and
    /// collects.
    Hosts(hosts::HostOptions),
    /// Run as the engine process.
    #[command(hide = true)]
    Serve { directory: PathBuf },
}

#[derive(Debug, Args)]
struct BenchOptions {
    /// Run only the comparison with this name (or name@filesystem); may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Number of pairs per comparison.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..))]
    pairs: u16,
    /// Print JSON instead of the table.
    #[arg(long)]
    json: bool,
    /// Write the table into this document, between its markers; with `--only`, update only the rows
    /// of those comparisons.
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
    /// Directory of the image for the filesystems; the image is an unnamed file [default: memory if
    /// it is large enough, else /var/tmp].
    #[arg(long, value_name = "DIRECTORY")]
    work_dir: Option<PathBuf>,
    /// Size of the image.
    #[arg(long, default_value = "6 GiB")]
    size: Bytes,
    /// Run the smallest sizes that exercise all code; the results have no meaning.
    #[arg(long)]
    smoke: bool,
    /// This process already runs in a private mount namespace.
    #[arg(long, hide = true)]
    inside: bool,
}

impl BenchOptions {
    const fn scale(&self) -> BenchScale {
        if self.smoke { BenchScale::SMOKE } else { BenchScale::FULL }
    }
}

fn main() -> ExitCode {
    match run(&CommandLine::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("fsarena-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(choice: &Choice) -> anyhow::Result<ExitCode> {
    let (contests, options) = match choice {
        Choice::Serve { directory } => {
            peers::engine::serve_parent(directory)?;
            return Ok(ExitCode::SUCCESS);
        }
        Choice::Instructions(options) => {
            instructions::run(options)?;
            return Ok(ExitCode::SUCCESS);
        }
        Choice::Hosts(options) => {
            hosts::run(options)?;
            return Ok(ExitCode::SUCCESS);
        }
        Choice::Bench(options) => (bench::contests(options.scale()), options),
        Choice::Agreement(options) => (agreement::contests(options.scale()), options),
    };
    let contests = chosen(contests, &options.only)?;
    if !options.inside {
        return go_inside();
    }
    namespace::set_pdeathsig()?;
    namespace::mount_proc_and_run()?;
    let outcomes = compare(&contests, options)?;
    show(&outcomes, options)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the selected contests, or all if none is selected.
fn chosen(contests: Vec<PeerBenchmark>, only: &[String]) -> anyhow::Result<Vec<PeerBenchmark>> {
    let is = |contest: &PeerBenchmark, name: &String| {
        *name == contest.name || *name == format!("{}@{}", contest.name, contest.scratch)
    };
    if let Some(unknown) = only.iter().find(|n| !contests.iter().any(|c| is(c, n))) {
        let known: Vec<String> =
            contests.iter().map(|c| format!("{}@{}", c.name, c.scratch)).collect();
        anyhow::bail!("no comparison `{unknown}`; there are {}", known.join(", "));
    }
    let wanted = |c: &PeerBenchmark| only.is_empty() || only.iter().any(|name| is(c, name));
    Ok(contests.into_iter().filter(wanted).collect())
}

/// Restarts this program in private mount and process namespaces.
fn go_inside() -> anyhow::Result<ExitCode> {
    namespace::unshare().context("cannot create a mount namespace; run as root")?;
    let status =
        Command::new(env::current_exe()?).args(env::args_os().skip(1)).arg("--inside").status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn compare(contests: &[PeerBenchmark], options: &BenchOptions) -> anyhow::Result<Vec<RowResult>> {
    let needs_image = contests.iter().any(|c| c.scratch != FsType::Tmpfs);
    let image = needs_image.then(|| write_image(options)).transpose()?;
    let setting =
        RunOptions { pairs: options.pairs.into(), warm_up: 1, image: image.as_ref(), engine };
    let mut outcomes = Vec::new();
    for contest in contests {
        // A contest that fails to run reports the reason, and the others still run.
        match contest.run(&setting, &mut |doing| eprintln!("{doing}")) {
            Ok(more) => {
                eprint!("{}", table::terminal(&more));
                outcomes.extend(more);
            }
            Err(error) => {
                eprintln!("fsarena-bench: {error:#}");
                outcomes.extend(contest.failed_rows(&error));
            }
        }
    }
    Ok(outcomes)
}

fn write_image(options: &BenchOptions) -> anyhow::Result<ScratchImage> {
    let size = options.size;
    let directory = options.work_dir.clone().unwrap_or_else(|| scratch::image_path(size));
    eprintln!("writing an image of {size} in {}", directory.display());
    ScratchImage::write(&directory, size)
}

/// Returns the command that starts this program as the engine process.
fn engine() -> anyhow::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("serve");
    Ok(command)
}

fn show(outcomes: &[RowResult], options: &BenchOptions) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(outcomes)?)?;
    } else {
        write!(out, "{}", table::terminal(outcomes))?;
        let met = outcomes.iter().filter(|o| o.verdict == TargetVerdict::Met);
        writeln!(out, "{} of {} as wanted", met.count(), outcomes.len())?;
    }
    if let Some(path) = &options.document {
        let document =
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let table = table::markdown(outcomes);
        // Rows of comparisons that did not run stay unchanged.
        let document =
            table::replace_between(&document, BEGIN, END, |old| match options.only.is_empty() {
                true => table,
                false => table::renewed(old, &table),
            });
        fs::write(path, document?)?;
    }
    Ok(())
}
