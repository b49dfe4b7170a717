//! Options of `trace`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use crate::args::cli_values::path;
use crate::args::run_args::RunArgs;

/// Actions on traces.
#[derive(Clone, Debug, Subcommand)]
pub enum TraceCommand {
    /// Run a command and record its file operations below a directory.
    #[command(after_help = "\
Examples:
  fsarena trace record -o untar.trace -- tar xf linux.tar.xz         below the current directory
  fsarena trace record -o build.trace --below src -- make -C src     below another directory
  fsarena trace record -o mail.trace --anonymise -- sh -c 'cp *.eml Maildir/new'

Exits with the status of the command, or with 128 plus the signal number if a signal killed it.")]
    Record(RecordArgs),
    /// Record the traces of the suite `traces`: builds, packages, mail, databases, backups.
    #[command(after_help = "\
Examples:
  sudo fsarena trace make                  all ten; a minute, and the programs that they record
  sudo fsarena trace make lua mail         two of them
  sudo fsarena run --suite traces          then replay them all on every filesystem
  sudo fsarena run --suite traces/mail     or one")]
    Make(MakeArgs),
    /// Convert a recording of strace or fio to a trace.
    #[command(after_help = "\
Examples:
  cd src && strace -f -ttt -T -y -s 256 -o /tmp/make.strace make
  fsarena trace import /tmp/make.strace --below src -o make.trace
  fio --name=db --rw=randwrite --size=64m --write_iolog=db.iolog
  fsarena trace import db.iolog -o db.trace")]
    Import(TraceImportArgs),
    /// Show the contents of a trace.
    #[command(after_help = "\
Examples:
  fsarena trace show make.trace
  fsarena trace show mail                  one that `fsarena trace make` has recorded
  fsarena trace show make.trace --json")]
    Show(ShowTraceArgs),
    /// Replace the names in a trace, so that it can be shared.
    #[command(after_help = "\
Examples:
  fsarena trace anonymise make.trace -o public.trace")]
    Anonymise(AnonymiseArgs),
    /// Run a campaign that replays a trace.
    #[command(after_help = "\
Examples:
  sudo fsarena trace replay make.trace -c ext4 -c xfs -c btrfs
  fsarena trace replay make.trace --dir /srv/data             in a mounted directory, without root
  fsarena trace replay make.trace --backend vm --rounds 1     in guests, in virtual time
  sudo fsarena trace replay mail.trace -c ext4 --pace recorded
  sudo fsarena trace replay mail.trace -c ext4 --pace scaled --speed 4

In a suite of your own, `op = \"replay\"` does the same: see docs/traces.md.")]
    Replay(Box<TraceReplayArgs>),
}

/// Options of `trace record`.
#[derive(Clone, Debug, Args)]
pub struct RecordArgs {
    /// Write the trace to this file.
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, value_parser = path())]
    pub output: PathBuf,
    /// Record this directory [default: the current one].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub below: Option<PathBuf>,
    /// Replace names, so that the trace can be shared.
    #[arg(long)]
    pub anonymise: bool,
    /// Command with its arguments.
    #[arg(value_name = "COMMAND", required = true, last = true, num_args = 1.., value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// Options of `trace make`.
#[derive(Clone, Debug, Args)]
pub struct MakeArgs {
    /// Record these traces [default: all].
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Write traces to this directory [default: the directory in which campaigns find them].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub into: Option<PathBuf>,
    /// List the missing Debian packages of the recorded programs, and record nothing.
    #[arg(long)]
    pub packages: bool,
}

/// Options of `trace import`.
#[derive(Clone, Debug, Args)]
pub struct TraceImportArgs {
    /// Read this output file of strace or fio.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub file: PathBuf,
    /// Write the trace to this file.
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, value_parser = path())]
    pub output: PathBuf,
    /// Trace this directory; operations elsewhere are omitted [default: the directory in which the
    /// program started].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub below: Option<PathBuf>,
    /// Set the program that wrote the file [default: detected].
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<TraceSource>,
}

/// Formats that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceSource {
    /// Output of `strace -f -ttt -T -y -s 256 -o FILE`.
    Strace,
    /// Output of `fio --write_iolog=FILE`, version 2 or 3.
    Iolog,
}

/// Options of `trace show`.
#[derive(Clone, Debug, Args)]
pub struct ShowTraceArgs {
    /// Show this trace: a file, or the name of a recorded trace.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub file: PathBuf,
}

/// Options of `trace anonymise`.
#[derive(Clone, Debug, Args)]
pub struct AnonymiseArgs {
    /// The trace.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath, value_parser = path())]
    pub file: PathBuf,
    /// Write the trace to this file.
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, value_parser = path())]
    pub output: PathBuf,
    /// Seed of the new names; a secret seed keeps others from finding the names by trial [default:
    /// random].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Options of `trace replay`.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("suites", |a| a.hide(true)), mut_arg("study", |a| a.hide(true)))]
pub struct TraceReplayArgs {
    /// Replay this trace: a file, or the name of a recorded trace.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub trace: PathBuf,
    /// Set the start times of operations.
    #[arg(long, value_enum, value_name = "PACE", default_value_t = ReplaySpeedArg::Closed)]
    pub pace: ReplaySpeedArg,
    /// Replay this many times faster than recorded, with `--pace scaled`.
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub speed: Option<f64>,
    /// The campaign.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Start times of replayed operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplaySpeedArg {
    /// As soon as the order of operations allows.
    Closed,
    /// At the recorded times.
    Recorded,
    /// At the recorded times, `--speed` times faster.
    Scaled,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| *factor > 0.0 && *factor <= 1000.0);
    factor.ok_or_else(|| "a number above 0 and at most 1000".to_owned())
}
