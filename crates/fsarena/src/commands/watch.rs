//! `fsarena watch`: shows a running campaign on the whole terminal until it ends or the user quits.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use backend::{CampaignDir, LockOwner};
use campaign::plan::Forecast;
use campaign::store::{CampaignFollower, CampaignId, CampaignSummary, Store, StoreError};
use model::{Campaign, Nanos};
use stats::analyse;
use sys::io::clock;

use crate::args::cli::{GlobalArgs, WatchArgs};
use crate::commands::run as run_command;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::text::{print, terminal_width};
use crate::past_durations;
use crate::paths;
use crate::settings::select_campaign;
use crate::stop;
use crate::watch::draw::{self, Scroll};
use crate::watch::live::{self, LiveSteps};
use crate::watch::progress::ForecastContext;
use crate::watch::screen::{Screen, WatchKey};
use crate::watch::state::{CampaignState, WatchState};

/// Interval between screen updates.
const EVERY: Duration = Duration::from_millis(500);
/// Maximum time between storing a campaign and creating its work directory.
const BEGINNING: Nanos = Nanos::from_secs(30);
/// Minimum interval between two analyses, as a multiple of the duration of the last one.
const REFRESH_IDLE_FACTOR: u32 = 10;

/// Draws a campaign until it ends or the user quits.
pub fn run(args: &WatchArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    if globals.json {
        let why = "`watch` draws on a terminal; use `fsarena show --json` to see the progress";
        return Err(UsageError(why.to_owned()).into());
    }
    if !io::stdout().is_terminal() {
        let why = "`watch` draws on a terminal, and standard output is not one; use `fsarena show` to see the progress";
        return Err(EnvironmentError(why.to_owned()).into());
    }
    let store = paths::existing_store(globals)?;
    let id = campaign(&store, args.campaign.as_deref(), globals)?;
    let mut watched = Watched::begin(&store, id, globals)?;
    let stop = stop::install_handlers()?;
    let last = {
        let mut screen = Screen::enter().context("cannot draw on this terminal")?;
        let mut scroll = Scroll::default();
        loop {
            let state = watched.now()?;
            scroll = screen.draw(&state, scroll)?;
            if stop.load(Ordering::SeqCst) || state.stage != CampaignState::Running {
                break state;
            }
            match screen.key(EVERY)? {
                Some(WatchKey::Leave) => break state,
                Some(WatchKey::Scroll(rows, columns)) => scroll = scroll.moved(rows, columns),
                Some(WatchKey::Resized) | None => {}
            }
        }
    };
    let command = |verb| paths::command_line(globals, verb, &id.to_string());
    let next = match last.stage {
        CampaignState::Running => {
            print(&format!("campaign {id} is still running\n"))?;
            return Ok(ExitReason::Success.into());
        }
        CampaignState::Complete => format!("`{}` shows its results\n", command("report")),
        CampaignState::Stopped => format!("`{}` continues it\n", command("resume")),
    };
    let width = terminal_width().and_then(|width| u16::try_from(width).ok());
    print(&(draw::text(&last, width.unwrap_or(80)) + &next))?;
    Ok(ExitReason::Success.into())
}

/// Returns the latest running campaign of the named ones, or of all.
///
/// # Errors
/// Returns an error if none of them is running.
fn campaign(
    store: &Store,
    named: Option<&str>,
    globals: &GlobalArgs,
) -> anyhow::Result<CampaignId> {
    let campaigns = store.campaigns()?;
    let stages = campaigns.iter().rev().map(|summary| {
        let counts = [summary.done, summary.planned].map(|count| count as usize);
        let begins = summary.done == 0 && is_young(summary.started);
        (summary, stage(&summary.campaign, summary.id, counts, begins))
    });
    let is_meant =
        |one: &CampaignSummary| named.is_none_or(|named| select_campaign::refers_to(named, one));
    let mut stages = stages.filter(|(summary, _)| is_meant(summary));
    let Some(latest) = stages.next() else {
        return Err(match named {
            Some(_) => StoreError::NoCampaign(select_campaign::campaign_id(store, named)?).into(),
            None => EnvironmentError("no campaign is running, and none was run yet".into()).into(),
        });
    };
    let mut all = std::iter::once(latest).chain(stages);
    let running = all.find(|(_, stage)| *stage == CampaignState::Running);
    match (running, latest) {
        (Some((summary, _)), _) => Ok(summary.id),
        (None, (summary, stage)) => Err(over(summary, stage, globals).into()),
    }
}

/// The error for a campaign that is not running, with the next command to use.
fn over(
    campaign: &CampaignSummary,
    stage: CampaignState,
    globals: &GlobalArgs,
) -> EnvironmentError {
    let CampaignSummary { id, done, planned, .. } = campaign;
    let command = |verb| paths::command_line(globals, verb, &id.to_string());
    EnvironmentError(match stage {
        CampaignState::Stopped => format!(
            "campaign {id} is not running: it ended after {done} of {planned} test runs; resume it with `{}`",
            command("resume")
        ),
        _ => format!(
            "campaign {id} is not running: it is complete, and `{}` shows it",
            command("report")
        ),
    })
}

/// Returns the stage of a campaign from its numbers of finished and planned cells. `begins` is true
/// if the campaign may not have a work directory yet. An incomplete campaign on another machine
/// counts as running, because its process cannot be checked.
fn stage(
    campaign: &Campaign,
    id: CampaignId,
    [done, planned]: [usize; 2],
    begins: bool,
) -> CampaignState {
    let is_whole = done == planned;
    let runs = match CampaignDir::holder(campaign, id) {
        LockOwner::Process => true,
        LockOwner::Dead => false,
        LockOwner::None => begins || (campaign.host.is_some() && !is_whole),
    };
    match (runs, is_whole) {
        (true, _) => CampaignState::Running,
        (false, true) => CampaignState::Complete,
        (false, false) => CampaignState::Stopped,
    }
}

/// Returns true if a campaign was stored so recently that its work directory may not exist yet.
fn is_young(started: Nanos) -> bool {
    clock::realtime().0.saturating_sub(started.0) < BEGINNING.0
}

/// A watched campaign.
struct Watched<'a> {
    store: &'a Store,
    id: CampaignId,
    globals: &'a GlobalArgs,
    followed: CampaignFollower,
    basis: ForecastContext,
    forecast: Forecast,
    /// The displayed state, without the running cells and the remaining time.
    state: WatchState,
    /// Whether there are new results that the state does not include.
    is_stale: bool,
    /// Earliest time for the next check for new results.
    next: Instant,
}

impl<'a> Watched<'a> {
    fn begin(store: &'a Store, id: CampaignId, globals: &'a GlobalArgs) -> anyhow::Result<Self> {
        let followed = store.follow(id)?;
        let results = followed.results();
        let campaign = &results.campaign;
        let experience = past_durations::load(store, campaign, Some(id));
        let basis = ForecastContext {
            pace: run_command::cost(campaign, Some(store), &experience, None)?.pace,
            experience,
            parallel_cells: backend::parallel_cells(campaign, None),
        };
        let begin = Instant::now();
        Ok(Self {
            store,
            id,
            globals,
            forecast: basis.forecast(results),
            state: WatchState::from_results(results, &analyse(results)),
            basis,
            is_stale: false,
            next: Instant::now() + begin.elapsed() * REFRESH_IDLE_FACTOR,
            followed,
        })
    }

    /// Analyses the results again.
    fn work_out(&mut self) {
        let begin = Instant::now();
        let results = self.followed.results();
        self.forecast = self.basis.forecast(results);
        self.state = WatchState::from_results(results, &analyse(results));
        self.is_stale = false;
        self.next = Instant::now() + begin.elapsed() * REFRESH_IDLE_FACTOR;
    }

    /// Returns the state to display.
    fn now(&mut self) -> anyhow::Result<WatchState> {
        // Check first if the campaign runs, so that results stored just before its process exits
        // are still read.
        let stage = self.stage();
        self.is_stale |= self.store.catch_up(&mut self.followed)?;
        if self.is_stale && (stage != CampaignState::Running || Instant::now() >= self.next) {
            self.work_out();
        }
        let (results, now) = (self.followed.results(), clock::realtime());
        let mut state = self.state.clone();
        state.stage = match stage {
            CampaignState::Stopped if state.done == state.planned => CampaignState::Complete,
            stage => stage,
        };
        let running = match self.followed.session() {
            Some(session) if stage == CampaignState::Running => {
                self.basis.running(results, session, now)
            }
            _ => Vec::new(),
        };
        let left = self.basis.time_left(results, &self.forecast, &running);
        let live = match running.is_empty() {
            true => LiveSteps::new(),
            false => live::read(self.globals, self.id),
        };
        Ok(state.with_progress(running, left).with_live(live))
    }

    fn stage(&self) -> CampaignState {
        let results = self.followed.results();
        let done = results.cells.iter().filter(|stored| stored.result.is_some());
        let counts = [done.count(), results.cells.len()];
        let begins = self.followed.session().is_none() && is_young(results.started);
        stage(&results.campaign, self.id, counts, begins)
    }
}

#[cfg(test)]
mod tests {
    use ::campaign::run::in_memory;

    use super::*;

    #[test]
    fn the_named_campaign_is_watched_if_it_runs() {
        let place = tempfile::tempdir().unwrap();
        let mut store = Store::open(&place.path().join("a.db")).unwrap();
        let catalog = config::Catalog::builtin().unwrap();
        let mut plain = in_memory::campaign(vec![catalog.contender("ext4").unwrap()], 1);
        plain.work_dir = place.path().to_owned();
        let plan = ::campaign::plan::plan(&plain);
        let now = clock::realtime();
        for (name, started) in [("nightly", now), ("weekly", now), ("weekly", Nanos(1))] {
            plain.name = name.to_owned();
            store.begin_campaign(&plain, &plan, started).unwrap();
        }
        let cli = <crate::args::cli::Cli as clap::Parser>::try_parse_from(["fsarena", "watch"]);
        let globals = cli.unwrap().globals;
        let watched = |named| campaign(&store, named, &globals).map_err(|error| error.to_string());
        assert_eq!(watched(None), Ok(CampaignId(2)), "the latest that runs");
        assert_eq!(watched(Some("nightly")), Ok(CampaignId(1)));
        assert_eq!(watched(Some("weekly")), Ok(CampaignId(2)));
        assert!(watched(Some("3")).unwrap_err().contains("campaign 3 is not running"));
        assert!(watched(Some("9")).unwrap_err().contains("no campaign 9"));
        assert!(watched(Some("nightyl")).unwrap_err().contains("did you mean `nightly`"));
    }
}
