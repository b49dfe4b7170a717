//! Options of `study`: commands for published comparisons.

use std::path::PathBuf;

use clap::{Arg, Args, Subcommand, ValueHint};

use crate::args::cli_values::path;
use crate::args::run_args::RunArgs;

/// Commands for published comparisons.
#[derive(Clone, Debug, Subcommand)]
pub enum StudyCommand {
    /// Show the figures of a published comparison, and their known problems.
    #[command(after_help = "\
Examples:
  fsarena study show bonnie-linux-2011
  fsarena study show os2-shootout-2002 --json    every figure, with unit and range")]
    Show(StudyShowArgs),
    /// Check the claims of published comparisons against their own figures.
    #[command(after_help = "\
Examples:
  fsarena study claims                              number of claims that hold, for each study
  fsarena study claims bonnie-linux-2011            each claim, the verdict, and the numbers that decide it
  fsarena study claims debian-file-server-2006 --verdict partly
                                                    only claims that hold in part
  fsarena study claims all --json                   every claim of every study, with its statements

Verdicts: supported; partly (for some of the figures, or with another size); contradicted; undecidable (no figure \
decides it; the reason is shown). docs/claims.md describes the claim language.")]
    Claims(ClaimsArgs),
    /// Repeat a published comparison, and show which of its claims hold now.
    #[command(after_help = "\
Examples:
  fsarena study replicate bonnie-linux-2011 --profile quick --backend vm
                                            its filesystems and tests at small size, in guests in virtual time
  sudo fsarena study replicate debian-file-server-2006
                                            with its original sizes, volume and memory, on this machine
  fsarena study replicate bonnie-linux-2011 --campaign 7 -o page.html
                                            compare campaign 7 with the study, and write the `then and now` page

Claims are checked against both the published and the measured results. With one round in real time, or if intervals \
overlap, the verdict is `not enough rounds`. Only orders and ratios are compared, never published times with new times.")]
    Replicate(Box<ReplicateArgs>),
}

/// Options of `study show`.
#[derive(Clone, Debug, Args)]
pub struct StudyShowArgs {
    /// Study to show (see `fsarena list studies`).
    #[arg(value_name = "STUDY")]
    pub study: String,
}

/// Options of `study claims`.
#[derive(Clone, Debug, Args)]
pub struct ClaimsArgs {
    /// Study to show (see `fsarena list studies`) or `all` [default: counts for all].
    #[arg(value_name = "STUDY")]
    pub study: Option<String>,
    /// Show only claims with this verdict.
    #[arg(long, value_name = "VERDICT", value_parser = verdict)]
    pub verdict: Option<studies::Verdict>,
}

/// Options of `study replicate`.
#[derive(Clone, Debug, Args)]
#[command(mut_args(of_study))]
pub struct ReplicateArgs {
    /// Study to repeat (see `fsarena list studies`).
    #[arg(value_name = "STUDY")]
    pub study_name: String,
    /// Compare this existing campaign with the study instead of running one.
    #[arg(long, value_name = "CAMPAIGN", help_heading = "Replicate")]
    pub campaign: Option<String>,
    /// Write the `then and now` page to this file.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path(), help_heading = "Replicate")]
    pub output: Option<PathBuf>,
    /// The campaign.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Hides options that a study defines, which is always one campaign on fresh filesystems, and
/// shows its defaults.
fn of_study(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "file" | "study" | "suites" | "sessions" | "age" | "fill" => arg.hide(true),
        "contenders" => with_help(arg, "Add a contender [default: those of the study]"),
        "profile" => with_help(arg, "Set the size of the tests [default: study]"),
        "rounds" => {
            with_help(arg, "Repeat each test this many times [default: by study and profile]")
        }
        "size" => with_help(arg, "Set the size of the image [default: by study and profile]"),
        "memory" => with_help(arg, "Limit memory per cell [default: by study and profile]"),
        "name" => with_help(arg, "Name the campaign [default: the study's name]"),
        "machine" => with_help(
            arg,
            "Use a machine of a published study, in virtual time (see `fsarena list machines`) [default: the study's]",
        ),
        _ => arg,
    }
}

fn with_help(arg: Arg, help: &'static str) -> Arg {
    arg.help(help).long_help(help)
}

fn verdict(text: &str) -> Result<studies::Verdict, String> {
    let all = studies::Verdict::ALL;
    let found = all.into_iter().find(|verdict| verdict.name().replace(' ', "-") == text);
    found.ok_or_else(|| {
        let words = all.map(|verdict| verdict.name().replace(' ', "-"));
        format!("expected one of: {}", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct StudyLine {
        #[command(flatten)]
        _replicate: ReplicateArgs,
    }

    #[test]
    fn help_has_the_defaults_of_the_study() {
        let help = StudyLine::command().render_long_help().to_string();
        for of_run in ["[default: quick]", "[default: all that run here]", "[default: by profile]"]
        {
            assert!(!help.contains(of_run), "{of_run}: {help}");
        }
        assert!(help.contains("[default: those of the study]"), "{help}");
    }
}
