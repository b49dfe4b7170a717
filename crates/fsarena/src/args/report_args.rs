//! Options of commands that present the results of a campaign: `report`, `advise`, `show`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use model::ResultSelector;
use report::ReportFormat;

use crate::args::cli_values::{path, share};
use crate::commands::report::PARQUET;

/// Campaign of a command that shows one.
#[derive(Clone, Debug, Args)]
pub struct CampaignArg {
    /// Campaign by number or name, or a file: JSON report or database [default: the latest].
    #[arg(value_name = "CAMPAIGN")]
    pub campaign: Option<String>,
}

/// Options of `report`.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// The campaign.
    #[command(flatten)]
    pub campaign: CampaignArg,
    /// Report on the figures of a published comparison instead (see `fsarena list studies`).
    #[arg(long, value_name = "STUDY", conflicts_with_all = ["campaign", "campaigns", "schema"])]
    pub study: Option<String>,
    /// Format [default: by the ending of the output file (.html, .md, .csv, .json, .txt, .parquet), or
    /// table].
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(formats()))]
    pub format: Option<String>,
    /// Write to a file instead of standard output.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub output: Option<PathBuf>,
    /// Count costs that differ by less than this as equal [default: 5 %].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub relevant: Option<f64>,
    /// Write charts into this directory, as SVG and PNG.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["output", "format", "schema"], value_parser = path())]
    pub charts: Option<PathBuf>,
    /// Results to draw, as TEST/PHASE or TEST/PHASE:METRIC; `*` matches anything [default: the metrics of the tables].
    #[arg(long, value_name = "RESULT", requires = "charts")]
    pub only: Vec<ResultSelector>,
    /// Write a page over several campaigns instead: changes from the first to the last, and the
    /// history of every result.
    #[arg(long, value_name = "CAMPAIGN,…", value_delimiter = ',', conflicts_with_all = ["campaign", "charts", "schema"])]
    pub campaigns: Vec<String>,
    /// Print only the JSON schema of the format `json`.
    #[arg(long, conflicts_with_all = ["campaign", "format"])]
    pub schema: bool,
}

/// Options of `advise`.
#[derive(Clone, Debug, Args)]
pub struct AdviseArgs {
    /// Use case (see `fsarena list uses`) [default: all of them, one sentence each].
    #[arg(long = "use", value_name = "USE")]
    pub for_use: Option<String>,
    /// Count costs that differ by less than this as equal [default: 5 %].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub relevant: Option<f64>,
    /// The campaign.
    #[command(flatten)]
    pub campaign: CampaignArg,
}

/// Returns the names of all formats. Parquet is always included, so that builds without it can
/// report the reason.
fn formats() -> impl Iterator<Item = &'static str> {
    ReportFormat::ALL.map(ReportFormat::name).into_iter().chain([PARQUET])
}
