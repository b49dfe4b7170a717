//! One job from start to finish: set-up, phases, tear-down. Every planned phase gets exactly one
//! result.

mod maintenance;
mod measuring;

use std::cell::OnceCell;
use std::io;
use std::path::Path;
use std::sync::Arc;

use model::wire::{AgedImageAction, AgedImageInfo, CellEvent, CellJob, SourceLocation, WorkTarget};
use model::{
    CacheState, CommandRecord, CpuProfile, Failure, Features, MountId, Nanos, Phase, PhaseResult,
    RequestLogChunk, Status,
};
use sys::block::BlockStats;
use sys::mount::mount_id;
use workload::{CellWorkspace, OpError};

use crate::cell::other_hosts::OtherHosts;
use crate::cell::program_output::ProgramOutput;
use crate::cell::volume::{CellVolume, StepResult};
use crate::guest::request_log::RequestLogReader;
use crate::observe::cpu_profile::CpuSampler;
use crate::observe::event_writer::EventWriter;
use crate::observe::heartbeat::Heartbeat;
use crate::observe::kernel_memory::KernelMemoryProbe;
use crate::observe::kernel_symbols::KernelSymbols;
use crate::sandbox::SandboxedRunner;
use crate::sandbox::command::CommandFailed;
use crate::sandbox::command_runner::CellCommandRunner;
use crate::source;

/// The only step that runs even after a failure.
const UNMOUNT: &str = "umount";
/// Name of the step that ages the filesystem before the first phase.
const AGE: &str = "age";

/// A running job.
pub struct CellSession<'a> {
    job: &'a CellJob,
    events: EventWriter,
    heartbeat: Heartbeat,
    device: Option<BlockStats>,
    volume: Option<CellVolume<'a>>,
    workspace: CellWorkspace,
    /// Runner of commands.
    programs: Arc<dyn workload::CommandRunner>,
    /// Output of the program of a phase, for the phases that follow it.
    printed: Arc<ProgramOutput>,
    footprint: KernelMemoryProbe,
    features: Features,
    /// First step outside the phases that failed, if any; all later steps are skipped.
    died: Option<String>,
    /// Phases that failed or did not run; phases that need them are skipped.
    undone: Vec<&'a str>,
    /// First failed phase, if any. Later phases without a list of needed phases are skipped.
    failed: Option<&'a str>,
    /// Mount on which the directory of the cell must be located.
    place: Option<ExpectedMount<'a>>,
    /// Whether the cell was stopped by an environment fault and has no meaning for the filesystem.
    withdrawn: bool,
    /// Request log of the simulated disks, if any.
    journal: Option<RequestLogReader>,
    /// The last phase that wrote, if its layout has not been measured yet.
    wrote: Option<&'a str>,
    /// Names of kernel functions, read on first use.
    symbols: OnceCell<KernelSymbols>,
    /// Cache state at the start of the last operation. All roles of a mix share the cache state of
    /// the mix.
    began_with: CacheState,
    /// The other hosts, if several run the cell together.
    hosts: Option<Arc<OtherHosts>>,
}

/// A directory with the mount that it must be located on.
struct ExpectedMount<'a> {
    top: &'a Path,
    mount: MountId,
}

impl ExpectedMount<'_> {
    /// Returns the problem in one line, if any.
    fn trouble(&self) -> Option<String> {
        let top = self.top.display();
        let found = mount_id::open(self.top);
        match found.and_then(|directory| mount_id::identity(&directory)) {
            Ok(found) if found == self.mount => None,
            Ok(_) => Some(format!(
                "{top} is not the directory that it was: its filesystem was unmounted, or another one was mounted"
            )),
            Err(error) => Some(format!("{top} is not there any more: {error}")),
        }
    }
}

/// Reason that a phase has no result.
enum PhaseError {
    Unsupported(String),
    /// Environment fault, without meaning for the filesystem.
    Withdrawn(String),
    Failed {
        crashed: bool,
        failure: Failure,
    },
}

impl<'a> CellSession<'a> {
    /// Creates a session that reports to this event writer and runs programs with this runner.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn new(
        job: &'a CellJob,
        events: EventWriter,
        runner: SandboxedRunner,
        footprint: KernelMemoryProbe,
        hosts: Option<OtherHosts>,
    ) -> io::Result<Self> {
        let (volume, root, place) = match &job.target {
            WorkTarget::Volume(volume) => {
                let mountpoint = volume.mountpoint.as_path();
                (Some(CellVolume::new(volume, runner.clone())), mountpoint, None)
            }
            WorkTarget::Directory { path, top, mount } => {
                let place = ExpectedMount { top, mount: *mount };
                (None, path.as_path(), Some(place))
            }
        };
        let printed = Arc::new(ProgramOutput::new(&job.test));
        let archives = job.archives.clone();
        let programs =
            CellCommandRunner::new(runner, events.clone(), archives, Arc::clone(&printed));
        let programs: Arc<dyn workload::CommandRunner> = Arc::new(programs);
        let device = match &job.target {
            WorkTarget::Volume(volume) => BlockStats::from_nodes(volume.devices()).ok(),
            WorkTarget::Directory { .. } => None,
        };
        let heartbeat = Heartbeat::start(events.clone(), device.clone())?;
        hosts.iter().for_each(|hosts| hosts.watch(heartbeat.progress()));
        Ok(Self {
            job,
            heartbeat,
            events,
            device,
            volume,
            workspace: CellWorkspace::new(root, job.seed)
                .with_programs(programs.clone())
                .with_data(job.test.data)
                .with_memory_limit(job.memory_limit),
            programs,
            printed,
            footprint,
            features: Features::default(),
            died: None,
            undone: Vec::new(),
            failed: None,
            place,
            withdrawn: false,
            journal: RequestLogReader::open(),
            wrote: None,
            symbols: OnceCell::new(),
            began_with: CacheState::None,
            hosts: hosts.map(Arc::new),
        })
    }

    /// Runs the job and reports all events.
    pub fn run(mut self) {
        self.open_source();
        if !self.withdrawn {
            self.set_up();
        }
        self.require_place();
        self.enter_common_directory();
        for phase in &self.job.test.phases {
            if self.withdrawn || self.only_ages() {
                break;
            }
            self.phase(phase);
        }
        self.require_source();
        if !self.features.0.is_empty() {
            self.events.send(&CellEvent::Features(self.features.clone()));
        }
        self.tear_down();
        self.heartbeat.stop();
        self.events.send(&CellEvent::Done);
    }

    fn set_up(&mut self) {
        let Some(volume) = &mut self.volume else {
            return;
        };
        if let Err(reason) = volume.claim() {
            self.withdraw(reason);
            return;
        }
        if let Some(AgedImageAction::Restore(state)) = &self.job.aged {
            return self.use_aged(state);
        }
        if let Err(failure) = volume.assemble().and_then(|()| volume.wipe()) {
            self.die(false, failure);
            return;
        }
        if self.job.test.makes_filesystem() {
            return;
        }
        if volume.has_mkfs() {
            self.step("mkfs", CellVolume::mkfs);
        }
        self.find_journal();
        self.step("mount", CellVolume::mount);
        if self.volume.as_ref().is_some_and(CellVolume::is_mounted)
            && let Some(memory) = self.footprint.now()
        {
            self.events.send(&CellEvent::Mounted(memory));
        }
        self.age();
    }

    /// Changes to the directory of the first host, if several hosts run the cell together.
    fn enter_common_directory(&mut self) {
        let (Some(hosts), Some(place)) = (&self.hosts, &self.place) else {
            return;
        };
        if self.withdrawn {
            return;
        }
        match hosts.enter(self.workspace.root(), place.top) {
            Ok(common) => self.workspace = self.empty_workspace(&common),
            Err(reason) => self.withdraw(reason),
        }
    }

    /// Returns a workspace of the cell without contents.
    fn empty_workspace(&self, root: &Path) -> CellWorkspace {
        CellWorkspace::new(root, self.job.seed)
            .with_programs(self.programs.clone())
            .with_data(self.job.test.data)
            .with_memory_limit(self.job.memory_limit)
    }

    /// Finds the filesystem's journal, if a simulated disk must identify requests to it. Errors are
    /// ignored: the filesystem's own marks then identify the journal.
    fn find_journal(&mut self) {
        let (Some(journal), WorkTarget::Volume(volume)) = (&mut self.journal, &self.job.target)
        else {
            return;
        };
        let devices: Vec<&Path> = volume.devices().collect();
        if let (None, [device]) = (&self.died, &devices[..])
            && let Err(error) = journal.locate_fs_journal(device)
        {
            eprintln!("fsarena: the place of the filesystem's journal cannot be read: {error}");
        }
    }

    /// Returns true if the job ends after ageing, before the first phase.
    fn only_ages(&self) -> bool {
        matches!(self.job.aged, Some(AgedImageAction::Create))
    }

    /// Mounts the aged filesystem on the device, with caches as cold as after ageing.
    fn use_aged(&mut self, state: &AgedImageInfo) {
        if let Some(volume) = &mut self.volume {
            volume.release();
        }
        self.find_journal();
        self.step("mount", CellVolume::mount_cold);
        if let Some(memory) = state.mounted {
            self.events.send(&CellEvent::Mounted(memory));
        }
        self.events.send(&CellEvent::Aged(state.record.clone()));
    }

    /// Ages the filesystem if requested. The first phase starts in the same state as on a fresh
    /// one: just mounted, with empty caches.
    fn age(&mut self) {
        let root = self.volume.as_ref().filter(|volume| volume.is_mounted());
        let (Some(ageing), Some(root)) = (&self.job.age, root.map(CellVolume::root)) else {
            return;
        };
        if self.died.is_some() || self.withdrawn {
            return;
        }
        self.begin(AGE);
        let progress = self.heartbeat.progress();
        let mut begin = || self.begin(AGE);
        match workload::age(root, &ageing.age, ageing.seed, &progress, &mut begin) {
            Ok(record) => {
                self.events.send(&CellEvent::Aged(record));
                if !self.only_ages() {
                    self.step(AGE, CellVolume::remount_cold);
                }
            }
            Err(error) if !self.withdraw_if_taken() => self.die_of(AGE, &error),
            Err(_) => {}
        }
    }

    /// Records the failure of an engine step outside the phases.
    fn die_of(&mut self, step: &str, error: &OpError) {
        let (crashed, failure) = match self.judge(error) {
            PhaseError::Failed { crashed, failure } => (crashed, failure),
            PhaseError::Unsupported(reason) | PhaseError::Withdrawn(reason) => {
                let failure = Failure { reason, ..Failure::default() };
                (false, failure)
            }
        };
        let step = step.to_owned();
        self.die(crashed, Failure { step, ..failure });
    }

    /// Opens the source of a copy. Creates it first in a guest.
    fn open_source(&mut self) {
        let Some(source) = &self.job.source else {
            return;
        };
        self.begin(source::STEP);
        let progress = || self.heartbeat.progress();
        if let (SourceLocation::Generated(made), Some(prefix)) = (&source.place, &source.prefix)
            && let Err(reason) = source::generate(made, prefix, &self.job.test, progress())
        {
            self.withdraw(reason);
            return;
        }
        match source::open(source, progress()) {
            Ok(found) => {
                self.workspace = self.empty_workspace(self.workspace.root()).with_source(found);
            }
            Err(reason) => self.withdraw(reason),
        }
    }

    /// Withdraws the cell if the source changed during the copy.
    fn require_source(&mut self) {
        let (Some(source), Some(opened)) = (&self.job.source, self.workspace.source()) else {
            return;
        };
        let progress = self.heartbeat.progress();
        if let Err(reason) = source::require_unchanged(source, opened, progress)
            && !self.withdrawn
        {
            self.withdraw(reason);
        }
    }

    /// Measures the file layout left by the last phase that wrote. Called only right before an
    /// unmount, which also empties the caches and writes all data, so that no measurement is
    /// affected.
    fn look_at_layout(&mut self) {
        let is_mounted = |volume: &CellVolume<'_>| volume.has_device() && volume.is_mounted();
        let is_there = self.died.is_none() && self.volume.as_ref().is_some_and(is_mounted);
        if let (Some(phase), true) = (self.wrote.take(), is_there)
            && let Some(layout) = workload::fragmentation(self.workspace.root())
        {
            let phase = phase.to_owned();
            self.events.send(&CellEvent::Layout { phase, layout });
        }
    }

    /// Unmounts and checks the filesystem, unless an earlier step failed.
    fn tear_down(&mut self) {
        self.look_at_layout();
        if self.volume.as_ref().is_some_and(CellVolume::is_mounted) {
            let already_died = self.died.take();
            self.step(UNMOUNT, CellVolume::unmount);
            self.died = already_died.or(self.died.take());
        }
        let checkable = |v: &CellVolume<'_>| v.has_fsck() && v.has_device() && !v.is_mounted();
        let is_well = !self.withdrawn && self.failed.is_none();
        let is_checked = !self.job.test.makes_filesystem() && is_well;
        if is_checked && self.volume.as_ref().is_some_and(checkable) {
            self.step("fsck", |volume| volume.fsck());
        }
    }

    /// Runs a step that is not measured. Skips the step if an earlier step failed.
    fn step(&mut self, name: &str, action: impl FnOnce(&mut CellVolume<'a>) -> StepResult) {
        if self.died.is_some() || (self.withdrawn && name != UNMOUNT) {
            return;
        }
        self.begin(name);
        let Some(volume) = &mut self.volume else {
            return;
        };
        let outcome = action(volume);
        if let Err(failed) = self.records(outcome)
            && !self.withdraw_if_taken()
        {
            self.die(false, failed);
        }
    }

    /// Withdraws the cell if another process took the device; the filesystem has not failed then.
    fn withdraw_if_taken(&mut self) -> bool {
        let Some(volume) = self.volume.as_ref().filter(|volume| volume.is_claimed_elsewhere())
        else {
            return false;
        };
        let device = volume.root().display();
        self.withdraw(format!("device of {device} was taken by another process during the cell"));
        true
    }

    /// Withdraws the cell if the directory is now on another filesystem.
    fn require_place(&mut self) {
        let trouble = self.place.as_ref().and_then(ExpectedMount::trouble);
        if let Some(reason) = trouble.filter(|_| !self.withdrawn) {
            self.withdraw(reason);
        }
    }

    fn withdraw(&mut self, reason: String) {
        self.withdrawn = true;
        self.events.send(&CellEvent::EnvironmentFault { reason });
    }

    fn begin(&self, name: &str) {
        self.heartbeat.enter(name);
        self.events.send(&CellEvent::Begin { step: name.to_owned() });
    }

    /// Sends the records of the programs that a step ran.
    fn records(&self, outcome: StepResult) -> Result<(), Failure> {
        let say = |record: CommandRecord| self.events.send(&CellEvent::Step(record));
        match outcome {
            Ok(records) => records.into_iter().for_each(say),
            Err(CommandFailed { record, failure }) => {
                record.into_iter().for_each(say);
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Records the failure of a step outside the phases.
    fn die(&mut self, crashed: bool, failure: Failure) {
        self.died = Some(failure.step.clone());
        self.events.send(&CellEvent::Failed { crashed, failure });
    }

    /// Returns the reason that a phase cannot run after the failure of an earlier one.
    fn obstacle(&self, phase: &Phase) -> Option<String> {
        if let Some(step) = &self.died {
            return Some(format!("{step} did not succeed"));
        }
        match &phase.needs {
            None => self.failed.map(|step| format!("{step} did not succeed")),
            Some(needs) => {
                let mut needs = needs.iter();
                let missing = needs.find(|needed| self.undone.contains(&needed.as_str()));
                missing.map(|step| format!("needs {step}"))
            }
        }
    }

    fn phase(&mut self, phase: &'a Phase) {
        let mut result = PhaseResult::not_run(phase);
        if let Some(reason) = self.obstacle(phase) {
            result.status = Status::Skipped;
            result.failure =
                Some(Failure { step: phase.name.clone(), reason, ..Failure::default() });
        } else {
            self.begin(&phase.name);
            self.send_journal(RequestLogReader::take_before_phase);
            let profiling = self.start_profiling(phase);
            let outcome = self.attempt(phase, &mut result);
            result.profile = profiling.and_then(|profiling| self.profile(profiling, &result.timed));
            self.send_journal(|journal| journal.take_phase(&mut result));
            self.require_place();
            if let Err(PhaseError::Withdrawn(reason)) = &outcome {
                self.withdraw(reason.clone());
            }
            if self.withdrawn || (outcome.is_err() && self.withdraw_if_taken()) {
                return;
            }
            if let Err(trouble) = outcome {
                self.explain(phase, trouble, &mut result);
            }
        }
        if result.status != Status::Ok {
            self.undone.push(&phase.name);
        } else if result.bytes_written.0 > 0 && result.role_of.is_none() {
            self.wrote = Some(&phase.name);
        }
        self.events.send(&CellEvent::Phase(Box::new(result)));
    }

    /// Sends the request log of simulated disks. A read error is printed on the console and does
    /// not fail the filesystem.
    fn send_journal(
        &mut self,
        read: impl FnOnce(&mut RequestLogReader) -> io::Result<Option<RequestLogChunk>>,
    ) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        match read(journal) {
            Ok(part) => {
                part.into_iter().for_each(|part| self.events.send(&CellEvent::Journal(part)));
            }
            Err(error) => eprintln!("fsarena: the journal of the disk cannot be read: {error}"),
        }
    }

    /// Starts sampling the processor if requested. An error is printed on the console and does not
    /// fail the filesystem.
    fn start_profiling(&self, phase: &Phase) -> Option<CpuSampler> {
        let sampling = self.job.sampling.as_ref()?;
        let started = sampling.covers(&phase.name).then(|| CpuSampler::start(sampling.period))?;
        started
            .inspect_err(|error| eprintln!("fsarena: the processor cannot be sampled: {error}"))
            .ok()
    }

    /// Returns the CPU profile of the given time ranges of a phase.
    fn profile(&self, profiling: CpuSampler, timed: &[(Nanos, Nanos)]) -> Option<CpuProfile> {
        let symbols = self.symbols.get_or_init(|| {
            let read = KernelSymbols::read();
            read.inspect_err(|error| {
                eprintln!("fsarena: the kernel does not name its functions: {error}");
            })
            .unwrap_or_default()
        });
        profiling
            .finish(timed, symbols)
            .inspect_err(|error| eprintln!("fsarena: the samples are lost: {error}"))
            .ok()
    }

    fn explain(&mut self, phase: &'a Phase, trouble: PhaseError, result: &mut PhaseResult) {
        let failure = match trouble {
            PhaseError::Unsupported(reason) | PhaseError::Withdrawn(reason) => {
                result.status = Status::Unsupported;
                Failure { reason, ..Failure::default() }
            }
            PhaseError::Failed { crashed, failure } => {
                result.status = if crashed { Status::Crashed } else { Status::Failed };
                self.failed.get_or_insert(&phase.name);
                if crashed || self.is_unmounted() {
                    self.died = Some(phase.name.clone());
                }
                failure
            }
        };
        result.failure = Some(Failure { step: phase.name.clone(), ..failure });
    }

    /// Returns true if new files would be created on a filesystem other than that of the cell.
    fn is_unmounted(&self) -> bool {
        self.volume.as_ref().is_some_and(|v| !v.is_mounted())
    }
}
