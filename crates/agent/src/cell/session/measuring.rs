//! Measures one phase: sets the cache state, runs the operation or step, and classifies errors.

use std::sync::Arc;

use model::op::VolumeStep;
use model::wire::WorkTarget;
use model::{
    Bytes, CacheState, Failure, Fill, HostWork, Iteration, Nanos, Op, Phase, PhaseResult,
    ProbeFeature, ProbeResult, SyncAtEnd,
};
use sys::io::{caches, clock};
use workload::{HostBarrier, HostShare, IoMode, OpError, PhaseMeter, Progress, ThreadStats};

use super::{CellSession, PhaseError};
use crate::cell::disk_faults;
use crate::cell::full;
use crate::cell::iterations::Iterations;
use crate::cell::power_cuts;
use crate::cell::recorded_volume::{RecordedVolume, TrialError};
use crate::cell::volume::{CellVolume, StepResult};

/// Reason why a phase that takes all space does not run in a directory.
const NEVER_FILLS: &str = "fsarena never fills the directory of a user";

/// Whether to record the programs of a remount. Between passes of a phase, the same lines would
/// repeat.
#[derive(Clone, Copy)]
enum RemountReporting {
    On,
    Off,
}

impl<'a> CellSession<'a> {
    pub(super) fn attempt(
        &mut self,
        phase: &Phase,
        result: &mut PhaseResult,
    ) -> Result<(), PhaseError> {
        if self.hosts.is_some() && phase.op.info().on_hosts(1).is_none() {
            let reason = "threads of several hosts cannot share this work";
            return Err(PhaseError::Unsupported(reason.into()));
        }
        if let Op::ProbeFeature(ProbeFeature { feature }) = phase.op {
            let found = workload::probe(feature, self.workspace.root());
            let found = found.map_err(|error| self.judge(&error))?;
            self.features.0.insert(feature, found.clone());
            return match found {
                ProbeResult::Yes | ProbeResult::UpTo(_) => Ok(()),
                ProbeResult::No(reason) => Err(PhaseError::Unsupported(reason)),
            };
        }
        if let Some(step) = phase.op.info().step() {
            return self.measure_step(step, result);
        }
        if let Op::PowerCut(op) = &phase.op {
            let survival = self.try_recorded(|volume, seed, progress| {
                power_cuts::run_and_shorten(volume, op, &phase.name, seed, progress)
            })?;
            result.operations = u64::from(survival.cuts);
            result.survival = Some(survival);
            return Ok(());
        }
        if let Op::PowerCutSet(op) = &phase.op {
            let survival = self.try_recorded(|volume, seed, progress| {
                power_cuts::run_set(volume, op, &phase.name, seed, progress)
            })?;
            result.operations = u64::from(survival.cuts);
            result.survival = Some(survival);
            return Ok(());
        }
        if let Op::DiskFault(op) = &phase.op {
            let faults = self.try_recorded(|volume, seed, progress| {
                disk_faults::run(RecordedVolume::new(volume, &phase.name)?, op, seed, progress)
            })?;
            result.operations = u64::from(faults.total().faults);
            result.disk_faults = Some(faults);
            return Ok(());
        }
        if let Op::Fill(op) = &phase.op {
            return self.fill(op, &phase.name, result);
        }
        if let (Op::Occupy(_), None) = (&phase.op, &self.volume) {
            return Err(PhaseError::Unsupported(NEVER_FILLS.into()));
        }
        if let Op::RoleResult(role) = &phase.op {
            result.cache = self.began_with;
            let found = workload::role_result(&self.workspace, role, result);
            return found.map_err(|error| self.judge(&error));
        }
        if let Op::External(_) = &phase.op {
            let read = self.printed.write(&phase.name, result);
            return read.map_err(PhaseError::Unsupported);
        }
        result.cache = self.prepare_cache(phase.cache, RemountReporting::On)?;
        self.began_with = result.cache;
        self.measure_operation(phase, result)
    }

    /// Sets the cache state that a phase requests and returns the actual one.
    fn prepare_cache(
        &mut self,
        wanted: CacheState,
        remounts: RemountReporting,
    ) -> Result<CacheState, PhaseError> {
        if wanted == CacheState::Cold {
            self.look_at_layout();
        }
        match (wanted, &mut self.volume) {
            (CacheState::Cold, Some(volume)) if volume.has_device() => {
                let mut outcome = volume.remount_cold();
                // Files of a source are on another filesystem, which stays mounted.
                if outcome.is_ok() && self.workspace.source().is_some() {
                    outcome = volume.drop_all_caches().and(outcome);
                }
                if let (Ok(records), RemountReporting::Off) = (&mut outcome, remounts) {
                    records.clear();
                }
                self.records(outcome)
                    .map_err(|failure| PhaseError::Failed { crashed: false, failure })?;
                Ok(CacheState::Cold)
            }
            // A filesystem in memory cannot have a cold cache.
            (CacheState::Cold, Some(_)) => Ok(CacheState::Warm),
            (CacheState::Cold, None) | (CacheState::FadviseDontNeed, _) => {
                for file in self.workspace.content_files() {
                    // If an earlier phase lost a file, the phase itself reports the missing file.
                    let _ = caches::drop_file_cache(&file);
                }
                if let Some(source) = self.workspace.source() {
                    source.drop_cache();
                }
                Ok(CacheState::FadviseDontNeed)
            }
            (other, _) => Ok(other),
        }
    }

    fn measure_operation(
        &mut self,
        phase: &Phase,
        result: &mut PhaseResult,
    ) -> Result<(), PhaseError> {
        let data = self.job.test.data;
        // Files of a source have their own content, and data in memory takes no space yet.
        let is_generated = self.job.source.is_none() || !phase.op.copies_from_source();
        let is_stored = phase.sync_at_end != SyncAtEnd::Call && is_generated;
        let content = is_stored && data.is_compressible() && phase.op.makes_content();
        let content = content.then_some(data);
        let meter = PhaseMeter::start(self.device.clone(), Some(self.workspace.root()));
        let mut stats = ThreadStats::new(phase.at_most, self.heartbeat.progress(), meter)
            .on_hosts(self.host_share(phase));
        let mut passes = Iterations::new(phase.scaling);
        let outcome = self.passes(phase, &mut stats, &mut passes);
        stats.finish(result);
        result.hosts = self.host_work(result);
        result.content = content;
        if outcome.is_ok() && content.is_some() && phase.sync_at_end == SyncAtEnd::Fsync {
            // btrfs counts compressed data when it writes its metadata.
            self.sync().map_err(|error| self.judge(&error))?;
            result.space_after = workload::statfs(self.workspace.root());
        }
        if let (Some(timeline), [(begun, ended)]) = (&mut result.timeline, &result.timed[..]) {
            timeline.samples = self.heartbeat.samples(*begun, *ended);
        }
        result.passes = passes.several();
        result.device_size = self.device_size();
        result.memory = self.footprint.now();
        outcome
    }

    /// Returns the share of this host in a phase, if several hosts run it together.
    fn host_share(&self, phase: &Phase) -> Option<HostShare> {
        let hosts = self.hosts.as_ref()?;
        hosts.begin_phase();
        let root = self.workspace.root().to_owned();
        Some(HostShare {
            rank: hosts.rank,
            from_next_host: phase.from_next_host,
            sync: (phase.sync_at_end == SyncAtEnd::Syncfs).then_some(root),
            barrier: Arc::clone(hosts) as Arc<dyn HostBarrier>,
        })
    }

    /// Returns the work of this host in a phase, if several hosts ran it together.
    fn host_work(&self, result: &PhaseResult) -> Vec<HostWork> {
        let work = self.hosts.as_ref().map(|hosts| HostWork {
            // The orchestrator knows the name.
            host: String::new(),
            elapsed: result.elapsed,
            operations: result.operations,
            bytes: result.bytes,
            at_first_end: hosts.at_first_end(),
        });
        work.into_iter().collect()
    }

    /// Runs the phase repeatedly until its duration can be measured. Time between the passes does
    /// not count.
    fn passes(
        &mut self,
        phase: &Phase,
        stats: &mut ThreadStats,
        passes: &mut Iterations,
    ) -> Result<(), PhaseError> {
        let start = clock::now();
        loop {
            let (wall, operations, bytes) = (stats.elapsed(), stats.operations, stats.bytes);
            let outcome = self.perform(phase, stats);
            stats.pause_timed();
            outcome.map_err(|error| self.judge(&error))?;
            passes.add(Iteration {
                elapsed: Nanos(stats.elapsed().0 - wall.0),
                operations: stats.operations - operations,
                bytes: Bytes(stats.bytes - bytes),
            });
            let enough = stats.time_limited || !passes.needs_more(clock::since(start));
            if enough || !self.restore(phase)? {
                return Ok(());
            }
        }
    }

    fn perform(&mut self, phase: &Phase, stats: &mut ThreadStats) -> Result<(), OpError> {
        let setting = IoMode { ends: phase.sync_at_end, direct: phase.cache == CacheState::Direct };
        self.heartbeat.watch_command(matches!(phase.op, Op::Exec(_)));
        let outcome = workload::perform(&phase.op, setting, &mut self.workspace, stats);
        self.heartbeat.watch_command(false);
        outcome
    }

    /// Restores the initial state of the phase. Returns false if that is impossible.
    fn restore(&mut self, phase: &Phase) -> Result<bool, PhaseError> {
        match workload::undo(&phase.op, &mut self.workspace) {
            Err(OpError::Unsupported { .. }) => return Ok(false),
            other => other.map_err(|error| self.judge(&error))?,
        }
        // Write cached data now, so that its cost is not added to the next pass.
        self.sync().map_err(|error| self.judge(&error))?;
        self.prepare_cache(phase.cache, RemountReporting::Off)?;
        Ok(true)
    }

    fn sync(&self) -> Result<(), OpError> {
        let root = self.workspace.root();
        caches::sync_filesystem(root).map_err(|error| OpError::System {
            call: "syncfs",
            path: root.to_owned(),
            offset: None,
            error,
        })
    }

    pub(super) fn device_size(&self) -> Option<model::Bytes> {
        match &self.job.target {
            WorkTarget::Volume(volume) if volume.device.is_some() => Some(volume.size),
            _ => None,
        }
    }

    pub(super) fn judge(&self, error: &OpError) -> PhaseError {
        if let OpError::Unsupported { reason } = error {
            return PhaseError::Unsupported(reason.clone());
        }
        if let OpError::Source { reason } = error {
            return PhaseError::Withdrawn(reason.clone());
        }
        let crashed = self.volume.as_ref().is_some_and(|v| v.driver_died(error.errno()));
        let mut reason = error.to_string();
        if crashed {
            reason.push_str("; the process of the filesystem is gone");
        }
        let failure = Failure { reason, error: error.system_error(), ..Failure::default() };
        PhaseError::Failed { crashed, failure }
    }

    /// Runs trials that record the writes to the volume.
    fn try_recorded<T>(
        &mut self,
        trials: impl FnOnce(&mut CellVolume<'_>, u64, &Progress) -> Result<T, TrialError>,
    ) -> Result<T, PhaseError> {
        let progress = self.heartbeat.progress();
        let seed = self.job.seed;
        let Some(volume) = self.volume.as_mut() else {
            let reason = "power cuts and disk faults need a simulated disk: --backend vm";
            return Err(PhaseError::Unsupported(reason.into()));
        };
        trials(volume, seed, &progress).map_err(|error| match error {
            TrialError::Unsupported(reason) => PhaseError::Unsupported(reason),
            TrialError::Failed(failure) => PhaseError::Failed { crashed: false, failure },
        })
    }

    fn fill(&mut self, op: &Fill, phase: &str, result: &mut PhaseResult) -> Result<(), PhaseError> {
        let progress = self.heartbeat.progress();
        let seed = self.job.seed;
        let Some(volume) = self.volume.as_mut() else {
            return Err(PhaseError::Unsupported(NEVER_FILLS.into()));
        };
        let filled = full::fill(volume, op, phase, seed, &progress);
        let filled = filled.map_err(|error| self.judge(&error))?;
        result.operations = filled.files;
        result.bytes_written = filled.bytes;
        result.full = Some(filled);
        Ok(())
    }

    fn measure_step(
        &mut self,
        step: VolumeStep,
        result: &mut PhaseResult,
    ) -> Result<(), PhaseError> {
        let volume = self.volume()?;
        if let Some(reason) = impossible(step, volume) {
            return Err(PhaseError::Unsupported(reason.into()));
        }
        let outcome = match step {
            VolumeStep::Mkfs => self.timed(result, CellVolume::mkfs),
            VolumeStep::Mount => self.timed(result, CellVolume::mount),
            VolumeStep::Unmount => self.timed(result, CellVolume::unmount),
            VolumeStep::Fsck => self.timed(result, |volume| volume.fsck()),
            VolumeStep::Maintain(task) => return self.maintain(task, result),
        };
        self.must(outcome?)
    }

    /// Performs a step of the volume, and measures it.
    pub(super) fn timed<T>(
        &mut self,
        result: &mut PhaseResult,
        step: impl FnOnce(&mut CellVolume<'a>) -> T,
    ) -> Result<T, PhaseError> {
        let mut meter = PhaseMeter::start(self.device.clone(), None);
        let volume = self.volume()?;
        let outcome = step(volume);
        let root = volume.is_mounted().then(|| volume.root().to_owned());
        meter.stop(root.as_deref(), result);
        result.operations = 1;
        result.device_size = self.device_size();
        result.memory = self.footprint.now();
        Ok(outcome)
    }

    /// Returns the volume, which a directory of a user is not.
    pub(super) fn volume(&mut self) -> Result<&mut CellVolume<'a>, PhaseError> {
        let reason =
            "a directory that is mounted already is not made, mounted, checked or maintained";
        match &mut self.volume {
            Some(volume) => Ok(volume),
            None => Err(PhaseError::Unsupported(reason.into())),
        }
    }

    /// Records the programs of a step, which must have succeeded.
    pub(super) fn must(&self, outcome: StepResult) -> Result<(), PhaseError> {
        self.records(outcome).map_err(|failure| PhaseError::Failed { crashed: false, failure })
    }
}

/// Returns the reason if a step is impossible on a volume.
fn impossible(step: VolumeStep, volume: &CellVolume<'_>) -> Option<&'static str> {
    match step {
        VolumeStep::Mkfs if !volume.has_mkfs() => Some("no mkfs program exists"),
        VolumeStep::Fsck if !volume.has_fsck() => Some("no checker exists"),
        VolumeStep::Unmount if !volume.has_device() => {
            Some("it lives in memory: an unmount ends it")
        }
        VolumeStep::Mount if volume.is_mounted() => Some("it is mounted already"),
        _ => None,
    }
}
