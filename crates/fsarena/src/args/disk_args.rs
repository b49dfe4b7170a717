//! Options of `disk` and `explain`: commands for simulated disks.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueHint};
use model::Bytes;

use crate::args::cli_values::{cell_number, path, size};
use crate::args::guest_args::BuildOptions;
use crate::args::report_args::CampaignArg;

/// Commands for simulated disks.
#[derive(Clone, Debug, Subcommand)]
pub enum DiskCommand {
    /// Show the requests to a simulated disk in a cell, and the time spent in each part of them.
    #[command(after_help = "\
Examples:
  fsarena disk requests                            the first cell of the latest campaign, phase by phase
  fsarena disk requests 7 --cell 12                cell 12 of campaign 7
  fsarena disk requests 7 --cell 12 --phase tree-in --format csv
                                                   every request of a phase with its time components
  fsarena disk requests --format blkparse -o it.txt
                                                   every request, for programs that read blkparse output
  fsarena disk requests --phase tree-in -o map.svg
                                                   a picture: location on the disk over time")]
    Requests(RequestsArgs),
    /// Replay the requests of a cell on other simulated disks, in seconds and without a guest.
    #[command(after_help = "\
Examples:
  fsarena disk replay                             the first cell of the latest campaign, on every disk
  fsarena disk replay 7 --cell 12 --disk sata-ssd,sata-ssd-steady
                                                  a new disk, and one after a long series of overwrites
  fsarena disk replay it.csv --disk all --open    send requests at their recorded times, even to a slow disk")]
    Replay(ReplayArgs),
    /// Compare simulated disks with the published values of the real disks.
    #[command(after_help = "\
Examples:
  fsarena disk validate                 every disk of the catalog: data sheet, model, ratio
  fsarena disk validate sata-ssd --json")]
    Validate(ValidateArgs),
}

/// Output formats of a request log.
pub const FORMATS: [&str; 6] = ["table", "regions", "csv", "blkparse", "parquet", "map"];

/// Options of `disk requests`.
#[derive(Clone, Debug, Args)]
pub struct RequestsArgs {
    /// The campaign.
    #[command(flatten)]
    pub campaign: CampaignArg,
    /// Number of the cell (see `fsarena show`) [default: the first with a simulated disk].
    #[arg(long, value_name = "N", value_parser = cell_number)]
    pub cell: Option<u32>,
    /// Show only requests of this phase.
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<String>,
    /// Set the format: `table` shows the time components of each phase, `regions` the time per disk
    /// region; `csv`, `blkparse` and `parquet` list every request; `map` is a picture (SVG) of disk
    /// location over time
    /// [default: by the ending of the output file (.txt, .csv, .svg, .parquet), or table].
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(FORMATS))]
    pub format: Option<String>,
    /// Write to a file instead of standard output.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub output: Option<PathBuf>,
}

/// Options of `disk replay`.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// Campaign by number or name, a database, or a log written by `fsarena disk requests --format
    /// csv` [default: the latest campaign].
    #[arg(value_name = "CAMPAIGN")]
    pub source: Option<String>,
    /// Number of the cell of a campaign [default: the first with a simulated disk].
    #[arg(long, value_name = "N", value_parser = cell_number)]
    pub cell: Option<u32>,
    /// Replay on these disks, separated by commas, or `all` (see `fsarena list disks`).
    #[arg(long, value_name = "DISK", value_delimiter = ',', default_value = "all")]
    pub disk: Vec<String>,
    /// Send each request at its recorded time, even if the disk is slower [default: keep the
    /// dependencies between requests].
    #[arg(long)]
    pub open: bool,
}

/// Options of `explain`.
#[derive(Clone, Debug, Args)]
#[command(override_usage = "fsarena explain [OPTIONS] [CAMPAIGN] TEST/PHASE A B")]
pub struct ExplainArgs {
    /// Campaign [default: the latest], result as TEST/PHASE, and two contenders.
    #[arg(value_name = "WORD", num_args = 1..=4, required = true)]
    pub args: Vec<String>,
    /// Write the pictures to this directory [default: the directory of the pages].
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub output: Option<PathBuf>,
    /// Do not reuse results of identical cells.
    #[arg(long)]
    pub no_cache: bool,
    /// Limit the size of your cached results; the least recently used ones are removed first
    /// [default: 10 GiB].
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "no_cache")]
    pub cache_size: Option<Bytes>,
    /// Components of the campaign's guest, if they were specified when it started.
    #[command(flatten)]
    pub build: BuildOptions,
}

/// Options of `disk validate`.
#[derive(Clone, Debug, Args)]
pub struct ValidateArgs {
    /// Validate this disk [default: all].
    #[arg(value_name = "DISK")]
    pub disk: Vec<String>,
    /// Write the table as Markdown.
    #[arg(long)]
    pub markdown: bool,
}
