//! `fsarena resume`: goes on with a campaign where it was left; what has a result is not run again.

use std::process::ExitCode;

use crate::cli::{Globals, ResumeArgs};
use crate::ground::Consent;
use crate::progress::Progress;
use crate::{campaign, paths, run_command, stop};

/// Runs the cells of a campaign that have no result yet, and reports.
pub fn run(args: &ResumeArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let stop = stop::on_signals()?;
    let progress = Progress::choose(globals.json, globals.quiet);
    let mut store = paths::existing_store(globals)?;
    let id = paths::campaign_id(&store, args.id)?;
    let consent = Consent(args.erase.clone());

    let ended = campaign::drive(&mut store, id, &consent, &progress, stop)?;
    run_command::finish(ended, id, &store, args.strict, globals)
}
