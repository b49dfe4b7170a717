//! `fsarena run`: from the command line to the report.

use std::process::ExitCode;

use crate::campaign::{self, Ended};
use crate::cli::{Globals, RunArgs};
use crate::ground::Consent;
use crate::progress::Progress;
use crate::{output, paths, report_command, request, stop};

/// Plans a campaign, stores it, runs it and reports.
pub fn run(args: &RunArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let stop = stop::on_signals()?;
    let progress = Progress::choose(globals.json, globals.quiet);
    let catalog = paths::catalog(globals)?;
    let campaign = request::campaign(args, globals, &catalog, &progress)?;
    let consent = Consent(args.erase.clone());
    let plan = plan::plan(&campaign);

    let mut store = paths::store(globals)?;
    let id = campaign::begin(&mut store, &campaign, &plan, &consent)?;
    progress.note(&format!(
        "campaign {id}: {} cells, seed {}",
        plan.len(),
        campaign.seed
    ));
    let ended = campaign::drive(&mut store, id, &consent, &progress, stop)?;
    finish(ended, id, &store, args.strict, globals)
}

/// Says how it ended: the report where it is complete, how to go on where it is not.
pub fn finish(
    ended: Ended,
    id: store::CampaignId,
    store: &store::Store,
    strict: bool,
    globals: &Globals,
) -> anyhow::Result<ExitCode> {
    match ended {
        Ended::Interrupted => {
            let resume = paths::resume_line(globals, id);
            output::remark(&format!(
                "interrupted; everything is cleaned up. To go on: {resume}"
            ));
            Ok(crate::exit::Code::Interrupted.into())
        }
        Ended::Complete => report_command::after_run(store, id, strict, globals),
    }
}
