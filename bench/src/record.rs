//! Compares the cost of recording a command with that of tracing it with strace. The same command
//! runs under each side in turn.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use stats::median;

use crate::paired::order;

/// Options of `record`.
#[derive(Debug, Args)]
pub struct RecordOptions {
    /// Runs of each command per side.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// The program that records [default: fsarena in the directory of this program].
    #[arg(long, value_name = "FILE")]
    fsarena: Option<PathBuf>,
    /// Run the smallest sizes that exercise all code; the results have no meaning.
    #[arg(long)]
    smoke: bool,
}

/// A way to run a command, with the words to put before the command.
struct RecordingSide {
    name: &'static str,
    words: Vec<String>,
}

/// A command and the function that creates its input files.
struct Work {
    name: &'static str,
    command: &'static str,
    files: fn(&Path, usize) -> anyhow::Result<()>,
    size: usize,
}

const WORKS: [Work; 2] = [
    Work {
        name: "unpack, find, remove",
        command: "tar xf ../files.tar && find . -type f -size +1k >/dev/null && rm -r files",
        files: archive,
        size: 5000,
    },
    Work {
        name: "build",
        command: "cp ../project/* . && make -s && rm *",
        files: project,
        size: 40,
    },
];

/// Duration of one run, in seconds.
#[derive(Clone, Copy)]
struct RunTime {
    wall: f64,
    processor: f64,
}

/// Runs all sides alternately. Prints their medians and the ratios to the bare command.
pub fn run(options: &RecordOptions) -> anyhow::Result<()> {
    let place = tempfile::Builder::new()
        .prefix("fsarena-bench-")
        .tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" })?;
    let sides = sides(options, place.path())?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:22}{:32}{:>9}{:>8}{:>9}{:>8}",
        "command", "traced by", "wall s", "ratio", "CPU s", "ratio"
    )?;
    for work in &WORKS {
        let directory = place.path().join("work");
        fs::create_dir(&directory)?;
        let size = work.size / if options.smoke { 20 } else { 1 };
        (work.files)(place.path(), size)?;
        let took = rounds(options, &sides, work, &directory)?;
        let bare = medians(&took[0]);
        for (side, took) in sides.iter().zip(&took) {
            let (wall, processor) = medians(took);
            writeln!(
                out,
                "{:22}{:32}{wall:>9.3}{:>8.2}{processor:>9.3}{:>8.2}",
                work.name,
                side.name,
                wall / bare.0,
                processor / bare.1
            )?;
        }
        fs::remove_dir_all(&directory)?;
    }
    Ok(())
}

fn sides(options: &RecordOptions, place: &Path) -> anyhow::Result<[RecordingSide; 4]> {
    let beside = std::env::current_exe()?.with_file_name("fsarena");
    let fsarena = options.fsarena.clone().unwrap_or(beside);
    ensure!(fsarena.exists(), "there is no {}: `make build`", fsarena.display());
    let side = |name, line: &str| RecordingSide {
        name,
        words: line.split_whitespace().map(str::to_owned).collect(),
    };
    let place = place.display();
    Ok([
        side("nobody", ""),
        side(
            "fsarena trace record",
            &format!("{} trace record -q -o {place}/trace --", fsarena.display()),
        ),
        side(
            "strace --seccomp-bpf, files only",
            &format!("strace -f --seccomp-bpf -e trace=file,desc -o {place}/strace"),
        ),
        side("strace", &format!("strace -f -o {place}/strace")),
    ])
}

/// Returns the durations of each side in each round, after one warm-up round that does not count.
fn rounds(
    options: &RecordOptions,
    sides: &[RecordingSide; 4],
    work: &Work,
    directory: &Path,
) -> anyhow::Result<[Vec<RunTime>; 4]> {
    let mut took: [Vec<RunTime>; 4] = Default::default();
    for round in 0..=usize::from(options.rounds) {
        for side in order(round, sides.len()) {
            let one = once(&sides[side], work, directory)?;
            if round > 0 {
                took[side].push(one);
            }
        }
    }
    Ok(took)
}

fn once(side: &RecordingSide, work: &Work, directory: &Path) -> anyhow::Result<RunTime> {
    let words = side.words.iter().map(String::as_str);
    let words: Vec<&str> = words.chain(["sh", "-c", work.command]).collect();
    let before = processor_time()?;
    let start = Instant::now();
    let status = Command::new(words[0])
        .args(&words[1..])
        .current_dir(directory)
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("starting {}", words[0]))?;
    let wall = start.elapsed().as_secs_f64();
    ensure!(status.success(), "{} under {}: {status}", work.name, side.name);
    Ok(RunTime { wall, processor: processor_time()? - before })
}

/// Returns the processor time of all awaited child processes, in seconds.
fn processor_time() -> anyhow::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let total = usage.user_time() + usage.system_time();
    Ok(total.num_microseconds() as f64 / 1e6)
}

fn medians(took: &[RunTime]) -> (f64, f64) {
    let of = |part: fn(&RunTime) -> f64| {
        let parts: Vec<f64> = took.iter().map(part).collect();
        median(&parts).unwrap_or(f64::NAN)
    };
    (of(|took| took.wall), of(|took| took.processor))
}

/// Creates `files.tar` with the given number of files, each one to eight blocks, in about as many
/// directories as a source tree has.
fn archive(place: &Path, files: usize) -> anyhow::Result<()> {
    let top = place.join("files");
    for number in 0..files {
        let directory = top.join(format!("d{}/e{}", number % 19, number % 7));
        fs::create_dir_all(&directory)?;
        let content = vec![b'x'; number * 7919 % 32_768];
        fs::write(directory.join(format!("f{number}.c")), content)?;
    }
    let status =
        Command::new("tar").args(["cf", "files.tar", "files"]).current_dir(place).status()?;
    ensure!(status.success(), "tar: {status}");
    Ok(fs::remove_dir_all(top)?)
}

/// Creates `project` with the given number of C sources that include each other's headers, and a
/// makefile.
fn project(place: &Path, sources: usize) -> anyhow::Result<()> {
    let top = place.join("project");
    fs::create_dir(&top)?;
    let mut main = String::from("int main(void) { return 0; }\n");
    for number in 0..sources {
        fs::write(top.join(format!("h{number}.h")), format!("int f{number}(int);\n"))?;
        let include = format!("#include \"h{number}.h\"\n");
        let code = format!(
            "{include}#include <stdio.h>\nint f{number}(int n) {{ return n + {number}; }}\n"
        );
        fs::write(top.join(format!("s{number}.c")), code)?;
        main.insert_str(0, &include);
    }
    fs::write(top.join("main.c"), main)?;
    let makefile = "program: $(patsubst %.c,%.o,$(wildcard *.c))\n\t$(CC) -o $@ $^\n";
    Ok(fs::write(top.join("Makefile"), makefile)?)
}
