//! `fsarena replicate`: runs a study again, and says which of its claims hold now.

use std::path::Path;
use std::process::ExitCode;

use analyse::analyse;
use model::{Backend, CampaignResults, Clock};
use orchestrate::Ended;
use report::{CampaignHead, then_and_now_page};
use serde_json::json;
use store::CampaignId;
use studies::{Study, ThenAndNow};

use crate::arguments::cli::Globals;
use crate::arguments::run_args::RunArgs;
use crate::arguments::study_args::ReplicateArgs;
use crate::commands::run::{self, Ran};
use crate::output::exit::{BadInput, Code};
use crate::output::text::{line, print, print_json, remark};
use crate::output::{output_file, replicate_text};
use crate::paths;
use crate::request::published;
use crate::stop;

/// Runs the campaign of a study, or takes one that ran, and sets it beside the study.
pub fn run(args: &ReplicateArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let study = published::study(&args.of, globals)?;
    if let Some(id) = args.campaign {
        let results = paths::existing_store(globals)?.load(CampaignId(id))?;
        return beside(&study, &results, args, globals);
    }
    let stop = stop::on_signals()?;
    match run::campaign(&campaign(args, globals)?, 0, globals, &stop)? {
        Ran::Planned(code) => Ok(code),
        Ran::Campaign {
            ended: Ok(Ended::Complete),
            id,
            store,
        } => beside(&study, &store.load(id)?, args, globals),
        Ran::Campaign { ended, id, store } => {
            let code = run::finish(ended, id, &store, false, globals)?;
            let study = line(&study.name);
            remark(&format!(
                "then for the claims: fsarena replicate {study} --campaign {id}"
            ));
            Ok(code)
        }
    }
}

/// The campaign of the study.
fn campaign(args: &ReplicateArgs, globals: &Globals) -> anyhow::Result<RunArgs> {
    let refused = |why: &str| Err(BadInput(why.to_owned()).into());
    let run = &args.run;
    if run.study.is_some() {
        return refused("the study stands before the options: leave --study out");
    }
    if run.file.is_some() || !run.suites.is_empty() {
        return refused("a study has its own suites: leave the campaign file and -s out");
    }
    if run.sessions.is_some() || run.age.is_some() {
        return refused(
            "a study is one campaign on fresh filesystems: leave --sessions and --age out",
        );
    }
    let mut run = RunArgs {
        study: Some(args.of.clone()),
        ..run.clone()
    };
    if run.backend == Some(Backend::Vm) {
        let study = paths::catalog(globals)?.study(&args.of)?;
        // Its own machine, where nobody asks for another, or for real time, which has none.
        let machine = &mut run.machine;
        if machine.clock != Some(Clock::Real) && machine.processors.is_none() {
            machine.machine = machine.machine.take().or(study.machine);
        }
    }
    Ok(run)
}

/// Prints both, and writes the page where one is asked for.
fn beside(
    study: &Study,
    results: &CampaignResults,
    args: &ReplicateArgs,
    globals: &Globals,
) -> anyhow::Result<ExitCode> {
    let analysis = analyse(results);
    let twice = ThenAndNow::of(study, results, &analysis);
    if twice.figures.is_empty() && results.campaign.name != study.name {
        return Err(BadInput(format!(
            "campaign {} has no result that `{}` has: `fsarena replicate {}` runs its campaign",
            results.id,
            line(&study.name),
            line(&study.name)
        ))
        .into());
    }
    if let Some(file) = &args.output {
        let page = then_and_now_page(study, &CampaignHead::of(results).in_words(), &twice);
        write_page(file, &page, globals)?;
    }
    match globals.json {
        true => print_json(&json!({
            "study": study.name, "campaign": results.id, "then_and_now": twice,
        }))?,
        false => print(&replicate_text::text(study, results.id, &twice))?,
    }
    Ok(Code::Done.into())
}

fn write_page(file: &Path, page: &str, globals: &Globals) -> anyhow::Result<()> {
    output_file::write(file, page.as_bytes())?;
    if !globals.json && !globals.quiet {
        remark(&format!("wrote {}", file.display()));
    }
    Ok(())
}
