//! `fsarena study replicate`: runs a study again, and shows which of its claims hold now.

use std::path::Path;
use std::process::ExitCode;

use ::studies::{Replication, Study};
use campaign::run::CampaignEnd;
use model::{BackendKind, CampaignResults, Clock};
use report::{CampaignHead, replication_page};
use serde_json::json;
use stats::analyse;

use crate::args::cli::GlobalArgs;
use crate::args::run_args::RunArgs;
use crate::args::study_args::ReplicateArgs;
use crate::commands::run::{self, RunOutcome};
use crate::output::exit::{ExitReason, UsageError};
use crate::output::text::{line, print, print_json, print_note};
use crate::output::{output_file, replicate_text};
use crate::paths;
use crate::settings::{select_campaign, studies};
use crate::stop;

/// Runs the campaign of a study, or uses an existing one, and compares it with the study.
pub fn run(args: &ReplicateArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    // Fail early: the campaign can take hours.
    args.output.as_deref().map_or(Ok(()), output_file::require_directory)?;
    let study = studies::study(&args.study_name, globals)?;
    if let Some(named) = &args.campaign {
        let results = select_campaign::select(Some(named), globals)?.results;
        return beside(&study, &results, args, globals);
    }
    let stop = stop::install_handlers()?;
    match run::campaign(&campaign(args, globals)?, 0, globals, &stop)? {
        RunOutcome::Planned(code) => Ok(code),
        RunOutcome::Campaign { ended: Ok(CampaignEnd::Complete), id, store } => {
            beside(&study, &store.load(id)?, args, globals)
        }
        RunOutcome::Campaign { ended, id, store } => {
            let code = run::finish(ended, id, &store, false, globals)?;
            let study = line(&study.name);
            print_note(&format!(
                "then for the claims: fsarena study replicate {study} --campaign {id}"
            ));
            Ok(code)
        }
    }
}

/// Returns the options of the study's campaign.
fn campaign(args: &ReplicateArgs, globals: &GlobalArgs) -> anyhow::Result<RunArgs> {
    let refused = |why: &str| Err(UsageError(why.to_owned()).into());
    let run = &args.run;
    if run.study.is_some() {
        return refused("replicate takes the study as an argument; remove --study");
    }
    if run.file.is_some() || !run.settings.suites.is_empty() {
        return refused("a study has its own suites: leave the campaign file and -s out");
    }
    if run.sessions.is_some() || run.settings.age.is_some() {
        return refused(
            "a study is one campaign on fresh filesystems: leave --sessions and --age out",
        );
    }
    let mut run = RunArgs { study: Some(args.study_name.clone()), ..run.clone() };
    if run.settings.backend == Some(BackendKind::Vm) {
        let study = paths::catalog(globals)?.study(&args.study_name)?;
        // Use the machine model of the study, unless the user requests another one or real time,
        // which has none.
        let settings = &run.settings;
        if settings.clock != Some(Clock::Real) && settings.processors.is_none() {
            run.machine = run.machine.take().or(study.machine);
        }
    }
    Ok(run)
}

/// Prints the comparison, and writes the page if requested.
fn beside(
    study: &Study,
    results: &CampaignResults,
    args: &ReplicateArgs,
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let analysis = analyse(results);
    let twice = Replication::new(study, results, &analysis);
    if twice.figures.is_empty() && results.campaign.name != study.name {
        return Err(UsageError(format!(
            "campaign {} has no result that `{}` has: `fsarena study replicate {}` runs its campaign",
            results.id,
            line(&study.name),
            line(&study.name)
        ))
        .into());
    }
    if let Some(file) = &args.output {
        let page = replication_page(study, &CampaignHead::from_results(results).describe(), &twice);
        write_page(file, &page, globals)?;
    }
    match globals.json {
        true => print_json(&json!({
            "study": study.name, "campaign": results.id, "then_and_now": twice,
        }))?,
        false => print(&replicate_text::text(study, results.id, &twice))?,
    }
    Ok(ExitReason::Success.into())
}

fn write_page(file: &Path, page: &str, globals: &GlobalArgs) -> anyhow::Result<()> {
    output_file::write(file, page.as_bytes())?;
    if !globals.json && !globals.quiet {
        print_note(&format!("wrote {}", file.display()));
    }
    Ok(())
}
