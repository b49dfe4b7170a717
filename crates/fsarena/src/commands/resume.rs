//! `fsarena resume`: continues an incomplete campaign, or gives one more time. Cells with a result are skipped.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use campaign::run::{CampaignEnd, MoreWork, StopFlag};
use campaign::store::{CampaignId, Store};
use model::{Campaign, CampaignResults};

use crate::args::cli::GlobalArgs;
use crate::args::run_args::ResumeArgs;
use crate::commands::guest as guest_command;
use crate::commands::run as run_command;
use crate::output::erase_question::EraseConfirmation;
use crate::output::exit::{EnvironmentError, UsageError};
use crate::output::progress::ProgressDisplay;
use crate::output::text::line;
use crate::paths;
use crate::session;
use crate::session::RunContext;
use crate::settings::{select_campaign, validate};
use crate::stale_directories::{self, SearchDirs};
use crate::stop;
use crate::traces;

/// Runs the cells of a campaign without a result, and reports.
pub fn run(args: &ResumeArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let stop = stop::install_handlers()?;
    let progress = ProgressDisplay::choose(globals.json, globals.quiet);
    // Not created for a campaign that cannot exist.
    drop(paths::existing_store(globals)?);
    let mut store = paths::store(globals)?;
    let named = args.campaign.as_deref();
    let more = args.more.map(MoreWork::Time).or(args.rounds.map(MoreWork::Rounds));
    let id = match more {
        Some(more) => campaign_for_more(&store, named, more)?,
        None => select_campaign::campaign_to_resume(&store, named)?,
    };
    let begun = Instant::now();
    let ended = go_on(&mut store, id, more, args, globals, &progress, &stop);
    let more = args.more.map(|more| Duration::from_nanos(more.0).saturating_sub(begun.elapsed()));
    run_command::finish_resumed(ended, id, &store, args.execution.strict, more, globals)
}

/// Returns the named campaign, else the latest that was run here with a budget, or without one for
/// more rounds.
fn campaign_for_more(
    store: &Store,
    named: Option<&str>,
    more: MoreWork,
) -> anyhow::Result<CampaignId> {
    if named.is_none() {
        for known in store.campaigns()?.iter().rev() {
            let has_budget = store.definition(known.id)?.budget.is_some();
            let is_meant = has_budget == matches!(more, MoreWork::Time(_));
            if is_meant && !store.is_imported(known.id)? {
                return Ok(known.id);
            }
        }
    }
    select_campaign::campaign_id(store, named)
}

/// Removes leftovers of a killed campaign, and runs the missing cells.
fn go_on(
    store: &mut Store,
    id: CampaignId,
    more: Option<MoreWork>,
    args: &ResumeArgs,
    globals: &GlobalArgs,
    progress: &ProgressDisplay,
    stop: &StopFlag,
) -> anyhow::Result<CampaignEnd> {
    let stored = store.load(id)?;
    refuse_spread(&stored)?;
    refuse_imported(store, id)?;
    let Campaign { host, together, measured_by, .. } = &stored.campaign;
    if let Some(by) = measured_by {
        let program = line(&by.program);
        return Err(UsageError(format!(
            "campaign {id} was measured by {program}: fsarena cannot run it"
        ))
        .into());
    }
    refuse_more(&stored, more)?;
    let reach = paths::campaign_transport(host.as_deref(), together, stop)?;
    let searched = SearchDirs {
        reach: &*reach,
        host: host.as_deref(),
        work_dir: &paths::work_directory(host.as_deref(), globals)?,
        stop,
    };
    let note = |text: &str| progress.note(text);
    stale_directories::remove(store, &searched, Some(id), globals, &note)?;
    let catalog = paths::catalog(globals)?;
    let guest = |campaign: &Campaign| {
        let mut say = |text: &str| progress.note(text);
        let build = &args.execution.build;
        let guest = guest_command::obtain_again(&catalog, build, campaign, stop, &mut say)?;
        Ok(Arc::new(guest))
    };
    let kept = traces::directory(globals)?;
    let shared = guest_command::shared_cells(&args.execution.shared)?;
    let means = RunContext {
        globals,
        traces: &kept,
        uses: catalog.uses().cloned().collect(),
        consent: args.execution.erase.consent(),
        jobs: args.execution.jobs,
        max_written: args.limit.max_written,
        exclusive: false,
        more,
        cache: &|| {
            let (execution, note) = (&args.execution, &mut |text: &str| progress.note(text));
            let own = || guest_command::cells(execution.no_cache, execution.cache_size, note);
            shared.clone().or_else(own)
        },
        guest: &guest,
    };
    let asked = EraseConfirmation { progress, yes: means.consent.yes, stop };
    session::run_to_end(store, stored, None, &means, &*reach, &asked, stop)
}

/// Refuses to resume an imported campaign: its command lines come from the imported file and would
/// run on this machine.
fn refuse_imported(store: &Store, id: CampaignId) -> anyhow::Result<()> {
    match store.is_imported(id)? {
        false => Ok(()),
        true => Err(EnvironmentError(format!(
            "cannot resume campaign {id}: it was imported with its command lines; resume it in its original database, then import it again"
        ))
        .into()),
    }
}

/// Refuses time for a campaign without a budget. Refuses rounds for a campaign with a budget, with as
/// many rounds or on other hosts.
fn refuse_more(stored: &CampaignResults, more: Option<MoreWork>) -> Result<(), UsageError> {
    let (id, campaign) = (stored.id, &stored.campaign);
    let why = match more {
        Some(MoreWork::Time(_)) if campaign.budget.is_none() => {
            "time: it was run without --budget; give --rounds".to_owned()
        }
        Some(MoreWork::Rounds(_)) if campaign.budget.is_some() => {
            "rounds: its budget chooses them; give it more time (--more 20min)".to_owned()
        }
        Some(MoreWork::Rounds(rounds)) if rounds <= campaign.rounds => {
            format!("rounds: it has {} already; give a larger number", campaign.rounds)
        }
        Some(MoreWork::Rounds(_)) if stored.environments.iter().any(|e| e.spread.is_some()) => {
            "rounds: it ran on other hosts, whose plan is fixed; run it again with more --rounds"
                .to_owned()
        }
        Some(MoreWork::Rounds(rounds)) => {
            return validate::reject_too_many_cells(&Campaign { rounds, ..campaign.clone() });
        }
        _ => return Ok(()),
    };
    Err(UsageError(format!("cannot give campaign {id} more {why}")))
}

/// Refuses to resume a campaign here that runs on other hosts, as long as its plan directory
/// exists.
fn refuse_spread(stored: &CampaignResults) -> Result<(), EnvironmentError> {
    let is_open = stored.cells.iter().any(|cell| cell.result.is_none());
    let spread = stored.environments.last().and_then(|e| e.spread.as_ref());
    match spread.filter(|spread| is_open && spread.directory.is_dir()) {
        Some(spread) => Err(EnvironmentError(format!(
            "campaign {} runs on other hosts, planned in {}: resume it with `{}`",
            stored.id,
            spread.directory.display(),
            spread.command
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use model::{DistributedPlan, Environment};

    use super::*;

    /// Returns a campaign of one round without results.
    fn stored() -> CampaignResults {
        let catalog = config::Catalog::builtin().unwrap();
        let contenders = vec![catalog.contender("ext4").unwrap()];
        let campaign = campaign::run::in_memory::campaign(contenders, 1);
        campaign::run::in_memory::MemorySink::new(&campaign).read().clone()
    }

    #[test]
    fn refuses_to_resume_a_campaign_of_other_hosts() {
        let mut stored = stored();
        assert!(refuse_spread(&stored).is_ok());
        let spread = |directory: &str| Environment {
            spread: Some(DistributedPlan {
                directory: directory.into(),
                command: "fsarena cluster collect / --on slurm".into(),
            }),
            ..Environment::default()
        };
        stored.environments = vec![spread("/")];
        let told = refuse_spread(&stored).unwrap_err().to_string();
        assert!(told.ends_with("resume it with `fsarena cluster collect / --on slurm`"), "{told}");
        stored.environments = vec![spread("/is/gone")];
        assert!(
            refuse_spread(&stored).is_ok(),
            "without its plan directory, only resume can continue it"
        );
    }

    #[test]
    fn a_campaign_of_several_hosts_or_of_too_many_cells_gets_no_more_rounds() {
        let mut stored = stored();
        let more = Some(MoreWork::Rounds(2));
        assert!(refuse_more(&stored, more).is_ok());
        let tests = &mut stored.campaign.suites[0].tests;
        *tests = vec![tests[0].clone(); 2000];
        let told = refuse_more(&stored, Some(MoreWork::Rounds(1000))).unwrap_err().to_string();
        assert!(told.contains("cells are too many"), "{told}");
        let spread = DistributedPlan { directory: "/".into(), command: "fsarena".into() };
        stored.environments = vec![Environment { spread: Some(spread), ..Environment::default() }];
        let told = refuse_more(&stored, more).unwrap_err().to_string();
        assert!(told.contains("it ran on other hosts"), "{told}");
    }
}
