//! The options of `trace`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::arguments::cli_values::path;

/// Options of `trace`.
#[derive(Clone, Debug, Args)]
pub struct TraceArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: TraceAction,
}

/// What can be done with traces.
#[derive(Clone, Debug, Subcommand)]
pub enum TraceAction {
    /// Run a command and record what it does below a directory.
    #[command(after_help = "\
Examples:
  fsarena trace record -o untar.trace -- tar xf linux.tar.xz         below the current directory
  fsarena trace record -o build.trace --below src -- make -C src     below another one
  fsarena trace record -o mail.trace -- sh -c 'cp *.eml Maildir/new'

Exits as the command does, with 128 and its number where a signal has killed it.")]
    Record(RecordArgs),
}

/// Options of `trace record`.
#[derive(Clone, Debug, Args)]
pub struct RecordArgs {
    /// Write the trace to this file.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub output: PathBuf,
    /// Record what lies below this directory [default: the current one].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub below: Option<PathBuf>,
    /// The command with its arguments.
    #[arg(value_name = "COMMAND", required = true, last = true, num_args = 1.., value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
