//! Cells of a campaign in virtual time once more, with the processor sampled: everything else is as it was.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use guest::Guest;
use machine::{GuestMeans, Held, Local};
use model::{Campaign, Cell, CellId, CellResult, Sampling, Test};
use orchestrate::{Backend, News, Stop};
use run::CellCache;
use store::CampaignId;
use wire::Stopped;

use crate::output::erase_question::Asked;
use crate::output::exit::{Interruption, Refused};
use crate::traces::Traces;

/// What it takes beside the campaign.
pub struct Means<'a> {
    /// The guest in which the campaign ran.
    pub guest: Arc<Guest>,
    /// Where results are kept that need not be brought about twice.
    pub cache: Option<CellCache>,
    /// Where the traces of campaigns are kept.
    pub traces: &'a Path,
    /// How the processor is sampled.
    pub sampling: Sampling,
}

/// Runs cells of a campaign again; gives their results in the same order, and stores nothing.
///
/// # Errors
/// When a cell cannot be run, or the user asks to stop.
pub fn again(
    id: CampaignId,
    campaign: &Campaign,
    cells: &[&Cell],
    means: Means<'_>,
    asked: &Asked<'_>,
    stop: &Stop,
) -> anyhow::Result<Vec<CellResult>> {
    let held = Held::take(campaign, None, asked)?;
    let traces = Traces::of(campaign, means.traces)?;
    let means = GuestMeans {
        guest: means.guest,
        cache: means.cache,
        jobs: None,
        sampling: Some(means.sampling),
        only_its_own: false,
        saves: true,
    };
    let mut local = Local::guests(id, campaign, held, means, stop)?;
    let ended = run(campaign, cells, &mut traces.with(&mut local), asked);
    let cleared = local.clear();
    let mut ended = ended?;
    cleared?;
    let results = cells.iter().map(|cell| ended.remove(&cell.id));
    results
        .collect::<Option<_>>()
        .context("a cell has no result")
}

fn run(
    campaign: &Campaign,
    cells: &[&Cell],
    backend: &mut impl Backend,
    asked: &Asked<'_>,
) -> anyhow::Result<BTreeMap<CellId, CellResult>> {
    let mut ended = BTreeMap::new();
    let mut waiting: VecDeque<&Cell> = cells.iter().copied().collect();
    let mut running = 0;
    loop {
        while running < backend.side_by_side()
            && let Some(cell) = waiting.pop_front()
        {
            backend.start(
                cell,
                test_of(campaign, cell).context("the campaign has no such test")?,
            );
            running += 1;
        }
        if running == 0 {
            return Ok(ended);
        }
        match backend.next() {
            News::Event(..) => {}
            News::Note(text) => asked.progress.note(&text),
            News::Ended(id, result) => {
                ended.insert(id, *result);
                running -= 1;
            }
            News::Stopped(_, Stopped::Interrupted) => return Err(Interruption.into()),
            // It is another host's turn.
            News::Stopped(id, Stopped::Elsewhere(_)) => {
                waiting.extend(cells.iter().filter(|cell| cell.id == id));
                running -= 1;
            }
            News::Stopped(_, Stopped::Withdrawn(why)) | News::Lost(_, why) => {
                return Err(Refused(why).into());
            }
        }
    }
}

/// The test that a cell of a campaign runs.
fn test_of<'a>(campaign: &'a Campaign, cell: &Cell) -> Option<&'a Test> {
    let mut suites = campaign.suites.iter();
    let suite = suites.find(|suite| suite.name == cell.suite)?;
    suite.tests.iter().find(|test| test.name == cell.test)
}
