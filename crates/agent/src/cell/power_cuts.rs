//! Records a sequence of file operations, then cuts the power at each position of its writes: sets
//! the disk to the state that the cut leaves, repairs, mounts, compares, writes, unmounts, checks.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use model::{BrokenCut, Failure, FileStep, PowerCut, Survival};
use simdisk::SECTOR;
use simdisk::write_log::{Cut, Kept, WriteLog};
use workload::survival::{self, ExpectedStates, FoundFiles};
use workload::{OpError, Progress};

use crate::cell::volume::MountedVolume;
use crate::guest::write_recorder::WriteRecorder;
use crate::sandbox::command::CommandFailed;

/// Idle time after the last step. Journals commit and the page cache is written within it (5 and
/// 30 s by default), so that the recording has both, also without a sync.
const IDLE: Duration = Duration::from_secs(40);

/// Reason that power cuts have no result.
pub enum CutError {
    /// The disk or the filesystem cannot do it.
    Unsupported(String),
    /// Something failed although no power was cut.
    Failed(Failure),
}

impl From<CommandFailed> for CutError {
    fn from(failed: CommandFailed) -> Self {
        Self::Failed(failed.failure)
    }
}

/// Power cuts of one phase.
pub struct PowerCuts<'a, 'v> {
    volume: &'a mut MountedVolume<'v>,
    recorder: WriteRecorder,
    device: &'v Path,
    /// Directory of the sequence, which other phases do not use.
    root: PathBuf,
    op: &'a PowerCut,
    states: ExpectedStates,
}

/// Whether the repair command of the catalog runs before the mount.
#[derive(Clone, Copy)]
enum Repair {
    First,
    Never,
}

/// Outcome of a cut.
#[derive(Default)]
struct Recovery {
    lost: Option<String>,
    is_unmountable: bool,
    is_unwritable: bool,
    is_inconsistent: bool,
}

/// Sectors and their content.
type Sectors = BTreeMap<u64, Vec<u8>>;

impl<'a, 'v> PowerCuts<'a, 'v> {
    /// Prepares power cuts on a mounted volume.
    pub fn new(
        volume: &'a mut MountedVolume<'v>,
        op: &'a PowerCut,
        phase: &str,
    ) -> Result<Self, CutError> {
        let unsupported = |reason: &str| CutError::Unsupported(reason.to_owned());
        let device = volume
            .single_device()
            .ok_or_else(|| unsupported("power cuts need a filesystem on one disk"))?;
        let recorder = WriteRecorder::open().ok_or_else(|| {
            unsupported("power cuts need a simulated disk that records writes: --backend vm")
        })?;
        let root = volume.root().join(phase);
        let states = ExpectedStates::new(&op.prepare, &op.steps);
        Ok(Self { volume, recorder, device, root, op, states })
    }

    /// Runs all cuts and mounts the filesystem in its state before the recording.
    pub fn run(mut self, seed: u64, progress: &Progress) -> Result<Survival, CutError> {
        self.prepare()?;
        let recorded = self.record();
        if self.volume.is_mounted() {
            self.volume.unmount()?;
        }
        let log = self.finish_log();
        // Without the log the disk cannot be restored, and the cell ends.
        let log = log?;
        let base = owned(&log.replaced());
        self.write(&base)?;
        let survival = recorded.and_then(|()| self.cut_all(&log, &base, seed, progress));
        self.volume.mount()?;
        survival
    }

    fn prepare(&self) -> Result<(), CutError> {
        fs::create_dir(&self.root).map_err(|error| {
            self.failed(&OpError::System {
                call: "mkdir",
                path: self.root.clone(),
                offset: None,
                error,
            })
        })?;
        (1..).zip(&self.op.prepare).try_for_each(|(number, step)| self.perform(step, number))
    }

    /// Performs a step. A step that failed promises nothing.
    fn perform(&self, step: &FileStep, number: usize) -> Result<(), CutError> {
        survival::perform_step(&self.root, step, number as u32)
            .map_err(|error| CutError::Unsupported(format!("`{step}`: {error}")))
    }

    fn failed(&self, error: &OpError) -> CutError {
        let failure = Failure {
            reason: error.to_string(),
            error: error.system_error(),
            ..Failure::default()
        };
        CutError::Failed(failure)
    }

    /// Records the steps, from the mount to the unmount.
    fn record(&mut self) -> Result<(), CutError> {
        self.volume.unmount()?;
        self.recorder.start().map_err(driver)?;
        self.volume.mount()?;
        let first = 1 + self.op.prepare.len();
        let steps = (first..).zip(&self.op.steps);
        for (number, step) in steps {
            self.perform(step, number)?;
            self.recorder.mark(number + 1 - first).map_err(driver)?;
        }
        thread::sleep(IDLE);
        self.volume.unmount()?;
        Ok(())
    }

    fn finish_log(&mut self) -> Result<WriteLog, CutError> {
        self.recorder.finish().map_err(driver)
    }

    fn cut_all(
        &mut self,
        log: &WriteLog,
        base: &Sectors,
        seed: u64,
        progress: &Progress,
    ) -> Result<Survival, CutError> {
        let limit = self.op.cuts as usize;
        let cuts = match self.op.ignores_flushes {
            true => log.cuts_without_flushes(limit, seed),
            false => log.cuts(limit, seed),
        };
        if cuts.is_empty() {
            let reason = "the disk has no flushes to ignore, or the filesystem sent none";
            return Err(CutError::Unsupported(reason.to_owned()));
        }
        let mut survival = Survival {
            positions: log.len() as u32,
            cuts: cuts.len() as u32,
            ..Survival::default()
        };
        progress.restart();
        progress.plan(cuts.len() as u64);
        for cut in &cuts {
            let state = owned(&log.state(cut));
            let recovery = self.try_cut(cut, &state, base, Repair::First)?;
            if recovery.lost.is_some() && self.volume.has_repair() {
                let before = self.try_cut(cut, &state, base, Repair::Never)?;
                survival.lost_by_repair += u32::from(before.lost.is_none());
            }
            self.count(cut, recovery, &mut survival);
            progress.add(1);
        }
        Ok(survival)
    }

    /// Sets the disk to the state after a cut, recovers, and sets it to its base again.
    fn try_cut(
        &mut self,
        cut: &Cut,
        state: &Sectors,
        base: &Sectors,
        repair: Repair,
    ) -> Result<Recovery, CutError> {
        self.write(state)?;
        self.recorder.start().map_err(driver)?;
        let recovery = self.recover(cut, repair);
        let changed = self.finish_log()?;
        let recovery = recovery?;
        let mut restored = owned(&changed.replaced());
        let replaced = state.keys().filter_map(|sector| base.get_key_value(sector));
        restored.extend(replaced.map(|(sector, content)| (*sector, content.clone())));
        self.write(&restored)?;
        Ok(recovery)
    }

    /// Does what an administrator does after a cut.
    fn recover(&mut self, cut: &Cut, repair: Repair) -> Result<Recovery, CutError> {
        let mut recovery = Recovery::default();
        let repaired = match repair {
            Repair::First => self.volume.repair(),
            Repair::Never => Ok(Vec::new()),
        };
        if let Err(failed) = repaired.and_then(|_| self.volume.mount()) {
            recovery.is_unmountable = true;
            recovery.lost = Some(format!("all files: {}", failed.failure.reason));
            return Ok(recovery);
        }
        let names = self.states.names();
        let limit = self.states.largest_file();
        let found: FoundFiles = survival::find_files(&self.root, names.into_iter(), limit);
        recovery.lost = self.states.lost(self.op.expect, done(cut), &found);
        recovery.is_unwritable = survival::write_probe(&self.root).is_err();
        self.volume.unmount()?;
        recovery.is_inconsistent = self.volume.has_fsck() && self.volume.fsck().is_err();
        Ok(recovery)
    }

    fn count(&self, cut: &Cut, recovery: Recovery, survival: &mut Survival) {
        survival.unmountable += u32::from(recovery.is_unmountable);
        survival.unwritable += u32::from(recovery.is_unwritable);
        survival.inconsistent += u32::from(recovery.is_inconsistent);
        let Some(lost) = recovery.lost else {
            survival.held += 1;
            return;
        };
        if survival.broken.len() < Survival::DESCRIBED {
            let after = match done(cut) {
                0 => "the mount".to_owned(),
                step => self.op.steps[step - 1].to_string(),
            };
            let position = cut.position as u32;
            survival.broken.push(BrokenCut { position, kept: kept(&cut.kept), after, lost });
        }
    }

    /// Writes sectors to the unmounted device, past the caches of the next mount.
    fn write(&self, sectors: &Sectors) -> Result<(), CutError> {
        let write = || {
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
        };
        write().map_err(driver)
    }
}

fn done(cut: &Cut) -> usize {
    cut.step.map_or(0, |step| step as usize)
}

fn kept(kept: &Kept) -> String {
    match kept {
        Kept::None => "nothing in doubt was kept".to_owned(),
        Kept::All => "everything in doubt was kept".to_owned(),
        Kept::Torn(_) => "the last write was torn".to_owned(),
        Kept::Some(_) => "some writes in doubt were kept".to_owned(),
        Kept::FlushesIgnored(_) => "the disk ignored flushes and kept some writes".to_owned(),
    }
}

fn owned(sectors: &BTreeMap<u64, &[u8]>) -> Sectors {
    sectors.iter().map(|(sector, content)| (*sector, content.to_vec())).collect()
}

fn driver(error: io::Error) -> CutError {
    let reason = format!("cannot record or set the simulated disk: {error}");
    CutError::Failed(Failure { reason, ..Failure::default() })
}
