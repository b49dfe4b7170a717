//! Drives a campaign: each cell without a result is provisioned, run and stored, one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use analyse::StopReason;
use anyhow::Context;
use model::{Campaign, Cell, CellId, CellResult, Failure, Nanos, StoredCell, Test};
use provision::ProvisionError;
use run::{Collector, Ending, Executor, HostExecutor, MemoryError, MemoryLimit};
use store::{CampaignId, Store};
use sys::clock;
use wire::{Event, Job};

use crate::calibration::{self, Effort};
use crate::exit;
use crate::ground::{self, Consent, Ground};
use crate::progress::{Position, Progress};
use crate::rounds;

/// How a campaign ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every cell has a result.
    Complete,
    /// The user asked to stop; the rest can be resumed.
    Interrupted,
}

/// Stores a new campaign with its plan, unless something would refuse it anyway.
pub fn begin(
    store: &mut Store,
    campaign: &Campaign,
    plan: &[Cell],
    consent: &Consent,
) -> anyhow::Result<CampaignId> {
    Ground::inspect(campaign, consent)?;
    Ground::inspect_place(campaign)?;
    Ok(store.begin_campaign(campaign, plan, clock::calendar())?)
}

/// Runs every cell of a stored campaign that has no result yet, and leaves nothing behind.
pub fn drive(
    store: &mut Store,
    id: CampaignId,
    consent: &Consent,
    progress: &Progress,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<Ended> {
    let stored = store.load(id)?;
    let elapsed = |c: &StoredCell| Some((c.cell.id, c.result.as_ref()?.elapsed));
    let finished: BTreeMap<_, _> = stored.cells.iter().filter_map(elapsed).collect();
    let is_over = finished.len() == stored.cells.len() && !rounds::wants_more(&stored);
    let plan: Vec<Cell> = stored.cells.into_iter().map(|c| c.cell).collect();
    let campaign = stored.campaign;
    if is_over {
        Ground::sweep(id, &campaign)?;
        // What a killed run has left of the limit goes with it; where there is none, none is left.
        let _ = memory_limit(id, &campaign);
        return Ok(Ended::Complete);
    }
    let ground = match Ground::prepare(id, &campaign, consent, progress, &stop) {
        Err(error) if is_interruption(&error) => return Ok(Ended::Interrupted),
        other => other?,
    };
    let executor = HostExecutor {
        program: std::env::current_exe().context("cannot find this program")?,
        patience: campaign.patience,
        memory: memory_limit(id, &campaign)?,
        stop,
    };
    Drive {
        store,
        id,
        campaign,
        plan,
        finished,
        calibrated: stored.calibration.is_some(),
        ground,
        executor,
        progress,
    }
    .run()
}

/// The limit that the campaign has.
fn memory_limit(id: CampaignId, campaign: &Campaign) -> Result<Option<MemoryLimit>, MemoryError> {
    let name = ground::unique_name(campaign, id);
    let limit = campaign
        .memory
        .map(|memory| MemoryLimit::new(&name, memory));
    limit.transpose()
}

fn is_interruption(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ProvisionError::Interrupted))
}

/// A campaign being driven.
struct Drive<'a> {
    store: &'a mut Store,
    id: CampaignId,
    campaign: Campaign,
    plan: Vec<Cell>,
    finished: BTreeMap<CellId, Nanos>,
    /// Whether what fsarena costs and what the device can do is known already.
    calibrated: bool,
    ground: Ground,
    executor: HostExecutor,
    progress: &'a Progress,
}

impl Drive<'_> {
    fn run(mut self) -> anyhow::Result<Ended> {
        let environment = self.ground.environment(&self.campaign);
        self.store
            .begin_session(self.id, &environment, clock::calendar())?;
        let mut ended = Ended::Complete;
        if !self.calibrate()? {
            ended = Ended::Interrupted;
        }
        while ended == Ended::Complete {
            ended = self.planned_cells()?;
            let is_over = ended == Ended::Interrupted || !self.further_round()?;
            if is_over {
                break;
            }
        }
        self.progress.finish();
        self.ground.clear()?;
        Ok(ended)
    }

    /// Runs the cells that are planned and have no result.
    fn planned_cells(&mut self) -> anyhow::Result<Ended> {
        let done: BTreeSet<CellId> = self.finished.keys().copied().collect();
        for cell in &plan::remaining(&self.plan, &done) {
            if !self.cell(cell)? {
                return Ok(Ended::Interrupted);
            }
        }
        Ok(Ended::Complete)
    }

    /// Plans and stores one more round where the campaign's rule wants it; false where it has enough.
    ///
    /// What the rule says follows from what is stored, so that it says the same after a kill.
    fn further_round(&mut self) -> anyhow::Result<bool> {
        if self.campaign.until.is_none() {
            return Ok(false);
        }
        let results = self.store.load(self.id)?;
        let Some(stop) = rounds::stop(&results) else {
            return Ok(false);
        };
        self.progress.note(&rounds::words(&stop));
        if stop.reason != StopReason::Wide {
            return Ok(false);
        }
        let planned = u32::try_from(results.cells.len()).context("the plan is too long")?;
        let cells = plan::further_round(&self.campaign, results.campaign.rounds + 1, planned);
        self.store.extend_plan(self.id, &cells)?;
        self.plan.extend(cells);
        Ok(true)
    }

    /// Measures, before the first cell, what fsarena costs and what the device can do, and stores it;
    /// once for each campaign. False where it was interrupted.
    fn calibrate(&mut self) -> anyhow::Result<bool> {
        if self.calibrated {
            return Ok(true);
        }
        self.progress.calibrating();
        let subject = self.ground.subject(&self.campaign);
        let effort = Effort::of(self.campaign.profile);
        let taken = match calibration::take(&subject, effort, &self.executor.stop) {
            Err(ProvisionError::Interrupted) => return Ok(false),
            other => other?,
        };
        drop(subject);
        self.store.calibrate(self.id, &taken)?;
        self.calibrated = true;
        self.progress.calibrated(&taken);
        Ok(true)
    }

    /// Runs one cell and stores its result before anything else happens; false where it was
    /// interrupted.
    fn cell(&mut self, cell: &Cell) -> anyhow::Result<bool> {
        if self.executor.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        self.progress.begin(cell, self.position());
        let test = self.test(cell)?.clone();
        let Ok(result) = self.execute(cell, &test) else {
            return Ok(false);
        };
        self.store.record(self.id, cell, &result)?;
        self.finished.insert(cell.id, result.elapsed);
        self.progress.end(cell, &result, self.position());
        Ok(true)
    }

    fn execute(&mut self, cell: &Cell, test: &Test) -> Result<CellResult, run::Interrupted> {
        let (started, start) = (clock::calendar(), clock::now());
        let plot = match self.ground.plot(&self.campaign, cell, test) {
            Ok(plot) => plot,
            Err(error) => {
                let mut result = without_plot(test, &error);
                (result.started, result.elapsed) = (started, clock::since(start));
                return Ok(result);
            }
        };
        let job = Job {
            version: wire::VERSION,
            cell: cell.id,
            target: plot.target(),
            test: test.clone(),
            seed: cell.seed,
        };
        let progress = self.progress;
        let outcome = self
            .executor
            .execute(&job, &mut |event| progress.event(cell, event));
        drop(plot);
        outcome
    }

    fn test(&self, cell: &Cell) -> anyhow::Result<&Test> {
        let mut tests = self.campaign.suites.iter().flat_map(|s| &s.tests);
        tests
            .find(|t| t.suite == cell.suite && t.name == cell.test)
            .with_context(|| format!("the campaign has no test `{}`", cell.test))
    }

    fn position(&self) -> Position {
        Position {
            done: self.finished.len() as u64,
            total: self.plan.len() as u64,
            left: plan::time_left(&self.plan, &self.finished),
        }
    }
}

/// The result of a cell whose device or directory could not be had.
fn without_plot(test: &Test, error: &anyhow::Error) -> CellResult {
    let mut collector = Collector::new(test);
    let failure = Failure {
        step: "provision".into(),
        reason: exit::whole(error),
        ..Failure::default()
    };
    collector.take(Event::Failed {
        crashed: false,
        failure,
    });
    collector.finish(Ending::Done, Some(Vec::new()))
}
