//! Where the cells of a campaign run: on this machine's kernel, or in guests.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use model::{
    Backend, Bytes, Calibration, Campaign, Cell, CellResult, Environment, Failure, Status, Test,
};
use orchestrate::{News, Stop, Workers};
use provision::{ProvisionError, Refusal};
use run::{Collector, Ending, Executor, HostExecutor, MemoryError, MemoryLimit};
use store::CampaignId;
use sys::clock;
use wire::{Event, Job, Stopped};

use crate::calibration::{self, Effort};
use crate::campaign::Means;
use crate::fit::{self, Misfit};
use crate::ground::{Ground, Held};
use crate::guest_ground::GuestGround;
use crate::progress::Progress;
use crate::work_place::unique_name;
use crate::{exit, guest_ground};

/// The machine on which the cells of a campaign run, with all that was made ready for them.
pub struct Site {
    campaign: Arc<Campaign>,
    kind: Arc<Kind>,
    workers: Workers,
    news: Receiver<News>,
    side_by_side: usize,
    stop: Stop,
}

enum Kind {
    /// This machine's kernel, one cell at a time.
    Here(Mutex<Here>),
    /// Guests.
    Guests(Box<GuestGround>),
}

/// This machine's kernel, and who runs cells on it.
struct Here {
    id: CampaignId,
    ground: Ground,
    executor: HostExecutor,
}

impl Site {
    /// Makes ready what every cell needs, and takes the campaign for this process alone.
    pub fn prepare(
        id: CampaignId,
        campaign: &Campaign,
        held: Held,
        means: &Means<'_>,
        progress: &Progress,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let kind = match campaign.backend {
            Backend::Vm => {
                let guest = (means.guest)(campaign)?;
                let stop = Arc::clone(stop);
                let mut ground = GuestGround::prepare(id, campaign, guest, held.device, stop)?;
                ground.serve_from((means.cache)());
                Kind::Guests(Box::new(ground))
            }
            Backend::Loop | Backend::Dir => {
                Kind::Here(Mutex::new(here(id, campaign, held, progress, stop)?))
            }
        };
        let (campaign, kind) = (Arc::new(campaign.clone()), Arc::new(kind));
        let work = {
            let (campaign, kind) = (Arc::clone(&campaign), Arc::clone(&kind));
            move |cell: &Cell, test: &Test, observe: &mut dyn FnMut(&Event)| match &*kind {
                Kind::Here(here) => lock(here).execute(&campaign, cell, test, observe),
                Kind::Guests(ground) => ground.execute(cell, test, observe),
            }
        };
        let (say, news) = mpsc::channel();
        Ok(Self {
            side_by_side: guest_ground::side_by_side(&campaign, means.jobs),
            workers: Workers::new(Arc::new(work), Arc::clone(stop), say),
            news,
            stop: Arc::clone(stop),
            campaign,
            kind,
        })
    }

    /// Removes what a run has left that was killed.
    ///
    /// # Errors
    /// When something cannot be removed, or another process runs the campaign.
    pub fn sweep(id: CampaignId, campaign: &Campaign) -> anyhow::Result<()> {
        Ground::sweep(id, campaign)?;
        // The limit of memory that it has left goes with this; where there is none, none is left.
        let _ = memory_limit(id, campaign, first_limit(campaign));
        Ok(())
    }

    /// Removes everything that was made for the campaign, once no cell runs.
    pub fn clear(self) -> anyhow::Result<()> {
        drop(self.workers);
        match &*self.kind {
            Kind::Here(here) => lock(here).ground.clear(),
            Kind::Guests(ground) => ground.clear(),
        }
    }
}

/// This machine's kernel, made ready.
fn here(
    id: CampaignId,
    campaign: &Campaign,
    held: Held,
    progress: &Progress,
    stop: &Stop,
) -> anyhow::Result<Here> {
    let mut ground = Ground::prepare(id, campaign, held, progress, stop)?;
    let mut executor = HostExecutor {
        program: std::env::current_exe().context("cannot find this program")?,
        stall_timeout: campaign.stall_timeout,
        step_limit: campaign.phase_limit,
        memory: memory_limit(id, campaign, first_limit(campaign))?,
        stop: Arc::clone(stop),
    };
    ground.fill_source(campaign, &mut executor, progress)?;
    Ok(Here {
        id,
        ground,
        executor,
    })
}

/// A cell that panicked has left nothing half-way that the next would not find out.
fn lock(here: &Mutex<Here>) -> MutexGuard<'_, Here> {
    here.lock().unwrap_or_else(PoisonError::into_inner)
}

impl orchestrate::Backend for Site {
    type Error = ProvisionError;

    fn side_by_side(&self) -> usize {
        self.side_by_side
    }

    fn environment(&mut self) -> Result<Environment, ProvisionError> {
        Ok(match &*self.kind {
            Kind::Here(here) => lock(here).ground.environment(&self.campaign),
            Kind::Guests(ground) => ground.environment(),
        })
    }

    /// Not for guests: what this machine and its disks can do says nothing of theirs.
    fn calibrate(&mut self) -> Result<Option<Calibration>, ProvisionError> {
        let Kind::Here(here) = &*self.kind else {
            return Ok(None);
        };
        let mut here = lock(here);
        let subject = here.ground.subject(&self.campaign);
        let effort = Effort::of(self.campaign.profile);
        let taken = calibration::take(subject, effort, &self.stop);
        here.ground.used();
        match taken {
            Err(ProvisionError::Interrupted) => Ok(None),
            other => other.map(Some),
        }
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        self.workers.start(cell, test);
    }

    fn next(&mut self) -> News {
        self.news.recv().expect("the workers hold its other end")
    }
}

impl Here {
    /// Sets the limit that the contender of a cell has, where the one before had another.
    fn limit_memory(&mut self, campaign: &Campaign, cell: &Cell) -> Result<(), MemoryError> {
        let mut contenders = campaign.contenders.iter();
        let contender = contenders.find(|c| c.name == cell.contender);
        let wanted = contender.and_then(|contender| campaign.memory_of(contender));
        let limit = &mut self.executor.memory;
        if limit.as_ref().map(MemoryLimit::limit) != wanted {
            // The group of the one before has the same name and goes first, with what it still holds in memory.
            *limit = None;
            *limit = memory_limit(self.id, campaign, wanted)?;
        }
        Ok(())
    }

    fn execute(
        &mut self,
        campaign: &Campaign,
        cell: &Cell,
        test: &Test,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<CellResult, Stopped> {
        let limited = self.limit_memory(campaign, cell);
        let Self {
            ground, executor, ..
        } = self;
        let plot = || {
            limited?;
            let source = ground.source(campaign, test)?;
            Ok((ground.plot(campaign, cell, test)?, source))
        };
        let outcome = execute_on(plot, test, |(plot, source)| {
            let job = Job {
                version: wire::VERSION,
                cell: cell.id,
                target: plot.target(),
                source,
                test: test.clone(),
                seed: cell.seed,
                stacks_after: None,
            };
            executor.execute(&job, observe)
        });
        ground.used();
        if let Ok(result) = &outcome
            && let Some(failure) = result.failure.as_ref()
            && failure.step == agent::SOURCE_STEP
        {
            let reason = format!("the source does not answer: {}", failure.reason);
            return Err(Stopped::Withdrawn(reason));
        }
        // What was taken away under a cell that ran is no fault of its filesystem's either.
        match ground.require_there() {
            Err(error) if failed(&outcome) => Err(Stopped::Withdrawn(error.to_string())),
            _ => outcome,
        }
    }
}

fn failed(outcome: &Result<CellResult, Stopped>) -> bool {
    let result = outcome.as_ref();
    result.is_ok_and(|result| !matches!(result.status, Status::Ok | Status::Unsupported))
}

/// The first limit that a contender has: whether there can be any is found out before the first cell.
fn first_limit(campaign: &Campaign) -> Option<Bytes> {
    let mut contenders = campaign.contenders.iter();
    contenders.find_map(|contender| campaign.memory_of(contender))
}

/// A limit for cells of the campaign; a guest has the memory of its machine.
fn memory_limit(
    id: CampaignId,
    campaign: &Campaign,
    memory: Option<Bytes>,
) -> Result<Option<MemoryLimit>, MemoryError> {
    let name = unique_name(campaign, id);
    let limited = memory
        .filter(|_| campaign.backend != Backend::Vm)
        .map(|memory| MemoryLimit::new(&name, memory));
    limited.transpose()
}

/// Runs a cell on its plot; where that cannot be had, this is the cell's result, unless a device or directory of the
/// user's is not as it has to be, for which no filesystem is to blame.
pub fn execute_on<P>(
    plot: impl FnOnce() -> anyhow::Result<P>,
    test: &Test,
    execute: impl FnOnce(P) -> Result<CellResult, Stopped>,
) -> Result<CellResult, Stopped> {
    let (started, start) = (clock::calendar(), clock::now());
    match plot() {
        Ok(plot) => execute(plot),
        Err(error) if error.is::<Misfit>() => {
            let misfit = error
                .downcast()
                .map_err(|error| Stopped::Withdrawn(exit::whole(&error)))?;
            Ok(CellResult {
                started,
                ..fit::unsupported(test, &misfit)
            })
        }
        Err(error) if error.is::<Refusal>() => Err(Stopped::Withdrawn(exit::whole(&error))),
        Err(error) => Ok(CellResult {
            started,
            elapsed: clock::since(start),
            ..without_plot(test, &error)
        }),
    }
}

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

#[cfg(test)]
mod tests {
    use model::{Profile, Status};

    use super::*;

    fn test() -> Test {
        let catalog = catalog::Catalog::builtin().unwrap();
        let suite = catalog.suite("lifecycle", Profile::Smoke).unwrap();
        suite.tests[0].clone()
    }

    #[test]
    fn a_plot_that_cannot_be_had_is_the_result_of_its_cell_and_has_its_time() {
        let test = test();
        let nothing = || Err::<(), _>(anyhow::anyhow!("there is no room"));
        let result = execute_on(nothing, &test, |()| panic!("on nothing")).unwrap();
        let failure = result.failure.unwrap();
        assert_eq!(result.status, Status::Failed);
        assert_eq!(
            (failure.step.as_str(), failure.reason.as_str()),
            ("provision", "there is no room")
        );
        assert_eq!(result.phases.len(), test.phases.len());
        assert!(result.started > model::Nanos(0));
    }

    #[test]
    fn what_became_of_a_cell_on_its_plot_stays_as_it_is() {
        let outcome = execute_on(
            || Ok(7),
            &test(),
            |plot| {
                assert_eq!(plot, 7);
                Err(Stopped::Interrupted)
            },
        );
        assert_eq!(outcome, Err(Stopped::Interrupted));
    }

    #[test]
    fn a_cell_that_does_not_fit_is_unsupported_and_no_failure() {
        let catalog = catalog::Catalog::builtin().unwrap();
        let mut campaign = crate::fixture::campaign();
        campaign.contenders = vec![catalog.contender("fat12").unwrap()];
        let misfit = fit::misfit(&campaign, &campaign.contenders[0], &test(), None).unwrap();
        let nowhere = || Err::<(), _>(misfit.unwrap().into());
        let result = execute_on(nowhere, &test(), |()| panic!("on nothing")).unwrap();
        let reason = result.failure.unwrap().reason;
        assert_eq!(result.status, Status::Unsupported);
        assert!(reason.contains("255 MiB at most"), "{reason}");
    }

    #[test]
    fn a_device_that_is_not_as_it_was_is_no_result_of_a_filesystem() {
        let path = "/dev/sdx".into();
        let changed = || Err::<(), _>(Refusal::Changed { path }.into());
        let outcome = execute_on(changed, &test(), |()| panic!("on nothing"));
        let Err(Stopped::Withdrawn(reason)) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(reason.contains("/dev/sdx"), "{reason}");
    }
}
