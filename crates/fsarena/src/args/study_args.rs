//! Options of the commands for published comparisons: `claims`, `replicate`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::cli_values::{campaign_number, path};
use crate::args::run_args::RunArgs;

/// Options of `claims`.
#[derive(Clone, Debug, Args)]
pub struct ClaimsArgs {
    /// Study to show (see `fsarena list studies`) or `all` [default: counts for all].
    #[arg(value_name = "STUDY")]
    pub study: Option<String>,
    /// Show only claims with this verdict.
    #[arg(long, value_name = "VERDICT", value_parser = verdict)]
    pub verdict: Option<studies::Verdict>,
}

/// Options of `replicate`.
#[derive(Clone, Debug, Args)]
// A study defines the suites, and is always one campaign on fresh filesystems.
#[command(mut_arg("file", |a| a.hide(true)), mut_arg("study", |a| a.hide(true)), mut_arg("suites", |a| a.hide(true)), mut_arg("sessions", |a| a.hide(true)), mut_arg("age", |a| a.hide(true)))]
pub struct ReplicateArgs {
    /// Study to repeat (see `fsarena list studies`).
    #[arg(value_name = "STUDY")]
    pub study_name: String,
    /// Compare this existing campaign with the study instead of running one.
    #[arg(long, value_name = "ID", value_parser = campaign_number, help_heading = "Replicate")]
    pub campaign: Option<i64>,
    /// Write the `then and now` page to this file.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path(), help_heading = "Replicate")]
    pub output: Option<PathBuf>,
    /// The campaign.
    #[command(flatten)]
    pub run: RunArgs,
}

fn verdict(text: &str) -> Result<studies::Verdict, String> {
    let all = studies::Verdict::ALL;
    let found = all.into_iter().find(|verdict| verdict.name().replace(' ', "-") == text);
    found.ok_or_else(|| {
        let words = all.map(|verdict| verdict.name().replace(' ', "-"));
        format!("expected one of: {}", words.join(", "))
    })
}
