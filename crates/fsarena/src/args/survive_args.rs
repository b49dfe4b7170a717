//! Options of `survive`: power cuts in recorded programs, and of real machines.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use model::{Expectation, FileStep, Nanos};

use crate::args::cli_values::{int_up_to, path, time};
use crate::args::run_args::RunArgs;

/// Largest number of cuts of a trace.
const MAX_CUTS: u32 = 1 << 20;

/// Commands for power cuts.
#[derive(Clone, Debug, Subcommand)]
pub enum SurviveCommand {
    /// Cut the power of a simulated disk at each position of a trace, in guests.
    #[command(after_help = "\
Examples:
  fsarena trace record -o work.trace -- ./work.sh
  fsarena survive trace work.trace -c ext4 -c xfs -c btrfs
  fsarena survive trace mail -c ext4 --cuts 6000            a trace of `fsarena trace make`
  fsarena survive trace work.trace -c xfs --expect acknowledged

The changes and syncs of the trace become steps, in the order in which they began; writes have whole blocks of \
4 KiB. docs/survival.md explains what is expected.")]
    Trace(Box<SurviveTraceArgs>),
    /// Cut the power of a simulated disk at each position of a sequence of steps, in guests.
    #[command(after_help = "\
Examples:
  fsarena survive steps -c ext4 -c ext2 --step 'write a 2' --step 'fsync a' --step 'rename a b' --step 'fsync .'
  fsarena survive steps -c xfs --prepare 'write a 1' --step 'overwrite a' --step 'fsync a'
  fsarena survive steps -c ext4 --expect order --step 'write a 1' --step 'rename a b'

docs/adding-a-suite.md lists all steps.")]
    Steps(Box<StepsArgs>),
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

/// Options of `survive trace`.
#[derive(Clone, Debug, Args)]
pub struct SurviveTraceArgs {
    /// Cut the power in this trace: a file, or the name of a recorded trace.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub trace: PathBuf,
    /// Cuts and campaign.
    #[command(flatten)]
    pub cuts: CutArgs,
}

/// Options of `survive steps`.
#[derive(Clone, Debug, Args)]
pub struct StepsArgs {
    /// Perform this step, recorded; repeatable.
    #[arg(long = "step", value_name = "STEP", required = true)]
    pub steps: Vec<FileStep>,
    /// Perform this step before the recording; repeatable.
    #[arg(long, value_name = "STEP")]
    pub prepare: Vec<FileStep>,
    /// Cuts and campaign.
    #[command(flatten)]
    pub cuts: CutArgs,
}

/// Options of power cuts in a sequence.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("suites", |a| a.hide(true)), mut_arg("study", |a| a.hide(true)), mut_arg("backend", |a| a.hide(true)))]
pub struct CutArgs {
    /// Maximum number of cuts on each filesystem; a sample if there are more.
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = int_up_to(MAX_CUTS))]
    pub cuts: u32,
    /// Set the expectation: the promise of fsync; in addition the result of the last step, whole
    /// replaced files, or all files as at one moment.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ExpectationArg::Promise)]
    pub expect: ExpectationArg,
    /// The campaign.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Expectation by which losses are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExpectationArg {
    /// The promises of fsync(2) and sync(2).
    Promise,
    /// In addition, the result of the last step.
    Acknowledged,
    /// In addition, a file that a rename replaces is the old one or the new one.
    Replacement,
    /// All files, as at one moment since the last sync.
    Order,
}

impl From<ExpectationArg> for Expectation {
    fn from(given: ExpectationArg) -> Self {
        match given {
            ExpectationArg::Promise => Self::Promise,
            ExpectationArg::Acknowledged => Self::Acknowledged,
            ExpectationArg::Replacement => Self::Replacement,
            ExpectationArg::Order => Self::Order,
        }
    }
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
