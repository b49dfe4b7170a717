//! Reruns cells of a campaign in virtual time with processor sampling; all other settings are
//! unchanged.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use backend::CellCache;
use backend::{AcquiredResources, GuestResources, LocalBackend};
use campaign::run::{CellBackend, CellUpdate, StopFlag};
use campaign::store::CampaignId;
use guest::Guest;
use model::wire::AbortReason;
use model::{Campaign, Cell, CellId, CellResult, Sampling, Test};

use crate::output::erase_question::EraseConfirmation;
use crate::output::exit::{EnvironmentError, UserInterrupt};
use crate::traces::Traces;

/// Inputs of a sampled rerun in addition to the campaign.
pub struct SamplingContext<'a> {
    /// The guest in which the campaign ran.
    pub guest: Arc<Guest>,
    /// Cell cache.
    pub cache: Option<CellCache>,
    /// Directory of the traces of campaigns.
    pub traces: &'a Path,
    /// Sampling method and interval of the processor.
    pub sampling: Sampling,
}

/// Runs cells of a campaign again. Returns their results in the same order, and stores nothing.
///
/// # Errors
/// Returns an error if a cell cannot run, or if the user asks to stop.
pub fn rerun_with_sampling(
    id: CampaignId,
    campaign: &Campaign,
    cells: &[&Cell],
    means: SamplingContext<'_>,
    asked: &EraseConfirmation<'_>,
    stop: &StopFlag,
) -> anyhow::Result<Vec<CellResult>> {
    let held = AcquiredResources::acquire(campaign, None, asked)?;
    let traces = Traces::of(campaign, means.traces)?;
    let means = GuestResources {
        guest: means.guest,
        cache: means.cache,
        jobs: None,
        sampling: Some(means.sampling),
        only_its_own: false,
        saves: true,
    };
    let mut local = LocalBackend::guests(id, campaign, held, means, stop)?;
    let ended = run(campaign, cells, &mut traces.wrap_backend(&mut local), asked);
    let cleared = local.clear();
    let mut ended = ended?;
    cleared?;
    let results = cells.iter().map(|cell| ended.remove(&cell.id));
    results.collect::<Option<_>>().context("a cell has no result")
}

fn run(
    campaign: &Campaign,
    cells: &[&Cell],
    backend: &mut impl CellBackend,
    asked: &EraseConfirmation<'_>,
) -> anyhow::Result<BTreeMap<CellId, CellResult>> {
    let mut ended = BTreeMap::new();
    let mut waiting: VecDeque<&Cell> = cells.iter().copied().collect();
    let mut running = 0;
    loop {
        while running < backend.parallel_cells()
            && let Some(cell) = waiting.pop_front()
        {
            backend.start(cell, test_of(campaign, cell).context("the campaign has no such test")?);
            running += 1;
        }
        if running == 0 {
            return Ok(ended);
        }
        match backend.next_update() {
            CellUpdate::Event(..) => {}
            CellUpdate::Note(text) => asked.progress.note(&text),
            CellUpdate::Finished(id, result) => {
                ended.insert(id, *result);
                running -= 1;
            }
            CellUpdate::Aborted(_, AbortReason::Interrupted) => return Err(UserInterrupt.into()),
            // This cell must wait for another host.
            CellUpdate::Aborted(id, AbortReason::OtherHost(_)) => {
                waiting.extend(cells.iter().filter(|cell| cell.id == id));
                running -= 1;
            }
            CellUpdate::Aborted(_, AbortReason::EnvironmentFault(why))
            | CellUpdate::ConnectionLost(_, why) => {
                return Err(EnvironmentError(why).into());
            }
        }
    }
}

/// Returns the test that a cell of a campaign runs.
fn test_of<'a>(campaign: &'a Campaign, cell: &Cell) -> Option<&'a Test> {
    let mut suites = campaign.suites.iter();
    let suite = suites.find(|suite| suite.name == cell.suite)?;
    suite.tests.iter().find(|test| test.name == cell.test)
}
