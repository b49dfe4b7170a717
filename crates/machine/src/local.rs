//! A backend that is this machine: its kernel, or guests that it runs.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use guest::Guest;
use model::{
    Backend, Bytes, Calibration, Campaign, CampaignId, Cell, CellResult, Environment, Failure,
    Sampling, Status, Test,
};
use orchestrate::{News, Stop, Workers};
use provision::{ProvisionError, Refusal};
use run::{CellCache, Collector, Ending, Executor, HostExecutor, MemoryError, MemoryLimit};
use sys::clock;
use wire::{Aged, Ageing, Event, Job, Stopped};

use crate::aged::{self, Kept, Ready, Wanted};
use crate::calibration::{self, Effort};
use crate::dialogue::Dialogue;
use crate::fit::{self, Misfit};
use crate::guests::Guests;
use crate::held::Held;
use crate::storage::Storage;
use crate::work_place::unique_name;
use crate::{error, guests};

/// This machine, made ready for the cells of a campaign.
pub struct Local {
    campaign: Arc<Campaign>,
    kind: Arc<Kind>,
    workers: Workers,
    /// Absent where somebody else hears what happens.
    news: Option<Receiver<News>>,
    side_by_side: usize,
    stop: Stop,
}

enum Kind {
    /// This machine's kernel, one cell at a time.
    Kernel(Box<Mutex<Kernel>>),
    /// Guests.
    Guests(Box<Guests>),
}

/// This machine's kernel, and who runs cells on it.
struct Kernel {
    id: CampaignId,
    storage: Storage,
    executor: HostExecutor,
    /// Aged states, where the campaign keeps them.
    kept: Option<Arc<Kept>>,
}

/// Runs a job of a cell, with what it has to do with a kept state.
type RunJob<'a> = dyn FnMut(&mut Kernel, Option<Aged>) -> Result<CellResult, Stopped> + 'a;

/// What cells in guests need beside the campaign.
pub struct GuestMeans {
    /// The guest in which they run.
    pub guest: Arc<Guest>,
    /// Where results are kept that need not be brought about twice.
    pub cache: Option<CellCache>,
    /// How many may run side by side, where the user has said so.
    pub jobs: Option<u32>,
    /// How the processor is sampled meanwhile, where it is.
    pub sampling: Option<Sampling>,
    /// Whether a cell that ended through what happened outside its guest is no result, as where hosts share the cells.
    pub only_its_own: bool,
    /// Whether a guest that has booted is saved for others to begin there: for a cell alone, that takes longer.
    pub saves: bool,
}

impl Local {
    /// Makes this machine's kernel ready, and takes the campaign for this process alone.
    ///
    /// # Errors
    /// When something cannot be made or taken, or the user asks to stop.
    pub fn kernel(
        id: CampaignId,
        campaign: &Campaign,
        held: Held,
        dialogue: &dyn Dialogue,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let kernel = Kernel::prepare(id, campaign, held, dialogue, stop)?;
        Ok(Self::of(
            Kind::Kernel(Box::new(Mutex::new(kernel))),
            campaign,
            1,
            stop,
        ))
    }

    /// The same for guests.
    ///
    /// # Errors
    /// When something cannot be made or taken.
    pub fn guests(
        id: CampaignId,
        campaign: &Campaign,
        held: Held,
        means: GuestMeans,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let GuestMeans {
            guest,
            cache,
            jobs,
            sampling,
            only_its_own,
            saves,
        } = means;
        let mut guests = Guests::prepare(id, campaign, guest, held.device, Arc::clone(stop))?;
        guests.serve_from(cache);
        guests.sample(sampling);
        guests.save(saves);
        guests.take_only_its_own(only_its_own);
        let side_by_side = guests::side_by_side(campaign, jobs);
        Ok(Self::of(
            Kind::Guests(Box::new(guests)),
            campaign,
            side_by_side,
            stop,
        ))
    }

    fn of(kind: Kind, campaign: &Campaign, side_by_side: usize, stop: &Stop) -> Self {
        let (campaign, kind) = (Arc::new(campaign.clone()), Arc::new(kind));
        let (say, news) = mpsc::channel();
        let work = {
            let (campaign, kind, say) = (Arc::clone(&campaign), Arc::clone(&kind), say.clone());
            move |cell: &Cell, test: &Test, observe: &mut dyn FnMut(&Event)| match &*kind {
                Kind::Kernel(kernel) => lock(kernel).execute(&campaign, cell, test, observe),
                Kind::Guests(guests) => {
                    let ended = guests.execute(cell, test, observe);
                    // Who does not hear any more has given up.
                    let note = guests.untold().map(News::Note);
                    note.into_iter().for_each(|note| drop(say.send(note)));
                    ended
                }
            }
        };
        Self {
            workers: Workers::new(Arc::new(work), Arc::clone(stop), say),
            news: Some(news),
            side_by_side,
            stop: Arc::clone(stop),
            campaign,
            kind,
        }
    }

    /// What happens to cells, for somebody else to hear than [`orchestrate::Backend::next`].
    ///
    /// # Panics
    /// When it was taken before.
    pub fn take_news(&mut self) -> Receiver<News> {
        self.news.take().expect("it is taken once")
    }

    /// Removes what a run has left that was killed.
    ///
    /// # Errors
    /// When something cannot be removed, or another process runs the campaign.
    pub fn sweep(id: CampaignId, campaign: &Campaign) -> anyhow::Result<()> {
        Storage::sweep(id, campaign)?;
        // The limit of memory that it has left goes with this; where there is none, none is left.
        let _ = memory_limit(id, campaign, first_limit(campaign));
        Ok(())
    }

    /// Removes everything that was made for the campaign, once no cell runs.
    pub fn clear(self) -> anyhow::Result<()> {
        drop(self.workers);
        match &*self.kind {
            Kind::Kernel(kernel) => lock(kernel).storage.clear(),
            Kind::Guests(guests) => guests.clear(),
        }
    }
}

/// A cell that panicked has left nothing half-way that the next would not find out.
fn lock(kernel: &Mutex<Kernel>) -> MutexGuard<'_, Kernel> {
    kernel.lock().unwrap_or_else(PoisonError::into_inner)
}

impl orchestrate::Backend for Local {
    type Error = ProvisionError;

    fn side_by_side(&self) -> usize {
        self.side_by_side
    }

    fn environment(&mut self) -> Result<Environment, ProvisionError> {
        Ok(match &*self.kind {
            Kind::Kernel(kernel) => lock(kernel).storage.environment(&self.campaign),
            Kind::Guests(guests) => guests.environment(),
        })
    }

    /// Not for guests: what this machine and its disks can do says nothing of theirs.
    fn calibrate(&mut self) -> Result<Option<Calibration>, ProvisionError> {
        let Kind::Kernel(kernel) = &*self.kind else {
            return Ok(None);
        };
        let mut kernel = lock(kernel);
        let subject = kernel.storage.subject(&self.campaign);
        let effort = Effort::of(self.campaign.profile);
        let taken = calibration::take(subject, effort, &self.stop);
        kernel.storage.used();
        match taken {
            Err(ProvisionError::Interrupted) => Ok(None),
            other => other.map(Some),
        }
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        self.workers.start(cell, test);
    }

    fn next(&mut self) -> News {
        let news = self.news.as_ref().and_then(|news| news.recv().ok());
        news.expect("the workers hold its other end, and nobody else hears")
    }
}

impl Kernel {
    fn prepare(
        id: CampaignId,
        campaign: &Campaign,
        held: Held,
        dialogue: &dyn Dialogue,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let mut storage = Storage::prepare(id, campaign, held, dialogue, stop)?;
        let kept = campaign.keep_aged.then(Kept::open).transpose()?;
        if let Some(kept) = &kept {
            dialogue.note(&kept.words());
        }
        let mut executor = HostExecutor {
            program: std::env::current_exe().context("cannot find this program")?,
            stall_timeout: campaign.stall_timeout,
            step_limit: campaign.phase_limit,
            memory: memory_limit(id, campaign, first_limit(campaign))?,
            stop: Arc::clone(stop),
        };
        storage.fill_source(campaign, &mut executor, dialogue)?;
        Ok(Self {
            id,
            storage,
            executor,
            kept: kept.map(Arc::new),
        })
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
        let run = &mut |kernel: &mut Self, aged| kernel.run(campaign, cell, test, aged, observe);
        match self.aged(campaign, cell, test, run)? {
            None => run(self, None),
            Some(Ready::Failed(result)) => Ok(*result),
            Some(Ready::Alone(why)) => {
                let mut result = run(self, None)?;
                let remark = format!("its aged state could not be kept: {why}");
                result.remarks.push(remark);
                Ok(result)
            }
            Some(Ready::State {
                state,
                made,
                remarks,
            }) => {
                let result = run(self, Some(Aged::Use(state)))?;
                Ok(aged::joined(made.map(|made| *made), remarks, result))
            }
        }
    }

    /// Brings about the aged state that a cell begins with, where the campaign keeps those.
    fn aged(
        &mut self,
        campaign: &Campaign,
        cell: &Cell,
        test: &Test,
        run: &mut RunJob<'_>,
    ) -> Result<Option<Ready>, Stopped> {
        let (Some(kept), Some(ageing)) = (self.kept.clone(), age(campaign, cell)) else {
            return Ok(None);
        };
        let mut contenders = campaign.contenders.iter();
        let contender = contenders.find(|contender| contender.name == cell.contender);
        // What is wrong with the storage is found again, and told, by the cell.
        let image = contender.map(|one| self.storage.image_to_age(campaign, one, test));
        let (Some(contender), Some(Ok(Some(image)))) = (contender, image) else {
            return Ok(None);
        };
        let stop = Arc::clone(&self.executor.stop);
        let wanted = Wanted {
            contender,
            ageing,
            image,
            stop: &stop,
        };
        kept.ready(&wanted, &mut || run(self, Some(Aged::Make)))
            .map(Some)
    }

    /// Runs one job of a cell.
    fn run(
        &mut self,
        campaign: &Campaign,
        cell: &Cell,
        test: &Test,
        aged: Option<Aged>,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<CellResult, Stopped> {
        let limited = self.limit_memory(campaign, cell);
        let Self {
            storage, executor, ..
        } = self;
        let prepare = || {
            limited?;
            let source = storage.source(campaign, test)?;
            let archives = storage.archives();
            Ok((storage.of_cell(campaign, cell, test)?, source, archives))
        };
        let outcome = execute_on(prepare, test, |(storage, source, archives)| {
            let job = Job {
                version: wire::VERSION,
                cell: cell.id,
                target: storage.target(),
                source,
                archives,
                test: test.clone(),
                age: age(campaign, cell),
                aged,
                seed: cell.seed,
                stacks_after: None,
                sampling: None,
            };
            executor.execute(&job, observe)
        });
        storage.used();
        if let Ok(result) = &outcome
            && let Some(failure) = result.failure.as_ref()
            && failure.step == agent::SOURCE_STEP
        {
            let reason = format!("the source does not answer: {}", failure.reason);
            return Err(Stopped::Withdrawn(reason));
        }
        // What was taken away under a cell that ran is no fault of its filesystem's either.
        match storage.require_there() {
            Err(error) if failed(&outcome) => Err(Stopped::Withdrawn(error.to_string())),
            _ => outcome,
        }
    }
}

/// How the contender of a cell is aged.
fn age(campaign: &Campaign, cell: &Cell) -> Option<Ageing> {
    let mut contenders = campaign.contenders.iter();
    let contender = contenders.find(|contender| contender.name == cell.contender)?;
    let age = contender.own.age.as_ref()?;
    Some(Ageing::of(age, campaign.age_seed(), cell.round))
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

/// Runs a cell on what is prepared for it; where that cannot be had, this is the cell's result, unless a device or directory of the
/// user's is not as it has to be, for which no filesystem is to blame.
pub fn execute_on<P>(
    prepare: impl FnOnce() -> anyhow::Result<P>,
    test: &Test,
    execute: impl FnOnce(P) -> Result<CellResult, Stopped>,
) -> Result<CellResult, Stopped> {
    let (started, start) = (clock::calendar(), clock::now());
    match prepare() {
        Ok(prepared) => execute(prepared),
        Err(error) if error.is::<Misfit>() => {
            let misfit = error
                .downcast()
                .map_err(|error| Stopped::Withdrawn(error::whole(&error)))?;
            Ok(CellResult {
                started,
                ..fit::unsupported(test, &misfit)
            })
        }
        Err(error) if error.is::<Refusal>() => Err(Stopped::Withdrawn(error::whole(&error))),
        Err(error) => Ok(CellResult {
            started,
            elapsed: clock::since(start),
            ..not_prepared(test, &error)
        }),
    }
}

fn not_prepared(test: &Test, error: &anyhow::Error) -> CellResult {
    let mut collector = Collector::new(test);
    let failure = Failure {
        step: "provision".into(),
        reason: error::whole(error),
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
    fn what_cannot_be_prepared_is_the_result_of_its_cell_and_has_its_time() {
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
    fn what_became_of_a_cell_stays_as_it_is() {
        let outcome = execute_on(
            || Ok(7),
            &test(),
            |prepared| {
                assert_eq!(prepared, 7);
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
