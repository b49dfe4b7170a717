//! A volume on a simulated disk that records writes: performs a sequence of file operations, and
//! sets the disk to other states.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use model::{Failure, FileStep, SequenceCost};
use simdisk::SECTOR;
use simdisk::damage::Sectors;
use simdisk::write_log::WriteLog;
use workload::OpError;
use workload::survival::{self, FoundFiles};

use crate::cell::volume::CellVolume;
use crate::guest::write_recorder::WriteRecorder;
use crate::sandbox::command::CommandFailed;

/// Idle time after the last step. Journals commit and the page cache is written within it (5 and
/// 30 s by default), so that the recording has both, also without a sync.
const IDLE: Duration = Duration::from_secs(40);

/// Reason that power cuts or faults have no result.
pub enum TrialError {
    /// The disk or the filesystem cannot do it.
    Unsupported(String),
    /// An error without a cut or fault.
    Failed(Failure),
}

impl From<CommandFailed> for TrialError {
    fn from(failed: CommandFailed) -> Self {
        Self::Failed(failed.failure)
    }
}

impl From<io::Error> for TrialError {
    fn from(error: io::Error) -> Self {
        let reason = format!("cannot record or set the simulated disk: {error}");
        Self::Failed(Failure { reason, ..Failure::default() })
    }
}

/// A volume with a recorder of its disk.
pub struct RecordedVolume<'a, 'v> {
    /// The volume.
    pub volume: &'a mut CellVolume<'v>,
    /// The recorder.
    pub recorder: WriteRecorder,
    device: &'v Path,
    /// Directory of the sequence, which other phases do not use.
    root: PathBuf,
}

/// A recorded sequence.
pub struct RecordedSteps {
    /// The writes, from the mount to the unmount.
    pub log: WriteLog,
    /// Bytes of the written sectors before the recording.
    pub base: Sectors,
    /// Time of the steps.
    pub time: Duration,
}

impl RecordedSteps {
    /// Returns what the steps cost.
    pub fn cost(&self) -> SequenceCost {
        SequenceCost {
            recordings: 1,
            nanoseconds: self.time.as_nanos() as u64,
            flushes: self.log.flushes_of_steps() as u64,
            written: self.log.written() as u64,
        }
    }
}

/// Whether an error of a step ends the sequence.
#[derive(Clone, Copy)]
enum StepErrors {
    End,
    Continue,
}

/// Outcomes of a mount and of the steps after it, up to the end of the sequence.
pub type StepOutcomes = Vec<Result<(), StepError>>;

/// Steps that were performed.
struct PerformedSteps {
    outcomes: StepOutcomes,
    time: Duration,
}

/// Error of a step.
pub struct StepError {
    /// Failed call, with the name of its error if it is known.
    pub call: String,
    /// Description of the error.
    pub text: String,
    /// The error number, if known.
    pub errno: Option<i32>,
}

impl From<&OpError> for StepError {
    fn from(error: &OpError) -> Self {
        let errno = error.errno();
        match error {
            OpError::System { call, path, error, .. } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let cause = sys::errno::describe(error);
                let text = format!("{call} of {name} returned {cause}");
                Self { call: format!("{call}: {cause}"), text, errno }
            }
            other => Self { call: other.to_string(), text: other.to_string(), errno },
        }
    }
}

impl From<&CommandFailed> for StepError {
    fn from(failed: &CommandFailed) -> Self {
        let Failure { step, reason, .. } = &failed.failure;
        Self { call: step.clone(), text: reason.clone(), errno: None }
    }
}

impl<'a, 'v> RecordedVolume<'a, 'v> {
    /// Opens the recorder of a mounted volume.
    pub fn new(volume: &'a mut CellVolume<'v>, phase: &str) -> Result<Self, TrialError> {
        let unsupported = |reason: &str| TrialError::Unsupported(reason.to_owned());
        let device = volume.single_device().ok_or_else(|| {
            unsupported("power cuts and disk faults need a filesystem on one disk")
        })?;
        let recorder = WriteRecorder::open().ok_or_else(|| {
            unsupported(
                "power cuts and disk faults need a simulated disk that records writes: --backend vm",
            )
        })?;
        let root = volume.root().join(phase);
        Ok(Self { volume, recorder, device, root })
    }

    /// Performs steps, records others, and runs trials on the unmounted disk in its state before
    /// the recording. At the end, mounts the filesystem in this state.
    pub fn run<T>(
        mut self,
        prepare: &[FileStep],
        steps: &[FileStep],
        trials: impl FnOnce(&mut Self, &RecordedSteps) -> Result<T, TrialError>,
    ) -> Result<T, TrialError> {
        self.prepare(prepare)?;
        self.volume.unmount()?;
        self.recorder.start()?;
        let recorded = self.perform_all(steps, 1 + prepare.len(), StepErrors::End);
        if self.volume.is_mounted() {
            self.volume.unmount()?;
        }
        // Without the log the disk cannot be restored, and the cell ends.
        let time = recorded.as_ref().map_or(Duration::ZERO, |performed| performed.time);
        let recording = self.finish(time)?;
        let result = recorded.and_then(|_| trials(&mut self, &recording));
        self.volume.mount()?;
        result
    }

    fn prepare(&self, steps: &[FileStep]) -> Result<(), TrialError> {
        fs::create_dir(&self.root).map_err(|error| {
            let error =
                OpError::System { call: "mkdir", path: self.root.clone(), offset: None, error };
            TrialError::Failed(Failure {
                reason: error.to_string(),
                error: error.system_error(),
                ..Failure::default()
            })
        })?;
        (1..).zip(steps).try_for_each(|(number, step)| {
            survival::perform_step(&self.root, step, number)
                .map_err(|error| TrialError::Unsupported(format!("`{step}`: {error}")))
        })
    }

    /// Mounts, performs steps, waits and unmounts. `first` is the number of the first step.
    fn perform_all(
        &mut self,
        steps: &[FileStep],
        first: usize,
        errors: StepErrors,
    ) -> Result<PerformedSteps, TrialError> {
        let mounted = self.volume.mount();
        if let (Err(failed), StepErrors::Continue) = (&mounted, errors) {
            let outcomes = steps.iter().map(|_| Err(StepError::from(failed))).collect();
            return Ok(PerformedSteps { outcomes, time: Duration::ZERO });
        }
        mounted?;
        let mut outcomes = Vec::new();
        let mut time = Duration::ZERO;
        for (number, step) in (first..).zip(steps) {
            // A step that failed promises nothing.
            let start = Instant::now();
            let outcome = survival::perform_step(&self.root, step, number as u32);
            time += start.elapsed();
            match (outcome, errors) {
                (Err(error), StepErrors::End) => {
                    return Err(TrialError::Unsupported(format!("`{step}`: {error}")));
                }
                (outcome, _) => outcomes.push(outcome.map_err(|error| StepError::from(&error))),
            }
            self.recorder.mark(number + 1 - first)?;
        }
        thread::sleep(IDLE);
        self.volume.unmount()?;
        Ok(PerformedSteps { outcomes, time })
    }

    /// Performs steps while requests to the disk fail ([`WriteRecorder::fail`]). Restores the disk.
    pub fn perform_with_faults(
        &mut self,
        steps: &[FileStep],
        first: usize,
        requests: &str,
    ) -> Result<(StepOutcomes, RecordedSteps), TrialError> {
        self.recorder.start()?;
        self.recorder.fail(requests)?;
        let outcomes = self.perform_all(steps, first, StepErrors::Continue);
        self.recorder.fail("off")?;
        // The device reports failed writes once more, to the next sync.
        let _ = File::open(self.device).and_then(|device| device.sync_all());
        let time = outcomes.as_ref().map_or(Duration::ZERO, |performed| performed.time);
        // Also after an error, because it restores the disk.
        let recording = self.finish(time)?;
        Ok((outcomes?.outcomes, recording))
    }

    /// Ends a recording of steps that took `time`, and sets the disk to its state before it.
    fn finish(&mut self, time: Duration) -> Result<RecordedSteps, TrialError> {
        let log = self.recorder.finish()?;
        let base = owned(&log.replaced());
        self.write(&base)?;
        Ok(RecordedSteps { log, base, time })
    }

    /// Sets the disk to a state, runs a trial, and restores the base of the disk.
    pub fn with_state<T>(
        &mut self,
        state: &Sectors,
        base: &Sectors,
        trial: impl FnOnce(&mut Self) -> Result<T, TrialError>,
    ) -> Result<T, TrialError> {
        let differs = |(sector, content): &(&u64, &Vec<u8>)| base.get(sector) != Some(content);
        let differing =
            state.iter().filter(differs).map(|(sector, content)| (*sector, content.clone()));
        let differing: Sectors = differing.collect();
        self.write(&differing)?;
        self.recorder.start()?;
        let outcome = trial(self);
        let changed = self.recorder.finish()?;
        let outcome = outcome?;
        let mut restored = owned(&changed.replaced());
        let replaced = differing.keys().filter_map(|sector| base.get_key_value(sector));
        restored.extend(replaced.map(|(sector, content)| (*sector, content.clone())));
        self.write(&restored)?;
        Ok(outcome)
    }

    /// Reads files of the sequence.
    pub fn find_files<'n>(&self, names: impl Iterator<Item = &'n str>, limit: u32) -> FoundFiles {
        survival::find_files(&self.root, names, limit)
    }

    /// Writes, syncs and removes a file.
    pub fn write_probe(&self) -> Result<(), StepError> {
        survival::write_probe(&self.root).map_err(|error| StepError::from(&error))
    }

    /// Writes sectors to the unmounted device, past the caches of the next mount.
    fn write(&self, sectors: &Sectors) -> io::Result<()> {
        let device = OpenOptions::new().write(true).open(self.device)?;
        let mut piece: Vec<u8> = Vec::new();
        let mut begin = 0;
        for (sector, content) in sectors {
            if sector * SECTOR != begin + piece.len() as u64 {
                device.write_all_at(&piece, begin)?;
                piece.clear();
                begin = sector * SECTOR;
            }
            piece.extend(content);
        }
        device.write_all_at(&piece, begin)?;
        device.sync_all()
    }
}

/// Copies sectors.
pub fn owned(sectors: &BTreeMap<u64, &[u8]>) -> Sectors {
    sectors.iter().map(|(sector, content)| (*sector, content.to_vec())).collect()
}
