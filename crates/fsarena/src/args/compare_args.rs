//! Options of the commands that compare results: `compare`, `guard`, `history`.

use clap::Args;
use model::ResultSelector;

use crate::args::cli_values::{share, text};
use crate::args::run_args::RunArgs;

/// Options of `compare`.
#[derive(Clone, Debug, Default, Args)]
pub struct CompareArgs {
    /// Earlier side: a campaign by number, a file (JSON report or database), or a name: the latest
    /// campaign of that name with all earlier ones of equal plan, machine and system.
    #[arg(value_name = "A")]
    pub before: String,
    /// Later side: another campaign, file or name (`fsarena list campaigns` has all).
    #[arg(value_name = "B")]
    pub after: String,
    /// Compare contenders A and B of this campaign.
    #[arg(long, value_name = "CAMPAIGN", conflicts_with = "contenders")]
    pub within: Option<String>,
    /// Compare this contender [default: all that both have].
    #[arg(short, long = "contender", value_name = "NAME")]
    pub contenders: Vec<String>,
    /// Results to compare, as TEST/PHASE or TEST/PHASE:METRIC; `*` matches anything [default: the primary metric of
    /// each phase].
    #[arg(long, value_name = "RESULT")]
    pub only: Vec<ResultSelector>,
    /// Compare every metric, not only the primary ones.
    #[arg(long)]
    pub all: bool,
    /// Count costs that differ by less than this as equal [default: 5 %, or --threshold].
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "threshold")]
    pub relevant: Option<f64>,
    /// Exit with 1 if a result surely costs more than this more, or newly fails.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub threshold: Option<f64>,
    /// Exit with 5 if a result that costs this much more might have been missed.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub detect: Option<f64>,
    /// Write Markdown.
    #[arg(long)]
    pub markdown: bool,
    /// Whether a comparison without any decided result fails.
    #[arg(skip)]
    pub must_decide: bool,
}

/// Options of `guard`.
#[derive(Clone, Debug, Args)]
// The contenders are positional and may be followed by a file; a campaign needs two of them.
#[command(mut_arg("contenders", |a| a.hide(true)), mut_arg("directories", |a| a.hide(true)), mut_arg("sessions", |a| a.hide(true)), mut_arg("file", |a| a.long("campaign").hide(true)))]
pub struct GuardArgs {
    /// Name the known contender and the one that must not be worse, or more in chronological order
    /// (with --over: one); or two mounted directories, as DIR or NAME=DIR. A campaign file (….toml)
    /// may follow.
    #[arg(value_name = "CONTENDER", required = true, num_args = 1..)]
    pub versions: Vec<String>,
    /// Guard one contender over software versions in chronological order: releases of Debian's
    /// kernel (6.1, 6.12.107), or directories that contain a kernel and its modules or programs
    /// such as mkfs; NAME=DIR sets the name.
    #[arg(long, value_name = "VERSION,…", value_delimiter = ',', value_parser = text, help_heading = "Guard")]
    pub over: Vec<String>,
    /// Exit with 1 if a result of the last surely costs more than this much more, or newly fails.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "5%", help_heading = "Guard")]
    pub threshold: f64,
    /// Exit with 5 if a result that costs this much more might have been missed.
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Guard")]
    pub detect: Option<f64>,
    /// Results to compare, as TEST/PHASE or TEST/PHASE:METRIC; `*` matches anything [default: the primary metric of
    /// each phase].
    #[arg(long, value_name = "RESULT", help_heading = "Guard")]
    pub only: Vec<ResultSelector>,
    /// Write Markdown.
    #[arg(long, help_heading = "Guard")]
    pub markdown: bool,
    /// The campaign.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Options of `history`.
#[derive(Clone, Debug, Args)]
pub struct HistoryArgs {
    /// Result to show, as TEST/PHASE or TEST/PHASE:METRIC; `*` matches anything.
    #[arg(value_name = "RESULT")]
    pub result: ResultSelector,
    /// Show this contender [default: all that have the result].
    #[arg(short, long = "contender", value_name = "NAME")]
    pub contenders: Vec<String>,
}
