//! A backend on this host: its kernel, or guests on it.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    CellCache, CellEnd, CellResultBuilder, Executor, HostExecutor, MemoryCgroup, MemoryError,
};
use anyhow::Context;
use campaign::run::{CellThreads, CellUpdate, StopFlag};
use guest::Guest;
use model::wire::rank::RankOrder;
use model::wire::{AbortReason, AgedImageAction, AgeingParams, CellEvent, CellJob};
use model::{
    BackendKind, Bytes, Calibration, Campaign, CampaignId, Cell, CellResult, Environment, Failure,
    Sampling, Status, Test,
};
use storage::{DeviceRefusal, ProvisionError};
use sys::io::clock;

use crate::aged::{self, AgedImageCache, AgedImageRequest, AgedStart};
use crate::calibration::{self, CalibrationEffort};
use crate::cell::agent::OrderInput;
use crate::compatibility::{self, Incompatibility};
use crate::error;
use crate::guests::resources as guests;
use crate::guests::resources::GuestBackend;
use crate::host::campaign_dir::unique_name;
use crate::host::held::AcquiredResources;
use crate::host::storage::CampaignStorage;
use crate::remote::user_prompt::UserPrompt;

/// This host, prepared for the cells of a campaign.
pub struct LocalBackend {
    campaign: Arc<Campaign>,
    kind: Arc<LocalBackendKind>,
    workers: CellThreads,
    /// `None` after another receiver took it.
    news: Option<Receiver<CellUpdate>>,
    side_by_side: usize,
    stop: StopFlag,
    /// Input of the agent of the running cell; unused by guests.
    orders: OrderInput,
}

enum LocalBackendKind {
    /// The kernel of this host, which runs one cell at a time.
    Kernel(Box<Mutex<Kernel>>),
    /// Guests.
    Guests(Box<GuestBackend>),
}

/// The kernel of this host with storage and executor for cells.
struct Kernel {
    id: CampaignId,
    storage: CampaignStorage,
    executor: HostExecutor,
    /// Cache of aged states, if the campaign keeps them.
    kept: Option<Arc<AgedImageCache>>,
}

/// Runs one job of a cell, given the job's use of an aged state.
type RunJob<'a> =
    dyn FnMut(&mut Kernel, Option<AgedImageAction>) -> Result<CellResult, AbortReason> + 'a;

/// Options of cells in guests, in addition to the campaign.
pub struct GuestResources {
    /// The guest in which cells run.
    pub guest: Arc<Guest>,
    /// Cache of results of equal cells, if any.
    pub cache: Option<CellCache>,
    /// Maximum number of parallel cells, if the user has set one.
    pub jobs: Option<u32>,
    /// Sampling of the processor while a cell runs, if enabled.
    pub sampling: Option<Sampling>,
    /// Whether a cell that ended for a cause outside its guest has no result. Set when several
    /// hosts share the cells.
    pub only_its_own: bool,
    /// Whether booted guests are saved as snapshots. Saving takes longer than booting for a single
    /// cell.
    pub saves: bool,
}

impl LocalBackend {
    /// Prepares this machine's kernel and locks the campaign for this process.
    ///
    /// # Errors
    /// Returns an error if a resource cannot be created or claimed, or the user asks to stop.
    pub fn kernel(
        id: CampaignId,
        campaign: &Campaign,
        held: AcquiredResources,
        dialogue: &dyn UserPrompt,
        stop: &StopFlag,
    ) -> anyhow::Result<Self> {
        let kernel = Kernel::prepare(id, campaign, held, dialogue, stop)?;
        let orders = kernel.executor.orders.clone();
        let kind = LocalBackendKind::Kernel(Box::new(Mutex::new(kernel)));
        Ok(Self { orders, ..Self::of(kind, campaign, 1, stop) })
    }

    /// Prepares guests on this host and locks the campaign for this process.
    ///
    /// # Errors
    /// Returns an error if a resource cannot be created or claimed.
    pub fn guests(
        id: CampaignId,
        campaign: &Campaign,
        held: AcquiredResources,
        means: GuestResources,
        stop: &StopFlag,
    ) -> anyhow::Result<Self> {
        let GuestResources { guest, cache, jobs, sampling, only_its_own, saves } = means;
        let mut guests = GuestBackend::prepare(id, campaign, guest, held.device, Arc::clone(stop))?;
        guests.serve_from(cache);
        guests.sample(sampling);
        guests.save(saves);
        guests.ignore_host_faults(only_its_own);
        let side_by_side = guests::parallel_cells(campaign, jobs);
        Ok(Self::of(LocalBackendKind::Guests(Box::new(guests)), campaign, side_by_side, stop))
    }

    fn of(
        kind: LocalBackendKind,
        campaign: &Campaign,
        side_by_side: usize,
        stop: &StopFlag,
    ) -> Self {
        let (campaign, kind) = (Arc::new(campaign.clone()), Arc::new(kind));
        let (say, news) = mpsc::channel();
        let work = {
            let (campaign, kind, say) = (Arc::clone(&campaign), Arc::clone(&kind), say.clone());
            move |cell: &Cell, test: &Test, observe: &mut dyn FnMut(&CellEvent)| match &*kind {
                LocalBackendKind::Kernel(kernel) => {
                    lock(kernel).execute(&campaign, cell, test, observe)
                }
                LocalBackendKind::Guests(guests) => {
                    let ended = guests.execute(cell, test, observe);
                    // The send fails only after the receiver has given up.
                    let note = guests.take_warning().map(CellUpdate::Note);
                    note.into_iter().for_each(|note| drop(say.send(note)));
                    ended
                }
            }
        };
        Self {
            workers: CellThreads::new(Arc::new(work), Arc::clone(stop), say),
            news: Some(news),
            side_by_side,
            stop: Arc::clone(stop),
            orders: OrderInput::default(),
            campaign,
            kind,
        }
    }

    /// Passes an order to the running cell, which other hosts run, too.
    pub fn send_order(&self, order: &RankOrder) {
        self.orders.send(order);
    }

    /// Takes the channel of cell events, for a receiver other than `CellBackend::next_update`.
    ///
    /// # Panics
    /// Panics if the channel was already taken.
    pub fn take_updates(&mut self) -> Receiver<CellUpdate> {
        self.news.take().expect("it is taken once")
    }

    /// Removes everything left by a killed run.
    ///
    /// # Errors
    /// Returns an error if a removal fails, or another process runs the campaign.
    pub fn sweep(id: CampaignId, campaign: &Campaign) -> anyhow::Result<()> {
        CampaignStorage::remove_stale(id, campaign)?;
        // Creating the memory limit removes a stale one. If limits are unavailable, none can be
        // stale.
        let _ = memory_limit(id, campaign, first_limit(campaign));
        Ok(())
    }

    /// Removes all files created for the campaign. Waits for running cells.
    pub fn clear(self) -> anyhow::Result<()> {
        drop(self.workers);
        match &*self.kind {
            LocalBackendKind::Kernel(kernel) => lock(kernel).storage.clean_up(),
            LocalBackendKind::Guests(guests) => guests.clear(),
        }
    }
}

/// Locks the kernel. Ignores poisoning, because the next cell detects everything a panicked cell
/// left unfinished.
fn lock(kernel: &Mutex<Kernel>) -> MutexGuard<'_, Kernel> {
    kernel.lock().unwrap_or_else(PoisonError::into_inner)
}

impl campaign::run::CellBackend for LocalBackend {
    type Error = ProvisionError;

    fn parallel_cells(&self) -> usize {
        self.side_by_side
    }

    fn environment(&mut self) -> Result<Environment, ProvisionError> {
        Ok(match &*self.kind {
            LocalBackendKind::Kernel(kernel) => lock(kernel).storage.environment(&self.campaign),
            LocalBackendKind::Guests(guests) => guests.environment(),
        })
    }

    /// Returns `None` for guests: the performance of this machine and its disks does not apply to
    /// them.
    fn calibrate(&mut self) -> Result<Option<Calibration>, ProvisionError> {
        let LocalBackendKind::Kernel(kernel) = &*self.kind else {
            return Ok(None);
        };
        let mut kernel = lock(kernel);
        let subject = kernel.storage.calibration_subject(&self.campaign);
        let effort = CalibrationEffort::for_profile(self.campaign.profile);
        let taken = calibration::calibrate(subject, effort, &self.stop);
        kernel.storage.record_use();
        match taken {
            Err(ProvisionError::Interrupted) => Ok(None),
            other => other.map(Some),
        }
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        self.workers.start(cell, test);
    }

    fn next_update(&mut self) -> CellUpdate {
        let news = self.news.as_ref().and_then(|news| news.recv().ok());
        news.expect("the workers hold the sender, and no other receiver has taken the channel")
    }
}

impl Kernel {
    fn prepare(
        id: CampaignId,
        campaign: &Campaign,
        held: AcquiredResources,
        dialogue: &dyn UserPrompt,
        stop: &StopFlag,
    ) -> anyhow::Result<Self> {
        let mut storage = CampaignStorage::prepare(id, campaign, held, dialogue, stop)?;
        let kept = campaign.keep_aged.then(AgedImageCache::open).transpose()?;
        if let Some(kept) = &kept {
            dialogue.note(&kept.summary());
        }
        let mut executor = HostExecutor {
            program: std::env::current_exe().context("cannot find this program")?,
            stall_timeout: campaign.stall_timeout,
            step_limit: campaign.step_limit(),
            phase_limit: campaign.budget_phase_limit(),
            memory: memory_limit(id, campaign, first_limit(campaign))?,
            stop: Arc::clone(stop),
            orders: OrderInput::default(),
        };
        storage.fill_source(campaign, &mut executor, dialogue)?;
        Ok(Self { id, storage, executor, kept: kept.map(Arc::new) })
    }

    /// Sets the memory limit of the cell's contender if it differs from the limit of the previous
    /// cell.
    fn limit_memory(&mut self, campaign: &Campaign, cell: &Cell) -> Result<(), MemoryError> {
        let mut contenders = campaign.contenders.iter();
        let contender = contenders.find(|c| c.name == cell.contender);
        let wanted = contender.and_then(|contender| campaign.memory_for(contender));
        let limit = &mut self.executor.memory;
        if limit.as_ref().map(MemoryCgroup::limit) != wanted {
            // Remove the previous group first: it has the same name and may still hold memory.
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
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<CellResult, AbortReason> {
        let run = &mut |kernel: &mut Self, aged| kernel.run(campaign, cell, test, aged, observe);
        match self.aged(campaign, cell, test, run)? {
            None => run(self, None),
            Some(AgedStart::Failed(result)) => Ok(*result),
            Some(AgedStart::WithoutCache(why)) => {
                let mut result = run(self, None)?;
                let remark = format!("its aged state could not be kept: {why}");
                result.remarks.push(remark);
                Ok(result)
            }
            Some(AgedStart::FromImage { state, made, remarks }) => {
                let result = run(self, Some(AgedImageAction::Restore(state)))?;
                Ok(aged::merge_results(made.map(|made| *made), remarks, result))
            }
        }
    }

    /// Provides the aged state that a cell starts with, if the campaign keeps aged states.
    fn aged(
        &mut self,
        campaign: &Campaign,
        cell: &Cell,
        test: &Test,
        run: &mut RunJob<'_>,
    ) -> Result<Option<AgedStart>, AbortReason> {
        let (Some(kept), Some(ageing)) = (self.kept.clone(), age(campaign, cell)) else {
            return Ok(None);
        };
        let mut contenders = campaign.contenders.iter();
        let contender = contenders.find(|contender| contender.name == cell.contender);
        // Ignore errors of the storage here: the cell finds and reports them again.
        let image = contender.map(|one| self.storage.image_to_age(campaign, one, test));
        let (Some(contender), Some(Ok(Some(image)))) = (contender, image) else {
            return Ok(None);
        };
        let stop = Arc::clone(&self.executor.stop);
        let wanted = AgedImageRequest { contender, ageing, image, stop: &stop };
        kept.get_or_create(&wanted, &mut || run(self, Some(AgedImageAction::Create))).map(Some)
    }

    /// Runs one job of a cell.
    fn run(
        &mut self,
        campaign: &Campaign,
        cell: &Cell,
        test: &Test,
        aged: Option<AgedImageAction>,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<CellResult, AbortReason> {
        let limited = self.limit_memory(campaign, cell);
        let Self { storage, executor, .. } = self;
        let prepare = || {
            limited?;
            let source = storage.source(campaign, test)?;
            let archives = storage.archives();
            Ok((storage.for_cell(campaign, cell, test)?, source, archives))
        };
        let outcome = run_cell_on(prepare, test, |(storage, source, archives)| {
            let job = CellJob {
                version: model::wire::VERSION,
                cell: cell.id,
                target: storage.target(),
                source,
                archives,
                memory_limit: campaign.memory,
                test: test.clone(),
                age: age(campaign, cell),
                aged,
                seed: cell.seed,
                stacks_after: None,
                sampling: None,
                rank: campaign.rank(),
            };
            executor.execute(&job, observe)
        });
        storage.record_use();
        if let Ok(result) = &outcome
            && let Some(failure) = result.failure.as_ref()
            && failure.step == agent::SOURCE_STEP
        {
            let reason = format!("the source does not answer: {}", failure.reason);
            return Err(AbortReason::EnvironmentFault(reason));
        }
        // Storage that disappeared during a cell is not a fault of its filesystem.
        match storage.check_exists() {
            Err(error) if failed(&outcome) => Err(AbortReason::EnvironmentFault(error.to_string())),
            _ => outcome,
        }
    }
}

/// Returns the ageing parameters of a cell's contender, if the contender is aged.
fn age(campaign: &Campaign, cell: &Cell) -> Option<AgeingParams> {
    let mut contenders = campaign.contenders.iter();
    let contender = contenders.find(|contender| contender.name == cell.contender)?;
    let age = contender.own.age.as_ref()?;
    Some(AgeingParams::for_round(age, campaign.age_seed(), cell.round))
}

fn failed(outcome: &Result<CellResult, AbortReason>) -> bool {
    let result = outcome.as_ref();
    result.is_ok_and(|result| !matches!(result.status, Status::Ok | Status::Unsupported))
}

/// Returns the first memory limit of any contender. Used before the first cell to check that limits
/// are possible.
fn first_limit(campaign: &Campaign) -> Option<Bytes> {
    let mut contenders = campaign.contenders.iter();
    contenders.find_map(|contender| campaign.memory_for(contender))
}

/// Creates the memory limit for cells. A guest is limited by the memory of its machine instead.
fn memory_limit(
    id: CampaignId,
    campaign: &Campaign,
    memory: Option<Bytes>,
) -> Result<Option<MemoryCgroup>, MemoryError> {
    let name = unique_name(campaign, id);
    let limited = memory
        .filter(|_| campaign.backend != BackendKind::Vm)
        .map(|memory| MemoryCgroup::new(&name, memory));
    limited.transpose()
}

/// Prepares a cell and runs it. If preparation fails, the failure is the cell's result. If a user's
/// device or directory has changed, the cell is withdrawn, because no filesystem is to blame.
pub fn run_cell_on<P>(
    prepare: impl FnOnce() -> anyhow::Result<P>,
    test: &Test,
    execute: impl FnOnce(P) -> Result<CellResult, AbortReason>,
) -> Result<CellResult, AbortReason> {
    let (started, start) = (clock::realtime(), clock::now());
    match prepare() {
        Ok(prepared) => execute(prepared),
        Err(error) if error.is::<Incompatibility>() => {
            let misfit = error
                .downcast()
                .map_err(|error| AbortReason::EnvironmentFault(error::error_chain(&error)))?;
            Ok(CellResult { started, ..compatibility::unsupported(test, &misfit) })
        }
        Err(error) if error.is::<DeviceRefusal>() => {
            Err(AbortReason::EnvironmentFault(error::error_chain(&error)))
        }
        Err(error) => {
            Ok(CellResult { started, elapsed: clock::since(start), ..not_prepared(test, &error) })
        }
    }
}

fn not_prepared(test: &Test, error: &anyhow::Error) -> CellResult {
    let mut collector = CellResultBuilder::new(test);
    let failure = Failure {
        step: "provision".into(),
        reason: error::error_chain(error),
        ..Failure::default()
    };
    collector.apply(CellEvent::Failed { crashed: false, failure });
    collector.finish(CellEnd::Done, Some(Vec::new()))
}

#[cfg(test)]
mod tests {
    use model::{SizeProfile, Status};

    use super::*;

    fn test() -> Test {
        let catalog = config::Catalog::builtin().unwrap();
        let suite = catalog.suite("lifecycle", SizeProfile::Smoke).unwrap();
        suite.tests[0].clone()
    }

    #[test]
    fn failed_preparation_is_the_result_of_the_cell_with_its_time() {
        let test = test();
        let nothing = || Err::<(), _>(anyhow::anyhow!("there is no room"));
        let result = run_cell_on(nothing, &test, |()| panic!("on nothing")).unwrap();
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
    fn result_of_execution_is_returned_unchanged() {
        let outcome = run_cell_on(
            || Ok(7),
            &test(),
            |prepared| {
                assert_eq!(prepared, 7);
                Err(AbortReason::Interrupted)
            },
        );
        assert_eq!(outcome, Err(AbortReason::Interrupted));
    }

    #[test]
    fn a_cell_that_does_not_fit_is_unsupported_and_no_failure() {
        let catalog = config::Catalog::builtin().unwrap();
        let mut campaign = crate::host::fixture::campaign();
        campaign.contenders = vec![catalog.contender("fat12").unwrap()];
        let misfit =
            compatibility::misfit(&campaign, &campaign.contenders[0], &test(), None).unwrap();
        let nowhere = || Err::<(), _>(misfit.unwrap().into());
        let result = run_cell_on(nowhere, &test(), |()| panic!("on nothing")).unwrap();
        let reason = result.failure.unwrap().reason;
        assert_eq!(result.status, Status::Unsupported);
        assert!(reason.contains("255 MiB at most"), "{reason}");
    }

    #[test]
    fn changed_device_withdraws_the_cell() {
        let path = "/dev/sdx".into();
        let changed = || Err::<(), _>(DeviceRefusal::Changed { path }.into());
        let outcome = run_cell_on(changed, &test(), |()| panic!("on nothing"));
        let Err(AbortReason::EnvironmentFault(reason)) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(reason.contains("/dev/sdx"), "{reason}");
    }
}
