//! Options of `survive`: power cuts of real machines.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use model::Nanos;

use crate::args::cli_values::{path, time};

/// Commands for power cuts of real machines.
#[derive(Clone, Debug, Subcommand)]
pub enum SurviveCommand {
    /// Write to a directory until the power fails, and print each step that was acknowledged.
    #[command(after_help = "\
Examples:
  ssh root@server fsarena survive write /mnt/test > cut.log
                                            on a second machine, which keeps its power
  fsarena survive write /mnt/test --for 1min > /mnt/other/cut.log
                                            without a power cut, to try it")]
    Write(WriteArgs),
    /// Check what is left after a power cut. Exits with 1 if synced data or names are lost.
    #[command(after_help = "\
Examples:
  ssh root@server fsarena survive check /mnt/test < cut.log
                                            on the second machine, after restart and mount")]
    Check(SurviveCheckArgs),
}

/// Options of `survive write`.
#[derive(Clone, Debug, Args)]
pub struct WriteArgs {
    /// Write below this directory, in a new directory `fsarena-power-cut-…`.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub directory: PathBuf,
    /// End after this time [default: write until the power fails, or Ctrl-C].
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub time: Option<Nanos>,
}

/// Options of `survive check`.
#[derive(Clone, Debug, Args)]
pub struct SurviveCheckArgs {
    /// The directory given to `survive write`.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub directory: PathBuf,
    /// The output of `survive write` [default: standard input].
    #[arg(value_name = "LOG", value_hint = ValueHint::FilePath, value_parser = path())]
    pub log: Option<PathBuf>,
}
