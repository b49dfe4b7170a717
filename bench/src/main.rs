//! `fsarena-bench`: fsarena's engine beside its peers. `bench` says how fast it is, `agreement` whether it
//! measures what they measure, `instructions` how many instructions an operation takes on both sides, `record` what recording
//! costs beside strace, `hosts` what very many cells take of the machine that collects. Wiring only.

mod agreement;
mod bench;
mod comparison;
mod guest_paths;
mod hosts;
mod instructions;
mod paired;
mod peers;
mod plan;
mod record;
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
use comparison::{Benchmark, RowResult, RunOptions, Verdict};
use model::Bytes;
use scratch::{FsType, Image};
use sys::namespace;

/// Where the generated part of the document begins and ends.
const BEGIN: &str = "<!-- table: begin -->";
const END: &str = "<!-- table: end -->";

/// fsarena's engine beside its peers.
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: Choice,
}

#[derive(Debug, Subcommand)]
enum Choice {
    /// How fast the engine is beside fio, bonnie++, fs_mark, dd and a bare loop in C.
    Bench(Options),
    /// Whether the engine measures what bonnie++, IOzone and fio measure.
    Agreement(Options),
    /// How many instructions an operation takes the engine and its peers, in programs and in the kernel: in guests in
    /// virtual time, the same in every run.
    Instructions(instructions::InstructionOptions),
    /// What recording a command costs beside tracing it with strace.
    Record(record::RecordOptions),
    /// What a campaign of very many cells over very many hosts takes of the machine that plans and collects.
    Hosts(hosts::HostOptions),
    /// The engine's own process.
    #[command(hide = true)]
    Serve { directory: PathBuf },
}

#[derive(Debug, Args)]
struct Options {
    /// Only comparisons whose name (or name@filesystem) this is; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// How many pairs of each comparison.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..))]
    pairs: u16,
    /// Print JSON in place of the table.
    #[arg(long)]
    json: bool,
    /// Put the table into this document, between its markers; with `--only`, its rows alone.
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
    /// Where the image goes, on which filesystems are made; it has no name there [default: memory
    /// where there is enough, else /var/tmp].
    #[arg(long, value_name = "DIRECTORY")]
    work_dir: Option<PathBuf>,
    /// Size of the image.
    #[arg(long, default_value = "6 GiB")]
    size: Bytes,
    /// As little as shows that everything works; the results mean nothing.
    #[arg(long)]
    smoke: bool,
    /// This process is in namespaces of its own already.
    #[arg(long, hide = true)]
    inside: bool,
}

impl Options {
    const fn scale(&self) -> BenchScale {
        if self.smoke {
            BenchScale::SMOKE
        } else {
            BenchScale::FULL
        }
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
        Choice::Record(options) => {
            record::run(options)?;
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

/// Those that are named; all where none is.
fn chosen(contests: Vec<Benchmark>, only: &[String]) -> anyhow::Result<Vec<Benchmark>> {
    let is = |contest: &Benchmark, name: &String| {
        *name == contest.name || *name == format!("{}@{}", contest.name, contest.scratch)
    };
    if let Some(unknown) = only.iter().find(|n| !contests.iter().any(|c| is(c, n))) {
        let known: Vec<String> = contests
            .iter()
            .map(|c| format!("{}@{}", c.name, c.scratch))
            .collect();
        anyhow::bail!("no comparison `{unknown}`; there are {}", known.join(", "));
    }
    let wanted = |c: &Benchmark| only.is_empty() || only.iter().any(|name| is(c, name));
    Ok(contests.into_iter().filter(wanted).collect())
}

/// Starts this program again with mounts and processes of its own, which end with it.
fn go_inside() -> anyhow::Result<ExitCode> {
    namespace::unshare().context("this needs root: mounts of its own")?;
    let status = Command::new(env::current_exe()?)
        .args(env::args_os().skip(1))
        .arg("--inside")
        .status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn compare(contests: &[Benchmark], options: &Options) -> anyhow::Result<Vec<RowResult>> {
    let needs_image = contests.iter().any(|c| c.scratch != FsType::Tmpfs);
    let image = needs_image.then(|| write_image(options)).transpose()?;
    let setting = RunOptions {
        pairs: options.pairs.into(),
        warm_up: 1,
        image: image.as_ref(),
        engine,
    };
    let mut outcomes = Vec::new();
    for contest in contests {
        // One that cannot be run says why and does not keep the others from running.
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

fn write_image(options: &Options) -> anyhow::Result<Image> {
    let size = options.size;
    let directory = options
        .work_dir
        .clone()
        .unwrap_or_else(|| scratch::image_path(size));
    eprintln!("writing an image of {size} in {}", directory.display());
    Image::write(&directory, size)
}

/// This program again, as the engine's own process.
fn engine() -> anyhow::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("serve");
    Ok(command)
}

fn show(outcomes: &[RowResult], options: &Options) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(outcomes)?)?;
    } else {
        write!(out, "{}", table::terminal(outcomes))?;
        let met = outcomes.iter().filter(|o| o.verdict == Verdict::Met);
        writeln!(out, "{} of {} as wanted", met.count(), outcomes.len())?;
    }
    if let Some(path) = &options.document {
        let document =
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let table = table::markdown(outcomes);
        // What was left out keeps the rows it has.
        let document =
            table::replace_between(&document, BEGIN, END, |old| match options.only.is_empty() {
                true => table,
                false => table::renewed(old, &table),
            });
        fs::write(path, document?)?;
    }
    Ok(())
}
