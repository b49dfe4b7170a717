//! Where the cells of a campaign run: on this machine's kernel, or in guests.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use model::{Backend, Bytes, Campaign, Cell, CellResult, Environment, Failure, Status, Test};
use provision::Refusal;
use run::{Collector, Ending, Executor, HostExecutor, MemoryError, MemoryLimit, Stopped};
use store::CampaignId;
use sys::clock;
use wire::{Event, Job};

use crate::calibration::Subject;
use crate::campaign::Means;
use crate::exit;
use crate::fit::{self, Misfit};
use crate::ground::{Ground, Held};
use crate::guest_ground::GuestGround;
use crate::progress::Progress;
use crate::work_place::unique_name;

/// Where the cells of a campaign run.
pub enum Site {
    /// On this machine's kernel.
    Here(Box<Here>),
    /// In guests.
    Guests(Box<GuestGround>),
}

/// This machine's kernel, and who runs cells on it.
pub struct Here {
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
        stop: &Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let stop = Arc::clone(stop);
        if campaign.backend == Backend::Vm {
            let guest = (means.guest)(campaign)?;
            let mut ground = GuestGround::prepare(id, campaign, guest, held.device, stop)?;
            ground.serve_from((means.cache)());
            return Ok(Self::Guests(Box::new(ground)));
        }
        let mut ground = Ground::prepare(id, campaign, held, progress, &stop)?;
        let mut executor = HostExecutor {
            program: std::env::current_exe().context("cannot find this program")?,
            stall_timeout: campaign.stall_timeout,
            step_limit: campaign.phase_limit,
            memory: memory_limit(id, campaign, first_limit(campaign))?,
            stop,
        };
        ground.fill_source(campaign, &mut executor, progress)?;
        Ok(Self::Here(Box::new(Here {
            id,
            ground,
            executor,
        })))
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

    /// What the campaign runs on, for the record.
    pub fn environment(&self, campaign: &Campaign) -> Environment {
        match self {
            Self::Here(here) => here.ground.environment(campaign),
            Self::Guests(ground) => ground.environment(),
        }
    }

    /// Runs one cell.
    ///
    /// # Errors
    /// Only when the user interrupted it or it was withdrawn.
    pub fn execute(
        &mut self,
        campaign: &Campaign,
        cell: &Cell,
        test: &Test,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<CellResult, Stopped> {
        match self {
            Self::Here(here) => here.execute(campaign, cell, test, observe),
            Self::Guests(ground) => ground.execute(cell, test, observe),
        }
    }

    /// Removes everything that was made for the campaign.
    pub fn clear(self) -> anyhow::Result<()> {
        match self {
            Self::Here(mut here) => here.ground.clear(),
            Self::Guests(ground) => ground.clear(),
        }
    }
}

impl Here {
    /// What a calibration takes the ceiling of.
    pub fn subject(&mut self, campaign: &Campaign) -> Subject {
        self.ground.subject(campaign)
    }

    /// Takes note that the calibration is over.
    pub fn used(&mut self) {
        self.ground.used();
    }

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
