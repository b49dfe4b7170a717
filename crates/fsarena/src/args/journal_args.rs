//! Options of `journal`, `explain`, `replay` and `validate`: the commands for simulated disks.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use model::Bytes;

use crate::args::cli_values::{campaign_number, cell_number, path, size};
use crate::args::guest_args::BuildOptions;

/// Output formats of a journal.
pub const FORMATS: [&str; 6] = ["table", "regions", "csv", "blkparse", "parquet", "map"];

/// Options of `journal`.
#[derive(Clone, Debug, Args)]
pub struct JournalArgs {
    /// Number of the campaign [default: the latest].
    #[arg(value_name = "ID", value_parser = campaign_number)]
    pub id: Option<i64>,
    /// Number of the cell (see `fsarena show`) [default: the first with a simulated disk].
    #[arg(long, value_name = "N", value_parser = cell_number)]
    pub cell: Option<u32>,
    /// Show only requests of this phase.
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<String>,
    /// Set the format: `table` shows the time components of each phase, `regions` the time per disk
    /// region; `csv`, `blkparse` and `parquet` list every request; `map` is a picture (SVG) of disk
    /// location over time.
    #[arg(long, value_name = "FORMAT", default_value = FORMATS[0], value_parser = PossibleValuesParser::new(FORMATS))]
    pub format: String,
    /// Write to a file instead of standard output.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub output: Option<PathBuf>,
}

/// Options of `replay`.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// Journal written by `fsarena journal --format csv`, or number of a campaign [default: the
    /// latest].
    #[arg(value_name = "JOURNAL")]
    pub journal: Option<String>,
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

/// Options of `validate`.
#[derive(Clone, Debug, Args)]
pub struct ValidateArgs {
    /// Validate this disk [default: all].
    #[arg(value_name = "DISK")]
    pub disk: Vec<String>,
    /// Write the table as Markdown.
    #[arg(long)]
    pub markdown: bool,
}
