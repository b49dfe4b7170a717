//! One phase measured: its cache state, its operation or step, and what an error of it means.

use engine::{IoMode, Meter, OpError, Tally};
use model::op::VolumeStep;
use model::{Bytes, CacheState, Failure, Nanos, Op, Pass, Phase, PhaseResult, Probe, Support};
use sys::{caches, clock};
use wire::Target;

use super::{Session, Trouble};
use crate::scaling::Passes;
use crate::volume::Mounted;

/// Whether the programs that a remount runs are told of: between the passes of a phase they would be
/// the same lines over and over.
#[derive(Clone, Copy)]
enum Remounts {
    Said,
    Unsaid,
}

impl Session<'_> {
    pub(super) fn attempt(
        &mut self,
        phase: &Phase,
        result: &mut PhaseResult,
    ) -> Result<(), Trouble> {
        if let Op::Probe(Probe { feature }) = phase.op {
            let found = engine::probe(feature, self.workspace.root());
            let found = found.map_err(|error| self.judge(&error))?;
            self.features.0.insert(feature, found.clone());
            return match found {
                Support::Yes | Support::UpTo(_) => Ok(()),
                Support::No(reason) => Err(Trouble::Unsupported(reason)),
            };
        }
        if let Some(step) = phase.op.descriptor().step() {
            return self.measure_step(step, result);
        }
        if let Op::MixRole(role) = &phase.op {
            result.cache = self.began_with;
            let found = engine::role_result(&self.workspace, role, result);
            return found.map_err(|error| self.judge(&error));
        }
        if let Op::Elsewhere(_) = &phase.op {
            let read = self.printed.write(&phase.name, result);
            return read.map_err(Trouble::Unsupported);
        }
        result.cache = self.prepare_cache(phase.cache, Remounts::Said)?;
        self.began_with = result.cache;
        self.measure_operation(phase, result)
    }

    /// Brings about the cache state that a phase asks for, and says which one it became.
    fn prepare_cache(
        &mut self,
        wanted: CacheState,
        remounts: Remounts,
    ) -> Result<CacheState, Trouble> {
        if wanted == CacheState::Cold {
            self.look_at_layout();
        }
        match (wanted, &mut self.volume) {
            (CacheState::Cold, Some(volume)) if volume.has_device() => {
                let mut outcome = volume.remount_cold();
                if let (Ok(records), Remounts::Unsaid) = (&mut outcome, remounts) {
                    records.clear();
                }
                self.records(outcome).map_err(|failure| Trouble::Failed {
                    crashed: false,
                    failure,
                })?;
                Ok(CacheState::Cold)
            }
            // What lives in memory alone cannot be cold.
            (CacheState::Cold, Some(_)) => Ok(CacheState::Warm),
            (CacheState::Cold, None) | (CacheState::Advised, _) => {
                for file in self.workspace.content_files() {
                    // A file that an earlier phase could not keep is found missing by this one.
                    let _ = caches::forget(&file);
                }
                if let Some(source) = self.workspace.source() {
                    source.forget();
                }
                Ok(CacheState::Advised)
            }
            (other, _) => Ok(other),
        }
    }

    fn measure_operation(
        &mut self,
        phase: &Phase,
        result: &mut PhaseResult,
    ) -> Result<(), Trouble> {
        let meter = Meter::start(self.device.clone(), Some(self.workspace.root()));
        let mut tally = Tally::new(phase.at_most, self.heartbeat.progress(), meter);
        let mut passes = Passes::new(phase.scaling);
        let outcome = self.passes(phase, &mut tally, &mut passes);
        tally.end(result);
        result.passes = passes.several();
        result.device_size = self.device_size();
        result.memory = self.footprint.now();
        outcome
    }

    /// Does the phase, and does it again until it can be timed; what lies between does not count.
    fn passes(
        &mut self,
        phase: &Phase,
        tally: &mut Tally,
        passes: &mut Passes,
    ) -> Result<(), Trouble> {
        let start = clock::now();
        loop {
            let (wall, operations, bytes) = (tally.elapsed(), tally.operations, tally.bytes);
            let outcome = self.perform(phase, tally);
            tally.pause();
            outcome.map_err(|error| self.judge(&error))?;
            passes.add(Pass {
                wall: Nanos(tally.elapsed().0 - wall.0),
                operations: tally.operations - operations,
                bytes: Bytes(tally.bytes - bytes),
            });
            let enough = tally.cut_short || !passes.wants_more(clock::since(start));
            if enough || !self.restore(phase)? {
                return Ok(());
            }
        }
    }

    fn perform(&mut self, phase: &Phase, tally: &mut Tally) -> Result<(), OpError> {
        let setting = IoMode {
            ends: phase.ends,
            direct: phase.cache == CacheState::Direct,
        };
        self.heartbeat
            .watch_command(matches!(phase.op, Op::Exec(_)));
        let outcome = engine::perform(&phase.op, setting, &mut self.workspace, tally);
        self.heartbeat.watch_command(false);
        outcome
    }

    /// Brings about what the phase began with; false where that cannot be had any more.
    fn restore(&mut self, phase: &Phase) -> Result<bool, Trouble> {
        match engine::undo(&phase.op, &mut self.workspace) {
            Err(OpError::Unsupported { .. }) => return Ok(false),
            other => other.map_err(|error| self.judge(&error))?,
        }
        // What a pass has left in memory is not to be written at the cost of the next.
        self.sync().map_err(|error| self.judge(&error))?;
        self.prepare_cache(phase.cache, Remounts::Unsaid)?;
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

    fn device_size(&self) -> Option<model::Bytes> {
        match &self.job.target {
            Target::Volume(volume) if volume.device.is_some() => Some(volume.size),
            _ => None,
        }
    }

    pub(super) fn judge(&self, error: &OpError) -> Trouble {
        if let OpError::Unsupported { reason } = error {
            return Trouble::Unsupported(reason.clone());
        }
        if let OpError::Source { reason } = error {
            return Trouble::Withdrawn(reason.clone());
        }
        let crashed = self
            .volume
            .as_ref()
            .is_some_and(|v| v.driver_died(error.errno()));
        let mut reason = error.to_string();
        if crashed {
            reason.push_str("; the process of the filesystem is gone");
        }
        let failure = Failure {
            reason,
            error: error.system_error(),
            ..Failure::default()
        };
        Trouble::Failed { crashed, failure }
    }

    fn measure_step(&mut self, step: VolumeStep, result: &mut PhaseResult) -> Result<(), Trouble> {
        let Some(volume) = &mut self.volume else {
            let reason = "a directory that is mounted already is not made, mounted or checked";
            return Err(Trouble::Unsupported(reason.into()));
        };
        if let Some(reason) = impossible(step, volume) {
            return Err(Trouble::Unsupported(reason.into()));
        }
        let root = volume.root();
        let mut meter = Meter::start(self.device.clone(), None);
        let outcome = match step {
            VolumeStep::Mkfs => volume.make(),
            VolumeStep::Mount => volume.mount(),
            VolumeStep::Unmount => volume.unmount(),
            VolumeStep::Fsck => volume.check(),
        };
        meter.stop(volume.is_mounted().then_some(root), result);
        result.operations = 1;
        result.device_size = self.device_size();
        result.memory = self.footprint.now();
        self.records(outcome).map_err(|failure| Trouble::Failed {
            crashed: false,
            failure,
        })
    }
}

/// Why a step cannot be asked of a volume at all.
fn impossible(step: VolumeStep, volume: &Mounted<'_>) -> Option<&'static str> {
    match step {
        VolumeStep::Mkfs if !volume.can_be_made() => Some("there is nothing to make"),
        VolumeStep::Fsck if !volume.can_be_checked() => Some("no checker exists"),
        VolumeStep::Unmount if !volume.has_device() => {
            Some("it lives in memory: an unmount ends it")
        }
        VolumeStep::Mount if volume.is_mounted() => Some("it is mounted already"),
        _ => None,
    }
}
